package phases

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/cluster"
	"migrator/internal/plan"
)

// Commands may be left out for nodes that a person drives, who is told Kafka's
// own way to format all the same, with the cluster's id in it.
func TestAPersonIsToldHowToFormat(t *testing.T) {
	b := built(t, cluster.Initial, atRest(), func(in *Inputs) {
		for i := range in.Migration.Nodes {
			in.Migration.Nodes[i].Access.Kind, in.Migration.Nodes[i].Commands.Format = manualAccess, nil
		}
	})
	step, _ := b.Plan.Step("provision")
	for _, a := range step.Actions {
		if !a.Manual {
			t.Errorf("%s would be done by the service", a.ID)
		}
		if a.Kind != plan.FormatDirs {
			continue
		}
		want := []string{"kafka-storage.sh", "format", "--cluster-id=" + testCluster, "--release-version=3.9-IV0", "--config"}
		if diff := cmp.Diff(want, a.Argv[:len(a.Argv)-1]); diff != "" {
			t.Errorf("argv of %s (-want +got):\n%s", a.ID, diff)
		}
	}
}

// A changed way to a node voids what is left of its plan: nobody was asked for it.
func TestAnotherWayToANodeVoidsThePlan(t *testing.T) {
	b := begin(t).at(cluster.Initial).approved(built(t, cluster.Load, provisioned()).Plan)
	m := migration()
	if got := Conflicts(b.s, m); len(got) > 0 {
		t.Fatalf("conflicts with what was approved: %q", got)
	}
	m.Nodes[0].Access.Kind = manualAccess
	if got := Conflicts(b.s, m); len(got) != 3 {
		t.Errorf("conflicts %q, want one for each action of broker 1", got)
	}
}
