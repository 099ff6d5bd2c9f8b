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

// errTooLong ends following a migration that neither finished nor blocked.
var errTooLong = errors.New("the migration neither finished nor blocked in its time")

// follower prints the timeline and approves each offered plan by its digest.
type follower struct {
	client   *client.Client
	out      io.Writer
	timeline *timeline

	detour   *detour
	approved string // the digest; the stream may still hold statuses from before
	refused  string // what was said last of a refusal
	last     status.Status
}

// follow goes on until the migration is finished (nil) or blocked
// (*BlockedError), or limit has passed.
func (f *follower) follow(ctx context.Context, limit time.Duration) error {
	limited, cancel := context.WithTimeoutCause(ctx, limit, errTooLong)
	defer cancel()
	var end error
	err := f.client.Watch(limited, Name, func(now status.Status) bool {
		done, err := f.see(limited, now)
		end = err
		return done || err != nil
	})
	if errors.Is(context.Cause(limited), errTooLong) {
		return fmt.Errorf("%w (%s); last it was: %s", errTooLong, limit, f.last.Headline)
	}
	return errors.Join(err, end)
}

// see takes one status in; done when the migration is finished.
func (f *follower) see(ctx context.Context, now status.Status) (done bool, err error) {
	f.last = now
	for _, line := range f.timeline.next(now, time.Now()) {
		fmt.Fprintln(f.out, line)
	}
	if now.RunStatus != status.NeedsApproval {
		f.approved = ""
	}
	switch now.RunStatus {
	case status.Finished:
		return true, nil
	case status.Blocked:
		return false, blocked(now)
	default:
	}
	if busy, err := f.detour.see(ctx, f, now); busy || err != nil {
		return false, err
	}
	switch now.RunStatus {
	case status.NeedsApproval:
		return false, f.approve(ctx, now)
	default:
		return false, nil
	}
}

// approve starts the offered plan unless it is the one approved already. A
// refusal is no failure: what the plan was made from has moved on, and the
// next status shows it.
func (f *follower) approve(ctx context.Context, now status.Status) error {
	if now.Plan == nil || now.Plan.Running || now.Plan.Digest == f.approved {
		return nil
	}
	order := client.Command{Actor: actor, Digest: now.Plan.Digest}
	if now.Plan.Phase == cluster.Finalize {
		order.Confirm = Name
	}
	err := f.client.Advance(ctx, Name, order)
	var refusal *client.Refusal
	switch {
	case errors.As(err, &refusal):
		if refusal.Message != f.refused {
			f.refused = refusal.Message
			fmt.Fprintln(f.out, f.timeline.say(time.Now(), now, "not approved yet: "+refusal.Message))
		}
		return nil
	case err != nil:
		return fmt.Errorf("approve the plan %s: %w", now.Plan.Phase, err)
	}
	f.approved, f.refused = now.Plan.Digest, ""
	fmt.Fprintln(f.out, f.timeline.say(time.Now(), now, fmt.Sprintf("approved the plan %s: %d steps, digest %.12s", now.Plan.Phase, len(now.Plan.Steps), now.Plan.Digest)))
	return nil
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
