package phases

import (
	"slices"
	"strings"
	"testing"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/plan"
)

// With the controllers one value counts where each broker had its own: the plan
// that makes them says so before it is approved, and no secret with it.
func TestThePlanForControllersNamesWhatBrokersDifferIn(t *testing.T) {
	snap := atRest()
	file, _ := snap.Files[2].Get()
	content := append(append([]byte{}, file.Content...), "unclean.leader.election.enable=true\npassword.encoder.secret=s3cr3t\n"...)
	snap.Files[2] = known(facts.File{Exists: true, SHA256: hash(content), Content: content, Mode: cluster.ZK})
	memo := &Memo{}
	for range 2 { // the second time it is remembered
		b := built(t, cluster.Initial, snap, func(in *Inputs) { in.Memo = memo })
		text := strings.Join(provisionStep(t, b.Plan).Warnings, "\n")
		if !strings.Contains(text, "unclean.leader.election.enable: false by default on broker 1, 3, true on broker 2") || strings.Contains(text, "s3cr3t") {
			t.Errorf("warnings: %q", text)
		}
	}
	same := built(t, cluster.Initial, atRest(), func(in *Inputs) { in.Memo = memo })
	if w := provisionStep(t, same.Plan).Warnings; len(w) != 0 {
		t.Errorf("brokers that agree: %q", w)
	}
}

func provisionStep(t *testing.T, p plan.Plan) plan.Step {
	t.Helper()
	i := slices.IndexFunc(p.Steps, func(s plan.Step) bool { return s.Kind == plan.Provision })
	if i < 0 {
		t.Fatal("the plan provisions nothing")
	}
	return p.Steps[i]
}
