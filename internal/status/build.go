package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/facts"
	"migrator/internal/gates"
	"migrator/internal/phases"
	"migrator/internal/plan"
)

// Input is all that a status is made from.
type Input struct {
	Name      string
	Config    config.Migration
	State     phases.State
	Snapshot  facts.Snapshot
	Seen      bool
	Judgement gates.Judgement
	Located   phases.Located
	Decision  phases.Decision
	Offer     *plan.Plan
	Clock     phases.Clock
	Busy      []string
	Doing     string // what a long action says of its progress
	Broken    string
	Asked     *plan.Action      // what a person is to do within an action of ours
	Planned   map[string][]byte // contents that a person is to write, by SHA-256
	Now       time.Time

	inventory cluster.Inventory
	leader    facts.Fact[facts.LeaderView]
}

// Build makes the read model; pure.
func Build(in Input) Status {
	in.inventory = in.Config.Inventory()
	in.leader = in.Snapshot.Leader(in.inventory.Controllers)
	nodes := in.inventory.Nodes()
	s := Status{Name: in.Name, Attempt: in.State.Attempt, Seq: in.State.Seq,
		Gates: make([]Gate, 0, len(in.Judgement.Verdicts)), Nodes: make([]Node, 0, len(nodes))}
	if in.State.ClusterID != "" {
		s.ClusterID = &in.State.ClusterID
	}
	if in.State.Phase != "" {
		s.Phase = &in.State.Phase
		s.PhaseComplete = phases.PhaseComplete(in.State, in.Judgement, in.Config.Soak(cluster.Load))
	}
	if in.Seen {
		s.ObservedAt = &in.Snapshot.Begun
	}
	s.RunStatus = runStatus(in)
	s.Headline, s.Next = words(in, s.RunStatus)
	s.Since = since(in, s.RunStatus)
	for _, v := range in.Judgement.Verdicts {
		if matters(in, v) {
			s.Gates = append(s.Gates, gateOf(v))
		}
	}
	behind := outOfSync(&in.Snapshot)
	for _, n := range nodes {
		s.Nodes = append(s.Nodes, nodeOf(&in, n, behind))
	}
	for _, n := range in.inventory.Lost {
		lost := nodeOf(&in, n, behind)
		lost.Lost = true
		s.Nodes = append(s.Nodes, lost)
	}
	s.Soak, s.Drill = soakOf(in), drillOf(in)
	s.Revert, s.Epochs, s.Canary = revertOf(in), epochsOf(in), canaryOf(in)
	s.Window = windowOf(in)
	s.Plan, s.Step = planOf(in)
	s.Manual = manualOf(in)
	s.ETASeconds = eta(in)
	if in.State.Blocked != nil {
		s.Blocked = &Reason{What: in.State.Blocked.What, ToDo: in.State.Blocked.ToDo, At: in.State.Blocked.At}
	}
	if in.Broken != "" {
		s.Blocked = &Reason{What: "journal: " + in.Broken, ToDo: "nothing more is executed; free the data folder's disk and restart the service", At: in.Now}
	}
	return s
}

// runStatus is the first that matches, in the order people care about.
func runStatus(in Input) RunStatus {
	running := in.State.Run != nil && (in.State.Run.Open != "" || !in.State.Paused)
	switch {
	case in.State.Finished:
		return Finished
	case in.Broken != "" || in.State.Blocked != nil:
		return Blocked
	case running && in.State.Run.Plan.Revert:
		return Reverting
	case running:
		return Executing
	case in.State.Paused:
		return Paused
	case !in.Seen || in.Decision.Observing || in.State.Phase == "":
		return Observing
	case in.Decision.Verb == phases.Ask:
		return NeedsApproval
	default:
		return Waiting
	}
}

func words(in Input, rs RunStatus) (headline, next string) {
	switch rs {
	case Finished:
		return "finished: the cluster runs without ZooKeeper", "ZooKeeper can be stopped; keep the evidence"
	case Blocked:
		return "blocked: " + blockedWhat(in), "nothing is done by itself: remove the cause, then `migrator retry " + in.Name + "`"
	case NeedsApproval:
		return fmt.Sprintf("phase %s: the plan %s is ready and waits for a person", in.State.Phase, in.Decision.Offer.Phase),
			fmt.Sprintf("`migrator advance %s` shows the plan and asks", in.Name)
	case Paused:
		return "paused" + pausedFor(in), "`migrator resume " + in.Name + "` goes on"
	case Executing, Reverting:
		return executing(in)
	case Observing:
		return "observing: " + orElse(in.Decision.Why, in.Located.Why), "the first complete snapshot decides what comes next"
	default:
		return "waiting: " + in.Decision.Why, "goes on by itself when the named gates pass"
	}
}

// executing names the step, what it waits for and what follows.
func executing(in Input) (headline, next string) {
	p := in.State.Run.Plan
	headline = "plan " + string(p.Phase) + ": "
	if p.Revert {
		headline = "revert to " + string(p.Phase) + ": "
	}
	if step, ok := in.State.OpenStep(); ok {
		headline += step.Sentence + startedAgain(in, step) + openDetail(in, step)
	} else {
		headline += orElse(in.Decision.Why, "between steps")
	}
	left := undone(in.State)
	if in.State.Run.Open != "" && len(left) > 0 {
		left = left[1:]
	}
	if len(left) > 0 {
		return headline, "then: " + left[0].Sentence
	}
	return headline, "then the plan is done"
}

