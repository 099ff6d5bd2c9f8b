package orchestrate

import (
	"context"
	"time"

	"migrator/internal/phases"
)

// runCanary keeps our own client running while its topic exists and the
// migration is not finished.
func (m *Machine) runCanary(ctx context.Context) {
	m.deps.Canary.Quiet(m.state.Run != nil && m.state.Run.Plan.Revert)
	want := m.state.CanaryTopic && !m.state.Finished && !m.cfg.Canary.Off && !m.removing()
	switch {
	case want && !m.canaryOn:
		if err := m.deps.Canary.Start(ctx); err != nil {
			m.deps.Log.Warn("the canary cannot start; it is tried again", "cluster", m.cfg.Name, "error", err.Error())
			return
		}
		m.canaryOn = true
	case !want && m.canaryOn:
		m.stopCanary()
	}
}

// removing: the step that deletes the topic is open.
func (m *Machine) removing() bool {
	step, ok := m.state.OpenStep()
	return ok && step.ID == "canary-remove"
}

func (m *Machine) stopCanary() {
	if !m.canaryOn {
		return
	}
	m.canaryOn = false
	defer m.noteCanary()
	stopping, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := m.deps.Canary.Stop(stopping); err != nil {
		m.deps.Log.Warn("the canary did not stop cleanly", "cluster", m.cfg.Name, "error", err.Error())
	}
}

// noteCanary journals what the present run of the client has seen.
func (m *Machine) noteCanary() {
	id, seen, ok := m.deps.Canary.Run()
	if !ok {
		return
	}
	m.append(phases.KindCanary, service, phases.Body{Canary: &phases.Canary{Run: id, Sent: seen.Sent, Acked: seen.Acked, Failed: seen.Failed, Lost: seen.Lost, Unchecked: seen.Unchecked,
		LongestStall: seen.LongestProduceStall, LongestMetadataStall: seen.LongestMetadataStall}})
}
