package orchestrate

import (
	"strings"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/phases"
	"migrator/internal/plan"
)

// clockError is how far a rehearsal's clock may be ahead of ours.
const clockError = 5 * time.Minute

// shape is what this migration changes up to the plan hybrid; known once that
// plan is made, as the one that is offered or that runs.
func (m *Machine) shape() (s plan.Shape, known bool) {
	s = plan.Shape{KafkaVersion: m.cfg.Kafka.Version, Batch: m.cfg.Roll.Batch, Turns: m.state.Turns}
	if m.offer.built == nil {
		return s, m.state.Reached.Index() >= cluster.Hybrid.Index()
	}
	s.Turns = plan.Join(s.Turns, m.offer.built.Plan.Turns())
	return s, m.offer.phase.Index() >= cluster.Hybrid.Index()
}

// register records a rehearsal that speaks for this migration, as far as its
// plans are known; the gate before hybrid compares once more.
func (m *Machine) register(r request) error {
	re := r.Rehearsal
	if re == nil || re.Pack == "" || re.Ended.IsZero() {
		return refuse("usage", 2, "a rehearsal is registered with its pack's checksum and the time of its end")
	}
	now := m.deps.Now()
	if re.Ended.After(now.Add(clockError)) {
		return refuse("rehearsal", 3, "refused: the rehearsal ended at %s, which is not yet: look at the clocks", re.Ended.UTC().Format(time.RFC3339))
	}
	here, _ := m.shape()
	if why := re.Speaks(here, m.cfg.RequireRehearsal, now); len(why) > 0 {
		return refuse("rehearsal", 3, "refused: the rehearsal on %s does not count for %s: %s", re.Name, m.cfg.Name, strings.Join(why, "; "))
	}
	for _, known := range m.state.Rehearsals {
		if known.Pack == re.Pack {
			return nil
		}
	}
	return m.appendOr(phases.KindRehearsed, r.Actor, phases.Body{Rehearsed: re})
}
