package simcluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"migrator/internal/execute"
)

var errNoZooKeeper = errors.New("connection loss")

// saveImage keeps what the metadata log holds of topics.
func (l *Life) saveImage(t execute.Task) (execute.Result, error) {
	lg, ok := t.Snapshot.Log.Get()
	if !ok {
		return execute.Result{}, fmt.Errorf("keep what the metadata log holds: %s", t.Snapshot.Log.Cause())
	}
	raw, err := json.Marshal(lg.Image.Topics)
	if err != nil {
		return execute.Result{}, fmt.Errorf("keep what the metadata log holds: %w", err)
	}
	sha, err := l.contents.Put(raw)
	if err != nil {
		return execute.Result{}, fmt.Errorf("keep what the metadata log holds: %w", err)
	}
	return execute.Result{Blob: sha, Detail: fmt.Sprintf("%d topics", len(lg.Image.Topics))}, nil
}

// archive moves a controller's folder aside. When all are gone, so is the
// quorum with its log.
func (l *Life) archive(ctx context.Context, t execute.Task) (execute.Result, error) {
	if !pause(ctx, 50*time.Millisecond) {
		return execute.Result{}, ctx.Err()
	}
	c := l.c
	err := l.within(func() error {
		n, err := l.target(t)
		switch {
		case err != nil:
			return err
		case n.proc != nil:
			return fmt.Errorf("node %d still runs: its folder is not moved", n.ID)
		}
		c.moveAside(n)
		return nil
	})
	if err != nil {
		return execute.Result{}, fmt.Errorf("archive: %w", err)
	}
	return execute.Result{Detail: "moved aside"}, nil
}

func (c *Cluster) moveAside(n *node) {
	n.meta, n.logEnd, n.lastFetch = nil, 0, time.Time{}
	for _, other := range c.controllers() {
		if other.meta != nil {
			return
		}
	}
	c.quorum, c.driver = newQuorum(), migrating{fails: c.driver.fails}
	for _, b := range c.brokers() {
		b.logEnd, b.lastFetch = 0, time.Time{}
	}
}

// revertZnodes gives /controller back, and raises /controller_epoch where a
// partition state carries a larger one (KAFKA-20488).
func (l *Life) revertZnodes(ctx context.Context) (execute.Result, error) {
	if !pause(ctx, 50*time.Millisecond) {
		return execute.Result{}, ctx.Err()
	}
	c := l.c
	err := l.within(func() error {
		for _, n := range c.controllers() {
			if n.proc != nil {
				return fmt.Errorf("controller %d runs: nothing is deleted", n.ID)
			}
		}
		if !c.zk.writable() {
			return errNoZooKeeper
		}
		largest := 0
		for _, t := range c.zk.topics {
			for _, p := range t.partitions {
				largest = max(largest, p.elected)
			}
		}
		if h := c.zk.holder; h != nil && h.epoch != nil {
			largest = max(largest, int(*h.epoch))
			c.zk.holder = nil
		}
		if c.zk.epoch+1 < largest {
			c.zk.epoch = largest
		}
		c.zk.migration = nil
		return nil
	})
	if err != nil {
		return execute.Result{}, fmt.Errorf("give /controller back: %w", err)
	}
	return execute.Result{Detail: "/controller and /migration deleted"}, nil
}

func (l *Life) probeZnodes() (execute.Probed, string, error) {
	found := execute.ProbedNotDone
	err := l.within(func() error {
		if !l.c.zk.writable() {
			return errNoZooKeeper
		}
		if h := l.c.zk.holder; l.c.zk.migration == nil && (h == nil || h.epoch == nil) {
			found = execute.ProbedDone
		}
		return nil
	})
	if err != nil {
		return execute.ProbedUnknown, "", err
	}
	return found, "looked", nil
}
