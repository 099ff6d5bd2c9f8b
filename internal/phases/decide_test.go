package phases

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/cluster"
	"migrator/internal/gates"
	"migrator/internal/plan"
)

// look is a situation in which everything is fine and nothing was judged to pass yet.
func look(located cluster.Phase, keys ...string) Situation {
	return Situation{Snapshot: provisioned(), Located: Located{Phase: located, OK: true, Why: "as the facts show"}, Inventory: inventory(),
		Judgement: passing(append(keys, WatchSet)...), StepTimeout: 5 * time.Minute, Progress: moment.Add(time.Minute)}
}

func ids(actions []plan.Action) []string {
	var out []string
	for _, a := range actions {
		out = append(out, a.ID)
	}
	return out
}

// told is what of a decision the tests compare.
type told struct {
	Verb    Verb
	Step    string
	Actions []string
	To      cluster.Phase
}

func tell(d Decision) told {
	return told{Verb: d.Verb, Step: d.Step.ID, Actions: ids(d.Actions), To: d.To}
}

func TestDecideAnswersExactlyOneThing(t *testing.T) {
	offered := &plan.Plan{Phase: cluster.Load, Digest: "d1"}
	rolling := func(t *testing.T) *story { return begin(t).at(cluster.Initial).approved(rackPlan(t)) }
	tests := []struct {
		name string
		tell func(*testing.T) *story
		in   Situation
		want told
		why  string // part of the reason
	}{
		{"nothing seen yet is waited for", func(t *testing.T) *story { return begin(t) }, Situation{Located: Located{Why: "no snapshot yet"}}, told{Verb: Wait}, "no snapshot"},
		{"the first located phase is recorded", func(t *testing.T) *story { return begin(t) }, look(cluster.Load), told{Verb: Advance, To: cluster.Load}, ""},
		{"gates before the plan hold the offer back and are named", func(t *testing.T) *story { return begin(t).at(cluster.Initial) },
			func() Situation {
				in := look(cluster.Initial)
				in.Offer, in.Judgement = offered, refuses(in.Judgement, EnterKey(cluster.Initial), gates.NoReassign, gates.Fail)
				return in
			}(), told{Verb: Wait}, "no-reassignment fail: evidence of no-reassignment"},
		{"an unknown gate holds as a failed one does", func(t *testing.T) *story { return begin(t).at(cluster.Initial) },
			func() Situation {
				in := look(cluster.Initial)
				in.Offer, in.Judgement = offered, refuses(in.Judgement, EnterKey(cluster.Initial), gates.NoReassign, gates.Unknown)
				return in
			}(), told{Verb: Wait}, "no-reassignment unknown"},
		{"guards hold the offer back", func(t *testing.T) *story { return begin(t).at(cluster.Initial) },
			func() Situation {
				in := look(cluster.Initial, EnterKey(cluster.Initial))
				in.Offer, in.Judgement = offered, refuses(in.Judgement, WatchSet, gates.OneDriver, gates.Fail)
				return in
			}(), told{Verb: Wait}, "one-driver"},
		{"passing gates offer the plan", func(t *testing.T) *story { return begin(t).at(cluster.Initial) },
			func() Situation {
				in := look(cluster.Initial, EnterKey(cluster.Initial))
				in.Offer = offered
				return in
			}(), told{Verb: Ask}, "can start"},
		{"a plan that cannot be built says why", func(t *testing.T) *story { return begin(t).at(cluster.Initial) },
			func() Situation {
				in := look(cluster.Initial, EnterKey(cluster.Initial))
				in.OfferWhy = "broker 2 runs at 3.8"
				return in
			}(), told{Verb: Wait}, "3.8"},
		{"a pause holds the offer", func(t *testing.T) *story { return begin(t).at(cluster.Initial).add(KindPaused, Body{}) },
			func() Situation {
				in := look(cluster.Initial, EnterKey(cluster.Initial))
				in.Offer = offered
				return in
			}(), told{Verb: Wait}, "paused"},
		{"where only the way back is open nothing is offered", func(t *testing.T) *story { return begin(t).at(cluster.Initial).at(cluster.Load) },
			func() Situation {
				in := look(cluster.Load, EnterKey(cluster.Load))
				in.Offer, in.Located.Refused = offered, "only the way back is open"
				return in
			}(), told{Verb: Wait}, "only the way back"},
		{"an emergency blocks", func(t *testing.T) *story { return begin(t).at(cluster.Initial) },
			Situation{Located: Located{Emergency: "broker 9 is registered"}, Judgement: passing(WatchSet)}, told{Verb: Block}, ""},

		{"the next batch opens when its gates pass", rolling, look(cluster.Initial, StepKey("roll-broker-3", "before")), told{Verb: Open, Step: "roll-broker-3"}, ""},
		{"a batch whose gates do not pass is waited for", rolling,
			func() Situation {
				in := look(cluster.Initial)
				in.Judgement = refuses(in.Judgement, StepKey("roll-broker-3", "before"), gates.ISRFull, gates.Fail)
				return in
			}(), told{Verb: Wait, Step: "roll-broker-3"}, "isr-full"},
		{"guards hold the next batch", rolling,
			func() Situation {
				in := look(cluster.Initial, StepKey("roll-broker-3", "before"))
				in.Judgement = refuses(in.Judgement, WatchSet, gates.OneDriver, gates.Unknown)
				return in
			}(), told{Verb: Wait, Step: "roll-broker-3"}, "one-driver"},
		{"a pause opens no further batch", func(t *testing.T) *story { return rolling(t).add(KindPaused, Body{}) },
			look(cluster.Initial, StepKey("roll-broker-3", "before")), told{Verb: Wait}, "paused"},
		{"a service that stops opens no further batch", rolling,
			func() Situation {
				in := look(cluster.Initial, StepKey("roll-broker-3", "before"))
				in.Draining = true
				return in
			}(), told{Verb: Wait}, "stopping"},
		{"an open batch begins with its stops together", func(t *testing.T) *story { return rolling(t).opened("roll-broker-1-2") },
			look(cluster.Initial, StepKey("roll-broker-1-2", "before")), told{Verb: Act, Step: "roll-broker-1-2", Actions: []string{"stop-1", "stop-2"}}, ""},
		{"no file is written before both nodes are down", func(t *testing.T) *story { return rolling(t).opened("roll-broker-1-2").done("stop-1") },
			look(cluster.Initial), told{Verb: Act, Step: "roll-broker-1-2", Actions: []string{"stop-2"}}, ""},
		{"no node starts before both files are written", func(t *testing.T) *story {
			return rolling(t).opened("roll-broker-1-2").done("stop-1", "stop-2", "write-2")
		}, look(cluster.Initial), told{Verb: Act, Step: "roll-broker-1-2", Actions: []string{"write-1"}}, ""},
		{"what is being performed is waited for", func(t *testing.T) *story { return rolling(t).opened("roll-broker-1-2").done("stop-1").intent("stop-2") },
			func() Situation { in := look(cluster.Initial); in.Busy = []string{"stop-2"}; return in }(), told{Verb: Wait, Step: "roll-broker-1-2"}, "performing stop-2"},
		{"an action in doubt comes first", func(t *testing.T) *story { return rolling(t).opened("roll-broker-1-2").done("stop-1").intent("stop-2") },
			look(cluster.Initial), told{Verb: Act, Step: "roll-broker-1-2", Actions: []string{"stop-2"}}, "in doubt"},
		{"nodes that are down come back even while paused", func(t *testing.T) *story {
			return rolling(t).opened("roll-broker-3").done("stop-3").add(KindPaused, Body{})
		}, look(cluster.Initial), told{Verb: Act, Step: "roll-broker-3", Actions: []string{"write-3"}}, ""},
		{"nodes that are down come back without any snapshot", func(t *testing.T) *story { return rolling(t).opened("roll-broker-3").done("stop-3", "write-3") },
			Situation{}, told{Verb: Act, Step: "roll-broker-3", Actions: []string{"start-3"}}, ""},
		{"nodes that are down come back while the service stops", func(t *testing.T) *story { return rolling(t).opened("roll-broker-3").done("stop-3", "write-3") },
			func() Situation { in := look(cluster.Initial); in.Draining = true; return in }(), told{Verb: Act, Step: "roll-broker-3", Actions: []string{"start-3"}}, ""},
		{"nodes that are down come back in spite of a block", func(t *testing.T) *story {
			return rolling(t).opened("roll-broker-3").done("stop-3", "write-3").blocked()
		}, look(cluster.Initial), told{Verb: Act, Step: "roll-broker-3", Actions: []string{"start-3"}}, ""},
		{"a step waits for its gates", func(t *testing.T) *story {
			return rolling(t).opened("roll-broker-3").done("stop-3", "write-3", "start-3")
		},
			func() Situation {
				in := look(cluster.Initial)
				in.Judgement = refuses(in.Judgement, StepKey("roll-broker-3", "done"), gates.CaughtUp, gates.Fail)
				return in
			}(), told{Verb: Wait, Step: "roll-broker-3"}, "caught-up"},
		{"a step closes when its gates passed", func(t *testing.T) *story {
			return rolling(t).opened("roll-broker-3").done("stop-3", "write-3", "start-3")
		},
			look(cluster.Initial, StepKey("roll-broker-3", "done")), told{Verb: CloseStep, Step: "roll-broker-3"}, ""},
		{"a step does not close for one good poll", func(t *testing.T) *story {
			return rolling(t).opened("roll-broker-3").done("stop-3", "write-3", "start-3")
		},
			func() Situation {
				in := look(cluster.Initial)
				in.Judgement.Sets[StepKey("roll-broker-3", "done")] = gates.SetState{Passing: true, Good: 1, Need: 3}
				return in
			}(), told{Verb: Wait, Step: "roll-broker-3"}, "1 of 3"},
		{"the plan closes after its last step", func(t *testing.T) *story {
			return rolling(t).closed("roll-broker-3", "roll-broker-1-2", "copy", "elect")
		}, look(cluster.Initial), told{Verb: ClosePlan}, ""},
		{"the phase follows the facts within the plan", func(t *testing.T) *story {
			return rolling(t).opened("roll-broker-3").done("stop-3", "write-3", "start-3")
		},
			look(cluster.Load), told{Verb: Advance, To: cluster.Load}, ""},
		{"a phase behind the recorded one is drift", func(t *testing.T) *story { return begin(t).at(cluster.Initial).at(cluster.Load) }, look(cluster.Initial), told{Verb: Drift}, "the facts show initial"},
		{"a phase nobody approved is drift", func(t *testing.T) *story { return begin(t).at(cluster.Initial) }, look(cluster.Load), told{Verb: Drift}, "the facts show load"},
		{"a phase beyond the running plan is followed only as far as the plan goes", rolling, look(cluster.Finalize), told{Verb: Advance, To: cluster.Load}, ""},
		{"and is drift from there", func(t *testing.T) *story { return rolling(t).at(cluster.Load) }, look(cluster.Finalize), told{Verb: Drift}, "the facts show finalize"},
		{"the end of the migration finishes", func(t *testing.T) *story { return begin(t).at(cluster.Finalize) },
			look(cluster.Finalize, DoneKey(cluster.Finalize)), told{Verb: Finish}, ""},
		{"after the end nothing is decided any more", func(t *testing.T) *story { return begin(t).at(cluster.Finalize).add(KindFinished, Body{}) },
			look(cluster.Initial), told{Verb: Wait}, "finished"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := Decide(tt.tell(t).s, tt.in, moment.Add(time.Minute))
			if diff := cmp.Diff(tt.want, tell(d)); diff != "" {
				t.Errorf("decision (-want +got):\n%s\nwhy: %s", diff, d.Why)
			}
			if !strings.Contains(d.Why, tt.why) {
				t.Errorf("why %q does not say %q", d.Why, tt.why)
			}
		})
	}
}

