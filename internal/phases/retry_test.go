package phases

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/cluster"
	"migrator/internal/plan"
)

// performs plays the open step on, every action succeeding, and lists what is
// performed, stage by stage.
func performs(b *story) [][]string {
	var out [][]string
	for range 20 {
		step, ok := b.s.OpenStep()
		if !ok {
			return out
		}
		d, urgent := actions(b.s, step, Situation{Judgement: passing(StepKey(step.ID, "before"))}, moment)
		if !urgent || d.Verb != Act {
			return out
		}
		var names []string
		for _, a := range d.Actions {
			names = append(names, a.ID)
			b.done(a.ID)
		}
		out = append(out, names)
	}
	return append(out, []string{"it never ends"})
}

func TestRetryGoesOnAtTheFirstActionNotDone(t *testing.T) {
	tests := []struct {
		name string
		tell func(*story) *story
		want [][]string
	}{
		{"a stop that failed begins the node again", func(b *story) *story {
			return b.approved(rackPlan(b.t)).opened("roll-broker-3").failed("stop-3").done("start-3")
		}, [][]string{{"stop-3"}, {"write-3"}, {"start-3"}}},
		{"a file that was not written takes stop, write and start again", func(b *story) *story {
			return b.approved(rackPlan(b.t)).opened("roll-broker-3").done("stop-3").failed("write-3").done("start-3")
		}, [][]string{{"stop-3"}, {"write-3"}, {"start-3"}}},
		{"a node with its file in place only starts", func(b *story) *story {
			return b.approved(rackPlan(b.t)).opened("roll-broker-3").done("stop-3", "write-3").failed("start-3")
		}, [][]string{{"start-3"}}},
		{"a node of the batch that runs with the wanted file is left alone", func(b *story) *story {
			return b.approved(rackPlan(b.t)).opened("roll-broker-1-2").done("stop-1", "stop-2", "write-1").failed("write-2").done("start-1", "start-2")
		}, [][]string{{"stop-2"}, {"write-2"}, {"start-2"}}},
		{"a batch of which one node could not be stopped begins both again", func(b *story) *story {
			return b.approved(rackPlan(b.t)).opened("roll-broker-1-2").done("stop-1").failed("stop-2").done("start-1", "start-2")
		}, [][]string{{"stop-1", "stop-2"}, {"write-1", "write-2"}, {"start-1", "start-2"}}},
		{"an action without a node is performed again", func(b *story) *story {
			return b.approved(built(b.t, cluster.Load, provisioned()).Plan).closed("roll-broker-1", "roll-broker-3", "roll-broker-2", "copy").opened("elect").failed("elect-preferred")
		}, [][]string{{"elect-preferred"}}},
		{"a block without a failed action repeats nothing", func(b *story) *story {
			return b.approved(rackPlan(b.t)).opened("roll-broker-3").done("stop-3", "write-3", "start-3")
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := tt.tell(begin(t).at(cluster.Initial)).blocked().retried()
			if b.s.Blocked != nil || b.s.Run.ResumedAt.IsZero() {
				t.Error("the block is not lifted, or progress does not count from the retry")
			}
			if diff := cmp.Diff(tt.want, performs(b)); diff != "" {
				t.Errorf("performed after the retry (-want +got):\n%s", diff)
			}
			if down := b.s.StoppedByUs(); len(down) > 0 {
				t.Errorf("nodes %v stay down", down)
			}
		})
	}
}

// A controller whose file could not be written was formatted and started all
// the same after a retry: the first undone action in the list decided the
// stage, not the lowest undone stage.
func TestAControllerIsNeverFormattedOrStartedBeforeItsFileIsWritten(t *testing.T) {
	b := begin(t).at(cluster.Initial).approved(built(t, cluster.Initial, atRest()).Plan).closed("canary-topic", "backup").opened("provision").
		done("write-3001", "write-3003").failed("write-3002").blocked().retried()
	want := [][]string{{"write-3002"}, {"format-3001", "format-3002", "format-3003"}, {"start-3001", "start-3002", "start-3003"}}
	if diff := cmp.Diff(want, performs(b)); diff != "" {
		t.Errorf("performed after the retry (-want +got):\n%s", diff)
	}
}

func TestAnAcceptedUncleanStopHoldsNothingAnyMore(t *testing.T) {
	b := begin(t).at(cluster.Initial).approved(rackPlan(t)).opened("roll-broker-3").intent("stop-3").ended("stop-3", Outcome{OK: true, Unclean: true}).done("write-3", "start-3")
	in := Situation{Judgement: passing(StepKey("roll-broker-3", "done")), StepTimeout: migration().Gates.StepTimeout}
	if d := Decide(b.s, in, moment); d.Verb != Block {
		t.Fatalf("decided %s, want block: the stop was not clean", d.Verb)
	}
	b.blocked().retried()
	if d := Decide(b.s, in, moment); d.Verb != CloseStep {
		t.Errorf("decided %s (%s), want close-step: a person has looked", d.Verb, d.Why)
	}
	if diff := cmp.Diff([][]string(nil), performs(b)); diff != "" {
		t.Errorf("performed again:\n%s", diff)
	}
}

// A failed copy halts controllers. The revert that then stops what is left
// found that they had not ended cleanly, and waited for a person at the very
// moment when nobody acts.
func TestControllersThatHaltedBeforeARevertStopsThemHoldNothing(t *testing.T) {
	p := back(t, migrated(t).s, loaded(), cluster.Initial).Plan
	step, ok := p.Step("stop-controllers")
	if !ok {
		t.Fatal("the plan stops no controllers")
	}
	b := migrated(t).approved(p).closed("drain").opened(step.ID)
	for _, a := range step.Actions {
		b.intent(a.ID).ended(a.ID, Outcome{OK: true, Unclean: a.Kind == plan.Stop})
	}
	if id := unclean(b.s, step); id != "" {
		t.Errorf("%s holds the way back", id)
	}
}
