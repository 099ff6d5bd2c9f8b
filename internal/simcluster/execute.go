package simcluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"migrator/internal/configgen"
	"migrator/internal/execute"
	"migrator/internal/phases"
	"migrator/internal/plan"
)

const (
	look       = 100 * time.Millisecond
	doubtLimit = 10 * time.Second // a start in doubt is repeated only after "not running" for so long
	topicLimit = 60 * time.Second
	writeTime  = 50 * time.Millisecond
	formatTime = 1500 * time.Millisecond
)

// Do performs an action as the real executor would, in the time it took there.
func (l *Life) Do(ctx context.Context, t execute.Task) (execute.Result, error) {
	if l.Killed() || ctx.Err() != nil {
		return execute.Result{}, errKilled
	}
	if err := l.check(t); err != nil {
		return execute.Result{}, err
	}
	switch t.Action.Kind {
	case plan.Stop:
		return l.stop(ctx, t)
	case plan.Write:
		return l.write(ctx, t)
	case plan.FormatDirs:
		return l.format(ctx, t)
	case plan.Start:
		return l.start(ctx, t)
	case plan.CreateTopic:
		return l.createTopic(ctx, t)
	case plan.DeleteTopic:
		return l.deleteTopic(ctx, t)
	case plan.VerifyCanary:
		return l.verify()
	case plan.SaveZnodes:
		return l.saveZnodes(ctx)
	case plan.ElectPreferred:
		return l.electPreferred(ctx, t)
	case plan.RunDrill:
		return l.drill(ctx, t)
	case plan.SaveImage:
		return l.saveImage(t)
	case plan.Archive:
		return l.archive(ctx, t)
	case plan.Disable:
		return execute.Result{Detail: "disabled"}, nil
	case plan.RevertZnodes:
		return l.revertZnodes(ctx)
	case plan.MetadataWrite:
		err := l.await(ctx, l.c.cfg.Gates.StepTimeout, "no metadata write was accepted", l.c.writeMetadata)
		return execute.Result{Detail: "accepted"}, err
	case plan.FreezeHook, plan.ThawHook, plan.BeforeNode, plan.AfterNode:
		return l.hook(ctx, t)
	default:
		return execute.Result{}, fmt.Errorf("no such action %q", t.Action.Kind)
	}
}

// target finds the action's node, if it can be reached.
func (l *Life) target(t execute.Task) (*node, error) {
	if t.Action.Node == nil {
		return nil, fmt.Errorf("action %s names no node", t.Action.ID)
	}
	n, ok := l.c.nodes[*t.Action.Node]
	switch {
	case !ok:
		return nil, fmt.Errorf("no node %d", *t.Action.Node)
	case l.c.unreachable(n.ID):
		return nil, fmt.Errorf("node %d: connection timed out", n.ID)
	default:
		return n, nil
	}
}

// within runs f on the locked cluster.
func (l *Life) within(f func() error) error {
	defer l.c.hold()()
	return f()
}

// await looks until good, for at most limit.
func (l *Life) await(ctx context.Context, limit time.Duration, what string, good func() bool) error {
	until := time.Now().Add(limit)
	for {
		done := false
		_ = l.within(func() error { done = good(); return nil })
		switch {
		case done:
			return nil
		case time.Now().After(until):
			return fmt.Errorf("%s: not within %s", what, limit)
		case !pause(ctx, look):
			return fmt.Errorf("%s: %w", what, ctx.Err())
		}
	}
}

func (l *Life) stop(ctx context.Context, t execute.Task) (execute.Result, error) {
	var n *node
	baseline := func() *phases.DrillRun { return nil }
	err := l.within(func() (err error) {
		if n, err = l.target(t); err == nil {
			baseline = l.watchFailover(ctx, t, n)
			n.stopCommand(l.c)
		}
		return err
	})
	if err != nil {
		return execute.Result{}, fmt.Errorf("stop: %w", err)
	}
	if err := l.await(ctx, l.c.cfg.Gates.StepTimeout, fmt.Sprintf("node %d does not stop", n.ID), func() bool { return n.proc == nil }); err != nil {
		return execute.Result{}, err
	}
	res := execute.Result{Detail: "stopped", Drill: baseline()}
	return res, l.within(func() error { res.Unclean = !n.clean; return nil })
}

