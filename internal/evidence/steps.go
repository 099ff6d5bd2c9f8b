package evidence

import (
	"slices"
	"time"

	"migrator/internal/phases"
	"migrator/internal/plan"
)

// takeStep notes what happened to a step of the plan under way.
func (b *builder) takeStep(before phases.State, e phases.Event) {
	switch body := e.Body; {
	case body.Opened != nil:
		b.open(before, *body.Opened, e.Time)
	case body.Intent != nil:
		b.intent(*body.Intent, e.Time)
	case body.Outcome != nil:
		b.outcome(*body.Outcome, e.Time)
	case body.StepDone != nil:
		if s := b.step(body.StepDone.Step); s != nil {
			at := e.Time
			s.Done, s.After = &at, verdicts(body.StepDone.Verdicts)
		}
	}
}

func (b *builder) open(before phases.State, o phases.Opened, at time.Time) {
	if before.Run == nil {
		return
	}
	planned, ok := before.Run.Plan.Step(o.Step)
	if !ok {
		return
	}
	s := Step{Plan: before.Run.Plan.Phase, Digest: before.Run.Plan.Digest, ID: planned.ID, Kind: planned.Kind, Sentence: planned.Sentence,
		Batch: planned.Batch, Opened: at, Actions: []Action{}, Before: verdicts(o.Verdicts), After: []Verdict{}, Diffs: planned.Diffs}
	if s.Diffs == nil {
		s.Diffs = []plan.Diff{}
	}
	for _, a := range planned.Actions {
		s.Actions = append(s.Actions, Action{ID: a.ID, Kind: a.Kind, Node: a.Node, Tries: []Try{}})
	}
	b.pack.Steps = append(b.pack.Steps, s)
}

// step is the newest one of that id: the open one.
func (b *builder) step(id string) *Step {
	for i := range slices.Backward(b.pack.Steps) {
		if b.pack.Steps[i].ID == id {
			return &b.pack.Steps[i]
		}
	}
	return nil
}

func (b *builder) action(step, id string) *Action {
	s := b.step(step)
	if s == nil {
		return nil
	}
	i := slices.IndexFunc(s.Actions, func(a Action) bool { return a.ID == id })
	if i < 0 {
		return nil
	}
	return &s.Actions[i]
}

func (b *builder) intent(i phases.Intent, at time.Time) {
	if a := b.action(i.Step, i.Action); a != nil {
		a.Attempts++
		a.Tries = append(a.Tries, Try{Intent: at, Restore: i.Restore})
	}
}

func (b *builder) outcome(o phases.Outcome, at time.Time) {
	a := b.action(o.Step, o.Action)
	if a == nil || len(a.Tries) == 0 {
		return
	}
	last := &a.Tries[len(a.Tries)-1]
	if last.Outcome != nil {
		return // a node that was to be started again was found running: nothing was tried
	}
	last.Outcome, last.OK, last.Detail, last.Probed = &at, &o.OK, o.Detail, o.Probed
}

func verdicts(seen []phases.Seen) []Verdict {
	out := make([]Verdict, 0, len(seen))
	for _, s := range seen {
		out = append(out, Verdict{Gate: s.Gate, Verdict: s.Verdict, Evidence: s.Evidence, Source: s.Source, ObservedAt: s.ObservedAt, Since: s.Since})
	}
	return out
}

func drillRun(d phases.DrillRun, at time.Time) DrillRun {
	kind := d.Kind
	if d.Baseline {
		kind = "baseline"
	}
	return DrillRun{Kind: kind, Node: d.Node, At: at, UnavailableMS: d.UnavailableMS, LeaderMS: d.LeaderMS, DualWriteMS: d.DualWriteMS,
		NewLeader: d.NewLeader, EpochBefore: d.EpochBefore, EpochAfter: d.EpochAfter, ZKEpochBefore: d.ZKEpochBefore, ZKEpochAfter: d.ZKEpochAfter,
		Passed: d.Passed, Why: d.Why}
}
