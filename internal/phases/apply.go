package phases

import (
	"fmt"
	"slices"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/gates"
	"migrator/internal/plan"
)

// Apply folds one entry into the state. An entry that does not fit (another
// step than the open one, a missing body) is an error: a journal that cannot
// be understood is never guessed at.
func Apply(s State, e Event) (State, error) {
	next := s.clone()
	next.Seq = e.Seq
	if next.Started.IsZero() {
		next.Started = e.Time
	}
	if err := next.apply(e); err != nil {
		return s, fmt.Errorf("journal entry %d (%s): %w", e.Seq, e.Kind, err)
	}
	return next, nil
}

func (s *State) apply(e Event) error {
	switch e.Kind {
	case KindBound:
		return with(e.Body.Bound, func(b Bound) error { s.ClusterID = b.ClusterID; return nil })
	case KindAdopted:
		s.newAttempt()
		return nil
	case KindMoved:
		return with(e.Body.Moved, func(m Moved) error {
			s.Adopt = s.Adopt || m.From == "" && m.To != cluster.Initial
			s.Phase, s.PhaseAt = m.To, e.Time
			return nil
		})
	case KindApproved:
		return with(e.Body.Approved, func(a Approved) error { s.approve(a, e); return nil })
	case KindOpened, KindIntent, KindOutcome, KindStepDone, KindPlanDone, KindPlanVoid:
		return s.applyToRun(e)
	case KindBlocked:
		return with(e.Body.Blocked, func(b Blocked) error { s.Blocked = &BlockedState{b, e.Time}; return nil })
	case KindLifted:
		s.Blocked = nil
		if s.Run != nil {
			s.Run.ResumedAt = e.Time
		}
		return nil
	case KindRetried:
		return s.retried(e)
	case KindPaused:
		s.Paused, s.PausedAt = true, e.Time
		return nil
	case KindResumed:
		s.Paused = false
		return nil
	case KindAccepted:
		return with(e.Body.Accepted, func(a Accepted) error {
			s.Accepted = append(s.Accepted, gates.Acceptance{Gate: a.Gate, Subjects: a.Subjects})
			for _, id := range a.Lost {
				s.Lost[id] = true
			}
			return nil
		})
	case KindReturned:
		return with(e.Body.Returned, func(r Returned) error { delete(s.Lost, r.Node); return nil })
	case KindSoak:
		return with(e.Body.Soak, func(k Soak) error { s.Soak = &k; return nil })
	case KindDrill:
		return with(e.Body.Drill, func(d DrillRun) error { s.Drills = append(s.Drills, d); return nil })
	case KindCanary:
		return with(e.Body.Canary, func(c Canary) error { s.Canary[c.Run] = c; return nil })
	case KindRehearsed:
		return with(e.Body.Rehearsed, func(r gates.Rehearsal) error { s.Rehearsals = append(s.Rehearsals, r); return nil })
	case KindFinished:
		s.Finished = true
		return nil
	default:
		return fmt.Errorf("unknown kind")
	}
}

func (s *State) applyToRun(e Event) error {
	if s.Run == nil {
		return fmt.Errorf("no plan is under way")
	}
	switch e.Kind {
	case KindOpened:
		return with(e.Body.Opened, func(o Opened) error { return s.open(o, e) })
	case KindIntent:
		return with(e.Body.Intent, func(i Intent) error { return s.intend(i, e) })
	case KindOutcome:
		return with(e.Body.Outcome, func(o Outcome) error { return s.end(o, e) })
	case KindStepDone:
		return with(e.Body.StepDone, func(d StepDone) error { return s.stepDone(d, e) })
	case KindPlanDone:
		s.planDone(e)
		return nil
	case KindPlanVoid:
		s.Run = nil
		return nil
	default:
		return fmt.Errorf("not an entry of a plan")
	}
}

// planDone completes the plan's phase. A revert undoes what lies beyond where
// it ends; one to initial begins a new attempt.
func (s *State) planDone(e Event) {
	p := s.Run.Plan
	s.Run = nil
	switch {
	case p.Revert && p.Phase == cluster.Initial:
		s.newAttempt()
	case p.Revert:
		for ph := range s.Completed {
			if ph.Index() > p.Phase.Index() {
				delete(s.Completed, ph)
			}
		}
		s.Completed[p.Phase] = e.Time
		s.Soak, s.Drills, s.Reached = nil, nil, p.Phase
	case !p.AdHoc:
		s.Completed[p.Phase] = e.Time
	}
}

// newAttempt: soak, drills, approvals and acceptances count within one attempt.
func (s *State) newAttempt() {
	s.Attempt++
	s.Soak, s.Drills, s.Accepted, s.Finished, s.Adopt, s.Reached = nil, nil, nil, false, false, ""
	s.Turns = nil
	s.Completed, s.Canary = map[cluster.Phase]time.Time{}, map[string]Canary{}
	for id := range s.Lost {
		delete(s.Wrote, id) // it comes back with the file that a person gives it
	}
}

func (s *State) approve(a Approved, e Event) {
	s.Run = &Run{Plan: a.Plan, Approved: e.Time, Actor: e.Actor, NotPreferred: a.NotPreferred,
		Done: map[string]time.Time{}, OpenedAtOf: map[string]time.Time{}, Actions: map[string]ActionState{}}
	s.Blocked, s.Paused = nil, false
	if !a.Plan.Revert && a.Plan.Phase.Index() > s.Reached.Index() {
		s.Reached = a.Plan.Phase
	}
	s.Turns = plan.Join(s.Turns, a.Plan.Turns())
	s.Short = a.Short
	if s.Short == nil {
		s.Short = map[string]int{}
	}
	for id, sha := range a.Files {
		s.Files[id] = sha
	}
}