// startedAgain says which nodes the service itself starts once more, and why.
func startedAgain(in Input, step plan.Step) string {
	var out []string
	for _, a := range step.Actions {
		if why := in.State.Run.Actions[a.ID].BySelf; why != "" && !slices.Contains(out, why) {
			out = append(out, why)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "; " + strings.Join(out, "; ")
}

// openDetail says what the open step does or waits for right now.
func openDetail(in Input, step plan.Step) string {
	switch {
	case in.Asked != nil:
		n, _ := in.Config.Node(*in.Asked.Node)
		return "; a person is asked to " + errandInWords(*in.Asked, n)
	case len(in.Busy) > 0 && in.Doing != "":
		return " (" + strings.Join(in.Busy, ", ") + ": " + in.Doing + ")"
	case len(in.Busy) > 0:
		return " (" + strings.Join(in.Busy, ", ") + ")"
	case step.Kind == plan.SoakEnd && in.Clock.PausedBecause == "" && in.Judgement.Set(phases.SoakSet).Passing:
		return fmt.Sprintf(" (%s of %s)", in.Clock.Elapsed.Round(time.Second), in.State.Run.Plan.Limits.Soak)
	case in.Decision.Verb == phases.Wait && in.Decision.Why != "":
		return "; waiting: " + in.Decision.Why
	default:
		return ""
	}
}

func undone(s phases.State) []plan.Step {
	var out []plan.Step
	if open, ok := s.OpenStep(); ok {
		out = append(out, open)
	}
	for _, st := range s.Run.Plan.Steps {
		if s.Run.Done[st.ID].IsZero() && st.ID != s.Run.Open {
			out = append(out, st)
		}
	}
	return out
}

func blockedWhat(in Input) string {
	if in.Broken != "" {
		return "journal: " + in.Broken
	}
	return in.State.Blocked.What
}

func pausedFor(in Input) string {
	age := in.Now.Sub(in.State.PausedAt).Round(time.Second)
	if in.State.Phase == cluster.Hybrid {
		return fmt.Sprintf(" for %s in hybrid: do not rest here, half the brokers run in another mode", age)
	}
	return fmt.Sprintf(" for %s", age)
}

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func since(in Input, rs RunStatus) *time.Time {
	var t time.Time
	switch {
	case rs == Blocked && in.State.Blocked != nil:
		t = in.State.Blocked.At
	case rs == Paused:
		t = in.State.PausedAt
	case in.State.Run != nil && in.State.Run.Open != "":
		t = in.State.Run.OpenedAt
	case in.State.Run != nil:
		t = in.State.Run.Approved
	default:
		t = in.State.PhaseAt
	}
	return stamp(t)
}

func stamp(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// matters: while a person is asked for a plan, gates that only a later plan
// needs would look like alarms; what that plan will change is not wrong yet.
func matters(in Input, v gates.Judged) bool {
	if in.Decision.Verb != phases.Ask || in.Decision.Offer == nil {
		return true
	}
	return slices.ContainsFunc(v.Sets, func(key string) bool {
		return key == phases.WatchSet || key == phases.RevertSet || key == phases.EnterKey(in.Decision.Offer.Phase)
	})
}

func gateOf(v gates.Judged) Gate {
	return Gate{Name: v.Gate, Kind: string(v.Kind), Verdict: v.Result.String(), Evidence: v.Evidence, ToDo: v.ToDo, Since: stamp(v.Since),
		Source: v.Source, ObservedAt: stamp(v.ObservedAt), Blocks: list(v.Blocks), Subjects: list(v.Subjects), Accepted: v.Accepted}
}

func list(in []string) []string {
	if in == nil {
		return []string{}
	}
	return slices.Clone(in)
}

// eta adds up what is left of the running or offered plan; nil when any part
// has no figure.
func eta(in Input) *float64 {
	var left []plan.Step
	switch {
	case in.State.Run != nil:
		left = undone(in.State)
	case in.Offer != nil:
		left = in.Offer.Steps
	default:
		return nil
	}
	total := 0.0
	for _, st := range left {
		sec := st.Expected
		if st.Kind == plan.SoakEnd && in.State.Run != nil {
			rest := max(in.State.Run.Plan.Limits.Soak-in.Clock.Elapsed, 0).Seconds()
			sec = &rest
		}
		if st.Kind == plan.SoakEnd && in.State.Run == nil && in.Offer != nil {
			whole := in.Offer.Limits.Soak.Seconds()
			sec = &whole
		}
		if st.Kind == plan.SoakBegin {
			zero := 0.0
			sec = &zero
		}
		if sec == nil {
			return nil
		}
		spent := 0.0
		if in.State.Run != nil && st.ID == in.State.Run.Open && st.Kind != plan.SoakEnd {
			spent = in.Now.Sub(in.State.Run.OpenedAt).Seconds()
		}
		total += max(*sec-spent, 0)
	}
	return &total
}
