package gates

import (
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/kraftlog"
)

// voter changes what the leader says of one voter.
func voter(v *View, id int32, edit func(*facts.Replica)) {
	setAt(v.Snapshot.Quorum, 3002, func(q *facts.Quorum) {
		voters := append([]facts.Replica(nil), q.Voters...)
		for i := range voters {
			if voters[i].ID == id {
				edit(&voters[i])
			}
		}
		q.Voters = voters
	})
}

func TestTheQuorumAfterProvisioning(t *testing.T) {
	run(t, []row{
		{name: "two controllers that both claim to lead", from: provisioned, gate: QuorumFormed, want: Fail, says: "3001, 3002 all say they lead",
			edit: func(v *View) { setAt(v.Snapshot.Quorum, 3001, func(q *facts.Quorum) { q.IsLeader = true }) }},
		{name: "all answered and none leads", from: provisioned, gate: QuorumFormed, want: Fail, says: "no controller leads",
			edit: func(v *View) { setAt(v.Snapshot.Quorum, 3002, func(q *facts.Quorum) { q.IsLeader = false }) }},
		{name: "a silent controller is unknown", from: provisioned, gate: QuorumFormed, want: Unknown, says: "controller 3003's view",
			edit: func(v *View) { v.Snapshot.Quorum[3003] = unknown[facts.Quorum]() }},
		{name: "a silent controller whose process is gone", from: provisioned, gate: QuorumFormed, want: Fail, says: "controller 3003 does not run",
			edit: func(v *View) {
				v.Snapshot.Quorum[3003], v.Snapshot.Running[3003] = unknown[facts.Quorum](), known(false, moment)
			}},
		{name: "a leader cut off from the others", from: provisioned, gate: QuorumFormed, want: Unknown, says: "another one has seen epoch 8",
			edit: func(v *View) { setAt(v.Snapshot.Quorum, 3001, func(q *facts.Quorum) { q.Epoch = 8 }) }},
		{name: "a voter missing", from: provisioned, gate: QuorumFormed, want: Fail, says: "no voters: 3003",
			edit: func(v *View) { setAt(v.Snapshot.Quorum, 3002, func(q *facts.Quorum) { q.Voters = q.Voters[:2] }) }},
		{name: "a voter that migrations.yaml does not have", from: provisioned, gate: QuorumFormed, want: Fail, says: "does not have: 3009",
			edit: func(v *View) {
				setAt(v.Snapshot.Quorum, 3002, func(q *facts.Quorum) { q.Voters = append(q.Voters, facts.Replica{ID: 3009, LogEndOffset: 500}) })
			}},
		{name: "a voter behind", from: provisioned, gate: QuorumFormed, want: Fail, says: "controller 3003 is behind: log end offset 100",
			edit: func(v *View) {
				voter(v, 3003, func(r *facts.Replica) { r.LogEndOffset, r.LastCaughtUp = 100, moment.Add(-time.Minute) })
			}},
		{name: "a voter whose log the leader has not heard of", from: provisioned, gate: QuorumFormed, want: Fail, says: "controller 3003",
			edit: func(v *View) {
				setAt(v.Snapshot.Quorum, 3002, func(q *facts.Quorum) { q.HighWatermark = 10 })
				voter(v, 3003, func(r *facts.Replica) { *r = facts.Replica{ID: 3003} })
			}},
		{name: "a voter far behind in a burst but level two seconds ago", from: provisioned, gate: QuorumFormed, want: Pass,
			edit: func(v *View) {
				voter(v, 3003, func(r *facts.Replica) { r.LogEndOffset, r.LastCaughtUp = 100, moment.Add(-time.Second) })
			}},
		{name: "a dead voter that was level when it died", from: provisioned, gate: QuorumFormed, want: Fail, says: "last fetch 30s ago",
			edit: func(v *View) {
				voter(v, 3003, func(r *facts.Replica) {
					r.LastFetch, r.LastCaughtUp = moment.Add(-30*time.Second), moment.Add(-30*time.Second)
				})
			}},

		{name: "a controller that did not register", from: provisioned, gate: ControllersReg, want: Fail, says: "controller 3001 is not registered",
			edit: func(v *View) { change(&v.Snapshot.Log, func(l *facts.Log) { delete(l.Image.Controllers, 3001) }) }},
		{name: "a controller that registered without the flag", from: provisioned, gate: ControllersReg, want: Fail, says: "registered as not ready",
			edit: func(v *View) {
				change(&v.Snapshot.Log, func(l *facts.Log) { l.Image.Controllers[3001] = kraftlog.Controller{ID: 3001} })
			}},
		{name: "the log says ready, the controller itself does not", from: provisioned, gate: ControllersReg, want: Fail, says: "itself says",
			edit: func(v *View) { setAt(v.Snapshot.API, 3001, func(a *facts.API) { a.ZkMigrationReady = false }) }},
		{name: "one signal of the two is missing", from: provisioned, gate: ControllersReg, want: Unknown,
			edit: func(v *View) { v.Snapshot.API[3001] = unknown[facts.API]() }},

		// Seen on 3.9.2 at 3.6-IV2: the wait for a registration never ended.
		{name: "at 3.6 no controller registers", from: provisioned, gate: ControllersReg, want: Pass, says: "by its own word", edit: atOldVersion},
		{name: "at 3.6 one has no flag", from: provisioned, gate: ControllersReg, want: Fail, says: "itself says",
			edit: func(v *View) {
				atOldVersion(v)
				setAt(v.Snapshot.API, 3001, func(a *facts.API) { a.ZkMigrationReady = false })
			}},
		{name: "at 3.6 one says nothing", from: provisioned, gate: ControllersReg, want: Unknown,
			edit: func(v *View) { atOldVersion(v); v.Snapshot.API[3001] = unknown[facts.API]() }},

		{name: "a quorum formatted at another version", from: provisioned, gate: MetadataVersion, want: Fail, says: "level 21, the brokers are at 20", doing: "Nothing has been copied yet",
			edit: func(v *View) { v.Settings.MetadataVersion = ptr(int16(20)) }},
		{name: "the brokers' version is not known", from: provisioned, gate: MetadataVersion, want: Unknown,
			edit: func(v *View) { v.Settings.MetadataVersion = nil }},
		{name: "a controller that reports none", from: provisioned, gate: MetadataVersion, want: Fail, says: "controller 3001 reports no",
			edit: func(v *View) { setAt(v.Snapshot.API, 3001, func(a *facts.API) { a.MetadataVersion = nil }) }},
		{name: "a controller that reports another", from: provisioned, gate: MetadataVersion, want: Fail, says: "controller 3001 reports metadata.version level 20",
			edit: func(v *View) { setAt(v.Snapshot.API, 3001, func(a *facts.API) { a.MetadataVersion = ptr(int16(20)) }) }},
		{name: "a log without a metadata.version", from: provisioned, gate: MetadataVersion, want: Fail, says: "finalizes no",
			edit: func(v *View) { change(&v.Snapshot.Log, func(l *facts.Log) { l.Image.Features = nil }) }},

		{name: "a controller first started without the flag", from: provisioned, gate: PreMigration, want: Fail, says: "state is NONE", doing: "NONE means",
			edit: func(v *View) { change(&v.Snapshot.Log, func(l *facts.Log) { l.Image.State = cluster.StateNone }) }},
		{name: "a log without any state is no state", from: provisioned, gate: PreMigration, want: Fail, says: "holds no migration state",
			edit: func(v *View) {
				change(&v.Snapshot.Log, func(l *facts.Log) { l.Image.HasState, l.Image.State = false, "" })
			}},
		{name: "a controller's log line contradicts", from: provisioned, gate: PreMigration, want: Fail, says: "controller 3003 logged state NONE",
			edit: func(v *View) {
				v.Snapshot.Lines[3003] = known(facts.Lines{State: cluster.StateNone}, moment)
			}},
		{name: "log lines that cannot be read do not matter", from: provisioned, gate: PreMigration, want: Pass,
			edit: func(v *View) { v.Snapshot.Lines = nil }},

		{name: "an offset beside a quorum that copied nothing", from: provisioned, gate: MigrationFresh, want: Fail, says: "offset 244", doing: "Stop all controllers now",
			edit: func(v *View) {
				change(&v.Snapshot.Migration, func(m *facts.MigrationZnode) { m.Offset = ptr(int64(244)) })
			}},
		{name: "an empty /migration hangs the controllers", from: provisioned, gate: MigrationFresh, want: Fail, says: "without data", doing: "KAFKA-19480",
			edit: func(v *View) { v.Snapshot.Migration = known(facts.MigrationZnode{Present: true, Null: true}, moment) }},
		{name: "no /migration although controllers run", from: provisioned, gate: MigrationFresh, want: Fail, says: "absent",
			edit: func(v *View) { v.Snapshot.Migration = known(facts.MigrationZnode{}, moment) }},
	})
}

