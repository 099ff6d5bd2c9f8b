package orchestrate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/gates"
	"migrator/internal/phases"
	"migrator/internal/plan"
)

// perform carries out one decision. It answers true when the state changed and
// there may be more to decide at once.
func (m *Machine) perform(ctx context.Context, d phases.Decision) bool {
	if m.broken != nil {
		return false
	}
	switch d.Verb {
	case phases.Ask:
		return m.approveBySelf(*d.Offer)
	case phases.Advance:
		return m.append(phases.KindMoved, service, phases.Body{Moved: &phases.Moved{From: m.state.Phase, To: d.To, Why: d.Why}})
	case phases.Drift, phases.Block:
		if m.state.Blocked != nil {
			return false
		}
		b := d.Blocked
		return m.append(phases.KindBlocked, service, phases.Body{Blocked: &b})
	case phases.Lift:
		return m.append(phases.KindLifted, service, phases.Body{})
	case phases.Open:
		return m.open(ctx, d.Step)
	case phases.Act:
		return m.act(ctx, d)
	case phases.Witness:
		return m.outcome(performed{action: d.Actions[0]}, phases.Outcome{Step: d.Step.ID, Action: d.Actions[0].ID, OK: true, Detail: "done by a person: " + d.Why})
	case phases.Again:
		again := phases.Retried{Why: d.Why}
		for _, a := range d.Actions {
			again.Starts = append(again.Starts, a.ID)
		}
		return m.append(phases.KindRetried, service, phases.Body{Retried: &again})
	case phases.CloseStep:
		return m.closeStep(d.Step)
	case phases.ClosePlan:
		run := m.state.Run.Plan
		return m.append(phases.KindPlanDone, service, phases.Body{Plan: &phases.PlanRef{Phase: run.Phase, Digest: run.Digest}})
	case phases.Finish:
		return m.append(phases.KindFinished, service, phases.Body{})
	default:
		return false
	}
}

// open journals what the step must remember before anything happens.
func (m *Machine) open(ctx context.Context, step plan.Step) bool {
	if len(m.conflicts) > 0 {
		return m.void()
	}
	if m.keepZnodes(ctx) {
		return false
	}
	baseline := m.baseline(step.Batch)
	if batch := m.state.Left(step.Batch); len(batch) > 0 {
		cursors, err := m.markLogs(ctx, batch)
		if err != nil {
			b := phases.Blocked{Step: step.ID, What: "the logs of the batch cannot be read before it starts: " + err.Error(), ToDo: "make them readable, then `migrator retry`"}
			return m.append(phases.KindBlocked, service, phases.Body{Blocked: &b})
		}
		baseline.Cursors = cursors
	}
	if step.Kind == plan.Znodes {
		baseline.Cursors = m.markBrokers(ctx)
	}
	if step.Kind == plan.SoakBegin {
		soak := phases.Soak{Phase: m.state.Run.Plan.Phase, Required: m.state.Run.Plan.Limits.Soak, Running: true}
		m.clock = phases.Clock{Soak: soak}
		if !m.append(phases.KindSoak, service, phases.Body{Soak: &soak}) {
			return false
		}
	}
	return m.append(phases.KindOpened, service, phases.Body{Opened: &phases.Opened{Step: step.ID, Baseline: baseline,
		Verdicts: m.seenVerdicts(phases.StepKey(step.ID, "before"))}})
}

// markBrokers has the logs of all brokers followed from before they change to
// another controller, which some of them do not survive whole. A broker whose
// logs cannot be marked is just not heard.
func (m *Machine) markBrokers(ctx context.Context) map[int32]string {
	cursors, err := m.markLogs(ctx, cluster.IDs(m.inv.Brokers))
	if err != nil {
		m.deps.Log.Warn("not every broker's log is followed", "cluster", m.cfg.Name, "error", err.Error())
	}
	return cursors
}

// markLogs makes the logs of these nodes count from now on.
func (m *Machine) markLogs(ctx context.Context, ids []int32) (map[int32]string, error) {
	marking, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return m.deps.Observer.MarkLogs(marking, ids)
}

// maxLed bounds the partitions whose elections are proven after a restart.
const maxLed = 200

func (m *Machine) baseline(batch []int32) gates.Baseline {
	b := gates.Baseline{Czxid: map[int32]int64{}, Incarnation: map[int32]string{}}
	if regs, ok := m.snap.Registered.Get(); ok {
		for _, r := range regs {
			if slices.Contains(batch, r.ID) {
				b.Czxid[r.ID] = r.Czxid
			}
		}
	}
	if l, ok := m.snap.Log.Get(); ok {
		hw := l.HighWatermark
		b.HighWatermark = &hw
		for _, id := range batch {
			if br, ok := l.Image.Brokers[id]; ok {
				b.Incarnation[id] = br.Incarnation
			}
			if c, ok := l.Image.Controllers[id]; ok {
				b.Incarnation[id] = c.Incarnation
			}
		}
	}
	if meta, ok := m.snap.Metadata.Get(); ok {
		b.Led = led(meta, batch)
	}
	return b
}

// led samples the partitions that the batch leads and another replica in sync
// could take over, evenly over all of them.
func led(meta facts.Metadata, batch []int32) []gates.Led {
	var all []gates.Led
	for _, p := range meta.Partitions {
		if p.HasLeader && len(p.ISR) > 1 && slices.Contains(batch, p.Leader) {
			all = append(all, gates.Led{Topic: p.Topic, Partition: p.Partition, Node: p.Leader, Epoch: p.LeaderEpoch})
		}
	}
	if len(all) <= maxLed {
		return all
	}
	out := make([]gates.Led, 0, maxLed)
	for i := range maxLed {
		out = append(out, all[i*len(all)/maxLed])
	}
	return out
}

// closeStep records the verdicts that ended a step.
func (m *Machine) closeStep(step plan.Step) bool {
	m.noteCanary()
	if step.Kind == plan.DrillStep {
		soak := m.clock.Soak
		if !m.append(phases.KindSoak, service, phases.Body{Soak: &soak}) {
			return false
		}
	}
	if step.Kind == plan.Adopt && !m.append(phases.KindAdopted, service, phases.Body{}) {
		return false
	}
	return m.append(phases.KindStepDone, service, phases.Body{StepDone: &phases.StepDone{Step: step.ID,
		Verdicts: m.seenVerdicts(phases.StepKey(step.ID, "done"))}})
}

// seenVerdicts is the evidence of one set as the journal keeps it.
func (m *Machine) seenVerdicts(key string) []phases.Seen {
	out := []phases.Seen{}
	for _, v := range m.judgement.Verdicts {
		if slices.Contains(v.Sets, key) {
			out = append(out, phases.Seen{Gate: v.Gate, Verdict: v.Result.String(), Evidence: v.Evidence, Source: v.Source, ObservedAt: v.ObservedAt, Since: v.Since})
		}
	}
	return out
}

// void ends a plan that the configuration no longer describes.
func (m *Machine) void() bool {
	run := m.state.Run.Plan
	why := fmt.Sprintf("migrations.yaml or the program changed since the approval: %s", m.conflicts[0])
	if !m.append(phases.KindPlanVoid, service, phases.Body{Plan: &phases.PlanRef{Phase: run.Phase, Digest: run.Digest, Why: why}}) {
		return false
	}
	m.conflicts = nil
	return m.append(phases.KindBlocked, service, phases.Body{Blocked: &phases.Blocked{What: why,
		ToDo: "the rest is offered as a new plan with a new digest after `migrator retry`"}})
}
