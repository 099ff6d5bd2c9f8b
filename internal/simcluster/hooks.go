package simcluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"migrator/internal/config"
	"migrator/internal/execute"
	"migrator/internal/plan"
)

// hookTime is long enough to die in the middle of.
const hookTime = 700 * time.Millisecond

// hooks is what the operator's own commands have done so far.
type hooks struct {
	frozen bool
	aside  map[int32]bool // nodes that others were told to leave alone
	fails  map[string]int // how often the next runs of an action fail
}

func (h hooks) clone() hooks {
	return hooks{frozen: h.frozen, aside: maps.Clone(h.aside), fails: maps.Clone(h.fails)}
}

func simHooks() config.Hooks {
	return config.Hooks{Freeze: []string{"sim", "freeze"}, Thaw: []string{"sim", "thaw"},
		BeforeNode: []string{"sim", "aside", "{id}", "{host}", "{rack}"}, AfterNode: []string{"sim", "back", "{id}", "{host}", "{rack}"}}
}

// FailHook lets the next runs of a hook fail: freeze, thaw, before-node-1.
func (c *Cluster) FailHook(action string, times int) {
	defer c.hold()()
	c.hooks.fails[action] = times
}

// Frozen says that the hook freeze ran and thaw has not since; aside are nodes
// between before_node and after_node.
func (c *Cluster) Frozen() (frozen bool, aside []int32) {
	defer c.still()()
	return c.hooks.frozen, slices.Sorted(maps.Keys(c.hooks.aside))
}

// hook takes effect as it begins, and ends later.
func (l *Life) hook(ctx context.Context, t execute.Task) (execute.Result, error) {
	err := l.within(func() error {
		h := &l.c.hooks
		if h.fails[t.Action.ID] > 0 {
			h.fails[t.Action.ID]--
			return fmt.Errorf("the hook %s: %s exited 1: no", t.Action.ID, t.Action.Argv[0])
		}
		switch t.Action.Kind {
		case plan.FreezeHook:
			h.frozen = true
		case plan.ThawHook:
			h.frozen = false
		case plan.BeforeNode:
			h.aside[*t.Action.Node] = true
		default:
			delete(h.aside, *t.Action.Node)
		}
		return nil
	})
	if err != nil {
		return execute.Result{}, err
	}
	if !pause(ctx, hookTime) {
		return execute.Result{}, errors.Join(errKilled, ctx.Err())
	}
	return execute.Result{Detail: "exited 0: it printed nothing"}, nil
}

// afterFreeze: with hooks, nothing is done before freeze, and to no node before
// its before_node.
func (r *rules) afterFreeze(c *Cluster, t execute.Task, what string) {
	switch {
	case len(c.cfg.Hooks.Freeze) == 0 || t.Action.Kind == plan.FreezeHook || t.Action.Kind == plan.ThawHook:
	case !c.hooks.frozen:
		r.disaster(what + ": before the hook freeze has succeeded")
	case t.Action.Node != nil && !t.Action.Kind.Hook() && !c.hooks.aside[*t.Action.Node]:
		r.disaster(what + ": before the hook before_node of its node")
	case t.Action.Kind == plan.AfterNode && t.Step.Kind == plan.Roll && !c.nodes[*t.Action.Node].serves() && !c.rules.lastFault.After(c.now.Add(-c.grace())):
		r.disaster(what + ": before its node serves again")
	}
}
