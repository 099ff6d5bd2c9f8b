package phases

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"migrator/internal/gates"
	"migrator/internal/plan"
)

// retried goes on at the first action not done. An entry without body is one
// that starts no node again.
func (s *State) retried(e Event) error {
	var r Retried
	if e.Body.Retried != nil {
		r = *e.Body.Retried
	}
	step, open := s.OpenStep()
	var again []plan.Action
	for _, id := range r.Starts {
		i := slices.IndexFunc(step.Actions, func(a plan.Action) bool { return a.ID == id })
		if !open || i < 0 || step.Actions[i].Kind != plan.Start || step.Actions[i].Node == nil || !s.Run.Actions[id].OK {
			return fmt.Errorf("%q is no start of the open step that succeeded", id)
		}
		again = append(again, step.Actions[i])
	}
	s.retry(e.Time, again)
	for _, a := range again {
		s.Run.Actions[a.ID] = s.Run.Actions[a.ID].again(r.Why)
	}
	return nil
}

// again puts a start in doubt: a supervisor may have been faster, and a node
// that runs is never restarted. So the node is looked at first.
func (a ActionState) again(why string) ActionState {
	return ActionState{Tries: a.Tries, Running: true, Died: true, BySelf: cmp.Or(why, a.BySelf)}
}

// retry lifts a block and forgets failures: a node whose file was not written
// goes through stop, write, start again; one whose file is in place only starts.
// An unclean stop counts as accepted by whoever asked, except of a node that
// died since: what was shown then was its death.
func (s *State) retry(at time.Time, again []plan.Action) {
	s.Blocked = nil
	if s.Run == nil {
		return
	}
	s.Run.ResumedAt = at
	step, ok := s.OpenStep()
	if !ok {
		return
	}
	written := map[int32]bool{}
	failed := map[int32]bool{}
	for _, a := range step.Actions {
		st := s.Run.Actions[a.ID]
		if a.Node == nil {
			if st.Failed {
				delete(s.Run.Actions, a.ID)
			}
			continue
		}
		written[*a.Node] = written[*a.Node] || a.Kind == plan.Write && st.OK
		failed[*a.Node] = failed[*a.Node] || !st.OK && a.Kind != plan.AfterNode
	}
	for _, a := range step.Actions {
		st := s.Run.Actions[a.ID]
		switch {
		case a.Kind == plan.AfterNode && !st.OK:
			delete(s.Run.Actions, a.ID)
		case a.Node == nil || !failed[*a.Node]:
			died := slices.ContainsFunc(again, func(d plan.Action) bool { return a.Node != nil && *d.Node == *a.Node })
			if st.Unclean && !died {
				st.Unclean = false
				s.Run.Actions[a.ID] = st
			}
		case st.Died:
			s.Run.Actions[a.ID] = st.again("")
		case st.OK && a.Manual && a.Kind == plan.Stop: // whoever has started it since is told so
		case !st.OK || !written[*a.Node]:
			delete(s.Run.Actions, a.ID)
		}
	}
}

// renewed is a step's baseline after a node was started again: its log counts
// from there on, and only a later registration is a new one. What the node led
// as the step began still has to be elected.
func renewed(old, again gates.Baseline) gates.Baseline {
	old.Cursors, old.Czxid, old.Incarnation = merged(old.Cursors, again.Cursors), merged(old.Czxid, again.Czxid), merged(old.Incarnation, again.Incarnation)
	return old
}

func merged[V any](old, newer map[int32]V) map[int32]V {
	out := maps.Clone(old)
	if out == nil {
		out = map[int32]V{}
	}
	maps.Copy(out, newer)
	return out
}
