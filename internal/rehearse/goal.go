package rehearse

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/journal"
	"migrator/internal/phases"
	"migrator/internal/status"
)

// goal is where the rehearsal of an existing cluster ends.
type goal struct {
	to     cluster.Phase // the last phase; finalize: the whole migration
	revert bool          // then back to plain ZooKeeper

	returning bool // the way back was begun, by this run or an earlier one
	asked     bool // by this run
	attempt   int  // in which it was begun: its end begins another
}

// newGoal looks in the journal of earlier runs whether the way back was begun.
func newGoal(to cluster.Phase, revert bool, entries []journal.Entry) (*goal, error) {
	g := &goal{to: to, revert: revert}
	for _, e := range entries {
		if e.Kind != string(phases.KindApproved) {
			continue
		}
		var body phases.Body
		if err := json.Unmarshal(e.Body, &body); err != nil {
			return nil, fmt.Errorf("journal entry %d (%s): %w", e.Seq, e.Kind, err)
		}
		if p := body.Approved; p != nil && p.Plan.Revert && p.Plan.Phase == cluster.Initial {
			g.returning, g.attempt = revert, e.Attempt
		}
	}
	return g, nil
}

// see takes one status in.
func (g *goal) see(ctx context.Context, f *follower, now status.Status) (busy, done bool, err error) {
	switch {
	case g.returning && g.back(now):
		fmt.Fprintln(f.out, f.timeline.say(time.Now(), now, "back in plain ZooKeeper mode"))
		return true, true, nil
	case g.returning && (g.asked || !resting(now)):
		return true, false, nil
	case !g.returning && !g.reached(now):
		return false, false, nil
	case !g.revert:
		return true, true, nil
	}
	if !g.returning {
		g.returning, g.attempt = true, now.Attempt
	}
	g.asked, err = f.goBack(ctx, now)
	return true, false, err
}

// reached: the phase is complete, and what is offered or waited for now lies
// beyond it. The end of a whole migration is seen by its run status.
func (g *goal) reached(now status.Status) bool {
	return g.to != cluster.Finalize && now.Phase != nil && *now.Phase == g.to && now.PhaseComplete && resting(now) && (now.Plan == nil || now.Plan.Phase != g.to)
}

func (g *goal) back(now status.Status) bool {
	return now.Phase != nil && *now.Phase == cluster.Initial && now.Attempt > g.attempt && resting(now)
}

func resting(now status.Status) bool {
	return now.RunStatus == status.NeedsApproval || now.RunStatus == status.Waiting
}
