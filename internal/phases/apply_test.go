package phases

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/cluster"
	"migrator/internal/gates"
	"migrator/internal/plan"
)

func TestApplyRecordsWhatEachEntrySays(t *testing.T) {
	load := built(t, cluster.Load, provisioned()).Plan
	tests := []struct {
		name string
		tell func(*story) *story
		got  func(State) any
		want any
	}{
		{"the name is bound to a cluster", func(b *story) *story { return b.add(KindBound, Body{Bound: &Bound{ClusterID: testCluster}}) },
			func(s State) any { return s.ClusterID }, testCluster},
		{"the first phase seen past initial is to be adopted", func(b *story) *story { return b.at(cluster.Load) },
			func(s State) any { return []any{s.Phase, s.Adopt} }, []any{cluster.Load, true}},
		{"a cluster first seen in initial is not adopted", func(b *story) *story { return b.at(cluster.Initial) },
			func(s State) any { return []any{s.Phase, s.Adopt} }, []any{cluster.Initial, false}},
		{"a later move adopts nothing", func(b *story) *story { return b.at(cluster.Initial).at(cluster.Load) },
			func(s State) any { return []any{s.Phase, s.Adopt} }, []any{cluster.Load, false}},
		{"adopting begins an attempt in which nothing counts yet", func(b *story) *story {
			return b.at(cluster.DualWrite).add(KindDrill, Body{Drill: &DrillRun{Kind: "clean", Passed: true}}).
				add(KindSoak, Body{Soak: &Soak{Elapsed: time.Hour}}).add(KindAccepted, Body{Accepted: &Accepted{Gate: gates.ISRFull}}).add(KindAdopted, Body{})
		}, func(s State) any {
			return []any{s.Attempt, len(s.PassedDrills()), s.Soak == nil, len(s.Accepted), s.Adopt}
		}, []any{2, 0, true, 0, false}},
		{"an approval starts the plan and lifts pause and block", func(b *story) *story {
			return b.add(KindPaused, Body{}).add(KindBlocked, Body{Blocked: &Blocked{What: "drift"}}).approved(load)
		}, func(s State) any { return []any{s.Run.Plan.Digest, s.Paused, s.Blocked == nil} }, []any{load.Digest, false, true}},
		{"an approval records every file as it was read again", func(b *story) *story {
			return b.add(KindApproved, Body{Approved: &Approved{Plan: load, Files: map[int32]string{1: "aa", 2: "bb"}}})
		}, func(s State) any { return s.Files }, map[int32]string{1: "aa", 2: "bb"}},
		{"a step is open until its gates passed", func(b *story) *story { return b.approved(load).opened("roll-broker-1") },
			func(s State) any { return s.Run.Open }, "roll-broker-1"},
		{"a baseline stays with the open step", func(b *story) *story {
			return b.approved(load).add(KindOpened, Body{Opened: &Opened{Step: "roll-broker-1", Baseline: gates.Baseline{Czxid: map[int32]int64{1: 7}}}})
		}, func(s State) any { return s.Run.Baseline.Czxid }, map[int32]int64{1: 7}},
		{"an intent without outcome is in doubt", func(b *story) *story { return b.approved(load).opened("roll-broker-1").intent("stop-1") },
			func(s State) any { return s.Run.Actions["stop-1"].Running }, true},
		{"an outcome ends the doubt", func(b *story) *story { return b.approved(load).opened("roll-broker-1").done("stop-1") },
			func(s State) any { a := s.Run.Actions["stop-1"]; return []bool{a.Running, a.OK, a.Failed} }, []bool{false, true, false}},
		{"a failed action keeps what was said", func(b *story) *story { return b.approved(load).opened("roll-broker-1").failed("stop-1") },
			func(s State) any { a := s.Run.Actions["stop-1"]; return []any{a.OK, a.Failed, a.Detail} }, []any{false, true, "exit status 1"}},
		{"a written file is the one expected from then on", func(b *story) *story { return b.approved(load).opened("roll-broker-1").done("stop-1", "write-1") },
			func(s State) any { return s.Files[1] }, load.Steps[0].Actions[1].After},
		{"a file whose write failed is expected as before", func(b *story) *story {
			return b.add(KindApproved, Body{Approved: &Approved{Plan: load, Files: map[int32]string{1: "aa"}}}).opened("roll-broker-1").done("stop-1").failed("write-1")
		}, func(s State) any { return s.Files[1] }, "aa"},
		{"a start is remembered as the node's restart", func(b *story) *story {
			return b.approved(load).opened("roll-broker-1").done("stop-1", "write-1", "start-1")
		}, func(s State) any { return !s.Restarts[1].IsZero() }, true},
		{"an unclean stop is remembered", func(b *story) *story {
			return b.approved(load).opened("roll-broker-1").intent("stop-1").ended("stop-1", Outcome{OK: true, Unclean: true})
		}, func(s State) any { return s.Run.Actions["stop-1"].Unclean }, true},
		{"a step that is done measures its kind", func(b *story) *story { return b.approved(load).closed("roll-broker-1") },
			func(s State) any { return []any{s.Run.Open, s.Took[plan.Roll]} }, []any{"", []time.Duration{time.Second}}},
		{"a plan that is done completes its phase", func(b *story) *story { return b.approved(load).planDone() },
			func(s State) any { return []any{s.Run == nil, !s.Completed[cluster.Load].IsZero()} }, []any{true, true}},
		{"a drill on demand completes no phase", func(b *story) *story {
			return b.approved(plan.Plan{Phase: cluster.DualWrite, AdHoc: true}).planDone()
		}, func(s State) any { return len(s.Completed) }, 0},
		{"a void plan ends without completing its phase", func(b *story) *story {
			return b.approved(load).opened("roll-broker-1").add(KindPlanVoid, Body{Plan: &PlanRef{Why: "another file"}})
		}, func(s State) any { return []any{s.Run == nil, len(s.Completed)} }, []any{true, 0}},
		{"a block waits for a person", func(b *story) *story { return b.approved(load).opened("roll-broker-1").blocked() },
			func(s State) any { return s.Blocked.What }, "it failed"},
		{"a lifted block goes on from now", func(b *story) *story {
			return b.approved(load).opened("roll-broker-1").blocked().add(KindLifted, Body{})
		},
			func(s State) any { return []any{s.Blocked == nil, !s.Run.ResumedAt.IsZero()} }, []any{true, true}},
		{"a pause lasts until resume", func(b *story) *story { return b.add(KindPaused, Body{}) },
			func(s State) any { return s.Paused }, true},
		{"resume ends a pause", func(b *story) *story { return b.add(KindPaused, Body{}).add(KindResumed, Body{}) },
			func(s State) any { return s.Paused }, false},
		{"an acceptance covers exactly its subjects", func(b *story) *story {
			return b.add(KindAccepted, Body{Accepted: &Accepted{Gate: gates.ISRFull, Subjects: []string{"orders-1"}}})
		}, func(s State) any { return s.Accepted }, []gates.Acceptance{{Gate: gates.ISRFull, Subjects: []string{"orders-1"}}}},
		{"the soak clock is the newest entry", func(b *story) *story {
			return b.add(KindSoak, Body{Soak: &Soak{Elapsed: time.Second}}).add(KindSoak, Body{Soak: &Soak{Elapsed: time.Minute}})
		}, func(s State) any { return s.Soak.Elapsed }, time.Minute},
		{"drills that failed or were only the baseline do not count as passed", func(b *story) *story {
			for _, d := range []DrillRun{{Kind: "crash"}, {Kind: "crash", Passed: true}, {Kind: "clean", Passed: true}, {Kind: "clean", Passed: true}, {Kind: "zookeeper", Passed: true, Baseline: true}} {
				b.add(KindDrill, Body{Drill: &d})
			}
			return b
		}, func(s State) any { return s.PassedDrills() }, []string{"clean", "crash"}},
		{"a later note of a canary's run replaces the earlier", func(b *story) *story {
			return b.add(KindCanary, Body{Canary: &Canary{Run: "r1", Acked: 1, LongestStall: 3}}).add(KindCanary, Body{Canary: &Canary{Run: "r1", Acked: 5, LongestStall: 3}}).
				add(KindCanary, Body{Canary: &Canary{Run: "r2", Acked: 2, LongestStall: 2}})
		}, func(s State) any { return s.CanaryTotals() }, Canary{Acked: 7, LongestStall: 3}},
		{"finished is the end", func(b *story) *story { return b.add(KindFinished, Body{}) },
			func(s State) any { return s.Finished }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := tt.tell(begin(t))
			if diff := cmp.Diff(tt.want, tt.got(b.s)); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
		})
	}
}

