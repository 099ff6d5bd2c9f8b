package gates

import (
	"fmt"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/kraftlog"
	"migrator/internal/plan"
)

var kraftHolder = facts.Holder{Present: true, ID: 3002, KRaftEpoch: ptr(int32(9))}

func heldAgain(v *View) { v.Snapshot.Holder = known(kraftHolder, moment) }

func onStep(kind plan.StepKind) func(*View) {
	return func(v *View) {
		heldAgain(v)
		v.Step = &Step{ID: "s", Kind: kind, Opened: true}
	}
}

func TestAnOldControllerThatComesBackAfterARevertIsAnAlarm(t *testing.T) {
	freed := func(at time.Time) View { return handedBack(at.Add(-5 * time.Second)) }
	// stopped is a revert whose controllers just stopped: /controller is still theirs.
	stopped := func(at time.Time) View { return controllersGone(at) }
	run(t, []row{
		{name: "a KRaft id holds /controller again", from: handedBack, before: freed, edit: heldAgain, gate: ControllerFree, want: Fail,
			says: "KRaft controller 3002 at epoch 9 again; none of migrations.yaml's runs or answers", doing: "Stop it"},
		{name: "the controller that was started is named", from: handedBack, before: freed, gate: ControllerFree, want: Fail, says: "running or answering: 3003",
			edit: func(v *View) { heldAgain(v); v.Snapshot.Running[3003] = known(true, moment) }},
		{name: "it is seen by a service that just started, from the step", from: stopped, edit: onStep(plan.Follow), gate: ControllerFree, want: Fail, says: "again"},
		{name: "and long after the revert, from the phase", from: stopped, gate: ControllerFree, want: Fail, says: "again",
			edit: func(v *View) { heldAgain(v); v.Plan, v.Phase = "", cluster.Initial }},
		{name: "between the controllers' stop and the transaction it is rightly theirs", from: stopped, edit: onStep(plan.Compare), gate: ControllerFree, want: Pass, says: "the plan under way deletes it"},
		{name: "a second revert that frees it again is not blocked by what it cures", from: handedBack, before: freed, edit: onStep(plan.Znodes), gate: ControllerFree, want: Pass},
		{name: "a revert interrupted before the transaction is no stray controller", from: stopped, gate: ControllerFree, want: Pass, says: "interrupted",
			edit: func(v *View) { heldAgain(v); v.Plan = "" }},
		{name: "where /migration could be a leftover or a new one nothing is claimed", from: stopped, gate: ControllerFree, want: Unknown,
			edit: func(v *View) {
				heldAgain(v)
				v.Plan, v.Snapshot.Migration = "", known(facts.MigrationZnode{Present: true}, moment)
			}},
		{name: "a lone controller in its own roll was not stopped for good", from: loaded, gate: ControllerFree, want: Pass, says: "no revert",
			edit: func(v *View) {
				v.Settings.Inventory.Controllers = v.Settings.Inventory.Controllers[:1]
				v.Stopped = []int32{3001}
				v.Step = &Step{ID: "roll-controller-3001", Kind: plan.Roll, Batch: []int32{3001}, Opened: true}
			}},
		{name: "before anything was begun", from: atRest, gate: ControllerFree, want: Pass},
		{name: "in dual write", from: dualWriting, gate: ControllerFree, want: Pass},
		{name: "/controller cannot be read", from: handedBack, before: freed, gate: ControllerFree, want: Unknown,
			edit: func(v *View) { v.Snapshot.Holder = unknown[facts.Holder]() }},
	})
}

// copying has the claim behind it and no offset yet; pending records are in the open transaction.
func copying(ago time.Duration, pending int) View {
	v := loaded(moment.Add(-ago))
	change(&v.Snapshot.Migration, func(m *facts.MigrationZnode) { m.Offset = nil })
	change(&v.Snapshot.Log, func(l *facts.Log) { l.Image.State, l.Image.Pending = cluster.StatePreMigration, pending })
	v.Settings.StepTimeout = 10 * time.Minute
	return v
}

// blind is the same with no controller's answer.
func blind(ago time.Duration) View {
	v := copying(ago, 0)
	v.Snapshot.Log = facts.Unknown[facts.Log]("no controller says it leads", "test", moment)
	return v
}

// halted is the same with controllers whose process has ended.
func halted(ago time.Duration, ids ...int32) View {
	v := blind(ago)
	for _, id := range ids {
		v.Snapshot.Running[id] = known(false, moment.Add(-ago))
	}
	return v
}