// A service killed between opening a step and its first stop must not stop a
// node an hour later on gates it judged before the kill.
func TestAnOpenedStepIsJudgedAgainBeforeItsFirstStop(t *testing.T) {
	b := begin(t).at(cluster.Initial).approved(rackPlan(t)).opened("roll-broker-3")
	if d := Decide(b.s, Situation{Located: Located{Why: "no snapshot yet"}}, moment); d.Verb != Wait {
		t.Errorf("without a snapshot decided %s %v, want wait", d.Verb, ids(d.Actions))
	}
	in := look(cluster.Initial)
	in.Judgement = refuses(in.Judgement, StepKey("roll-broker-3", "before"), gates.NoOtherDown, gates.Fail)
	if d := Decide(b.s, in, moment); d.Verb != Wait || !strings.Contains(d.Why, gates.NoOtherDown) {
		t.Errorf("with another node down decided %s (%s), want to wait for it", d.Verb, d.Why)
	}
	if d := Decide(b.s, look(cluster.Initial, StepKey("roll-broker-3", "before")), moment); d.Verb != Act {
		t.Errorf("with passing gates decided %s (%s), want act", d.Verb, d.Why)
	}
	sets := Sets(b.s, provisioned(), inventory(), 3)
	if !slices.ContainsFunc(sets, func(s gates.Set) bool { return s.Key == StepKey("roll-broker-3", "before") && len(s.Gates) > 5 }) {
		t.Error("the gates before the opened step are not judged")
	}
}

