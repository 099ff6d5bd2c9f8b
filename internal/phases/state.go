package phases

import (
	"maps"
	"slices"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/gates"
	"migrator/internal/plan"
)

// State is the fold of a migration's journal and nothing more: replaying the
// journal is the recovery.
type State struct {
	Seq       uint64
	ClusterID string
	Attempt   int
	Phase     cluster.Phase // empty until first located
	PhaseAt   time.Time
	Started   time.Time
	Run       *Run                        // the approved plan under way
	Completed map[cluster.Phase]time.Time // plans done in this attempt
	Blocked   *BlockedState
	Paused    bool
	// Reached is the phase of the furthest plan approved in this attempt: what a
	// voided plan already did is no drift.
	Reached  cluster.Phase
	PausedAt time.Time
	Files    map[int32]string // SHA-256 each node's file must have
	Short    map[string]int
	Accepted []gates.Acceptance
	// Rehearsals that were registered, in any attempt.
	Rehearsals []gates.Rehearsal
	// Turns are what the plans approved in this attempt change.
	Turns []plan.Turn
	// Lost are brokers that a person accepted as lost and that have not run since.
	Lost     map[int32]bool
	Soak     *Soak
	Drills   []DrillRun
	Finished bool
	// Adopt: the first phase seen was past initial; somebody else began this migration.
	Adopt bool
	// CanaryTopic: created by us in this attempt and not deleted since.
	CanaryTopic bool
	Canary      map[string]Canary // by run
	// Originals is each broker's file before we first wrote it; Migrating the
	// migration-mode file we wrote. Both by SHA-256, for the way back.
	Originals map[int32]string
	// Wrote are nodes whose file is ours now.
	Wrote     map[int32]bool
	Migrating map[int32]string
	// Down are controllers that a revert stopped for good.
	Down map[int32]bool
	// Hooked are nodes whose hook before_node ran and whose after_node is still owed.
	Hooked map[int32]bool
	// Image is the blob with what the metadata log held as the controllers stopped.
	Image string
	// Window is the newest time without any controller; nil when there was none.
	Window   *Window
	Restarts map[int32]time.Time // last start we made
	Took     map[plan.StepKind][]time.Duration
}

// Run is the plan under way.
type Run struct {
	Plan         plan.Plan
	Approved     time.Time
	Actor        string
	NotPreferred []string
	Done         map[string]time.Time // steps
	Open         string               // id of the open step, empty between steps
	OpenedAt     time.Time
	OpenedAtOf   map[string]time.Time // of every step begun
	Baseline     gates.Baseline
	Actions      map[string]ActionState // of the open step
	LastEffect   time.Time
	ResumedAt    time.Time // last retry: progress counts from here
}

// ActionState is how far one action of the open step is.
type ActionState struct {
	Begun   time.Time
	Ended   time.Time
	Tries   int
	Running bool // intent without outcome: in doubt after a restart; or a start whose node died
	OK      bool
	Failed  bool
	Unclean bool
	Restore bool
	Detail  string
	Died    bool   // a start to be performed again: its node died after it
	Ran     bool   // a start that a person is to do: the node ran as it was asked for
	BySelf  string // why the service itself performed a start again, which it does once
}

// BlockedState is the block with its time.
type BlockedState struct {
	Blocked
	At time.Time
}

// New is the state before the first entry.
func New() State {
	return State{Attempt: 1, Completed: map[cluster.Phase]time.Time{}, Files: map[int32]string{}, Short: map[string]int{},
		Canary: map[string]Canary{}, Originals: map[int32]string{}, Wrote: map[int32]bool{}, Migrating: map[int32]string{}, Down: map[int32]bool{}, Hooked: map[int32]bool{}, Lost: map[int32]bool{}, Restarts: map[int32]time.Time{}, Took: map[plan.StepKind][]time.Duration{}}
}

