package evidence

import (
	"math"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/plan"
)

func TestARollIsComparedWithItsNodesOwnRestartTimes(t *testing.T) {
	begun := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time { return begun.Add(time.Duration(seconds * float64(time.Second))) }
	batch := func(stop, passed, done float64) Step {
		end := at(done)
		return Step{Plan: cluster.Hybrid, Digest: "d", Kind: plan.Roll, Done: &end,
			Actions: []Action{{Kind: plan.Stop, Tries: []Try{{Intent: at(stop)}}}},
			After:   []Verdict{{Gate: "running", Since: at(stop + 1)}, {Gate: "elections", Since: at(passed)}}}
	}
	steps := []Step{{Kind: plan.Backup}, batch(0, 8, 9), batch(9.5, 17.5, 18.5), {Kind: plan.Elect}}
	got := rolls(steps)
	if len(got) != 1 || got[0].Batches != 2 || got[0].WholeSeconds != 18.5 || got[0].RestartSeconds != 16 || math.Abs(got[0].Ratio-1.15625) > 1e-9 {
		t.Errorf("rolls %+v", got)
	}
	steps[2].Done = nil
	if got := rolls(steps); len(got) != 0 {
		t.Errorf("an unfinished roll counts as %+v", got)
	}
}
