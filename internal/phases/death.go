package phases

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/plan"
)

// raceWindow is how long after our start a controller may die of the start-up
// race and still be started again by itself.
const raceWindow = time.Minute

// Deaths are the nodes that the open step started and that were seen not to
// run since: a fold over snapshots, in memory, keyed by node id. An answer that
// is unknown ends a row: unknown is never dead.
type Deaths map[int32]Death

// Death is a row of readings that all said "does not run": when the first and
// the newest of them began.
type Death struct{ First, Last time.Time }

// See folds one more snapshot. A reading begun before the start had ended says
// nothing about the process that it made.
func (d Deaths) See(s State, snap facts.Snapshot) Deaths {
	next := Deaths{}
	for _, a := range s.started() {
		f := snap.Running[*a.Node]
		ended := s.Run.Actions[a.ID].Ended
		if running, known := f.Get(); !known || running || f.Begun().Before(ended) {
			continue
		}
		row := Death{First: f.Begun(), Last: f.Begun()}
		if old, ok := d[*a.Node]; ok && !old.First.Before(ended) {
			row.First = old.First
		}
		next[*a.Node] = row
	}
	return next
}

// started are the starts of the open step that succeeded, of nodes that are not lost.
func (s State) started() []plan.Action {
	step, ok := s.OpenStep()
	if !ok {
		return nil
	}
	return slices.DeleteFunc(s.work(step), func(a plan.Action) bool {
		return a.Kind != plan.Start || a.Node == nil || !s.Run.Actions[a.ID].OK
	})
}

// died are the starts whose nodes are known not to run since: the newest
// reading is fresh and lies at least apart after the first.
func died(s State, in Situation, now time.Time, apart time.Duration) []plan.Action {
	return slices.DeleteFunc(s.started(), func(a plan.Action) bool {
		d, ok := in.Deaths[*a.Node]
		return !ok || d.First.Before(s.Run.Actions[a.ID].Ended) || d.Last.Sub(d.First) < apart || now.Sub(d.Last) > in.MaxFactAge
	})
}

// StartsAgain are the start actions that a retry performs again: of nodes that
// are known not to run, one fresh reading being enough since each is looked at
// once more before. A node of which another action failed begins anew anyway.
func StartsAgain(s State, in Situation, now time.Time) []string {
	var out []string
	for _, a := range died(s, in, now, 0) {
		if !unfinishedOn(s, *a.Node) {
			out = append(out, a.ID)
		}
	}
	return out
}

// unfinishedOn: an action of the open step on the node is not done.
func unfinishedOn(s State, node int32) bool {
	step, _ := s.OpenStep()
	return slices.ContainsFunc(step.Actions, func(a plan.Action) bool {
		return a.Node != nil && *a.Node == node && !s.Run.Actions[a.ID].OK
	})
}

// fell decides for a step that waits for its gates with a node down that it
// had started: waiting longer would bring nothing.
func fell(s State, step plan.Step, in Situation, now time.Time) (Decision, bool) {
	dead := died(s, in, now, in.PollInterval)
	if len(dead) == 0 || in.Draining {
		return Decision{}, false
	}
	if ofStartRace(s, step, in, dead) {
		return Decision{Verb: Again, Step: step, Actions: dead,
			Why: named(in, dead) + " died of Kafka's start-up race, in which a controller leads twice before its first records are committed; started again once"}, true
	}
	what := fmt.Sprintf("%s ran after its start and does not run any more: %s. ", named(in, dead), lastWords(in, dead))
	if len(dead) > 1 {
		what = fmt.Sprintf("%s ran after their start and do not run any more: %s. ", named(in, dead), lastWords(in, dead))
	}
	return Decision{Verb: Block, Step: step, Blocked: Blocked{Step: step.ID, What: what + harm(in, dead),
		ToDo: "read its log and remove the cause, then `migrator retry`: it starts what does not run again, and restarts nothing that runs"}}, true
}

// ofStartRace: controllers that were just provisioned and died of the race
// that facts.Lines.StartRace tells of. No broker follows this quorum yet and it
// holds nothing, so a second start risks nothing; only the first death counts.
func ofStartRace(s State, step plan.Step, in Situation, dead []plan.Action) bool {
	return step.Kind == plan.Provision && !slices.ContainsFunc(dead, func(a plan.Action) bool {
		st := s.Run.Actions[a.ID]
		lines, known := in.Snapshot.Lines[*a.Node].Get()
		return !known || !lines.StartRace || st.BySelf != "" || in.Deaths[*a.Node].First.Sub(st.Ended) > raceWindow
	})
}

func named(in Situation, dead []plan.Action) string {
	var names []string
	for _, a := range dead {
		n, _ := in.Inventory.Node(*a.Node)
		names = append(names, fmt.Sprintf("%s %d", n.Role, *a.Node))
	}
	return strings.Join(names, ", ")
}

// lastWords are the newest fatal lines, as far as logs are readable.
func lastWords(in Situation, dead []plan.Action) string {
	var out []string
	for _, a := range dead {
		lines, known := in.Snapshot.Lines[*a.Node].Get()
		switch {
		case !known || lines.Unsupported:
			out = append(out, fmt.Sprintf("the log of %d cannot be read", *a.Node))
		case len(lines.Fatal) == 0:
			out = append(out, fmt.Sprintf("the log of %d has no known fatal line", *a.Node))
		default:
			out = append(out, fmt.Sprintf("the last fatal line of %d is %.300q", *a.Node, lines.Fatal[len(lines.Fatal)-1]))
		}
	}
	return strings.Join(out, "; ")
}

func harm(in Situation, dead []plan.Action) string {
	if n, ok := in.Inventory.Node(*dead[0].Node); ok && n.Role == cluster.Broker {
		return "Its partitions lack a replica until it is back, so no other broker is restarted"
	}
	return "The quorum lacks a voter until it is back, so nothing else is restarted"
}
