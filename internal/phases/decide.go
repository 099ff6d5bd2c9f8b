package phases

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/gates"
	"migrator/internal/plan"
)

// Verb is what to do now; Decide answers exactly one.
type Verb string

const (
	Wait      Verb = "wait"       // with the reason
	Ask       Verb = "ask"        // a plan is offered
	Open      Verb = "open"       // begin the step
	Act       Verb = "act"        // perform these actions of the open step
	CloseStep Verb = "close-step" // its gates passed
	ClosePlan Verb = "close-plan" // every step is done
	Advance   Verb = "advance"    // record another phase
	Drift     Verb = "drift"      // recorded and located phase disagree
	Block     Verb = "block"      // stop until a person acts
	Lift      Verb = "lift"       // the gate that blocked passes again
	Witness   Verb = "witness"    // a person was seen to have done this action
	Again     Verb = "again"      // perform these starts again, by itself: their nodes died
	Finish    Verb = "finish"
)

// Decision is the one thing to do. It performs nothing.
type Decision struct {
	Verb    Verb
	Why     string
	Step    plan.Step
	Actions []plan.Action
	Restore bool // Act: bring nodes back after a failure
	To      cluster.Phase
	Offer   *plan.Plan
	Blocked Blocked
	// Observing: not enough has been seen since the service started.
	Observing bool
}

// Situation is all that Decide looks at beside the state.
type Situation struct {
	Snapshot  facts.Snapshot
	Judgement gates.Judgement
	Located   Located
	Inventory cluster.Inventory
	// Offer is the plan built for OfferedPhase, or why it could not be.
	Offer    *plan.Plan
	OfferWhy string
	// Busy names actions being performed right now.
	Busy []string
	// Draining: the service is about to stop; only bring the open batch to a safe end.
	Draining bool
	// Progress is when something last moved (offset, recovery, ISR).
	Progress    time.Time
	StepTimeout time.Duration
	SoakOfLoad  time.Duration
	// Deaths of nodes that the open step started. A node is dead when readings at
	// least PollInterval apart said so and the newest is no older than MaxFactAge.
	Deaths       Deaths
	PollInterval time.Duration
	MaxFactAge   time.Duration
	// Planned are the contents that a person is to write in the open step, by SHA-256.
	Planned map[string][]byte
}

// Decide answers what to do now.
func Decide(s State, in Situation, now time.Time) Decision {
	if s.Finished {
		return Decision{Verb: Wait, Why: "finished: every broker and controller runs without ZooKeeper"}
	}
	if step, ok := s.OpenStep(); ok {
		if d, urgent := actions(s, step, in, now); urgent {
			return d
		}
	}
	if s.Blocked != nil {
		if v, ok := in.Judgement.Verdict(s.Blocked.Gate); ok && v.Result == gates.Pass {
			return Decision{Verb: Lift, Why: v.Evidence}
		}
		return Decision{Verb: Wait, Why: s.Blocked.What}
	}
	if d, ok := alarm(s, in); ok {
		return d
	}
	if in.Located.Emergency != "" {
		return Decision{Verb: Block, Why: in.Located.Emergency, Blocked: Blocked{What: in.Located.Emergency, ToDo: "nothing is done by itself; look at the named nodes, then `migrator retry`"}}
	}
	if d, ok := move(s, in); ok {
		return d
	}
	if s.Run == nil {
		return rest(s, in)
	}
	step, ok := s.OpenStep()
	switch {
	case !ok:
		return between(s, in)
	case !unfinished(s, step):
		return await(s, step, in, now)
	case in.Draining:
		return Decision{Verb: Wait, Step: step, Why: "stopping: no further action is begun"}
	case asking(s, step) != "":
		return Decision{Verb: Wait, Step: step, Why: asking(s, step)}
	default:
		return Decision{Verb: Wait, Step: step, Why: notPassing(s, in, StepKey(step.ID, "before"))}
	}
}

// rest decides while no plan runs.
func rest(s State, in Situation) Decision {
	if !in.Located.OK {
		return Decision{Verb: Wait, Why: in.Located.Why, Observing: true}
	}
	if in.Located.Refused != "" {
		return Decision{Verb: Wait, Why: in.Located.Refused}
	}
	if done := PhaseComplete(s, in.Judgement, in.SoakOfLoad); done && s.Phase == cluster.Finalize {
		return Decision{Verb: Finish}
	}
	offered, ok := OfferedPhase(s, in.Judgement, in.SoakOfLoad)
	if !ok {
		return Decision{Verb: Wait, Why: notPassing(s, in, DoneKey(s.Phase))}
	}
	if w := in.Judgement.Set(WatchSet); !w.Passing {
		return Decision{Verb: Wait, Why: notPassing(s, in, WatchSet)}
	}
	if e := in.Judgement.Set(EnterKey(offered)); !e.Passed() {
		return Decision{Verb: Wait, Why: notPassing(s, in, EnterKey(offered))}
	}
	if s.Paused {
		return Decision{Verb: Wait, Why: "paused: `migrator resume` goes on"}
	}
	if in.Offer == nil {
		return Decision{Verb: Wait, Why: in.OfferWhy}
	}
	return Decision{Verb: Ask, Offer: in.Offer, Why: "the plan " + string(offered) + " can start"}
}

// PhaseComplete says that the gates for leaving the recorded phase pass.
func PhaseComplete(s State, j gates.Judgement, soakOfLoad time.Duration) bool {
	if s.Phase == "" || !j.Set(DoneKey(s.Phase)).Passed() {
		return false
	}
	return s.Phase != cluster.Load || soakOfLoad == 0 || completed(s, cluster.Load)
}

