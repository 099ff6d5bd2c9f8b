package orchestrate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"migrator/internal/execute"
	"migrator/internal/gates"
	"migrator/internal/phases"
	"migrator/internal/plan"
)

// performed is what came back from an action's goroutine: an outcome, or the
// answer of a look at an action in doubt.
type performed struct {
	action  plan.Action
	step    string
	restore bool
	result  execute.Result
	err     error
	looked  bool // this was only a look
	probe   execute.Probed
	detail  string
}

// act journals the intent of each action and lets it happen. Actions in doubt
// after a restart are looked at first, never blindly repeated.
func (m *Machine) act(ctx context.Context, d phases.Decision) bool {
	todo, restore := d.Actions, d.Restore
	if len(m.conflicts) > 0 && !restore {
		todo, restore = m.onlyStarts(d.Step), true
		if len(todo) == 0 {
			return m.void()
		}
	}
	for _, a := range todo {
		if a.Manual {
			if !m.askFor(ctx, a, phases.Intent{Step: d.Step.ID, Restore: restore}) {
				return false
			}
			continue
		}
		if m.state.Run.Actions[a.ID].Running {
			m.spawnProbe(ctx, d.Step, a, 0)
			continue
		}
		if !m.intend(a, phases.Intent{Step: d.Step.ID, Restore: restore}) {
			return false
		}
		m.spawn(ctx, a, m.task(d.Step, a, restore))
	}
	return true
}

// onlyStarts are the starts of nodes that we hold down.
func (m *Machine) onlyStarts(step plan.Step) []plan.Action {
	down := m.state.StoppedByUs()
	var out []plan.Action
	for _, a := range step.Actions {
		if a.Kind == plan.Start && a.Node != nil && slices.Contains(down, *a.Node) {
			out = append(out, a)
		}
	}
	return out
}

func (m *Machine) intend(a plan.Action, i phases.Intent) bool {
	m.deps.Failpoint(BeforeIntent, a)
	i.Action, i.Try = a.ID, m.state.Run.Actions[a.ID].Tries+1
	if !m.append(phases.KindIntent, service, phases.Body{Intent: &i}) {
		return false
	}
	m.deps.Failpoint(AfterIntent, a)
	return true
}

func (m *Machine) task(step plan.Step, a plan.Action, restore bool) execute.Task {
	return execute.Task{Step: step, Action: a, ClusterID: m.state.ClusterID, Try: m.state.Run.Actions[a.ID].Tries, Restore: restore,
		Snapshot: m.snap, NotPreferred: m.state.Run.NotPreferred}
}

// spawn performs one action beside the loop. Its context outlives a drain: an
// effect that began is brought to its end.
func (m *Machine) spawn(ctx context.Context, a plan.Action, t execute.Task) {
	acting, cancel := context.WithCancel(ctx)
	m.busy[a.ID] = cancel
	go func() {
		res, err := m.deps.Executor.Do(acting, t)
		m.deps.Failpoint(AfterEffect, a)
		m.deliver(ctx, performed{action: a, step: t.Step.ID, restore: t.Restore, result: res, err: err})
	}()
}

// spawnProbe looks at an action in doubt; after an unknown answer it waits
// before it looks again.
func (m *Machine) spawnProbe(ctx context.Context, step plan.Step, a plan.Action, wait time.Duration) {
	acting, cancel := context.WithCancel(ctx)
	m.busy[a.ID] = cancel
	t := m.task(step, a, m.state.Run.Actions[a.ID].Restore)
	go func() {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-acting.Done():
		}
		found, detail, err := m.deps.Executor.Probe(acting, t)
		if err != nil {
			found, detail = execute.ProbedUnknown, err.Error()
		}
		m.deliver(ctx, performed{action: a, step: step.ID, restore: t.Restore, looked: true, probe: found, detail: detail})
	}()
}

func (m *Machine) deliver(ctx context.Context, p performed) {
	select {
	case m.results <- p:
	case <-ctx.Done():
	}
}

