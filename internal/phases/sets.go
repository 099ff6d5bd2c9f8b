package phases

import (
	"slices"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/gates"
	"migrator/internal/plan"
)

// Keys of the gate sets that Decide asks for.
const (
	WatchSet = "watch"
	SoakSet  = "soak"
	// RevertSet is shown from load on and holds no step back: a broker that could
	// not go back to ZooKeeper must be known long before finalize asks.
	RevertSet = "revert"
)

// DoneKey is the set for leaving a phase.
func DoneKey(p cluster.Phase) string { return "done/" + string(p) }

// EnterKey is the set before a phase's plan is offered.
func EnterKey(p cluster.Phase) string { return "enter/" + string(p) }

// StepKey is the set before or after a step: when is "before" or "done".
func StepKey(id, when string) string { return "step/" + id + "/" + when }

// SoakGates must hold while a soak counts.
func SoakGates() []string {
	return []string{gates.StateMigration, gates.DualWrite, gates.FlagOn, gates.Ensemble, gates.EnsembleWhole, gates.NoOffline, gates.Parity,
		gates.CanaryHealthy, gates.MetadataWrite, gates.SameLeader, gates.BrokersSteady, gates.NoReassign, gates.ISRWhole}
}

// Sets lists what must be judged now: the guards of every round, and what the
// open or next step, or the offered plan, needs. All of it, every time.
func Sets(s State, snap facts.Snapshot, inv cluster.Inventory, needGood int) []gates.Set {
	sets := []gates.Set{{Key: WatchSet, Blocks: "everything", Need: 1, Gates: watchGates(s)}}
	if s.Phase.Index() >= cluster.Load.Index() && s.Phase != cluster.Finalize {
		sets = append(sets, gates.Set{Key: RevertSet, Blocks: "a safe way back", Gates: []string{gates.WayBack}, Need: 1})
	}
	if s.Run == nil {
		return append(sets, offerSets(s, needGood)...)
	}
	if step, ok := s.OpenStep(); ok {
		sets = append(sets, gates.Set{Key: StepKey(step.ID, "done"), Blocks: "the end of step " + step.ID, Gates: step.Done, Need: needGood})
		if awaitsBefore(s, step) {
			sets = append(sets, gates.Set{Key: StepKey(step.ID, "before"), Blocks: "step " + step.ID, Gates: beforeOf(s, step), Need: 1})
		}
	} else if next := NextStep(s, snap, inv); next.Step != nil {
		sets = append(sets, gates.Set{Key: StepKey(next.Step.ID, "before"), Blocks: "step " + next.Step.ID, Gates: next.Before, Need: 1})
	}
	if soaking(s) {
		sets = append(sets, gates.Set{Key: SoakSet, Blocks: "the soak clock", Gates: SoakGates(), Need: needGood})
	}
	return sets
}

func watchGates(s State) []string {
	watch := []string{gates.ClusterID, gates.OneDriver, gates.Inventory, gates.FilesOurs}
	if s.Phase != cluster.Finalize {
		watch = append(watch, gates.ControllerFree, gates.SomeoneActs, gates.MigrationOurs)
	}
	if s.Phase.Index() >= cluster.Load.Index() && s.Phase != cluster.Finalize {
		watch = append(watch, gates.FlagGuard)
	}
	return watch
}

func offerSets(s State, needGood int) []gates.Set {
	row, ok := RowOf(s.Phase)
	if !ok {
		row, _ = RowOf(cluster.Initial)
	}
	sets := []gates.Set{{Key: DoneKey(row.Phase), Blocks: "leaving " + string(row.Phase), Gates: row.Done, Need: needGood}}
	if s.Adopt {
		return append(sets, gates.Set{Key: EnterKey(row.Phase), Blocks: "the plan " + string(row.Phase), Gates: AdoptGates(), Need: needGood})
	}
	if !completed(s, row.Phase) {
		sets = append(sets, gates.Set{Key: EnterKey(row.Phase), Blocks: "the plan " + string(row.Phase), Gates: row.Enter, Need: needGood})
	}
	if next, ok := Next(row.Phase); ok {
		nextRow, _ := RowOf(next)
		sets = append(sets, gates.Set{Key: EnterKey(next), Blocks: "the plan " + string(next), Gates: nextRow.Enter, Need: needGood})
	}
	return sets
}

