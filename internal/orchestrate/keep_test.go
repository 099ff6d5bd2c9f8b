package orchestrate_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"migrator/internal/orchestrate"
	"migrator/internal/simcluster"
)

// Before each plan but initial, which saves the znodes itself, a backup is taken
// once; one that fails holds nothing back.
func TestZnodesAreKeptBeforeEachPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := simcluster.New(simcluster.Options{Seed: 1}), simcluster.NewStore()
		var kept []string
		r := open(t, c.Migration(), c, &book{Store: s}, func(d *orchestrate.Deps) {
			d.KeepZnodes = func(_ context.Context, plan string) (string, error) {
				kept = append(kept, plan)
				time.Sleep(20 * time.Second)
				return "", errors.New("the disk is full")
			}
		})
		defer r.end()
		if finished, last := r.follow(2 * time.Hour); !finished {
			t.Fatalf("not finished: %s", last.Headline)
		}
		if want := []string{"load", "hybrid", "dual-write", "finalize"}; !slices.Equal(kept, want) {
			t.Errorf("kept before %v, want %v", kept, want)
		}
	})
}
