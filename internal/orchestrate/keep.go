package orchestrate

import (
	"context"
	"fmt"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/plan"
)

// keepLimit bounds the backup before a plan: a way back must not wait long for
// what is a second copy already, the plan initial having saved the first.
const keepLimit = 2 * time.Minute

const keepAction = "backup-znodes"

// keepZnodes begins the backup before a plan's first step and says whether it is
// under way. One that fails is logged and holds nothing back. The plan initial
// saves the znodes by a step of its own.
func (m *Machine) keepZnodes(ctx context.Context) bool {
	run := m.state.Run
	if m.deps.KeepZnodes == nil || len(run.Done) > 0 || !run.Plan.Revert && run.Plan.Phase == cluster.Initial {
		return false
	}
	this := fmt.Sprintf("%d %s", m.state.Attempt, run.Plan.Digest)
	if m.keptBefore == this {
		_, underWay := m.busy[keepAction]
		return underWay
	}
	m.keptBefore = this
	label := string(run.Plan.Phase)
	if run.Plan.Revert {
		label = "revert-to-" + label
	}
	taking, cancel := context.WithTimeout(ctx, keepLimit)
	m.busy[keepAction] = cancel
	go func() {
		file, err := m.deps.KeepZnodes(taking, label)
		if err != nil {
			m.deps.Log.Warn("no backup of the znodes before this plan; it goes on", "cluster", m.cfg.Name, "plan", label, "error", err.Error())
		} else {
			m.deps.Log.Info("znodes kept", "cluster", m.cfg.Name, "plan", label, "file", file)
		}
		m.deliver(ctx, performed{action: plan.Action{ID: keepAction}})
	}()
	return true
}