func (s *State) open(o Opened, e Event) error {
	if s.Run.Open != "" {
		return fmt.Errorf("step %s is open already", s.Run.Open)
	}
	if _, ok := s.Run.Plan.Step(o.Step); !ok {
		return fmt.Errorf("no step %q in the plan", o.Step)
	}
	s.Run.Open, s.Run.OpenedAt, s.Run.Baseline = o.Step, e.Time, o.Baseline
	s.Run.OpenedAtOf[o.Step] = e.Time
	s.Run.Actions = map[string]ActionState{}
	s.Run.ResumedAt = time.Time{}
	return nil
}

func (s *State) intend(i Intent, e Event) error {
	if s.Run.Open != i.Step {
		return fmt.Errorf("step %q is not the open one (%q)", i.Step, s.Run.Open)
	}
	step, _ := s.OpenStep()
	at := slices.IndexFunc(step.Actions, func(a plan.Action) bool { return a.ID == i.Action })
	if at < 0 {
		return fmt.Errorf("step %s has no action %q", i.Step, i.Action)
	}
	act := step.Actions[at]
	if act.Kind == plan.BeforeNode && act.Node != nil {
		s.Hooked[*act.Node] = true
	}
	a := s.Run.Actions[i.Action]
	if a.Begun.IsZero() {
		a.Begun = e.Time
	}
	a.Tries, a.Running, a.Failed, a.Restore = i.Try, true, false, i.Restore
	a.Ran = act.Manual && i.Again != nil
	s.Run.Actions[i.Action] = a
	if i.Again != nil {
		s.Run.Baseline = renewed(s.Run.Baseline, *i.Again)
	}
	return nil
}

func (s *State) end(o Outcome, e Event) error {
	step, ok := s.OpenStep()
	if !ok || step.ID != o.Step {
		return fmt.Errorf("step %q is not the open one (%q)", o.Step, s.Run.Open)
	}
	if !hasAction(step, o.Action) {
		return fmt.Errorf("step %s has no action %q", o.Step, o.Action)
	}
	a := s.Run.Actions[o.Action]
	a.Running, a.OK, a.Failed, a.Ended, a.Detail = false, o.OK, !o.OK, e.Time, o.Detail
	a.Unclean, a.Died = a.Unclean || o.Unclean, a.Died && !o.OK
	s.Run.Actions[o.Action] = a
	if !isAfterNode(step, o.Action) {
		s.Run.LastEffect = e.Time // that hook follows the gates of its step, which need not be judged anew for it
	}
	for _, act := range step.Actions {
		if act.ID == o.Action && o.OK {
			s.effect(step, act, e.Time)
			if act.Kind == plan.SaveImage {
				s.Image = o.Blob
			}
		}
	}
	return nil
}

func hasAction(step plan.Step, id string) bool {
	return slices.ContainsFunc(step.Actions, func(a plan.Action) bool { return a.ID == id })
}

func isAfterNode(step plan.Step, id string) bool {
	return slices.ContainsFunc(step.Actions, func(a plan.Action) bool { return a.ID == id && a.Kind == plan.AfterNode })
}

// effect records what a successful action changed in the world.
func (s *State) effect(step plan.Step, a plan.Action, at time.Time) {
	switch {
	case a.Kind == plan.Write && a.Node != nil:
		s.wrote(step, a)
	case a.Kind == plan.Start && a.Node != nil:
		s.Restarts[*a.Node] = at
		delete(s.Down, *a.Node)
	case a.Kind == plan.Stop && a.Node != nil && step.Kind == plan.StopControllers:
		s.Down[*a.Node] = true
		s.begin(step, at)
	case a.Kind == plan.AfterNode && a.Node != nil:
		delete(s.Hooked, *a.Node)
	case a.Kind == plan.MetadataWrite:
		s.finish(at, true)
	case a.Kind == plan.CreateTopic:
		s.CanaryTopic = true
	case a.Kind == plan.DeleteTopic:
		s.CanaryTopic = false
	}
}

// wrote remembers a file's content, and what the way back will need of it.
func (s *State) wrote(step plan.Step, a plan.Action) {
	id := *a.Node
	s.Files[id] = a.After
	s.Wrote[id] = true
	if step.Mode == cluster.ZKMigrating && !s.Run.Plan.Revert {
		if _, ok := s.Originals[id]; !ok {
			s.Originals[id] = a.Before
		}
		s.Migrating[id] = a.After
	}
	if step.Mode == cluster.KRaft && !s.Run.Plan.Revert {
		if _, ok := s.Migrating[id]; !ok {
			s.Migrating[id] = a.Before
		}
	}
	if step.Mode == cluster.ZK {
		delete(s.Originals, id)
		delete(s.Migrating, id)
		delete(s.Wrote, id)
	}
}

func (s *State) stepDone(d StepDone, e Event) error {
	step, ok := s.OpenStep()
	if !ok || step.ID != d.Step {
		return fmt.Errorf("step %q is not the open one (%q)", d.Step, s.Run.Open)
	}
	s.Run.Done[d.Step] = e.Time
	if step.Kind == plan.Follow {
		s.finish(e.Time, false)
	}
	s.Took[step.Kind] = append(slices.Clip(s.Took[step.Kind]), e.Time.Sub(s.Run.OpenedAt))
	s.Run.Open, s.Run.Actions, s.Run.Baseline = "", map[string]ActionState{}, gates.Baseline{}
	return nil
}

// with applies f to a body that must be there.
func with[T any](body *T, f func(T) error) error {
	if body == nil {
		return fmt.Errorf("its body is missing")
	}
	return f(*body)
}