func (l *Life) write(ctx context.Context, t execute.Task) (execute.Result, error) {
	data, err := l.contents.Get(t.Action.After)
	if err != nil {
		return execute.Result{}, fmt.Errorf("content of %s: %w", t.Action.ID, err)
	}
	if !pause(ctx, writeTime) {
		return execute.Result{}, ctx.Err()
	}
	detail := "written"
	err = l.within(func() error {
		n, err := l.target(t)
		if err != nil {
			return err
		}
		have := ""
		if n.file != nil {
			have = n.file.sha
		}
		switch have {
		case t.Action.After:
			detail = "already in place"
		case t.Action.Before:
			n.keepCopy()
			n.file = newContent(data, n.Role)
		default:
			return fmt.Errorf("%s changed since the plan was made", t.Action.Path)
		}
		return nil
	})
	if err != nil {
		return execute.Result{}, fmt.Errorf("write: %w", err)
	}
	return execute.Result{Detail: detail}, nil
}

// format goes on when the service is killed: it is a process of its own.
func (l *Life) format(ctx context.Context, t execute.Task) (execute.Result, error) {
	var n *node
	err := l.within(func() (err error) {
		if n, err = l.target(t); err != nil || n.meta != nil {
			return err
		}
		level, err := configgen.FeatureLevel(t.Action.Argv[len(t.Action.Argv)-1])
		id := t.Action.Argv[len(t.Action.Argv)-2]
		if err != nil {
			return err
		}
		at := n.ID
		l.c.in(formatTime, func(c *Cluster) {
			if n := c.nodes[at]; n.meta == nil {
				n.meta, n.metaLevel = &meta{version: 1, clusterID: id, nodeID: n.ID}, level
			}
		})
		return nil
	})
	if err != nil {
		return execute.Result{}, fmt.Errorf("format: %w", err)
	}
	if err := l.await(ctx, topicLimit, fmt.Sprintf("node %d is not formatted", n.ID), func() bool { return n.meta != nil }); err != nil {
		return execute.Result{}, err
	}
	return execute.Result{Detail: "formatted"}, nil
}

func (l *Life) start(ctx context.Context, t execute.Task) (execute.Result, error) {
	err := l.within(func() error {
		n, err := l.target(t)
		if err == nil {
			n.startCommand(l.c)
		}
		return err
	})
	if err != nil {
		return execute.Result{}, fmt.Errorf("start: %w", err)
	}
	if !pause(ctx, look) {
		return execute.Result{}, ctx.Err()
	}
	return execute.Result{Detail: "started"}, nil
}

// Probe looks whether an action was done.
func (l *Life) Probe(ctx context.Context, t execute.Task) (execute.Probed, string, error) {
	if l.Killed() || ctx.Err() != nil {
		return execute.ProbedUnknown, "", errKilled
	}
	l.mu.Lock()
	l.probed[t.Step.ID+"/"+t.Action.ID] = true
	l.mu.Unlock()
	is := func(good func(n *node) bool) (execute.Probed, string, error) {
		found := execute.ProbedNotDone
		err := l.within(func() error {
			n, err := l.target(t)
			if err == nil && good(n) {
				found = execute.ProbedDone
			}
			return err
		})
		if err != nil {
			return execute.ProbedUnknown, "", err
		}
		return found, "looked", nil
	}
	switch t.Action.Kind {
	case plan.Stop:
		return is(func(n *node) bool { return n.proc == nil })
	case plan.Write:
		return is(func(n *node) bool { return n.file != nil && n.file.sha == t.Action.After })
	case plan.FormatDirs:
		return l.lasting(ctx, is, func(n *node) bool { return n.meta != nil })
	case plan.Start:
		return l.lasting(ctx, is, func(n *node) bool { return n.proc != nil })
	case plan.RevertZnodes:
		return l.probeZnodes()
	default:
		return execute.ProbedNotDone, "safe to repeat", nil
	}
}

// lasting: what is not so now may become so by a command given before the
// service was killed; it counts as not done only when it lasts.
func (l *Life) lasting(ctx context.Context, is func(func(*node) bool) (execute.Probed, string, error), good func(*node) bool) (execute.Probed, string, error) {
	until := time.Now().Add(doubtLimit)
	for {
		found, how, err := is(good)
		if err != nil || found == execute.ProbedDone || time.Now().After(until) {
			return found, how, err
		}
		if !pause(ctx, look) {
			return execute.ProbedUnknown, "", errors.Join(errKilled, ctx.Err())
		}
	}
}
