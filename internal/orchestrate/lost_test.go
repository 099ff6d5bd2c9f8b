package orchestrate_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/cluster"
	"migrator/internal/phases"
	"migrator/internal/plan"
	"migrator/internal/simcluster"
	"migrator/internal/status"
)

// endsAt ends a run after the nth broker of a phase's plan was restarted.
func endsAt(p cluster.Phase, n int) func(uint64, string, phases.Body) bool {
	var runs cluster.Phase
	rolled := 0
	return func(_ uint64, _ string, b phases.Body) bool {
		switch {
		case b.Approved != nil:
			runs = b.Approved.Plan.Phase
		case b.StepDone != nil && runs == p:
			rolled++
		}
		return rolled == n
	}
}

// The data folder is lost. The service that takes the cluster over knows no
// file that a broker had before, yet the way back ends with each of them byte
// for byte, even if it dies right after the approval: by then the contents are
// in its store.
func TestAServiceThatLostItsDataFolderGivesTheOriginalFilesBack(t *testing.T) {
	tests := []struct {
		name   string
		phase  cluster.Phase
		rolled int
	}{
		{"in the middle of load", cluster.Load, 2},
		{"in the middle of hybrid", cluster.Hybrid, 2},
		{"in dual-write", cluster.DualWrite, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, s := simcluster.New(simcluster.Options{Seed: 1}), simcluster.NewStore()
				before := c.End()
				first := begin(t, c, s, afterEntry, endsAt(tt.phase, tt.rolled))
				first.follow(30 * time.Minute)
				first.end()
				c.LoseStore()
				revertAndDie(t, c, before)
			})
		})
	}
}

func revertAndDie(t *testing.T, c *simcluster.Cluster, before simcluster.End) {
	t.Helper()
	s := simcluster.NewStore()
	r := begin(t, c, s, afterEntry, func(_ uint64, _ string, b phases.Body) bool { return b.Approved != nil })
	if ok, last := r.until(status.NeedsApproval, 10*time.Minute); !ok {
		r.end()
		t.Fatalf("never offers to adopt: %s %q\nnot passing:\n%s", last.RunStatus, last.Headline, notPassing(last))
	}
	err := turnBack(t.Context(), r.m, c.Migration().Name, cluster.Initial)
	r.end()
	if !r.life.Killed() {
		t.Fatalf("the way back was not approved: %v", err)
	}
	for _, st := range fold(t, s).Run.Plan.Steps {
		for _, a := range st.Actions {
			if _, err := s.Get(a.After); a.Kind == plan.Write && err != nil {
				t.Errorf("approved, but nobody has the content: %s %s: %v", st.ID, a.ID, err)
			}
		}
	}
	r = begin(t, c, s, afterEntry, nil)
	defer r.end()
	ok, last := r.until(status.NeedsApproval, 30*time.Minute)
	if !ok || last.Phase == nil || *last.Phase != cluster.Initial {
		t.Fatalf("never back in initial: %s %q\njournal:\n%s", last.RunStatus, last.Headline, tail(s, 20))
	}
	if broken := c.Violations(); len(broken) > 0 {
		t.Errorf("rules broken: %v", broken)
	}
	after, kept := c.End(), map[int32]string{}
	for id := range before.Files {
		kept[id] = after.Files[id]
	}
	if diff := cmp.Diff(before.Files, kept); diff != "" {
		t.Errorf("files of brokers (-before the migration +after the way back):\n%s", diff)
	}
}
