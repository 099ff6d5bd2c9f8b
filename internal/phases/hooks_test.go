package phases

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/plan"
)

func withHooks(in *Inputs) {
	in.Migration.Hooks = config.Hooks{Freeze: []string{"puppet", "off"}, Thaw: []string{"puppet", "on"},
		BeforeNode: []string{"lb", "drain", "{id}", "{host}"}, AfterNode: []string{"lb", "add", "{id}", "{host}"}}
}

func TestHooksStandAroundEachPlanAndEachNodesStep(t *testing.T) {
	p := built(t, cluster.Load, provisioned(), withHooks).Plan
	var first plan.Step
	var order []string
	for _, s := range p.Steps {
		order = append(order, s.ID)
		if s.ID == "roll-broker-1" {
			first = s
		}
	}
	if diff := cmp.Diff([]string{"freeze", "roll-broker-1", "roll-broker-3", "roll-broker-2", "copy", "elect", "thaw"}, order); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	var argv []string
	for _, a := range first.Actions {
		argv = append(argv, strings.Join(a.Argv, " "))
	}
	if diff := cmp.Diff([]string{"lb drain 1 b1", "stop 1", "", "start 1", "lb add 1 b1"}, argv); diff != "" {
		t.Errorf("actions of broker 1 (-want +got):\n%s", diff)
	}
	if plain := built(t, cluster.Load, provisioned()).Plan; plain.Digest == p.Digest {
		t.Error("an approval does not cover the hooks")
	}
}

func TestAfterNodeWaitsUntilTheNodesGatesPass(t *testing.T) {
	b := begin(t).at(cluster.Initial).approved(built(t, cluster.Load, provisioned(), withHooks).Plan).closed("freeze").opened("roll-broker-1").
		done("before-node-1").done("stop-1", "write-1", "start-1")
	in := Situation{Judgement: passing(), StepTimeout: migration().Gates.StepTimeout}
	if d := Decide(b.s, in, moment); d.Verb != Wait {
		t.Errorf("decided %s while the node's gates do not pass, want wait", d.Verb)
	}
	in.Judgement = passing(StepKey("roll-broker-1", "done"))
	if d := Decide(b.s, in, moment); d.Verb != Act || strings.Join(ids(d.Actions), " ") != "after-node-1" {
		t.Errorf("decided %s of %v, want after-node-1 to be run", d.Verb, ids(d.Actions))
	}
	in.Draining = true
	if d := Decide(b.s, in, moment); d.Verb != Wait {
		t.Errorf("decided %s while the service stops, want wait", d.Verb)
	}
	b.done("after-node-1")
	if d := Decide(b.s, in, moment); d.Verb != CloseStep {
		t.Errorf("decided %s after the hook, want close-step", d.Verb)
	}
}

// A stop that was not clean waits for a person; the hook that was still to come
// counted as an action of the node that was not done, and the block came back for ever.
func TestAnUncleanStopIsAcceptedWhileAHookIsStillToCome(t *testing.T) {
	b := begin(t).at(cluster.Initial).approved(built(t, cluster.Load, provisioned(), withHooks).Plan).closed("freeze").opened("roll-broker-1").
		done("before-node-1").intent("stop-1").ended("stop-1", Outcome{OK: true, Unclean: true}).done("write-1", "start-1")
	in := Situation{Judgement: passing(StepKey("roll-broker-1", "done")), StepTimeout: migration().Gates.StepTimeout}
	if d := Decide(b.s, in, moment); d.Verb != Block {
		t.Fatalf("decided %s, want block: the stop was not clean", d.Verb)
	}
	b.blocked().retried()
	if d := Decide(b.s, in, moment); d.Verb != Act || strings.Join(ids(d.Actions), " ") != "after-node-1" {
		t.Errorf("decided %s of %v (%s), want after-node-1: a person has looked", d.Verb, ids(d.Actions), d.Why)
	}
}

func TestAHookThatChangedVoidsThePlan(t *testing.T) {
	b := begin(t).at(cluster.Initial).approved(built(t, cluster.Load, provisioned(), withHooks).Plan)
	in := Inputs{Migration: migration()}
	withHooks(&in)
	if got := Conflicts(b.s, in.Migration); len(got) > 0 {
		t.Fatalf("conflicts with what was approved: %q", got)
	}
	in.Migration.Hooks.BeforeNode = []string{"lb", "drain", "--now", "{id}"}
	got := Conflicts(b.s, in.Migration)
	if len(got) != 3 || !strings.Contains(got[0], `the hook before-node-1 was approved as ["lb" "drain" "1" "b1"] and is now ["lb" "drain" "--now" "1"]`) {
		t.Errorf("conflicts %q, want one for each broker with both commands", got)
	}
}

// Controllers that stop for good get their hook at the end: a slow one would make
// the time without any controller longer.
func TestNoHookMakesTheTimeWithoutAControllerLonger(t *testing.T) {
	b, _, err := BuildRevert(RevertInputs{Inputs: inputs(cluster.Initial, loaded(), withHooks), State: migrated(t).s,
		Content: func(sha string) ([]byte, error) { return built(t, cluster.Load, provisioned()).Contents[sha], nil }})
	if err != nil {
		t.Fatal(err)
	}
	within := false
	for _, step := range b.Plan.Steps {
		for _, a := range step.Actions {
			if within && a.Kind.Hook() {
				t.Errorf("%s runs %s before anybody is the controller again", step.ID, a.ID)
			}
		}
		within = (within || step.Kind == plan.StopControllers) && step.Kind != plan.Follow
	}
	last := b.Plan.Steps[len(b.Plan.Steps)-2]
	if last.ID != "after-nodes" || len(last.Actions) != 3 {
		t.Errorf("before the thaw stands %s with %d actions, want after-nodes of the three controllers", last.ID, len(last.Actions))
	}
}