// A retry redoes the stop of a node that was brought back; hours may have passed.
func TestARetryJudgesTheGatesAgainBeforeItStopsANode(t *testing.T) {
	b := begin(t).at(cluster.Initial).approved(rackPlan(t)).opened("roll-broker-1-2").done("stop-1", "stop-2", "write-1").failed("write-2").done("start-1", "start-2").blocked().retried()
	if d := Decide(b.s, look(cluster.Initial), moment); d.Verb != Wait {
		t.Errorf("decided %s %v without passing gates, want wait", d.Verb, ids(d.Actions))
	}
	if d := Decide(b.s, look(cluster.Initial, StepKey("roll-broker-1-2", "before")), moment); d.Verb != Act {
		t.Errorf("decided %s (%s), want act", d.Verb, d.Why)
	}
}

// A service told to stop right after a step without gates had opened took the
// step for done, although nothing of it was performed.
func TestAServiceThatStopsClosesNoStepThatItDidNotPerform(t *testing.T) {
	b := begin(t).at(cluster.Initial).approved(built(t, cluster.Initial, atRest()).Plan).closed("canary-topic").opened("backup")
	in := look(cluster.Initial, StepKey("backup", "before"), StepKey("backup", "done"))
	in.Draining = true
	if d := Decide(b.s, in, moment); d.Verb != Wait {
		t.Errorf("decided %s, want wait: no znode was saved", d.Verb)
	}
	in.Draining = false
	if d := Decide(b.s, in, moment); d.Verb != Act {
		t.Errorf("decided %s, want act", d.Verb)
	}
}

