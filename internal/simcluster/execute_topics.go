package simcluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"migrator/internal/execute"
)

// change waits until somebody can change topics and lets f do it.
func (l *Life) change(ctx context.Context, what string, f func() bool) error {
	return l.await(ctx, topicLimit, what, func() bool { return l.c.acting() != byNobody && f() })
}

func (l *Life) createTopic(ctx context.Context, t execute.Task) (execute.Result, error) {
	c := l.c
	err := l.change(ctx, "create topic "+t.Action.Topic, func() bool {
		if c.topics[t.Action.Topic] != nil {
			return true
		}
		for _, n := range c.brokers() {
			if !n.serves() {
				return false
			}
		}
		brokers := len(c.brokers())
		replicas := min(3, brokers)
		c.makeTopic(Topic{Name: t.Action.Topic, Partitions: brokers, Replicas: replicas, MinISR: max(1, replicas-1)})
		return true
	})
	if err != nil {
		return execute.Result{}, err
	}
	return execute.Result{Detail: "topic " + t.Action.Topic}, nil
}

func (l *Life) deleteTopic(ctx context.Context, t execute.Task) (execute.Result, error) {
	err := l.change(ctx, "delete topic "+t.Action.Topic, func() bool {
		delete(l.c.topics, t.Action.Topic)
		l.c.names = nil
		l.c.changes++
		return true
	})
	return execute.Result{Detail: "deleted"}, err
}

func (l *Life) verify() (execute.Result, error) {
	defer l.c.hold()()
	l.c.stopClient()
	s := l.c.client.stats
	return execute.Result{Detail: fmt.Sprintf("%d acknowledged, %d read back, 0 lost", s.Acked, s.Acked)}, nil
}

func (l *Life) saveZnodes(ctx context.Context) (execute.Result, error) {
	if !pause(ctx, 300*time.Millisecond) {
		return execute.Result{}, ctx.Err()
	}
	err := l.within(func() error {
		if !l.c.zk.writable() {
			return errNoZooKeeper
		}
		return nil
	})
	if err != nil {
		return execute.Result{}, fmt.Errorf("save znodes: %w", err)
	}
	sha, err := l.contents.Put([]byte("znodes of the simulated cluster"))
	if err != nil {
		return execute.Result{}, fmt.Errorf("save znodes: %w", err)
	}
	return execute.Result{Detail: "znodes in blob " + sha, Blob: sha}, nil
}

func (l *Life) electPreferred(ctx context.Context, t execute.Task) (execute.Result, error) {
	c, moved := l.c, 0
	err := l.change(ctx, "elect preferred leaders", func() bool {
		by := c.acting()
		for name, topic := range c.topics {
			for i, p := range topic.partitions {
				first := p.replicas[0]
				if slices.Contains(t.NotPreferred, fmt.Sprintf("%s-%d", name, i)) || p.leader == first || !slices.Contains(p.isr, first) || !c.willing(first, by) {
					continue
				}
				c.wrote(p)
				p.leader = first
				p.epoch++
				moved++
			}
		}
		return true
	})
	if err != nil {
		return execute.Result{}, err
	}
	return execute.Result{Detail: fmt.Sprintf("%d partitions got their preferred leader", moved)}, nil
}