func TestTheMajorityIsNeverBrokenByOurHand(t *testing.T) {
	lost := func(v *View) {
		voter(v, 3001, func(r *facts.Replica) { r.LastFetch = moment.Add(-time.Minute) })
	}
	batch := func(ids ...int32) func(*View) { return func(v *View) { v.Step.Batch = ids } }
	run(t, []row{
		{name: "before a broker one controller may be lost still", from: rolling, gate: QuorumHeadroom, want: Pass, says: "3 of 3"},
		{name: "before a broker with a controller down already", from: rolling, gate: QuorumHeadroom, want: Fail, says: "2 of 3 voters", edit: lost},
		{name: "a controller when the two others are up", from: rolling, gate: QuorumHeadroom, want: Pass, says: "2 of 3 voters are up and caught up without the batch", edit: batch(3003)},
		{name: "a controller when another one is down", from: rolling, gate: QuorumHeadroom, want: Fail, says: "behind or down: 3001",
			edit: func(v *View) { batch(3003)(v); lost(v) }},
		{name: "the one that is down may be restarted", from: rolling, gate: QuorumHeadroom, want: Pass,
			edit: func(v *View) { batch(3001)(v); lost(v) }},
		{name: "a lost spare can be accepted for a broker", from: rolling, gate: QuorumHeadroom, want: Pass, says: "accepted by a person",
			edit: func(v *View) {
				lost(v)
				v.Accepted = []Acceptance{{Gate: QuorumHeadroom, Subjects: []string{"controllers 3001"}}}
			}},
		{name: "a broken majority cannot", from: rolling, gate: QuorumHeadroom, want: Fail,
			edit: func(v *View) {
				batch(3003)(v)
				lost(v)
				v.Accepted = []Acceptance{{Gate: QuorumHeadroom, Subjects: []string{"controllers 3001"}}}
			}},
		{name: "no leader is unknown", from: rolling, gate: QuorumHeadroom, want: Unknown,
			edit: func(v *View) { v.Snapshot.Quorum = nil }},
		{name: "before a quorum exists it needs no headroom", from: atRest, gate: QuorumHeadroom, want: Pass, says: "not in use"},
		{name: "the first broker of load already depends on it", from: atRest, gate: QuorumHeadroom, want: Unknown,
			edit: func(v *View) { v.Plan = cluster.Load }},
		{name: "after a revert stopped all controllers it is out of use", from: rolling, gate: QuorumHeadroom, want: Pass, says: "not in use",
			edit: func(v *View) { v.Stopped = controllerIDs(); v.Snapshot.Quorum = nil }},
	})
}

// atOldVersion is metadata.version 3.6-IV2, which knows no registration of controllers.
func atOldVersion(v *View) {
	change(&v.Snapshot.Log, func(l *facts.Log) {
		l.Image.Features = map[string]int16{"metadata.version": 14}
		l.Image.Controllers = nil
	})
}
