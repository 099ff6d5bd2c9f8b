package phases

import (
	"slices"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/gates"
)

// guards are those that look for what could be found at any time.
func guards() []string {
	return []string{gates.ControllerFree, gates.SomeoneActs, gates.MigrationOurs}
}

func TestWhatWouldDeleteTopicsOrLeaveNoControllerBlocksInEveryPhaseButTheLast(t *testing.T) {
	for _, p := range []cluster.Phase{cluster.Load, cluster.Hybrid, cluster.DualWrite} {
		for _, g := range guards() {
			in := look(p)
			in.Judgement = refuses(in.Judgement, WatchSet, g, gates.Fail)
			s := begin(t).at(cluster.Initial).at(p).s
			if d := Decide(s, in, moment); d.Verb != Block || d.Blocked.Gate != g {
				t.Errorf("in %s with %s failing decided %s by gate %q, want block", p, g, d.Verb, d.Blocked.Gate)
			}
			in.Judgement = refuses(look(p).Judgement, WatchSet, g, gates.Unknown)
			if d := Decide(s, in, moment); d.Verb == Block {
				t.Errorf("in %s with %s unknown decided block: %s", p, g, d.Blocked.What)
			}
		}
	}
}

func TestAnOldControllerIsAnAlarmAlsoAfterTheRevertIsDone(t *testing.T) {
	s := begin(t).at(cluster.Initial).s
	in := look(cluster.Initial)
	in.Judgement = refuses(in.Judgement, WatchSet, gates.ControllerFree, gates.Fail)
	d := Decide(s, in, moment)
	if d.Verb != Block {
		t.Fatalf("decided %s, want block", d.Verb)
	}
	s.Blocked = &BlockedState{d.Blocked, moment}
	in.Judgement = gates.Judgement{Verdicts: []gates.Judged{{Verdict: gates.Verdict{Gate: gates.ControllerFree, Result: gates.Pass}, Sets: []string{WatchSet}}}}
	if d := Decide(s, in, moment); d.Verb != Lift {
		t.Errorf("once it is gone decided %s, want lift", d.Verb)
	}
}

// A roll goes on while one broker could not go back to ZooKeeper; finalize does not begin.
func TestAnUnsafeWayBackIsShownAndHoldsNoRollBack(t *testing.T) {
	s := begin(t).at(cluster.Load).approved(built(t, cluster.Hybrid, loaded()).Plan).s
	in := look(cluster.Load, StepKey("roll-broker-1", "before"))
	in.Snapshot, in.Inventory = loaded(), inventory()
	in.Judgement = refuses(in.Judgement, RevertSet, gates.WayBack, gates.Fail)
	if d := Decide(s, in, moment); d.Verb != Open {
		t.Errorf("decided %s (%s), want the next batch opened", d.Verb, d.Why)
	}
	for _, p := range cluster.Phases() {
		watched := slices.ContainsFunc(Sets(State{Phase: p}, loaded(), inventory(), 3), func(set gates.Set) bool { return set.Key == RevertSet })
		if want := p != cluster.Initial && p != cluster.Finalize; watched != want {
			t.Errorf("in %s the way back is watched: %v, want %v", p, watched, want)
		}
	}
	if row, _ := RowOf(cluster.Finalize); !slices.Contains(row.Enter, gates.WayBack) {
		t.Error("finalize can be entered without a way back")
	}
}

// A guard that reads unknown in a normal state would hold every step back.
func TestTheGuardsPassInEveryNormalState(t *testing.T) {
	restarted := loaded()
	restarted.Lines, restarted.ZKTopics = nil, facts.Fact[facts.ZKTopics]{}
	tests := []struct {
		name  string
		phase cluster.Phase
		plan  cluster.Phase
		snap  facts.Snapshot
	}{
		{"nothing begun", cluster.Initial, "", atRest()},
		{"provisioning", cluster.Initial, cluster.Initial, atRest()},
		{"provisioned", cluster.Initial, "", provisioned()},
		{"the first broker goes into migration mode", cluster.Initial, cluster.Load, provisioned()},
		{"loaded, the service just started", cluster.Load, "", restarted},
		{"the roll to KRaft", cluster.Hybrid, cluster.Hybrid, inMode(loaded(), cluster.KRaft, 1)},
		{"dual write", cluster.DualWrite, "", dualWriting()},
		{"finalizing", cluster.DualWrite, cluster.Finalize, dualWriting()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := gates.View{Snapshot: tt.snap, Phase: tt.phase, Plan: tt.plan, Now: moment,
				Settings: gates.Settings{Inventory: inventory(), MaxFactAge: 15 * time.Second, PollInterval: 2 * time.Second}}
			j, _ := gates.Judge(gates.Memory{}, v, []gates.Set{{Key: WatchSet, Gates: guards()}})
			for _, verdict := range j.Verdicts {
				if verdict.Result != gates.Pass {
					t.Errorf("%s: %s: %s", verdict.Gate, verdict.Result, verdict.Evidence)
				}
			}
		})
	}
}