func TestAFailedActionBringsStoppedNodesBackThenBlocks(t *testing.T) {
	tests := []struct {
		name string
		tell func(*story) *story
		want []told
	}{
		{"a file cannot be written", func(b *story) *story {
			return b.opened("roll-broker-1-2").done("stop-1", "stop-2", "write-1").failed("write-2")
		},
			[]told{{Verb: Act, Step: "roll-broker-1-2", Actions: []string{"start-1", "start-2"}}, {Verb: Block, Step: "roll-broker-1-2"}}},
		{"a node cannot be stopped", func(b *story) *story { return b.opened("roll-broker-1-2").done("stop-1").failed("stop-2") },
			[]told{{Verb: Act, Step: "roll-broker-1-2", Actions: []string{"start-1", "start-2"}}, {Verb: Block, Step: "roll-broker-1-2"}}},
		{"one of two nodes does not start", func(b *story) *story {
			return b.opened("roll-broker-1-2").done("stop-1", "stop-2", "write-1", "write-2", "start-1").failed("start-2")
		}, []told{{Verb: Block, Step: "roll-broker-1-2"}}},
		{"nothing is down", func(b *story) *story {
			return b.closed("roll-broker-3", "roll-broker-1-2", "copy").opened("elect").failed("elect-preferred")
		}, []told{{Verb: Block, Step: "elect"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := tt.tell(begin(t).at(cluster.Initial).approved(rackPlan(t)))
			for _, want := range tt.want {
				d := Decide(b.s, look(cluster.Initial), moment)
				if diff := cmp.Diff(want, tell(d)); diff != "" {
					t.Fatalf("decision (-want +got):\n%s", diff)
				}
				if d.Verb == Act && !d.Restore {
					t.Error("the start is not marked as bringing a node back")
				}
				if d.Verb == Block && !strings.Contains(d.Blocked.What, "exit status 1") {
					t.Errorf("the block %q does not say what failed", d.Blocked.What)
				}
				b.done(ids(d.Actions)...)
			}
			b.blocked()
			if d := Decide(b.s, look(cluster.Initial), moment); d.Verb != Wait {
				t.Errorf("after the block decided %s %v, want wait", d.Verb, ids(d.Actions))
			}
		})
	}
}

func TestTimeWithoutProgressBlocksAndProgressHoldsItOff(t *testing.T) {
	step := func(t *testing.T, kind plan.StepKind) *story {
		p := plan.Plan{Phase: cluster.DualWrite, Steps: []plan.Step{{ID: "s", Kind: kind}}}
		return begin(t).at(cluster.DualWrite).approved(p).opened("s")
	}
	tests := []struct {
		name     string
		kind     plan.StepKind
		progress time.Duration
		now      time.Duration
		want     Verb
	}{
		{"within the limit it waits", plan.Copy, 0, 4 * time.Minute, Wait},
		{"past the limit it blocks", plan.Copy, 0, 6 * time.Minute, Block},
		{"progress starts the limit again", plan.Copy, 4 * time.Minute, 8 * time.Minute, Wait},
		{"a soak has its own clock", plan.SoakEnd, 0, 48 * time.Hour, Wait},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := look(cluster.DualWrite)
			in.Progress = moment.Add(tt.progress)
			d := Decide(step(t, tt.kind).s, in, moment.Add(tt.now))
			if d.Verb != tt.want {
				t.Errorf("decided %s, want %s", d.Verb, tt.want)
			}
		})
	}
	b := step(t, plan.Copy).blocked()
	b.all = make([]Event, 600) // ten minutes later
	b.retried()
	if d := Decide(b.s, look(cluster.DualWrite), moment.Add(11*time.Minute)); d.Verb != Wait {
		t.Errorf("right after a retry decided %s, want wait", d.Verb)
	}
}

