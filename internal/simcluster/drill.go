package simcluster

import (
	"context"
	"fmt"
	"time"

	"migrator/internal/drill"
	"migrator/internal/execute"
	"migrator/internal/phases"
	"migrator/internal/plan"
)

// drill takes the active controller away, times the failover, and starts it again.
func (l *Life) drill(ctx context.Context, t execute.Task) (execute.Result, error) {
	c := l.c
	if t.Try > 1 {
		if err := l.bringBack(ctx); err != nil {
			return execute.Result{}, err
		}
	}
	r := phases.DrillRun{Kind: t.Action.Drill}
	var epoch int32
	err := l.within(func() error {
		q := &c.quorum
		if q.leader == 0 {
			return fmt.Errorf("%s drill: nobody leads", t.Action.Drill)
		}
		l.c.rules.drilling(c, t, q.leader)
		n := c.nodes[q.leader]
		zkBefore := c.zk.epoch
		r.Node, epoch, r.ZKEpochBefore = n.ID, q.epoch, &zkBefore
		before := q.epoch
		r.EpochBefore = &before
		if t.Action.Drill == "crash" {
			n.end(c, false)
		} else {
			n.stopCommand(c)
		}
		return nil
	})
	if err != nil {
		return execute.Result{}, err
	}
	failed := l.measure(ctx, epoch, &r)
	if ctx.Err() != nil {
		return execute.Result{}, ctx.Err() // killed: the node stays down
	}
	err = l.bringBack(ctx)
	switch {
	case failed != nil:
		r.Why = failed.Error()
	case err != nil:
		r.Why = err.Error()
	case time.Duration(*r.UnavailableMS)*time.Millisecond > c.cfg.Drill.MaxUnavailable:
		r.Why = "unavailable for longer than the limit"
	default:
		r.Passed = true
		return execute.Result{Drill: &r, Detail: "passed"}, nil
	}
	return execute.Result{Drill: &r}, fmt.Errorf("the %s drill did not pass: %s", r.Kind, r.Why)
}

// measure times the failover. An error says what did not come back in time.
func (l *Life) measure(ctx context.Context, epoch int32, r *phases.DrillRun) error {
	c, begun := l.c, time.Now()
	passed := func() *int64 { ms := time.Since(begun).Milliseconds(); return &ms }
	limit := drill.DualWriteLimit(20) + c.cfg.Drill.MaxUnavailable
	if err := l.await(ctx, limit, "no new leader", func() bool { return c.quorum.leader != 0 && c.quorum.epoch > epoch }); err != nil {
		return err
	}
	r.LeaderMS = passed()
	if err := l.await(ctx, limit, "no metadata write was accepted", c.writeMetadata); err != nil {
		return err
	}
	r.MetadataMS, r.UnavailableMS = passed(), passed()
	if err := l.await(ctx, limit, "dual write did not resume", c.writesBoth); err != nil {
		return err
	}
	r.DualWriteMS = passed()
	return l.within(func() error {
		leader, after, zkAfter := c.quorum.leader, c.quorum.epoch, c.zk.epoch
		r.NewLeader, r.EpochAfter, r.ZKEpochAfter = &leader, &after, &zkAfter
		return nil
	})
}

func (c *Cluster) quorumFull() bool {
	return c.quorum.leader != 0 && len(c.voting()) == len(c.controllers())
}

// bringBack starts every controller that does not run, also one that was still
// on its way down when first looked at, until the quorum is full.
func (l *Life) bringBack(ctx context.Context) error {
	c := l.c
	return l.await(ctx, 2*time.Minute, "the quorum is not full after the drill", func() bool {
		for _, n := range c.controllers() {
			if !c.unreachable(n.ID) {
				n.startCommand(c)
			}
		}
		return c.quorumFull()
	})
}

// watchFailover times the ZooKeeper controller's own failover.
func (l *Life) watchFailover(ctx context.Context, t execute.Task, n *node) func() *phases.DrillRun {
	c := l.c
	h := c.zk.holder
	if t.Step.Rule != plan.ZooKeeperCtlLast || h == nil || h.owner == nil || h.id != n.ID {
		return func() *phases.DrillRun { return nil }
	}
	begun := time.Now()
	return func() *phases.DrillRun {
		r := &phases.DrillRun{Kind: "clean", Baseline: true, Node: n.ID}
		err := l.await(ctx, 15*time.Second, "no other holder", func() bool {
			now := c.zk.holder
			if now == nil || now.id == n.ID {
				return false
			}
			id := now.id
			r.NewLeader = &id
			return true
		})
		if err != nil {
			r.Why = "not measured: " + err.Error()
			return r
		}
		ms := time.Since(begun).Milliseconds()
		r.LeaderMS, r.MetadataMS, r.UnavailableMS, r.Passed = &ms, &ms, &ms, true
		return r
	}
}
