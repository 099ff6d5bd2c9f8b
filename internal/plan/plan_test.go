package plan

import (
	"testing"
	"time"

	"migrator/internal/cluster"
)

func ptr[T any](v T) *T { return &v }

func sample() Plan {
	return Plan{Name: "payments", ClusterID: "abc", Phase: cluster.Load, Limits: Limits{GoodPolls: 3, PollInterval: 2 * time.Second}, Steps: []Step{
		{ID: "first", Kind: Copy, Sentence: "wait", Done: []string{"parity"}},
		{ID: "roll-broker-1", Kind: Roll, Batch: []int32{1}, Mode: cluster.ZKMigrating, Rule: ZooKeeperCtlLast, Before: []string{"isr-full"},
			Actions: []Action{{ID: "stop-1", Kind: Stop, Node: ptr(int32(1)), Argv: []string{"stop"}}, {ID: "write-1", Kind: Write, Stage: 1, Node: ptr(int32(1)), Path: "/p", Before: "aa", After: "bb"}}},
		{ID: "roll-broker-2", Kind: Roll, Batch: []int32{2}, Impact: []string{"logs-0"}},
		{ID: "last", Kind: Elect},
	}}
}

func digest(t *testing.T, change func(*Plan)) string {
	t.Helper()
	p := sample()
	if change != nil {
		change(&p)
	}
	sealed, err := p.Seal()
	if err != nil {
		t.Fatal(err)
	}
	return sealed.Digest
}

func TestTheDigestCoversWhatAnApprovalPromisesAndNothingElse(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Plan)
		same   bool
	}{
		{"nothing", nil, true},
		{"a sentence", func(p *Plan) { p.Steps[1].Sentence = "restart it" }, true},
		{"how it is undone, in words", func(p *Plan) { p.Steps[1].Undo = "write the old file" }, true},
		{"an estimate", func(p *Plan) { p.Steps[1].Expected = ptr(12.0) }, true},
		{"the wording of a diff", func(p *Plan) { p.Steps[1].Diffs = []Diff{{Unified: "+a"}} }, true},
		{"an earlier digest", func(p *Plan) { p.Digest = "old" }, true},
		{"the shown order of batches", func(p *Plan) { p.Steps[1], p.Steps[2] = p.Steps[2], p.Steps[1] }, true},
		{"a roll moved behind another step", func(p *Plan) { p.Steps[2], p.Steps[3] = p.Steps[3], p.Steps[2] }, false},
		{"the name", func(p *Plan) { p.Name = "billing" }, false},
		{"the cluster", func(p *Plan) { p.ClusterID = "def" }, false},
		{"the phase", func(p *Plan) { p.Phase = cluster.Hybrid }, false},
		{"a batch", func(p *Plan) { p.Steps[1].Batch = []int32{1, 2} }, false},
		{"which node comes last", func(p *Plan) { p.Steps[1].Rule = ActiveCtlLast }, false},
		{"the wanted mode", func(p *Plan) { p.Steps[1].Mode = cluster.KRaft }, false},
		{"a command", func(p *Plan) { p.Steps[1].Actions[0].Argv = []string{"stop", "-f"} }, false},
		{"a file before", func(p *Plan) { p.Steps[1].Actions[1].Before = "cc" }, false},
		{"a file after", func(p *Plan) { p.Steps[1].Actions[1].After = "cc" }, false},
		{"a stage", func(p *Plan) { p.Steps[1].Actions[1].Stage = 0 }, false},
		{"a gate before", func(p *Plan) { p.Steps[1].Before = nil }, false},
		{"a gate after", func(p *Plan) { p.Steps[0].Done = nil }, false},
		{"a partition that goes offline meanwhile", func(p *Plan) { p.Steps[2].Impact = nil }, false},
		{"a limit", func(p *Plan) { p.Limits.GoodPolls = 1 }, false},
		{"a step less", func(p *Plan) { p.Steps = p.Steps[:3] }, false},
	}
	base := digest(t, nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if same := digest(t, tt.change) == base; same != tt.same {
				t.Errorf("digest the same: %v, want %v", same, tt.same)
			}
		})
	}
}

func TestSealingKeepsTheShownOrder(t *testing.T) {
	p := sample()
	p.Steps[1], p.Steps[2] = p.Steps[2], p.Steps[1]
	sealed, err := p.Seal()
	if err != nil {
		t.Fatal(err)
	}
	if got := sealed.Steps[1].ID; got != "roll-broker-2" {
		t.Errorf("second step is %s: the plan a person reads was reordered", got)
	}
}

func TestAStepIsFoundByItsID(t *testing.T) {
	if s, ok := sample().Step("last"); !ok || s.Kind != Elect {
		t.Errorf("found %+v, %v", s, ok)
	}
	if s, ok := sample().Step("none"); ok {
		t.Errorf("found %+v for an id that no step has", s)
	}
}