func TestASoakEndsOnlyWhenItsTimeIsWhole(t *testing.T) {
	b := begin(t).at(cluster.DualWrite).approved(built(t, cluster.DualWrite, dualWriting()).Plan).
		add(KindSoak, Body{Soak: &Soak{Required: time.Hour, Elapsed: 59 * time.Minute}}).closed("soak-begin", "drill-clean", "drill-crash").opened("soak-end")
	in := look(cluster.DualWrite, StepKey("soak-end", "done"))
	if d := Decide(b.s, in, moment); d.Verb != Wait {
		t.Errorf("with a minute missing decided %s, want wait", d.Verb)
	}
	b.add(KindSoak, Body{Soak: &Soak{Required: time.Hour, Elapsed: time.Hour}})
	if d := Decide(b.s, in, moment); d.Verb != CloseStep {
		t.Errorf("with the time whole decided %s, want close-step", d.Verb)
	}
}

func TestAGuardThatFailsBlocksOnceSomethingWasBegun(t *testing.T) {
	failing := func() Situation {
		in := look(cluster.Initial, EnterKey(cluster.Initial))
		in.Judgement = refuses(in.Judgement, WatchSet, gates.FilesOurs, gates.Fail)
		return in
	}
	if d := Decide(begin(t).at(cluster.Initial).s, failing(), moment); d.Verb != Wait {
		t.Errorf("before anything was begun decided %s, want wait", d.Verb)
	}
	b := begin(t).at(cluster.Initial).approved(rackPlan(t))
	d := Decide(b.s, failing(), moment)
	if d.Verb != Block || d.Blocked.Gate != gates.FilesOurs {
		t.Fatalf("during a plan decided %s by gate %q, want block by %s", d.Verb, d.Blocked.Gate, gates.FilesOurs)
	}
	b.add(KindBlocked, Body{Blocked: &d.Blocked})
	if d := Decide(b.s, failing(), moment); d.Verb != Wait {
		t.Errorf("while it fails decided %s, want wait", d.Verb)
	}
	healed := look(cluster.Initial)
	healed.Judgement.Verdicts = []gates.Judged{{Verdict: gates.Verdict{Gate: gates.FilesOurs, Result: gates.Pass}}}
	if d := Decide(b.s, healed, moment); d.Verb != Lift {
		t.Errorf("after it passes decided %s, want lift", d.Verb)
	}
	if d := Decide(b.s, look(cluster.Initial), moment); d.Verb != Wait {
		t.Errorf("while it is not judged decided %s, want wait", d.Verb)
	}
}

