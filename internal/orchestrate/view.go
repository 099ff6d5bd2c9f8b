package orchestrate

import (
	"time"

	"migrator/internal/configgen"
	"migrator/internal/gates"
	"migrator/internal/phases"
)

// view is what the gates may look at now.
func (m *Machine) view(now time.Time) gates.View {
	v := gates.View{Snapshot: m.snap, Settings: m.settings(), Phase: m.state.Phase, Expected: m.state.Expected(), Short: m.state.Short,
		Accepted: m.state.Accepted, DrillsWanted: m.cfg.Drill.Kinds, DrillsPassed: m.state.PassedDrills(),
		Kept: m.kept, Stopped: m.state.Stopped(), Now: now, Memory: m.memory,
		Soak: gates.Soak{Required: m.cfg.Soak(m.cfg.Drill.Phase), Elapsed: m.clock.Elapsed, Running: m.state.Soak != nil,
			HasLeader: m.clock.HasLeader, Leader: m.clock.Leader, LeaderEpoch: m.clock.LeaderEpoch, Incarnations: m.clock.Incarnations}}
	if m.state.Soak == nil || m.state.Soak.Phase != m.cfg.Drill.Phase {
		v.Soak.Elapsed, v.Soak.Running = 0, false
	}
	if m.state.Run == nil {
		return v
	}
	v.Plan = m.state.Run.Plan.Phase
	if step, ok := m.state.OpenStep(); ok {
		v.Step = &gates.Step{ID: step.ID, Kind: step.Kind, Batch: step.Batch, Mode: step.Mode, Opened: true,
			NotBefore: m.state.Run.LastEffect, Baseline: m.state.Run.Baseline, Impact: step.Impact}
		return v
	}
	if next := phases.NextStep(m.state, m.snap, m.cfg.Inventory()); next.Step != nil {
		v.Step = &gates.Step{ID: next.Step.ID, Kind: next.Step.Kind, Batch: next.Step.Batch, Mode: next.Step.Mode,
			NotBefore: m.state.Run.LastEffect, Impact: next.Step.Impact}
	}
	return v
}

func (m *Machine) settings() gates.Settings {
	g := m.cfg.Gates
	s := gates.Settings{Inventory: m.cfg.Inventory(), ClusterID: m.state.ClusterID, KafkaVersion: m.cfg.Kafka.Version,
		GoodPolls: g.GoodPolls, PollInterval: g.PollInterval, MaxFactAge: g.MaxFactAge, StepTimeout: g.StepTimeout,
		MaxUnavailable: m.cfg.Drill.MaxUnavailable, CanaryOff: m.cfg.Canary.Off, CanaryTopic: m.cfg.Canary.Topic}
	s.MetadataVersion = m.metadataVersion()
	return s
}

// metadataVersion is the level all brokers' files ask for, nil when they
// cannot be read or disagree; KRaft-mode files name none, the log does.
func (m *Machine) metadataVersion() *int16 {
	var agreed *int16
	for _, n := range m.cfg.Inventory().Brokers {
		f, ok := m.snap.Files[n.ID].Get()
		if !ok || !f.Exists {
			return nil
		}
		if f.Mode == "kraft" {
			continue
		}
		ibp, err := configgen.EffectiveIBP(f.Content, m.cfg.Kafka.Version)
		if err != nil {
			return nil
		}
		level, err := configgen.FeatureLevel(ibp)
		if err != nil || agreed != nil && *agreed != level {
			return nil
		}
		agreed = &level
	}
	if agreed != nil {
		return agreed
	}
	level, err := configgen.FeatureLevel(m.cfg.Kafka.Version)
	if err != nil {
		return nil
	}
	return &level
}
