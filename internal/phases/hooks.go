package phases

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"migrator/internal/config"
	"migrator/internal/plan"
)

// freeze puts the hooks freeze and thaw around a plan that has anything to do.
// The thaw is the last step of whatever plan ends the work: a plan that was held
// and left for a way back thaws with the end of that way back, and one that
// became void with the end of the plan that takes its place. So nothing is
// thawed while nodes stand half-way.
func (b *builder) freeze() {
	if len(b.steps) == 0 {
		return
	}
	hooks := b.in.Migration.Hooks
	if len(hooks.Freeze) > 0 {
		b.steps = append([]plan.Step{b.whole(plan.Step{ID: "freeze", Kind: plan.Freeze, Sentence: "run the hook freeze; nothing else begins before it has succeeded",
			Actions: []plan.Action{{ID: "freeze", Kind: plan.FreezeHook, Argv: hooks.Freeze}}, Undo: "the hook thaw, at the end of this plan or of the one that takes its place"})}, b.steps...)
	}
	if owed := b.owed(); len(owed) > 0 {
		b.steps = append(b.steps, b.whole(plan.Step{ID: "after-nodes", Kind: plan.Thaw, Sentence: "run the hook after_node of nodes whose own step did not", Actions: owed, Undo: "nothing to undo"}))
	}
	if len(hooks.Thaw) > 0 {
		b.steps = append(b.steps, b.whole(plan.Step{ID: "thaw", Kind: plan.Thaw, Sentence: "run the hook thaw",
			Actions: []plan.Action{{ID: "thaw", Kind: plan.ThawHook, Argv: hooks.Thaw}}, Undo: "nothing to undo"}))
	}
}

// owed are the after_node hooks that no node's own step of this plan runs: of
// nodes that an earlier plan left in the middle of their step, and of controllers
// that this one stops for good.
func (b *builder) owed() []plan.Action {
	ids := slices.Clone(b.in.Hooked)
	for _, s := range b.steps {
		if s.Kind == plan.StopControllers {
			ids = append(ids, s.Batch...)
		} else {
			ids = slices.DeleteFunc(ids, func(id int32) bool { return slices.Contains(s.Batch, id) })
		}
	}
	slices.Sort(ids)
	var out []plan.Action
	for _, id := range slices.Compact(ids) {
		if n, ok := b.in.Migration.Node(id); ok && len(b.in.Migration.Hooks.AfterNode) > 0 {
			out = append(out, nodeHook(plan.AfterNode, 0, b.in.Migration.Hooks.AfterNode, n))
		}
	}
	return out
}

// aroundNodes puts the hooks before_node and after_node around a step that
// changes or restarts nodes. A drill has none: which controller it takes away is
// known only when it begins, and a failover that was announced proves less.
// Controllers that stop for good have theirs at the end: nothing makes the time
// without a controller longer.
func (b *builder) aroundNodes(s plan.Step) plan.Step {
	hooks := b.in.Migration.Hooks
	var before, after []plan.Action
	for _, id := range s.Batch {
		n, ok := b.in.Migration.Node(id)
		if !ok {
			continue
		}
		if len(hooks.BeforeNode) > 0 {
			before = append(before, nodeHook(plan.BeforeNode, plan.HookStage, hooks.BeforeNode, n))
		}
		if len(hooks.AfterNode) > 0 && s.Kind != plan.StopControllers {
			after = append(after, nodeHook(plan.AfterNode, lastStage(s.Actions)+1, hooks.AfterNode, n))
		}
	}
	s.Actions = slices.Concat(before, s.Actions, after)
	return s
}

func lastStage(actions []plan.Action) int {
	last := 0
	for _, a := range actions {
		last = max(last, a.Stage)
	}
	return last
}

func nodeHook(kind plan.ActionKind, stage int, argv []string, n config.Node) plan.Action {
	return plan.Action{ID: fmt.Sprintf("%s-%d", kind, n.ID), Kind: kind, Stage: stage, Node: &n.ID, Argv: hookArgv(argv, n)}
}

func hookArgv(argv []string, n config.Node) []string {
	fill := strings.NewReplacer("{id}", strconv.Itoa(int(n.ID)), "{host}", n.Host, "{rack}", n.Rack)
	out := make([]string, len(argv))
	for i, a := range argv {
		out[i] = fill.Replace(a)
	}
	return out
}

// hookNow is the argv that migrations.yaml gives a hook of a plan now.
func hookNow(a plan.Action, m config.Migration, n config.Node) []string {
	switch a.Kind {
	case plan.FreezeHook:
		return m.Hooks.Freeze
	case plan.ThawHook:
		return m.Hooks.Thaw
	case plan.BeforeNode:
		return hookArgv(m.Hooks.BeforeNode, n)
	case plan.AfterNode:
		return hookArgv(m.Hooks.AfterNode, n)
	default:
		return nil
	}
}

// owedAfter are the after_node hooks of the open step that are still to run.
func owedAfter(s State, step plan.Step) []plan.Action {
	return slices.DeleteFunc(s.work(step), func(a plan.Action) bool { return a.Kind != plan.AfterNode || s.Run.Actions[a.ID].OK })
}

// HookedNodes are nodes whose hook before_node ran and whose after_node has not
// succeeded since, sorted.
func (s State) HookedNodes() []int32 { return slices.Sorted(maps.Keys(s.Hooked)) }
