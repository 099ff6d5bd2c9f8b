package orchestrate

import (
	"encoding/json"
	"fmt"
	"slices"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/phases"
	"migrator/internal/revert"
	"migrator/internal/status"
)

// keep remembers what the metadata log held last: with all controllers down a
// revert has nothing else to compare ZooKeeper with.
func (m *Machine) keep(s facts.Snapshot) {
	if l, ok := s.Log.Get(); ok {
		m.kept = l.Image.Topics
	}
}

// loadKept reads it back after a restart of the service in the middle of a revert.
func (m *Machine) loadKept() error {
	if m.state.Image == "" || m.state.Run == nil || !m.state.Run.Plan.Revert {
		return nil
	}
	raw, err := m.deps.Blobs.Get(m.state.Image)
	if err != nil {
		return fmt.Errorf("what the metadata log of %s held: %w", m.cfg.Name, err)
	}
	if err := json.Unmarshal(raw, &m.kept); err != nil {
		return fmt.Errorf("what the metadata log of %s held: %w", m.cfg.Name, err)
	}
	return nil
}

// goesBack: somebody asks for a way back.
func (m *Machine) goesBack() bool {
	return slices.ContainsFunc(m.pending, func(w waiting) bool { return w.Verb == Revert })
}

// keptRead: in the present snapshot somebody looked beside every broker's file,
// whatever came of it. A journal that began after the migration knows no originals.
func (m *Machine) keptRead() bool {
	return !slices.ContainsFunc(m.inv.Brokers, func(n cluster.Node) bool { return m.snap.Kept[n.ID].Begun().IsZero() })
}

// startRevert builds the way back from the present snapshot and, when its
// digest was named, starts it in place of whatever plan runs. again: it is
// refused while a fact is not known that the next look may bring.
func (m *Machine) startRevert(r request) (err error, again bool) {
	built, choice, err := m.buildRevert(r.To)
	switch {
	case len(m.busy) > 0 || len(m.state.StoppedByUs()) > 0 && m.state.Blocked == nil:
		return refuse("in-the-middle", 3, "nodes of the open step are being restarted (%s): give the command again when they are back", m.decision.Why), choice.Unknown
	case err != nil:
		return refuse("no-way-back", 3, "refused: %v", err), choice.Unknown
	default:
		return m.turnBack(r, built, choice), false
	}
}

// turnBack answers with the plan to read, or starts it when its digest was named.
func (m *Machine) turnBack(r request, built phases.Built, choice revert.Choice) error {
	if len(built.Plan.Steps) == 0 {
		return refuse("nothing-to-do", 3, "the cluster already is where a revert to %s would take it: %s", r.To, choice.Why)
	}
	p := built.Plan
	shown := status.Planned(p, true)
	switch {
	case r.Digest == "":
		return &Refusal{Code: "no-digest", Exit: 4, Plan: shown, Message: fmt.Sprintf("the way back to %s by route %s has digest %s: an approval names it", r.To, choice.Route, p.Digest)}
	case r.Digest != p.Digest:
		return &Refusal{Code: "stale-digest", Exit: 4, Plan: shown, Message: fmt.Sprintf("digest %s is not the current one: the way back to %s now has %s; read it again", short(r.Digest), r.To, p.Digest)}
	case r.Confirm != m.cfg.Name:
		return refuse("confirm", 3, "a revert restarts brokers and deletes znodes: type the migration's name (--confirm %s)", m.cfg.Name)
	}
	// The way back begins where the cluster is, which may be further than what
	// the forward plan, whose gates had not passed yet, had recorded.
	if l := m.located; l.OK && l.Phase.Index() > m.state.Phase.Index() {
		moved := phases.Moved{From: m.state.Phase, To: l.Phase, Why: "as the revert begins: " + l.Why}
		if err := m.appendOr(phases.KindMoved, r.Actor, phases.Body{Moved: &moved}); err != nil {
			return err
		}
	}
	m.offer = offer{built: &built, phase: r.To}
	if !m.approve(r.Actor, r.Confirm) {
		return refuse("journal", 3, "blocked: journal: %v", m.broken)
	}
	return nil
}

func (m *Machine) buildRevert(to cluster.Phase) (phases.Built, revert.Choice, error) {
	return phases.BuildRevert(phases.RevertInputs{
		Inputs: phases.Inputs{Migration: m.live, Snapshot: m.snap, ClusterID: m.state.ClusterID, Phase: to, Located: m.located.Phase, Hooked: m.state.HookedNodes(), Took: took(m.state), Memo: &m.memo},
		State:  m.state, Content: m.deps.Blobs.Get})
}