func TestOfferedPhase(t *testing.T) {
	load := plan.Plan{Phase: cluster.Load}
	tests := []struct {
		name string
		tell func(*story) *story
		j    gates.Judgement
		soak time.Duration
		want cluster.Phase
		done bool
	}{
		{"nothing before the phase is known", func(b *story) *story { return b }, passing(DoneKey(cluster.Initial)), 0, "", false},
		{"the phase's own plan while it is not complete", func(b *story) *story { return b.at(cluster.Initial) }, passing(), 0, cluster.Initial, false},
		{"the next plan once it is complete", func(b *story) *story { return b.at(cluster.Initial) }, passing(DoneKey(cluster.Initial)), 0, cluster.Load, true},
		{"nothing while its plan is done and its gates do not pass", func(b *story) *story { return b.at(cluster.Initial).approved(load).at(cluster.Load).planDone() }, passing(), 0, "", false},
		{"the phase's own plan for a cluster to adopt", func(b *story) *story { return b.at(cluster.Load) }, passing(DoneKey(cluster.Load)), 0, cluster.Load, true},
		{"load is complete only after its soak", func(b *story) *story { return b.at(cluster.Initial).at(cluster.Load) }, passing(DoneKey(cluster.Load)), time.Hour, cluster.Load, false},
		{"and then goes on", func(b *story) *story { return b.at(cluster.Initial).approved(load).at(cluster.Load).planDone() }, passing(DoneKey(cluster.Load)), time.Hour, cluster.Hybrid, true},
		{"nothing after finalize", func(b *story) *story { return b.at(cluster.Initial).at(cluster.Finalize) }, passing(DoneKey(cluster.Finalize)), 0, "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tt.tell(begin(t)).s
			if got, _ := OfferedPhase(s, tt.j, tt.soak); got != tt.want {
				t.Errorf("offered %q, want %q", got, tt.want)
			}
			if got := PhaseComplete(s, tt.j, tt.soak); got != tt.done {
				t.Errorf("complete %v, want %v", got, tt.done)
			}
		})
	}
}