func TestACopyThatStandsStillIsAnAlarmWithARunningClock(t *testing.T) {
	edited := func(v View, edit func(*View)) View { edit(&v); return v }
	tests := []struct {
		name  string
		views []View
		want  Result
		says  string
	}{
		{"a copy that just began", []View{copying(0, 0)}, Pass, "nobody acts meanwhile"},
		{"a copy without progress", []View{copying(45*time.Second, 200), copying(20*time.Second, 200), copying(0, 200)}, Fail,
			"no controller acts since 11:59:15 UTC (45s): KRaft controller 3002 holds /controller at epoch 7, /migration has no offset, the copy has not moved for 45s"},
		{"a large copy that moves", []View{copying(5*time.Minute, 200), copying(2*time.Minute, 90_000), copying(0, 200_000)}, Pass, "copies since 11:55:00 UTC (5m0s)"},
		{"a copy that fails and begins again for ever", []View{copying(11*time.Minute, 5), copying(5*time.Minute, 0), copying(0, 5)}, Fail, "no controller acts since 11:49:00 UTC"},
		{"the fatal line is quoted", []View{copying(time.Minute, 1), edited(copying(0, 1), func(v *View) {
			v.Snapshot.Lines[3002] = known(facts.Lines{Fatal: []string{"Aborting the ZK migration"}}, moment)
		})}, Fail, "controller 3002 logged Aborting the ZK migration"},
		{"a log that cannot be read proves nothing", []View{blind(time.Minute), blind(0)}, Unknown, "whether the copy moves"},
		{"with two of three controllers halted nobody can lead", []View{halted(time.Minute, 3001, 3003), halted(0, 3001, 3003)}, Fail, "the copy has not moved for 1m0s"},
		{"one halted controller leaves a majority", []View{halted(time.Minute, 3001), halted(0, 3001)}, Unknown, "whether the copy moves"},
		{"until the time limit of a step", []View{blind(11 * time.Minute), blind(0)}, Fail, "no controller acts since"},
		{"the copy done after all", []View{copying(time.Minute, 1), loaded(moment)}, Pass, "the copy is done"},
		{"the way back under way", []View{copying(time.Minute, 1), edited(copying(0, 1), func(v *View) { v.Plan = cluster.Initial })}, Pass, "hands /controller to a broker"},
		{"a broker is controller", []View{provisioned(moment)}, Pass, "no KRaft controller"},
		{"every broker in KRaft mode", []View{dualWriting(moment)}, Pass, "lies behind"},
		{"/migration unreadable", []View{copying(time.Minute, 1), edited(copying(0, 1), func(v *View) { v.Snapshot.Migration = unknown[facts.MigrationZnode]() })}, Unknown, "connection refused"},
		{"a revert given up with every controller stopped", []View{edited(controllersGone(moment.Add(-time.Minute)), heldByStopped), edited(controllersGone(moment), heldByStopped)}, Fail,
			"no controller acts since 11:59:00 UTC (1m0s): /controller is held by KRaft controller 3002 and every controller is stopped for good"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			says(t, judged(t, SomeoneActs, tt.views...), tt.want, tt.says, "revert NAME --to initial")
		})
	}
}

func heldByStopped(v *View) { v.Plan = "" }

// leftover is a fresh quorum that found /migration of an earlier one.
func leftover(ago time.Duration) View {
	v := loaded(moment.Add(-ago))
	change(&v.Snapshot.Migration, func(m *facts.MigrationZnode) { m.Offset = ptr(int64(9_244)) })
	change(&v.Snapshot.Log, func(l *facts.Log) {
		l.Image.State, l.Image.Topics = cluster.StatePreMigration, map[string]kraftlog.Topic{}
	})
	return v
}

// restored is a quorum in MIGRATION whose log is older than what /migration says.
func restored(ago time.Duration) View {
	v := loaded(moment.Add(-ago))
	change(&v.Snapshot.Migration, func(m *facts.MigrationZnode) { m.Offset = ptr(int64(9_244)) })
	return v
}

func newerEpoch(ago time.Duration) View {
	v := loaded(moment.Add(-ago))
	change(&v.Snapshot.Migration, func(m *facts.MigrationZnode) { m.ControllerEpoch = ptr(int32(12)) })
	return v
}

// emptied is a quorum whose log holds one topic of the many in ZooKeeper.
func emptied(ago time.Duration) View {
	v := loaded(moment.Add(-ago))
	change(&v.Snapshot.ZKTopics, func(z *facts.ZKTopics) {
		z.Topics = map[string]facts.ZKTopic{}
		for i := range 30 {
			z.Topics[fmt.Sprint("t", i)] = facts.ZKTopic{}
		}
	})
	return v
}

func saidBehind(ago time.Duration) View {
	v := loaded(moment.Add(-ago))
	v.Snapshot.Lines[3002] = known(facts.Lines{Fatal: []string{"Ignoring image X which does not contain a superset of the metadata in ZK. Staying in SYNC_KRAFT_TO_ZK until a newer image is loaded"}}, v.Now)
	return v
}

