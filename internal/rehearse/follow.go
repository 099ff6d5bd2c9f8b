package rehearse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"migrator/internal/client"
	"migrator/internal/cluster"
	"migrator/internal/plan"
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
	name     string // of the migration
	out      io.Writer
	timeline *timeline
	course   course
	// patience is how long the migration may stand without a plan running, 0 for
	// ever: a gate that holds it then has held it.
	patience time.Duration
	// began tells a block of an earlier run, which is tried again once.
	began time.Time

	idle     *time.Timer // ends the patience; nil: none
	retried  bool
	approved string // the digest; the stream may still hold statuses from before
	refused  string // what was said last of a refusal
	last     status.Status
}

// course is where a rehearsal turns and ends, beside the straight way forward.
type course interface {
	// see takes one status in. busy: nothing is to be approved now; done: the
	// rehearsal is at its end.
	see(ctx context.Context, f *follower, now status.Status) (busy, done bool, err error)
}

// errHeld ends following a migration that stood for longer than the patience.
var errHeld = errors.New("held")

// follow goes on until the rehearsal is at its end (nil) or blocked
// (*BlockedError), or limit has passed; 0 is no limit.
func (f *follower) follow(ctx context.Context, limit time.Duration) error {
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if limit > 0 {
		defer time.AfterFunc(limit, func() { cancel(errTooLong) }).Stop()
	}
	if f.patience > 0 {
		f.idle = time.AfterFunc(f.patience, func() { cancel(errHeld) })
		defer f.idle.Stop()
	}
	var end error
	err := f.client.Watch(limited, f.name, func(now status.Status) bool {
		done, err := f.see(limited, now)
		end = err
		return done || err != nil
	})
	switch cause := context.Cause(limited); {
	case errors.Is(cause, errTooLong):
		return fmt.Errorf("%w (%s); last it was: %s", errTooLong, limit, f.last.Headline)
	case errors.Is(cause, errHeld):
		return held(f.last, f.patience)
	default:
		return errors.Join(err, end)
	}
}

// see takes one status in; done when the rehearsal is at its end.
func (f *follower) see(ctx context.Context, now status.Status) (done bool, err error) {
	f.wait(now)
	f.last = now
	for _, line := range f.timeline.next(now, time.Now()) {
		fmt.Fprintln(f.out, line)
	}
	if now.RunStatus != status.NeedsApproval {
		f.approved = ""
	}
	if now.RunStatus == status.Blocked {
		return false, f.blocked(ctx, now)
	}
	if busy, done, err := f.course.see(ctx, f, now); busy || done || err != nil {
		return done, err
	}
	switch now.RunStatus {
	case status.Finished:
		return true, nil
	case status.NeedsApproval:
		return false, f.approve(ctx, now)
	default:
		return false, nil
	}
}

// wait lets the patience run while no plan does, and while a soak waits for its
// gates, which has no time limit of its own. Other steps have.
func (f *follower) wait(now status.Status) {
	stood, stands := standing(f.last), standing(now)
	switch {
	case f.idle == nil:
	case !stands:
		f.idle.Stop()
	case !stood:
		f.idle.Reset(f.patience)
	}
}

func standing(s status.Status) bool {
	switch {
	case s.RunStatus != status.Executing && s.RunStatus != status.Reverting:
		return true
	case s.Step == nil:
		return false
	default:
		paused := s.Soak != nil && s.Soak.PausedBecause != nil
		return s.Step.Kind == plan.SoakBegin || s.Step.Kind == plan.SoakEnd && paused
	}
}

// blocked ends the rehearsal, or tries a block of an earlier run again: whoever
// gave the same command once more has removed its cause.
func (f *follower) blocked(ctx context.Context, now status.Status) error {
	if now.Blocked == nil || !now.Blocked.At.Before(f.began) {
		return blocked(now)
	}
	if f.retried {
		return nil // the stream may still hold statuses from before
	}
	f.retried = true
	fmt.Fprintln(f.out, f.timeline.say(time.Now(), now, "trying again what an earlier run was blocked at: "+now.Blocked.What))
	if err := f.client.Retry(ctx, f.name, client.Command{Actor: actor}); err != nil {
		return fmt.Errorf("retry: %w", err)
	}
	return nil
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
		order.Confirm = f.name
	}
	err := f.client.Advance(ctx, f.name, order)
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

// goBack asks for the plan back to plain ZooKeeper and starts it by its digest,
// as a person would. A refusal is said, and the next status shows what it is about.
func (f *follower) goBack(ctx context.Context, now status.Status) (started bool, err error) {
	order := client.Command{Actor: actor, To: string(cluster.Initial)}
	err = f.client.Revert(ctx, f.name, order)
	var refusal *client.Refusal
	if errors.As(err, &refusal) && refusal.Plan != nil {
		order.Digest, order.Confirm = refusal.Plan.Digest, f.name
		err = f.client.Revert(ctx, f.name, order)
	}
	if errors.As(err, &refusal) {
		if refusal.Message != f.refused {
			f.refused = refusal.Message
			fmt.Fprintln(f.out, f.timeline.say(time.Now(), now, "not going back yet: "+refusal.Message))
		}
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("go back to %s: %w", cluster.Initial, err)
	}
	f.refused = ""
	fmt.Fprintln(f.out, f.timeline.say(time.Now(), now, fmt.Sprintf("going back to plain ZooKeeper, digest %.12s", order.Digest)))
	return true, nil
}

// blocked is the block with every gate that holds something up.
func blocked(now status.Status) *BlockedError {
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

// held is a migration that stood for longer than the patience.
func held(now status.Status, patience time.Duration) error {
	e := blocked(now)
	e.What = fmt.Sprintf("held for %s: %s", patience, now.Headline)
	return e
}

func orText(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
