package rehearse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"migrator/internal/client"
	"migrator/internal/cluster"
	"migrator/internal/status"
)

// runLimit is when a migration that does not end by itself is given up, beside
// its soak. A step without progress is blocked long before.
const runLimit = 15 * time.Minute

// errTooLong is a migration that neither finished nor blocked.
var errTooLong = errors.New("the migration neither finished nor blocked in its time")

// follow prints the timeline and approves each offered plan by its digest,
// until the migration is finished (nil) or blocked.
func (s *stage) follow(ctx context.Context, out io.Writer, t *timeline) error {
	limited, cancel := context.WithTimeoutCause(ctx, runLimit+2*s.cfg.Soak(cluster.DualWrite), errTooLong)
	defer cancel()
	var end error
	approved := "" // the digest; the stream may still hold statuses from before
	err := s.client.Watch(limited, Name, func(now status.Status) bool {
		for _, line := range t.next(now, time.Now()) {
			fmt.Fprintln(out, line)
		}
		if now.RunStatus != status.NeedsApproval {
			approved = ""
		}
		switch now.RunStatus {
		case status.Finished:
			return true
		case status.Blocked:
			end = blocked(now)
			return true
		case status.NeedsApproval:
			approved, end = s.approve(limited, out, t, now, approved)
			return end != nil
		default:
			return false
		}
	})
	if err != nil && context.Cause(limited) == errTooLong {
		return errTooLong
	}
	return errors.Join(err, end)
}

// approve starts the offered plan unless it is the one approved already, and
// returns the digest approved last. A refusal is no failure: what the plan was
// made from has moved on, and the next status shows it.
func (s *stage) approve(ctx context.Context, out io.Writer, t *timeline, now status.Status, approved string) (string, error) {
	if now.Plan == nil || now.Plan.Running || now.Plan.Digest == approved {
		return approved, nil
	}
	order := client.Command{Actor: actor, Digest: now.Plan.Digest}
	if now.Plan.Phase == cluster.Finalize {
		order.Confirm = Name
	}
	err := s.client.Advance(ctx, Name, order)
	var refused *client.Refusal
	switch {
	case errors.As(err, &refused):
		fmt.Fprintln(out, t.say(time.Now(), now, "not approved yet: "+refused.Message))
		return "", nil
	case err != nil:
		return "", fmt.Errorf("approve the plan %s: %w", now.Plan.Phase, err)
	}
	fmt.Fprintln(out, t.say(time.Now(), now, fmt.Sprintf("approved the plan %s: %d steps, digest %.12s", now.Plan.Phase, len(now.Plan.Steps), now.Plan.Digest)))
	return now.Plan.Digest, nil
}

// blocked is the block with every gate that holds something up.
func blocked(now status.Status) error {
	e := &BlockedError{What: now.Headline}
	if now.Blocked != nil {
		e.What, e.ToDo = now.Blocked.What, now.Blocked.ToDo
	}
	for _, g := range now.Gates {
		if g.Verdict != "pass" && len(g.Blocks) > 0 {
			e.Gates = append(e.Gates, fmt.Sprintf("gate %s: %s: %s (seen by %s)", g.Name, g.Verdict, g.Evidence, orText(g.Source, "nobody")))
		}
	}
	return e
}

func orText(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