// record journals what came back, or goes on from a look.
func (m *Machine) record(ctx context.Context, p performed) {
	if cancel, ok := m.busy[p.action.ID]; ok {
		cancel()
		delete(m.busy, p.action.ID)
	}
	if m.broken != nil || m.state.Run == nil {
		return
	}
	step, ok := m.state.Run.Plan.Step(p.step)
	if !ok {
		return
	}
	switch {
	case !p.looked:
		m.outcome(p, phases.Outcome{Step: p.step, Action: p.action.ID, OK: p.err == nil, Detail: detailOf(p), Unclean: p.result.Unclean, Blob: p.result.Blob})
	case p.probe == execute.ProbedDone:
		m.outcome(p, phases.Outcome{Step: p.step, Action: p.action.ID, OK: true, Detail: "found done: " + p.detail, Probed: true})
	case p.probe == execute.ProbedNotDone:
		m.notDone(ctx, step, p)
	default:
		m.unknownProbe(ctx, step, p)
	}
}

// notDone performs an action that a look found not done. Of a node that died
// after an earlier start only what it logs and registers from here on counts:
// the lines of its death would hold the step for ever.
func (m *Machine) notDone(ctx context.Context, step plan.Step, p performed) {
	i := phases.Intent{Step: step.ID, Restore: p.restore}
	if m.state.Run.Actions[p.action.ID].Died {
		node := []int32{*p.action.Node}
		cursors, err := m.markLogs(ctx, node)
		if err != nil {
			m.outcome(p, phases.Outcome{Step: step.ID, Action: p.action.ID, Detail: "its log cannot be read before it is started again: " + err.Error()})
			return
		}
		known := m.baseline(node)
		i.Again = &gates.Baseline{Czxid: known.Czxid, Incarnation: known.Incarnation, Cursors: cursors}
	}
	if !m.intend(p.action, i) {
		return
	}
	t := m.task(step, p.action, p.restore)
	t.Cursors = m.state.Run.Baseline.Cursors // its first try may have left its lines already
	m.spawn(ctx, p.action, t)
}

func (m *Machine) unknownProbe(ctx context.Context, step plan.Step, p performed) {
	begun := m.state.Run.Actions[p.action.ID].Begun
	if m.deps.Now().Sub(phases.Latest(begun, m.state.Run.ResumedAt, m.progress.at)) > m.cfg.Gates.StepTimeout {
		m.outcome(p, phases.Outcome{Step: p.step, Action: p.action.ID, Detail: "in doubt after a restart, and looking gives no answer: " + p.detail})
		return
	}
	m.spawnProbe(ctx, step, p.action, time.Second)
}

func (m *Machine) outcome(p performed, o phases.Outcome) bool {
	if p.result.Drill != nil {
		d := *p.result.Drill
		if !m.append(phases.KindDrill, service, phases.Body{Drill: &d}) {
			return false
		}
	}
	if !m.append(phases.KindOutcome, service, phases.Body{Outcome: &o}) {
		return false
	}
	m.deps.Failpoint(AfterOutcome, p.action)
	m.eye.effect()
	m.look()
	return true
}

func detailOf(p performed) string {
	if p.err != nil {
		return p.err.Error()
	}
	return p.result.Detail
}

func (m *Machine) busyNames() []string { return slices.Sorted(maps.Keys(m.busy)) }

// endBusy lets go of actions when the loop ends; nodes live on without us.
func (m *Machine) endBusy() {
	for id, cancel := range m.busy {
		m.deps.Log.Warn("stopped while an action was under way; it is in doubt and looked at first next time", "cluster", m.cfg.Name, "action", id)
		cancel()
	}
}

// bind ties the migration's name to the cluster at the first observation.
func (m *Machine) bind() {
	id, ok := m.snap.ClusterID.Get()
	if !ok || m.state.ClusterID != "" || m.broken != nil {
		return
	}
	if err := m.deps.Claim(id); err != nil {
		m.broken = fmt.Errorf("cluster id %s: %w", id, err)
		return
	}
	m.append(phases.KindBound, service, phases.Body{Bound: &phases.Bound{ClusterID: id}})
}