// Clone copies the state so that Apply never changes its argument.
func (s State) clone() State {
	s.Completed = maps.Clone(s.Completed)
	s.Files = maps.Clone(s.Files)
	s.Short = maps.Clone(s.Short)
	s.Accepted = slices.Clone(s.Accepted)
	s.Rehearsals = slices.Clone(s.Rehearsals)
	s.Drills = slices.Clone(s.Drills)
	s.Lost = maps.Clone(s.Lost)
	s.Restarts = maps.Clone(s.Restarts)
	s.Canary = maps.Clone(s.Canary)
	s.Originals = maps.Clone(s.Originals)
	s.Wrote = maps.Clone(s.Wrote)
	s.Migrating = maps.Clone(s.Migrating)
	s.Down = maps.Clone(s.Down)
	s.Hooked = maps.Clone(s.Hooked)
	s.Took = maps.Clone(s.Took)
	if s.Run != nil {
		r := *s.Run
		r.Done = maps.Clone(r.Done)
		r.OpenedAtOf = maps.Clone(r.OpenedAtOf)
		r.Actions = maps.Clone(r.Actions)
		s.Run = &r
	}
	return s
}

// Expected is the SHA-256 each file must have: while a plan runs, of every file
// it was approved with; at rest, of those we wrote. A broker that no plan
// touched yet belongs to its operator, who may edit it between plans.
func (s State) Expected() map[int32]string {
	if s.Run != nil {
		return s.Files
	}
	out := map[int32]string{}
	for id := range s.Wrote {
		out[id] = s.Files[id]
	}
	return out
}

// OpenStep returns the open step.
func (s State) OpenStep() (plan.Step, bool) {
	if s.Run == nil || s.Run.Open == "" {
		return plan.Step{}, false
	}
	return s.Run.Plan.Step(s.Run.Open)
}

// PassedDrills are the kinds passed in this attempt, sorted.
func (s State) PassedDrills() []string {
	var kinds []string
	for _, d := range s.Drills {
		if d.Passed && !d.Baseline && !slices.Contains(kinds, d.Kind) {
			kinds = append(kinds, d.Kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// Stopped are all nodes that the approved plan holds down now: those of the
// open batch, and controllers that a revert stopped for good.
func (s State) Stopped() []int32 {
	down := maps.Clone(s.Down)
	if down == nil {
		down = map[int32]bool{}
	}
	for _, id := range s.StoppedByUs() {
		down[id] = true
	}
	return slices.Sorted(maps.Keys(down))
}

// StoppedByUs are nodes of the open step that a stop of ours took down and
// that no later start brought back: they must come back whatever happens.
func (s State) StoppedByUs() []int32 {
	step, ok := s.OpenStep()
	if !ok || step.Kind == plan.StopControllers {
		return nil
	}
	down := map[int32]bool{}
	for _, a := range step.Actions {
		st := s.Run.Actions[a.ID]
		switch {
		case a.Node == nil || s.Lost[*a.Node]:
		case a.Kind == plan.Stop && a.Manual && !st.OK: // as long as nobody was seen to stop it
		case a.Kind == plan.Stop && (st.OK || st.Running || st.Failed) && !st.Begun.IsZero():
			down[*a.Node] = true
		case a.Kind == plan.Start && st.OK:
			delete(down, *a.Node)
		}
	}
	return slices.Sorted(maps.Keys(down))
}

// CanaryTotals sums what our client saw over all its runs of this attempt.
func (s State) CanaryTotals() Canary {
	var sum Canary
	for _, c := range s.Canary {
		sum.Sent, sum.Acked, sum.Failed, sum.Lost = sum.Sent+c.Sent, sum.Acked+c.Acked, sum.Failed+c.Failed, sum.Lost+c.Lost
		sum.Unchecked += c.Unchecked
		sum.LongestStall = max(sum.LongestStall, c.LongestStall)
		sum.LongestMetadataStall = max(sum.LongestMetadataStall, c.LongestMetadataStall)
	}
	return sum
}
