package orchestrate

import (
	"fmt"
	"maps"
	"slices"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/phases"
	"migrator/internal/plan"
)

// offer is the plan that could be approved now, or why there is none.
type offer struct {
	built *phases.Built
	why   string
	phase cluster.Phase
}

// makeOffer rebuilds the plan from the present snapshot; it is withdrawn by
// itself when the facts no longer allow it.
func (m *Machine) makeOffer() offer {
	if m.state.Run != nil || !m.located.OK {
		return offer{why: "no plan is offered while one runs"}
	}
	phase, ok := phases.OfferedPhase(m.state, m.judgement, m.cfg.Soak(cluster.Load))
	if !ok {
		return offer{why: "the gates for leaving the phase do not pass"}
	}
	built, err := phases.Build(phases.Inputs{Migration: m.live, Snapshot: m.snap, ClusterID: m.state.ClusterID, Attempt: m.state.Attempt, Phase: phase,
		Located: m.located.Phase, Adopt: m.state.Adopt, DrillsPassed: m.state.PassedDrills(), Hooked: m.state.HookedNodes(), Took: took(m.state), Memo: &m.memo})
	if err != nil {
		return offer{why: err.Error(), phase: phase}
	}
	return offer{built: &built, phase: phase}
}

func took(s phases.State) map[plan.StepKind][]float64 {
	out := map[plan.StepKind][]float64{}
	for kind, list := range s.Took {
		for _, d := range list {
			out[kind] = append(out[kind], d.Seconds())
		}
	}
	return out
}

// approveBySelf starts a plan that migrations.yaml does not hold for a person.
func (m *Machine) approveBySelf(p plan.Plan) bool {
	if m.cfg.NeedsApproval(p.Phase) {
		return false
	}
	return m.approve("configuration", "")
}

// approve stores the contents the plan's hashes stand for, then journals it.
func (m *Machine) approve(actor, confirmed string) bool {
	built := m.offer.built
	for _, sha := range slices.Sorted(maps.Keys(built.Contents)) {
		got, err := m.deps.Blobs.Put(built.Contents[sha])
		if err != nil || got != sha {
			m.fail(fmt.Errorf("keep file content %s: got %q: %w", sha, got, err))
			return false
		}
	}
	short, notPreferred := dataBaseline(m.snap)
	files := map[int32]string{}
	for id, f := range m.snap.Files {
		if v, ok := f.Get(); ok && v.Exists {
			files[id] = v.SHA256
		}
	}
	return m.append(phases.KindApproved, actor, phases.Body{Approved: &phases.Approved{Plan: built.Plan, Confirmed: confirmed,
		Short: short, NotPreferred: notPreferred, Files: files, Verdicts: m.seenVerdicts(phases.EnterKey(m.offer.phase))}})
}

// dataBaseline is what was short, offline or not led by its preferred replica
// before the plan: only what gets worse is held against it.
func dataBaseline(s facts.Snapshot) (short map[string]int, notPreferred []string) {
	short, notPreferred = map[string]int{}, []string{}
	meta, ok := s.Metadata.Get()
	if !ok {
		return short, notPreferred
	}
	for _, p := range meta.Partitions {
		name := fmt.Sprintf("%s-%d", p.Topic, p.Partition)
		switch {
		case !p.HasLeader:
			short[name] = 0
		case len(p.ISR) < len(p.Replicas):
			short[name] = len(p.ISR)
		}
		if len(p.Replicas) > 0 && (!p.HasLeader || p.Leader != p.Replicas[0]) {
			notPreferred = append(notPreferred, name)
		}
	}
	return short, notPreferred
}
