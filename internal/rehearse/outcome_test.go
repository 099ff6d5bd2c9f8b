package rehearse

import (
	"strings"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/evidence"
	"migrator/internal/plan"
)

// green is the evidence of a rehearsal that went to dual-write and back.
func green() evidence.Pack {
	at := start.Add(time.Hour)
	p := evidence.Pack{Name: "staging", Rehearsal: true, Canary: evidence.Canary{Acked: 100}}
	for _, phase := range []cluster.Phase{cluster.Initial, cluster.Load, cluster.Hybrid, cluster.DualWrite} {
		p.Plans = append(p.Plans, evidence.Plan{Phase: phase, Digest: string(phase), ApprovedAt: start, Ended: &at})
	}
	p.Plans = append(p.Plans, evidence.Plan{Phase: cluster.Initial, Revert: true, ApprovedAt: start, Ended: &at})
	p.Steps = []evidence.Step{{ID: "canary-topic", Kind: plan.CanaryTopic, Plan: cluster.Initial, Done: &at},
		{ID: "drill-clean", Kind: plan.DrillStep, Plan: cluster.DualWrite, Done: &at}, {ID: "soak-end", Kind: plan.SoakEnd, Plan: cluster.DualWrite, Done: &at}}
	p.Drill.Runs = []evidence.DrillRun{{Kind: "clean", Passed: true}}
	p.Files = []evidence.FileSums{{Node: 1, Path: "/a", Before: "x", After: "x"}, {Node: 3001, Path: "/c", After: "y"}}
	return p
}

func TestAPackIsGreenOnlyIfAllOfItIs(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*evidence.Pack)
		want   string // within what is broken; empty: nothing is
	}{
		{"all went well", func(*evidence.Pack) {}, ""},
		{"a migration that was no rehearsal", func(p *evidence.Pack) { p.Rehearsal = false }, "does not say rehearsal: true"},
		{"hybrid was voided", func(p *evidence.Pack) { p.Plans[2].Void = "edited" }, "not done: hybrid"},
		{"load is under way", func(p *evidence.Pack) { p.Plans[1].Ended = nil }, "not done: load"},
		{"it began by adoption", func(p *evidence.Pack) { p.Plans = p.Plans[1:] }, "not done: initial"},
		{"the soak did not end", func(p *evidence.Pack) { p.Steps[2].Done = nil }, "its end is not in the journal"},
		{"a soak of load only", func(p *evidence.Pack) { p.Steps[2].Plan = cluster.Load }, "its end is not in the journal"},
		{"a drill failed", func(p *evidence.Pack) { p.Drill.Runs[0] = evidence.DrillRun{Kind: "clean", Why: "too long"} }, "clean: too long"},
		{"a planned drill has no run", func(p *evidence.Pack) { p.Drill.Runs = nil }, "no run is in the journal"},
		{"only the baseline was timed", func(p *evidence.Pack) { p.Steps = p.Steps[2:]; p.Drill.Runs[0].Kind = baselineKind }, "no drill ran"},
		{"a record was lost", func(p *evidence.Pack) { p.Canary.Lost = 1 }, "100 acknowledged, 1 lost"},
		{"nothing was acknowledged", func(p *evidence.Pack) { p.Canary.Acked = 0 }, "0 acknowledged"},
		{"the canary is off", func(p *evidence.Pack) { p.Steps, p.Canary = p.Steps[1:], evidence.Canary{} }, ""},
		{"a broker kept another file", func(p *evidence.Pack) { p.Files[0].After = "z" }, "/a of node 1"},
		{"the way back did not end", func(p *evidence.Pack) { p.Plans[4].Ended = nil }, "was not done"},
		{"it went back to load only", func(p *evidence.Pack) { p.Plans[4].Phase = cluster.Load }, "was not done"},
		{"it neither went back nor to the end", func(p *evidence.Pack) { p.Plans = p.Plans[:4] }, "finalize"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := green()
			test.change(&p)
			got := Promises(Broken(Whole(p)))
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("broken:\n%s\nwant %q", got, test.want)
			}
		})
	}
}