// OfferedPhase names the phase whose plan would start next; ok is false while
// the recorded phase's own plan is done but its gates do not pass.
func OfferedPhase(s State, j gates.Judgement, soakOfLoad time.Duration) (cluster.Phase, bool) {
	if s.Phase == "" {
		return "", false
	}
	if s.Adopt {
		return s.Phase, true
	}
	if PhaseComplete(s, j, soakOfLoad) {
		return Next(s.Phase)
	}
	if completed(s, s.Phase) {
		return "", false
	}
	return s.Phase, true
}

// await decides for an open step whose actions are all done.
func await(s State, step plan.Step, in Situation, now time.Time) Decision {
	if s.Skipped(step) {
		return Decision{Verb: CloseStep, Step: step}
	}
	if d, ok := fell(s, step, in, now); ok {
		return d
	}
	done := in.Judgement.Set(StepKey(step.ID, "done"))
	if done.Passed() && ready(s, step) {
		if id := unclean(s, step); id != "" {
			return Decision{Verb: Block, Step: step, Blocked: Blocked{Step: step.ID,
				What: id + " ended without a clean shutdown (no shutdown line, no .kafka_cleanshutdown)",
				ToDo: "its ISR is full again; look why the stop was not clean, then `migrator retry` goes on with the next batch"}}
		}
		return closing(s, step, in)
	}
	since := Latest(s.Run.OpenedAt, s.Run.LastEffect, s.Run.ResumedAt, in.Progress)
	if step.Kind != plan.SoakEnd && step.Kind != plan.SoakBegin && now.Sub(since) > in.StepTimeout && !in.Draining {
		why := notPassing(s, in, StepKey(step.ID, "done"))
		return Decision{Verb: Block, Step: step, Blocked: Blocked{Step: step.ID,
			What: fmt.Sprintf("no progress for %s: %s", in.StepTimeout, why), ToDo: "remove the cause; the step goes on after `migrator retry`"}}
	}
	return Decision{Verb: Wait, Step: step, Why: notPassing(s, in, StepKey(step.ID, "done"))}
}

// closing ends a step, its after_node hooks first.
func closing(s State, step plan.Step, in Situation) Decision {
	owed := owedAfter(s, step)
	switch {
	case len(owed) == 0:
		return Decision{Verb: CloseStep, Step: step}
	case in.Draining:
		return Decision{Verb: Wait, Step: step, Why: "stopping: no further action is begun"}
	default:
		return Decision{Verb: Act, Step: step, Actions: owed, Why: "the node's gates pass: its hook after_node"}
	}
}

// ready: the end of a soak also needs its time.
func ready(s State, step plan.Step) bool {
	return step.Kind != plan.SoakEnd || s.Soak != nil && s.Soak.Elapsed >= s.Soak.Required
}

// unclean names a stop of the step that was not clean. Controllers that a revert
// stops for good do not count: a failed copy has halted some before, and what
// they held is compared with ZooKeeper anyway.
func unclean(s State, step plan.Step) string {
	if step.Kind == plan.StopControllers {
		return ""
	}
	for _, a := range s.work(step) {
		if s.Run.Actions[a.ID].Unclean {
			return a.ID
		}
	}
	return ""
}

// between decides when the plan runs but no step is open.
func between(s State, in Situation) Decision {
	if in.Draining {
		return Decision{Verb: Wait, Why: "stopping: no further step is begun"}
	}
	next := NextStep(s, in.Snapshot, in.Inventory)
	if next.Step == nil && next.Why == "" {
		if p := s.Run.Plan; p.Revert && (!in.Located.OK || in.Located.Phase != p.Phase) {
			return Decision{Verb: Wait, Why: fmt.Sprintf("every step is done, but the facts do not show %s: %s", p.Phase, in.Located.Why)}
		}
		return Decision{Verb: ClosePlan}
	}
	if s.Paused {
		return Decision{Verb: Wait, Why: "paused: `migrator resume` goes on"}
	}
	if next.Step == nil {
		return Decision{Verb: Wait, Why: next.Why}
	}
	if w := in.Judgement.Set(WatchSet); !w.Passing {
		return Decision{Verb: Wait, Step: *next.Step, Why: notPassing(s, in, WatchSet)}
	}
	if !in.Judgement.Set(StepKey(next.Step.ID, "before")).Passed() {
		return Decision{Verb: Wait, Step: *next.Step, Why: notPassing(s, in, StepKey(next.Step.ID, "before"))}
	}
	return Decision{Verb: Open, Step: *next.Step}
}

// notPassing names what a set waits for, what fails before what is unknown,
// the first three of it.
func notPassing(_ State, in Situation, key string) string {
	set, judged := in.Judgement.Sets[key]
	var out []string
	for _, result := range []gates.Result{gates.Fail, gates.Unknown} {
		for _, v := range in.Judgement.Verdicts {
			if v.Result == result && slices.Contains(v.Sets, key) {
				out = append(out, fmt.Sprintf("%s %s: %s", v.Gate, v.Result, v.Evidence))
			}
		}
	}
	switch {
	case len(out) > 3:
		return strings.Join(out[:3], "; ") + fmt.Sprintf("; and %d more", len(out)-3)
	case len(out) > 0:
		return strings.Join(out, "; ")
	case judged && set.Passing:
		return fmt.Sprintf("all gates pass, seen %d of %d times", set.Good, max(set.Need, 1))
	default:
		return "not judged yet"
	}
}

// Latest is the last of some times; the zero time when there is none.
func Latest(ts ...time.Time) time.Time {
	var out time.Time
	for _, t := range ts {
		if t.After(out) {
			out = t
		}
	}
	return out
}