func TestApplyRefusesAnEntryThatDoesNotFit(t *testing.T) {
	load := built(t, cluster.Load, provisioned()).Plan
	tests := []struct {
		name string
		tell func(*story) *story
		kind Kind
		body Body
		want string
	}{
		{"a kind of a newer version", nil, "rewound", Body{}, "unknown kind"},
		{"an approval without its plan", nil, KindApproved, Body{}, "body is missing"},
		{"a step while no plan runs", nil, KindOpened, Body{Opened: &Opened{Step: "roll-broker-1"}}, "no plan is under way"},
		{"an outcome while no plan runs", nil, KindOutcome, Body{Outcome: &Outcome{}}, "no plan is under way"},
		{"a step that the plan does not have", func(b *story) *story { return b.approved(load) }, KindOpened, Body{Opened: &Opened{Step: "roll-broker-9"}}, "roll-broker-9"},
		{"a second step while one is open", func(b *story) *story { return b.approved(load).opened("roll-broker-1") }, KindOpened, Body{Opened: &Opened{Step: "roll-broker-3"}}, "open already"},
		{"an intent of another step than the open one", func(b *story) *story { return b.approved(load).opened("roll-broker-1") }, KindIntent, Body{Intent: &Intent{Step: "roll-broker-3", Action: "stop-3"}}, "not the open one"},
		{"an intent of an action that the step does not have", func(b *story) *story { return b.approved(load).opened("roll-broker-1") }, KindIntent, Body{Intent: &Intent{Step: "roll-broker-1", Action: "stop-3"}}, "stop-3"},
		{"an outcome of another step than the open one", func(b *story) *story { return b.approved(load).opened("roll-broker-1") }, KindOutcome, Body{Outcome: &Outcome{Step: "roll-broker-3", Action: "stop-3"}}, "not the open one"},
		{"an outcome of an action that the step does not have", func(b *story) *story { return b.approved(load).opened("roll-broker-1") }, KindOutcome, Body{Outcome: &Outcome{Step: "roll-broker-1", Action: "stop-3", OK: true}}, "stop-3"},
		{"the end of a step that is not open", func(b *story) *story { return b.approved(load) }, KindStepDone, Body{StepDone: &StepDone{Step: "roll-broker-1"}}, "not the open one"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := begin(t)
			if tt.tell != nil {
				b = tt.tell(b)
			}
			got, err := Apply(b.s, Event{Seq: 99, Kind: tt.kind, Body: tt.body})
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "entry 99") {
				t.Errorf("error %v, want one that names entry 99 and %q", err, tt.want)
			}
			if diff := cmp.Diff(b.s, got); diff != "" {
				t.Errorf("a refused entry changed the state:\n%s", diff)
			}
		})
	}
}

