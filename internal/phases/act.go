package phases

import (
	"slices"
	"strings"
	"time"

	"migrator/internal/plan"
)

// actions decides what the open step still has to perform. urgent: it comes
// before everything else, since nodes may be down by our hand.
func actions(s State, step plan.Step, in Situation, now time.Time) (Decision, bool) {
	if len(in.Busy) > 0 {
		return Decision{Verb: Wait, Step: step, Why: "performing " + strings.Join(in.Busy, ", ")}, true
	}
	var doubt, undone, asked []plan.Action
	failed := false
	for _, a := range s.work(step) {
		st := s.Run.Actions[a.ID]
		switch {
		case st.Running && a.Manual:
			asked = append(asked, a)
		case st.Running:
			doubt = append(doubt, a)
		case st.Failed:
			failed = true
		case !st.OK && a.Kind != plan.AfterNode: // those come once the step's gates pass
			undone = append(undone, a)
		}
	}
	todo := besides(asked, lowestStage(append(undone, asked...)))
	if d, ok := asks(s, step, in, asked); ok {
		return d, true
	}
	switch {
	case len(doubt) > 0:
		return Decision{Verb: Act, Step: step, Actions: doubt, Why: "in doubt after a restart: looking first"}, true
	case failed:
		return afterFailure(s, step, in, now)
	case len(todo) == 0:
		return Decision{}, false
	case s.Blocked != nil && len(s.StoppedByUs()) == 0:
		return Decision{}, false
	case beginsDisturbance(s, step, todo) && (in.Draining || !in.Judgement.Set(StepKey(step.ID, "before")).Passed()):
		return Decision{}, false
	default:
		return Decision{Verb: Act, Step: step, Actions: todo, Why: step.Sentence}, true
	}
}

// lowestStage are the actions of the first stage that is not whole: a later
// one begins only when all before it succeeded.
func lowestStage(undone []plan.Action) []plan.Action {
	var out []plan.Action
	for _, a := range undone {
		switch {
		case len(out) == 0 || a.Stage < out[0].Stage:
			out = []plan.Action{a}
		case a.Stage == out[0].Stage:
			out = append(out, a)
		}
	}
	return out
}

// beginsDisturbance: nothing is down by our hand yet, and these actions would
// change that. The step may have been opened long ago (a restart of the
// service, a block), so its gates are judged again right before.
func beginsDisturbance(s State, step plan.Step, todo []plan.Action) bool {
	if len(s.StoppedByUs()) > 0 {
		return false
	}
	return untouched(s, step) || slices.ContainsFunc(todo, func(a plan.Action) bool { return a.Kind == plan.Stop })
}

// untouched: no action of the open step has succeeded, hooks apart: they may
// take long, and change nothing that is judged.
func untouched(s State, step plan.Step) bool {
	return !slices.ContainsFunc(s.work(step), func(a plan.Action) bool { return s.Run.Actions[a.ID].OK && !a.Kind.Hook() })
}

// awaitsBefore: the open step's gates before it are what holds it now.
func awaitsBefore(s State, step plan.Step) bool {
	var undone []plan.Action
	for _, a := range s.work(step) {
		if !s.Run.Actions[a.ID].OK && a.Kind != plan.AfterNode {
			undone = append(undone, a)
		}
	}
	return len(undone) > 0 && beginsDisturbance(s, step, lowestStage(undone))
}

// unfinished: an action of the open step that its gates after it wait for is
// still to be performed.
func unfinished(s State, step plan.Step) bool {
	return slices.ContainsFunc(s.work(step), func(a plan.Action) bool { return !s.Run.Actions[a.ID].OK && a.Kind != plan.AfterNode })
}

// afterFailure starts what we stopped with whatever whole file is on disk,
// then blocks. Never the old file by itself.
func afterFailure(s State, step plan.Step, in Situation, now time.Time) (Decision, bool) {
	down := s.StoppedByUs()
	var starts []plan.Action
	for _, a := range s.work(step) {
		st := s.Run.Actions[a.ID]
		if a.Kind == plan.Start && a.Node != nil && slices.Contains(down, *a.Node) && !st.Failed && !(a.Manual && st.Running) {
			starts = append(starts, a)
		}
	}
	if len(starts) == 0 {
		starts = stoppedLate(s, step, in, now)
	}
	if len(starts) > 0 {
		return Decision{Verb: Act, Step: step, Actions: starts, Restore: true, Why: "an action failed: starting what was stopped"}, true
	}
	if s.Blocked != nil {
		return Decision{}, false
	}
	var what []string
	for _, a := range s.work(step) {
		if st := s.Run.Actions[a.ID]; st.Failed {
			what = append(what, a.ID+": "+st.Detail)
		}
	}
	return Decision{Verb: Block, Step: step, Blocked: Blocked{Step: step.ID, What: strings.Join(what, "; "),
		ToDo: "remove the cause, then `migrator retry`: it goes on at the first action not done"}}, true
}

// stoppedLate are starts of nodes whose stop ran out of time and took effect
// after all: the start that was to bring such a node back had found it still
// running. It is given once more; after that only a person goes on.
func stoppedLate(s State, step plan.Step, in Situation, now time.Time) []plan.Action {
	return slices.DeleteFunc(died(s, in, now, in.PollInterval), func(start plan.Action) bool {
		st := s.Run.Actions[start.ID]
		late := slices.ContainsFunc(step.Actions, func(a plan.Action) bool {
			return a.Kind == plan.Stop && a.Node != nil && *a.Node == *start.Node && s.Run.Actions[a.ID].Failed
		})
		return !late || !st.Restore || st.Tries > 1
	})
}
