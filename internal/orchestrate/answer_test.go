package orchestrate_test

import (
	"testing"
	"testing/synctest"
	"time"

	"migrator/internal/orchestrate"
	"migrator/internal/simcluster"
	"migrator/internal/status"
)

// A revert once came back while the status still showed what was before it:
// who waited for "not reverting" went on at once.
func TestWhoAsksAfterACommandSeesWhatItDid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := simcluster.New(simcluster.Options{Seed: 1}), simcluster.NewStore()
		r := begin(t, c, s, afterEntry, nil)
		defer r.end()
		if ok, last := r.until(status.NeedsApproval, time.Minute); !ok {
			t.Fatalf("no plan is offered: %s", last.Headline)
		}
		for range 200 {
			for verb, paused := range map[orchestrate.Verb]bool{orchestrate.Pause: true, orchestrate.Resume: false} {
				if err := r.m.Do(t.Context(), orchestrate.Command{Verb: verb, Actor: "alice"}); err != nil {
					t.Fatal(err)
				}
				if now := r.m.Status().RunStatus; (now == status.Paused) != paused {
					t.Fatalf("right after %s it shows %s", verb, now)
				}
			}
		}
	})
}