// A fresh quorum with a leftover /migration copied nothing, left partitions
// short for three quiet minutes and then deleted every topic from ZooKeeper.
func TestALeftoverMigrationIsAnAlarmBeforeItDeletesEveryTopic(t *testing.T) {
	edited := func(v View, edit func(*View)) View { edit(&v); return v }
	moving := edited(saidBehind(0), func(v *View) { change(&v.Snapshot.Migration, func(m *facts.MigrationZnode) { m.Version++ }) })
	tests := []struct {
		name  string
		views []View
		want  Result
		says  string
	}{
		{"an offset beside PRE_MIGRATION", []View{leftover(2 * time.Second), leftover(0)}, Fail, "/migration has offset 9244 while this quorum's state is PRE_MIGRATION with 0 topics in its log at high watermark 500"},
		{"seen once it may be the copy ending just now", []View{leftover(0)}, Unknown, "looking again"},
		{"the copy ended between two readings", []View{leftover(2 * time.Second), loaded(moment)}, Pass, "of this quorum"},
		{"an offset beyond the high watermark", []View{restored(2 * time.Second), restored(0)}, Fail, "offset 9244, beyond this quorum's high watermark 500"},
		{"an offset read once may be newer than the high watermark read", []View{restored(0)}, Pass, ""},
		{"an epoch that no controller knows", []View{newerEpoch(2 * time.Second), newerEpoch(0)}, Fail, "names controller epoch 12, this quorum is at epoch 7"},
		{"a newer leader may be the controller that does not answer", []View{newerEpoch(2 * time.Second), edited(newerEpoch(0), func(v *View) { v.Snapshot.Quorum[3001] = unknown[facts.Quorum]() })}, Pass, ""},
		{"a new leader does not know its high watermark at once", []View{restored(2 * time.Second), edited(restored(0), func(v *View) { setAt(v.Snapshot.Quorum, 3002, func(q *facts.Quorum) { q.HighWatermark = -1 }) })}, Pass, ""},
		{"far fewer topics in the log, in two scans", []View{loaded(moment.Add(-9 * time.Second)), emptied(5 * time.Second), emptied(0)}, Fail, "the metadata log holds 1 topic, ZooKeeper 30"},
		{"far fewer topics in one scan", []View{loaded(moment.Add(-9 * time.Second)), emptied(0)}, Pass, ""},
		{"topics that ZooKeeper is about to delete do not count", []View{loaded(moment.Add(-9 * time.Second)), deletingAll(5 * time.Second), deletingAll(0)}, Pass, ""},
		{"the driver says it is behind and nothing moves", []View{saidBehind(14 * time.Second), saidBehind(0)}, Fail, "controller 3002 logs that its image lacks what ZooKeeper has, and /migration stands still for 14s"},
		{"the driver said it was behind and went on", []View{saidBehind(2 * time.Second), moving}, Pass, ""},
		{"no offset", []View{provisioned(moment)}, Pass, "no copy was done"},
		{"no quorum yet", []View{edited(atRest(moment), func(v *View) {
			v.Snapshot.Migration = known(facts.MigrationZnode{Present: true, Offset: ptr(int64(9))}, moment)
		})}, Pass, "no quorum"},
		{"the way back under way", []View{leftover(2 * time.Second), edited(leftover(0), func(v *View) { v.Plan = cluster.Initial })}, Pass, "stops the controllers"},
		{"every controller stopped", []View{controllersGone(moment)}, Pass, "stopped for good"},
		{"after finalize", []View{finalized(moment.Add(-2 * time.Second)), finalized(moment)}, Pass, "POST_MIGRATION"},
		{"the metadata log unreadable", []View{leftover(2 * time.Second), edited(leftover(0), func(v *View) { v.Snapshot.Log = unknown[facts.Log]() })}, Unknown, "metadata log"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			says(t, judged(t, MigrationOurs, tt.views...), tt.want, tt.says, "Stop all controllers now")
		})
	}
}

func deletingAll(ago time.Duration) View {
	v := emptied(ago)
	var names []string
	for i := range 30 {
		names = append(names, fmt.Sprint("t", i))
	}
	v.Snapshot.Deleting = known(names, v.Now)
	return v
}

// says checks a verdict; what to do is asked of failures only.
func says(t *testing.T, got Judged, want Result, evidence, todo string) {
	t.Helper()
	r := row{want: want, says: evidence}
	if want == Fail {
		r.doing = todo
	}
	r.check(t, got)
}

// In a half-begun finalize taken back, controllers run without the flag until
// each has it again: the guard must not block its own cure.
func TestAPlanThatGivesTheFlagBackIsNotBlockedByTheGuard(t *testing.T) {
	run(t, []row{{name: "flag back", from: dualWriting, gate: FlagGuard, want: Pass, says: "gives the flag back", edit: func(v *View) {
		setAt(v.Snapshot.API, 3003, func(a *facts.API) { a.ZkMigrationReady = false })
		v.Step = &Step{ID: "flag-back-3003", Kind: plan.FlagBack, Batch: []int32{3003}}
	}}})
}
