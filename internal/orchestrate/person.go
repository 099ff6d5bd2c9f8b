package orchestrate

import (
	"context"
	"slices"

	"migrator/internal/gates"
	"migrator/internal/phases"
	"migrator/internal/plan"
)

// toBringBack are the nodes held down that this service itself can start. One
// that a person stopped waits for that person whether the service runs or not.
func (m *Machine) toBringBack() []int32 {
	return slices.DeleteFunc(m.state.StoppedByUs(), func(id int32) bool {
		n, ok := m.cfg.Node(id)
		return ok && n.Access.Kind == "manual"
	})
}

// askFor journals that a person is to do an action; that it was done is seen in
// the snapshots. A node that already runs as its start is asked for must be
// started anew: its log and its registration count from here.
func (m *Machine) askFor(ctx context.Context, a plan.Action, i phases.Intent) bool {
	if m.state.Run.Actions[a.ID].Running {
		return true
	}
	running, known := m.snap.Running[*a.Node].Get()
	if a.Kind == plan.Start && !i.Restore && known && running {
		node := []int32{*a.Node}
		cursors, err := m.markLogs(ctx, node)
		if err != nil {
			m.deps.Log.Warn("the log of a node that is to be started by hand cannot be marked", "cluster", m.cfg.Name, "node", *a.Node, "error", err.Error())
		}
		now := m.baseline(node)
		i.Again = &gates.Baseline{Czxid: now.Czxid, Incarnation: now.Incarnation, Cursors: cursors}
	}
	return m.intend(a, i)
}

// planned are the contents that a person is to write in one step.
type planned struct {
	step     string
	contents map[string][]byte
}

// toWrite reads them once for each step. One that cannot be read only leaves a
// wrong file unexplained.
func (m *Machine) toWrite() map[string][]byte {
	step, ok := m.state.OpenStep()
	if !ok {
		return nil
	}
	key := m.state.Run.Plan.Digest + " " + step.ID
	if m.planned.step == key {
		return m.planned.contents
	}
	m.planned = planned{step: key, contents: map[string][]byte{}}
	for _, a := range step.Actions {
		if a.Kind != plan.Write || !a.Manual {
			continue
		}
		data, err := m.deps.Blobs.Get(a.After)
		if err != nil {
			m.deps.Log.Warn("a planned file cannot be read", "cluster", m.cfg.Name, "step", step.ID, "error", err.Error())
			continue
		}
		m.planned.contents[a.After] = data
	}
	return m.planned.contents
}
