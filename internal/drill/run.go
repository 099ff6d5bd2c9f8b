package drill

import (
	"context"
	"fmt"
	"time"
)

const (
	returnRetry  = time.Second      // between two tries of the start command
	takePatience = 2 * time.Second  // for a cancelled stop command to end
	startAgain   = 10 * time.Second // while the quorum lacks a voter
)

// run is one drill under way.
type run struct {
	p        Probes
	c        Commands
	l        Limits
	progress func(Sample)
	seen     failover
	sampler  *sampler
	taken    chan error // the outcome of Take, once
	unTake   context.CancelFunc
	takeDone bool
	why      string
	err      error
}

// away gives the command and samples until the failover is complete, a limit
// is reached, or ctx ends. The sampler runs while the command does: a clean
// stop takes seconds.
func (d *run) away(ctx context.Context) (why string, err error) {
	taking, unTake := context.WithCancel(ctx)
	d.unTake, d.taken = unTake, make(chan error, 1)
	if d.c.TakenAt != nil {
		err := d.c.Take(taking)
		if d.seen.begun = d.c.TakenAt(); err != nil {
			d.seen.begun = time.Now() // no limit may speak before what went wrong does
		}
		d.taken <- err
	} else {
		d.seen.begun = time.Now()
		go func() { d.taken <- d.c.Take(taking) }()
	}

	d.sampler = startSampler(ctx, askLeader(d.p, d.seen.from), askWrite(d.p), askStores(d.p))
	defer d.sampler.cancel() // waiting for its probes comes after the node is back
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	outcome := d.taken
	for !d.seen.done() || !d.takeDone {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case err := <-outcome:
			d.takeDone, outcome = true, nil
			if ctx.Err() != nil { // the command was cut off, it did not fail
				return "", ctx.Err()
			}
			if err != nil {
				return "the command to take the node away failed: " + bounded(err.Error()), nil
			}
		case o := <-d.sampler.seen:
			d.seen.see(o)
		case <-tick.C:
			d.progress(d.seen.sample(time.Now()))
		}
		if why := d.overLimit(time.Now()); why != "" {
			return why, nil
		}
	}
	return "", nil
}

// overLimit says which limit is reached, if any.
func (d *run) overLimit(now time.Time) string {
	f := &d.seen
	last := ""
	if f.last.LastError != "" {
		last = " (last answer: " + f.last.LastError + ")"
	}
	switch {
	case f.writeAt.IsZero() && now.Sub(f.begun) >= d.l.MaxUnavailable:
		return fmt.Sprintf("no metadata write was accepted within %v of the command%s", d.l.MaxUnavailable, last)
	case !f.writeAt.IsZero() && f.writeAt.Sub(f.begun) >= d.l.MaxUnavailable:
		return fmt.Sprintf("metadata writes were out for %v, the limit is %v", f.writeAt.Sub(f.begun), d.l.MaxUnavailable)
	case !f.leaderAt.IsZero() && f.dualAt.IsZero() && now.Sub(f.leaderAt) >= d.l.DualWrite:
		return fmt.Sprintf("dual write did not move within %v of the new leader %d%s", d.l.DualWrite, f.leader, last)
	case !d.takeDone && f.done() && now.Sub(f.begun) >= d.l.Return:
		return fmt.Sprintf("the command to take the node away has not ended after %v", d.l.Return)
	}
	return ""
}

// bringBack starts the node and sees it in the quorum, also after ctx has
// ended; why says what the quorum lacks when the limit is over. It waits a
// little for a stop still running, so that stop and start do not meet. A node
// that was still on its way down takes the first start for nothing to do, so
// the start is repeated while the quorum is not full.
func (d *run) bringBack(ctx context.Context) (why string, err error) {
	ctx = context.WithoutCancel(ctx)
	d.unTake()
	d.awaitTake(takePatience)
	if err := d.giveStart(ctx); err != nil {
		return "", err
	}
	if why = d.awaitQuorum(ctx); d.takeDone {
		return why, nil
	}
	if d.awaitTake(d.l.Return); !d.takeDone {
		return why, fmt.Errorf("start controller %d: the command that took it away never ended, so it may stop the node again", d.seen.from)
	}
	if err := d.giveStart(ctx); err != nil {
		return why, err
	}
	return d.awaitQuorum(ctx), nil
}

func (d *run) awaitQuorum(ctx context.Context) (why string) {
	ctx, cancel := context.WithTimeout(ctx, d.l.Return)
	defer cancel()
	lastStart, startErr := time.Now(), error(nil)
	for {
		lacks := d.quorumLacks(ctx)
		if lacks == "" {
			return ""
		}
		if time.Since(lastStart) >= startAgain {
			startErr = d.c.Return(ctx)
			lastStart = time.Now()
		}
		d.progress(d.seen.sample(time.Now()))
		if pause(ctx, sampleEvery) == nil {
			continue
		}
		why = fmt.Sprintf("the quorum was not full %v after the start: %s", d.l.Return, bounded(lacks))
		if startErr != nil {
			why = joinWhy(why, "start again: "+bounded(startErr.Error()))
		}
		return why
	}
}

func (d *run) awaitTake(patience time.Duration) {
	if d.takeDone {
		return
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-d.taken:
		d.takeDone = true
	case <-timer.C:
	}
}

func (d *run) giveStart(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, d.l.Return)
	defer cancel()
	for {
		err := d.c.Return(ctx)
		if err == nil {
			return nil
		}
		if pause(ctx, returnRetry) != nil {
			return fmt.Errorf("start controller %d again, tried for %v: the node is down, start it by hand: %w", d.seen.from, d.l.Return, err)
		}
	}
}

// settle waits until dual write moves with the quorum full, and returns what
// did not happen within the limit.
func (d *run) settle(ctx context.Context) (why string) {
	ctx, cancel := context.WithTimeout(ctx, d.l.Return)
	defer cancel()
	var first *MigrationView
	for {
		var lacks string
		if first, lacks = d.dualWriteLacks(ctx, first); lacks == "" {
			return ""
		}
		d.progress(d.seen.sample(time.Now()))
		if pause(ctx, sampleEvery) != nil {
			return fmt.Sprintf("dual write did not move %v after the quorum was full: %s", d.l.Return, bounded(lacks))
		}
	}
}

func (d *run) quorumLacks(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, probeDeadline)
	defer cancel()
	full, lacks, err := d.p.QuorumFull(ctx)
	switch {
	case err != nil:
		return "read the quorum: " + err.Error()
	case full:
		return ""
	case lacks == "":
		return "no reason given"
	}
	return lacks
}

// dualWriteLacks compares /migration with the first one seen after the start.
// A write of ours gives dual write something to do, should the cluster be idle.
func (d *run) dualWriteLacks(ctx context.Context, first *MigrationView) (*MigrationView, string) {
	ctx, cancel := context.WithTimeout(ctx, probeDeadline)
	defer cancel()
	writeErr := d.p.WriteMetadata(ctx)
	now, err := d.p.Migration(ctx)
	switch {
	case err != nil:
		return first, "read /migration: " + err.Error()
	case first == nil || now.ControllerEpoch != first.ControllerEpoch:
		return &now, "/migration was read only once"
	case now.Offset > first.Offset:
		return first, ""
	case writeErr != nil:
		return first, "write metadata: " + writeErr.Error()
	}
	return first, fmt.Sprintf("/migration stands at offset %d", now.Offset)
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