func TestEveryKindIsUnderstood(t *testing.T) {
	for _, kind := range Kinds() {
		if _, err := Apply(New(), Event{Kind: kind}); err != nil && strings.Contains(err.Error(), "unknown kind") {
			t.Errorf("kind %s is listed and not understood: a journal of our own would be refused", kind)
		}
	}
}

// whole is a long journal with a failure, a retry and a second plan in it.
func whole(t *testing.T) *story {
	return begin(t).at(cluster.Initial).add(KindBound, Body{Bound: &Bound{ClusterID: testCluster}}).
		approved(rackPlan(t)).opened("roll-broker-1-2").done("stop-1", "stop-2", "write-1").failed("write-2").done("start-1", "start-2").
		blocked().retried().done("stop-2", "write-2", "start-2").closed("roll-broker-1-2").at(cluster.Load).
		opened("roll-broker-3").done("stop-3", "write-3", "start-3").closed("roll-broker-3").
		add(KindSoak, Body{Soak: &Soak{Elapsed: time.Second}}).add(KindDrill, Body{Drill: &DrillRun{Kind: "clean", Passed: true}})
}

func TestTheSameJournalTwiceGivesTheSameState(t *testing.T) {
	b := whole(t)
	replay := New()
	for _, e := range b.all {
		var err error
		if replay, err = Apply(replay, e); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(b.s, replay); diff != "" {
		t.Errorf("replayed state differs:\n%s", diff)
	}
}

// Two futures of one state must not share memory: the fold is asked again from
// the same state when an append failed.
func TestApplyChangesNeitherItsArgumentNorAnotherFuture(t *testing.T) {
	b := whole(t)
	for i := range b.all {
		before := New()
		for _, e := range b.all[:i] {
			before, _ = Apply(before, e)
		}
		untouched := New()
		for _, e := range b.all[:i] {
			untouched, _ = Apply(untouched, e)
		}
		first, err := Apply(before, b.all[i])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(untouched, before); diff != "" {
			t.Fatalf("entry %d (%s) changed the state it was applied to:\n%s", i+1, b.all[i].Kind, diff)
		}
		later := b.all[i]
		later.Time = later.Time.Add(time.Hour)
		snapshot := cmp.Diff(first, State{})
		if _, err := Apply(before, later); err != nil {
			t.Fatal(err)
		}
		if cmp.Diff(first, State{}) != snapshot {
			t.Fatalf("applying entry %d (%s) again changed the first result", i+1, b.all[i].Kind)
		}
	}
}