// AdoptGates come before a plan that takes over what was begun by hand.
func AdoptGates() []string { return gatesOf(healthy, gates.QuorumFormed) }

func completed(s State, p cluster.Phase) bool { return !s.Completed[p].IsZero() }

// Upcoming is the next step of the plan, or why it cannot be named yet.
type Upcoming struct {
	Step   *plan.Step
	Before []string
	Why    string
}

// NextStep is the first unfinished step; within a roll, the first unfinished
// batch that does not hold the role the rule names, read from this snapshot.
func NextStep(s State, snap facts.Snapshot, inv cluster.Inventory) Upcoming {
	if s.Run == nil {
		return Upcoming{}
	}
	steps := s.Run.Plan.Steps
	i := slices.IndexFunc(steps, s.pending)
	if i < 0 {
		return Upcoming{}
	}
	if steps[i].Kind != plan.Roll {
		return Upcoming{Step: &steps[i], Before: steps[i].Before}
	}
	var left []plan.Step
	for ; i < len(steps) && steps[i].Kind == plan.Roll; i++ {
		if s.pending(steps[i]) {
			left = append(left, steps[i])
		}
	}
	holder, why := roleHolder(left[0].Rule, snap, inv)
	if why != "" && len(left) > 1 {
		return Upcoming{Why: why}
	}
	may := func(st plan.Step) bool { return holder == nil || !slices.Contains(st.Batch, *holder) }
	pick := slices.IndexFunc(left, func(st plan.Step) bool { return may(st) && cutOff(st, snap) })
	if pick < 0 {
		pick = slices.IndexFunc(left, may)
	}
	pick = max(pick, 0)
	return Upcoming{Step: &left[pick], Before: beforeOf(s, left[pick])}
}

// cutOff: a broker of the batch can no longer reach the controller. While it
// runs, no replica comes back into the ISR of what it leads, so it goes first.
func cutOff(st plan.Step, snap facts.Snapshot) bool {
	return slices.ContainsFunc(st.Batch, func(id int32) bool {
		l, ok := snap.Lines[id].Get()
		return ok && len(l.DeadChannels) > 0
	})
}

// beforeOf are the gates before a step. The last batch of load also wants every
// other broker ready: the copy begins as soon as it registers.
func beforeOf(s State, step plan.Step) []string {
	if step.Kind != plan.Roll || s.Run.Plan.Phase != cluster.Load {
		return step.Before
	}
	for _, other := range s.Run.Plan.Steps {
		if other.Kind == plan.Roll && other.ID != step.ID && s.pending(other) {
			return step.Before
		}
	}
	return append(slices.Clone(step.Before), gates.OthersReady)
}

// roleHolder names the node that must come last; nil when a rule does not apply.
func roleHolder(rule plan.Rule, snap facts.Snapshot, inv cluster.Inventory) (*int32, string) {
	switch rule {
	case plan.ZooKeeperCtlLast:
		h, ok := snap.Holder.Get()
		if !ok {
			return nil, "who holds /controller is unknown: " + snap.Holder.Cause()
		}
		if !h.Present {
			return nil, "nobody holds /controller"
		}
		return &h.ID, ""
	case plan.ActiveCtlLast:
		f := snap.Leader(inv.Controllers)
		l, ok := f.Get()
		if !ok {
			return nil, "the active controller is unknown: " + f.Cause()
		}
		return &l.ID, ""
	default:
		return nil, ""
	}
}
