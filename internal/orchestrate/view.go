package orchestrate

import (
	"time"

	"migrator/internal/gates"
	"migrator/internal/phases"
)

// view is what the gates may look at now.
func (m *Machine) view(now time.Time) gates.View {
	v := gates.View{Snapshot: m.snap, Settings: phases.GateSettings(m.live, m.state.ClusterID, m.snap, &m.memo), Phase: m.state.Phase, Expected: m.state.Expected(), Short: m.state.Short,
		Accepted: m.state.Accepted, DrillsWanted: m.cfg.Drill.Kinds, DrillsPassed: m.state.PassedDrills(),
		Kept: m.kept, Stopped: m.state.Stopped(), Now: now, Memory: m.memory,
		Soak: gates.Soak{Required: m.cfg.Soak(m.cfg.Drill.Phase), Elapsed: m.clock.Elapsed, Running: m.state.Soak != nil,
			HasLeader: m.clock.HasLeader, Leader: m.clock.Leader, LeaderEpoch: m.clock.LeaderEpoch, Incarnations: m.clock.Incarnations}}
	v.Rehearsals = m.state.Rehearsals
	v.Shape, v.ShapeKnown = m.shape()
	if m.state.Soak == nil || m.state.Soak.Phase != m.cfg.Drill.Phase {
		v.Soak.Elapsed, v.Soak.Running = 0, false
	}
	if m.state.Run == nil {
		return v
	}
	v.Plan, v.Revert = m.state.Run.Plan.Phase, m.state.Run.Plan.Revert
	if step, ok := m.state.OpenStep(); ok {
		v.Step = &gates.Step{ID: step.ID, Kind: m.state.Run.Plan.Between(step).Kind, Batch: m.state.Left(step.Batch), Mode: step.Mode, Opened: true,
			NotBefore: m.state.Run.LastEffect, Baseline: m.state.Run.Baseline, Impact: step.Impact}
		return v
	}
	if next := phases.NextStep(m.state, m.snap, m.inv); next.Step != nil {
		v.Step = &gates.Step{ID: next.Step.ID, Kind: m.state.Run.Plan.Between(*next.Step).Kind, Batch: m.state.Left(next.Step.Batch), Mode: next.Step.Mode,
			NotBefore: m.state.Run.LastEffect, Impact: next.Step.Impact}
	}
	return v
}
