package orchestrate_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/orchestrate"
	"migrator/internal/phases"
	"migrator/internal/simcluster"
	"migrator/internal/status"
)

// In dual-write somebody edits a broker's file on purpose: an alarm blocks. The
// way back is offered all the same, shows what is lost, and its approval ends
// the alarm; what somebody edits after that blocks as ever.
func TestSomebodysEditDoesNotBarTheWayBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := simcluster.New(simcluster.Options{Seed: 1}), simcluster.NewStore()
		before := c.End()
		first := begin(t, c, s, afterEntry, func(_ uint64, _ string, b phases.Body) bool {
			return b.Plan != nil && b.Plan.Phase == cluster.DualWrite
		})
		first.follow(30 * time.Minute)
		first.end()
		r := begin(t, c, s, afterEntry, nil)
		defer r.end()
		c.EditLine(2, "num.io.threads=9")
		blocked(t, r, "broker 2's file")

		back := orchestrate.Command{Verb: orchestrate.Revert, Actor: "alice", To: cluster.Initial}
		var shown *orchestrate.Refusal
		if err := r.m.Do(t.Context(), back); !errors.As(err, &shown) || shown.Plan == nil {
			t.Fatalf("no way back is shown: %v", err)
		}
		text := ""
		for _, st := range shown.Plan.Steps {
			text += strings.Join(st.Warnings, "\n")
		}
		if !strings.Contains(text, `Lost with it: "num.io.threads=9"`) {
			t.Errorf("warnings %q do not name what is lost", text)
		}
		back.Digest, back.Confirm = shown.Plan.Digest, c.Migration().Name
		c.EditLine(2, "num.io.threads=10")
		if err := r.m.Do(t.Context(), back); !errors.As(err, &shown) || shown.Code != "stale-digest" {
			t.Fatalf("edited once more since it was shown: %v, want a stale digest", err)
		}
		back.Digest = shown.Plan.Digest
		if err := r.m.Do(t.Context(), back); err != nil {
			t.Fatal(err)
		}
		if ok, last := r.until(status.Reverting, time.Minute); !ok {
			t.Fatalf("not reverting: %s %q", last.RunStatus, last.Headline)
		}
		c.Edit(3001)
		blocked(t, r, "controller 3001's file")
		c.PutBack(3001, fold(t, s).Files[3001])
		ok, last := r.until(status.NeedsApproval, 30*time.Minute)
		if !ok || last.Phase == nil || *last.Phase != cluster.Initial {
			t.Fatalf("never back in initial: %s %q\njournal:\n%s", last.RunStatus, last.Headline, tail(s, 20))
		}
		for id, sha := range before.Files {
			if c.End().Files[id] != sha {
				t.Errorf("node %d has not its original file", id)
			}
		}
		if broken := c.Violations(); len(broken) > 0 {
			t.Errorf("rules broken: %v", broken)
		}
	})
}

func blocked(t *testing.T, r *run, why string) {
	t.Helper()
	ok, last := r.until(status.Blocked, 5*time.Minute)
	if !ok || last.Blocked == nil || !strings.Contains(last.Blocked.What, why) {
		t.Fatalf("not blocked by %s: %s %q", why, last.RunStatus, last.Headline)
	}
}
