package phases

import (
	"fmt"
	"slices"

	"migrator/internal/cluster"
	"migrator/internal/gates"
)

// alarms are guards whose failure blocks, not only holds: going on, or only a
// crash at the wrong moment, would hurt. The block ends when the gate passes.
func alarms() []string {
	return []string{gates.FilesOurs, gates.Inventory, gates.FlagGuard, gates.ClusterID, gates.MigrationOurs, gates.ControllerFree, gates.SomeoneActs}
}

func alarm(s State, in Situation) (Decision, bool) {
	// Nothing was begun: a plan is simply not offered. Only what a finished revert left behind is a person's work.
	unbegun := s.Run == nil && s.Phase.Index() < cluster.Load.Index() && len(s.Completed) == 0
	for _, name := range alarms() {
		if unbegun && name != gates.ControllerFree {
			continue
		}
		v, ok := in.Judgement.Verdict(name)
		if !ok || v.Result != gates.Fail || !slices.Contains(v.Sets, WatchSet) {
			continue
		}
		return Decision{Verb: Block, Blocked: Blocked{What: name + ": " + v.Evidence, ToDo: v.ToDo, Gate: name}}, true
	}
	return Decision{}, false
}

// move follows the facts with the recorded phase, or reports drift.
func move(s State, in Situation) (Decision, bool) {
	l := in.Located
	if !l.OK {
		return Decision{}, false
	}
	if s.Phase == "" {
		return Decision{Verb: Advance, To: l.Phase, Why: l.Why}, true
	}
	if l.Phase == s.Phase {
		return Decision{}, false
	}
	if s.Run != nil && s.Run.Plan.Revert {
		return moveBack(s, l)
	}
	limit := s.Phase.Index()
	if s.Run != nil {
		limit = max(limit, s.Run.Plan.Phase.Index())
	} else if completed(s, s.Phase) {
		limit = max(limit+1, s.Reached.Index())
	} else {
		limit = max(limit, s.Reached.Index())
	}
	at := l.Phase.Index()
	switch {
	case at > s.Phase.Index() && s.Phase.Index() < limit:
		return Decision{Verb: Advance, To: cluster.Phases()[min(at, limit)], Why: l.Why}, true
	case at > s.Phase.Index() && s.Run != nil && at <= limit+1:
		return Decision{}, false // the last batch of the plan is through; its gates come first
	default:
		what := fmt.Sprintf("the journal says %s, the facts show %s (%s)", s.Phase, l.Phase, l.Why)
		return Decision{Verb: Drift, Why: what, Blocked: Blocked{What: what,
			ToDo: "somebody changed nodes outside this migration: put them back, or take the cluster over as it is with `migrator retry`"}}, true
	}
}

// moveBack follows the facts on the way back; they never lie beyond where the
// revert began.
func moveBack(s State, l Located) (Decision, bool) {
	at := l.Phase.Index()
	switch {
	case at < s.Phase.Index() && at >= s.Run.Plan.Phase.Index():
		return Decision{Verb: Advance, To: l.Phase, Why: l.Why}, true
	case at > s.Phase.Index():
		what := fmt.Sprintf("a revert runs, and the facts show %s, beyond the recorded %s (%s)", l.Phase, s.Phase, l.Why)
		return Decision{Verb: Drift, Why: what, Blocked: Blocked{What: what, ToDo: "somebody changed nodes outside this migration: put them back, then `migrator retry`"}}, true
	default:
		return Decision{}, false
	}
}
