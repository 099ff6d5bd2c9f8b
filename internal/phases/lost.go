package phases

import (
	"maps"
	"slices"

	"migrator/internal/plan"
)

// LostNodes are the brokers that a person accepted as lost, sorted.
func (s State) LostNodes() []int32 { return slices.Sorted(maps.Keys(s.Lost)) }

// Left are the nodes of a batch that are not lost.
func (s State) Left(batch []int32) []int32 {
	return slices.DeleteFunc(slices.Clone(batch), func(id int32) bool { return s.Lost[id] })
}

// Skipped: every node of the step's batch is lost. There is nothing to do and
// nothing to judge.
func (s State) Skipped(step plan.Step) bool {
	return len(step.Batch) > 0 && len(s.Left(step.Batch)) == 0
}

// pending: the step of the running plan is neither done nor skipped.
func (s State) pending(step plan.Step) bool {
	return s.Run.Done[step.ID].IsZero() && !s.Skipped(step)
}

// work are the step's actions on nodes that are not lost.
func (s State) work(step plan.Step) []plan.Action {
	return slices.DeleteFunc(slices.Clone(step.Actions), func(a plan.Action) bool { return a.Node != nil && s.Lost[*a.Node] })
}
