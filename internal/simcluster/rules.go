package simcluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/execute"
	"migrator/internal/journal"
	"migrator/internal/phases"
	"migrator/internal/plan"
)

// rules watch every effect for what must never happen.
type rules struct {
	journal   story
	effects   []Effect
	broken    []string
	down      map[int32]string // nodes that we hold down, by the step that does
	lastFault time.Time        // when something last happened to the cluster that was not us
	weak      map[string]time.Time
	hurt      time.Time // when something last happened that can lose or change metadata
	halted    time.Time // when a revert last stopped a controller
}

// Effect is one action as it was performed.
type Effect struct {
	At     time.Time
	Step   string
	Action plan.Action
	Try    int
}

func (r *rules) disaster(text string) {
	if !slices.Contains(r.broken, text) {
		r.broken = append(r.broken, text)
	}
}

func (r *rules) cameBack(id int32) { delete(r.down, id) }

// Violations are the rules that were broken so far.
func (c *Cluster) Violations() []string {
	defer c.still()()
	return slices.Clone(c.rules.broken)
}

// Effects are all actions performed so far.
func (c *Cluster) Effects() []Effect {
	defer c.still()()
	return slices.Clone(c.rules.effects)
}

// story is what the journal says of the approved plan and its actions.
type story struct {
	read     int // entries
	approved phases.Approved
	actions  map[string]told // by step and action
	drills   []phases.DrillRun
	soak     *phases.Soak
	accepted bool // a person took an availability gate upon himself
}

// told is what it says of one action since the approval.
type told struct {
	intents int
	lastTry int
	open    bool // an intent without outcome
	ended   bool // an outcome came: a repetition needs no look
}

// hear reads on in the journal.
func (s *story) hear(entries []journal.Entry) error {
	for _, e := range entries[min(s.read, len(entries)):] {
		s.read++
		var b phases.Body
		if err := json.Unmarshal(e.Body, &b); err != nil {
			return fmt.Errorf("journal entry %d: %w", e.Seq, err)
		}
		switch phases.Kind(e.Kind) {
		case phases.KindApproved:
			s.approved, s.actions = *b.Approved, map[string]told{}
		case phases.KindAdopted:
			s.drills, s.soak = nil, nil
		case phases.KindIntent:
			a := s.actions[b.Intent.Step+"/"+b.Intent.Action]
			a.intents, a.lastTry, a.open = a.intents+1, b.Intent.Try, true
			s.actions[b.Intent.Step+"/"+b.Intent.Action] = a
		case phases.KindOutcome:
			a := s.actions[b.Outcome.Step+"/"+b.Outcome.Action]
			a.open, a.ended = false, true
			s.actions[b.Outcome.Step+"/"+b.Outcome.Action] = a
		case phases.KindAccepted:
			s.accepted = true
		case phases.KindSoak:
			s.soak = b.Soak
		case phases.KindDrill:
			s.drills = append(s.drills, *b.Drill)
		}
	}
	return nil
}

// check notes an effect and every rule that it breaks.
func (l *Life) check(t execute.Task) error {
	entries, err := l.record.Read()
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	key := t.Step.ID + "/" + t.Action.ID
	l.mu.Lock()
	looked := l.probed[key]
	l.mu.Unlock()
	defer l.c.hold()()
	r := &l.c.rules
	if err := r.journal.hear(entries); err != nil {
		return err
	}
	r.judge(l.c, t, r.journal.actions[key], looked)
	return nil
}

func (r *rules) judge(c *Cluster, t execute.Task, a told, looked bool) {
	what := fmt.Sprintf("%s %s try %d", t.Step.ID, t.Action.ID, t.Try)
	if !a.open || a.lastTry != t.Try {
		r.disaster(what + ": performed without its intent in the journal")
	}
	r.asApproved(t, what)
	r.afterFreeze(c, t, what)
	if a.intents > 1 && !a.ended && !looked {
		r.disaster(what + ": repeated without a look")
	}
	if r.journal.approved.Plan.Phase == cluster.Finalize {
		r.mayFinalize(c, what)
	}
	if t.Action.Kind == plan.Stop && t.Action.Node != nil {
		r.stops(c, t, what)
	}
	if t.Action.Kind == plan.RevertZnodes {
		r.handsBack(c, what)
	}
	r.effects = append(r.effects, Effect{At: c.now, Step: t.Step.ID, Action: t.Action, Try: t.Try})
}

// asApproved: what runs is, byte for byte, what was approved.
func (r *rules) asApproved(t execute.Task, what string) {
	step, ok := r.journal.approved.Plan.Step(t.Step.ID)
	i := slices.IndexFunc(step.Actions, func(a plan.Action) bool { return a.ID == t.Action.ID })
	if !ok || i < 0 {
		r.disaster(what + ": not in the approved plan")
		return
	}
	approved, _ := json.Marshal(step.Actions[i])
	runs, _ := json.Marshal(t.Action)
	if !bytes.Equal(approved, runs) {
		r.disaster(fmt.Sprintf("%s: approved %s, runs %s", what, approved, runs))
	}
}

// mayFinalize: never without soak, drills and the typed name.
func (r *rules) mayFinalize(c *Cluster, what string) {
	s := r.journal
	if s.approved.Confirmed != c.cfg.Name {
		r.disaster(what + ": finalize without the typed name")
	}
	if need := c.cfg.Soak(cluster.DualWrite); s.soak == nil || s.soak.Phase != cluster.DualWrite || s.soak.Elapsed < need {
		r.disaster(what + ": finalize without a whole soak")
	}
	for _, kind := range c.cfg.Drill.Kinds {
		if !slices.ContainsFunc(s.drills, func(d phases.DrillRun) bool { return d.Kind == kind && d.Passed && !d.Baseline }) {
			r.disaster(what + ": finalize without a passed drill " + kind)
		}
	}
}

// handsBack: the znodes go only when no controller can write any more, and
// when ZooKeeper holds all that was ever committed, unless controllers were hurt
// as it was written: what nobody has read cannot be compared.
func (r *rules) handsBack(c *Cluster, what string) {
	for _, n := range c.controllers() {
		if n.proc != nil {
			r.disaster(fmt.Sprintf("%s: deletes znodes while controller %d runs", what, n.ID))
		}
	}
	if c.mirrored != c.changes && r.hurt.Before(r.halted.Add(-c.grace())) {
		r.disaster(what + ": deletes znodes while ZooKeeper lacks committed changes")
	}
}

// stops: never more of our nodes down than the batch, never the majority.
func (r *rules) stops(c *Cluster, t execute.Task, what string) {
	if t.Step.Kind == plan.StopControllers {
		r.halted = c.now
		return // for good, on the way back
	}
	if r.down == nil {
		r.down = map[int32]string{}
	}
	r.down[*t.Action.Node] = t.Step.ID
	for _, id := range slices.Sorted(maps.Keys(r.down)) {
		if !slices.Contains(t.Step.Batch, id) {
			r.disaster(fmt.Sprintf("%s: node %d is held down by %s meanwhile", what, id, r.down[id]))
		}
	}
	r.majority(c, *t.Action.Node, what)
	r.brokerStop(c, t, what)
}

// drilling judges the stop that a drill makes.
func (r *rules) drilling(c *Cluster, t execute.Task, id int32) {
	r.majority(c, id, fmt.Sprintf("%s %s try %d", t.Step.ID, t.Action.ID, t.Try))
}

// grace is how old the facts may be that a decision was made on: what another
// hand broke within it is not our doing.
func (c *Cluster) grace() time.Duration { return c.cfg.Gates.MaxFactAge + 5*time.Second }

// majority judges a controller that is taken away.
func (r *rules) majority(c *Cluster, id int32, what string) {
	if c.nodes[id].Role != cluster.Controller || c.now.Sub(r.lastFault) < c.grace() {
		return
	}
	left := 0
	for _, n := range c.voting() {
		if n.ID != id {
			left++
		}
	}
	if left < c.majority() {
		r.disaster(fmt.Sprintf("%s: takes controller %d and breaks the majority", what, id))
	}
}

// watch notes since when partitions lack replicas and nodes do not serve.
func (r *rules) watch(c *Cluster) {
	if r.weak == nil {
		r.weak = map[string]time.Time{}
	}
	note := func(name string, weak bool) {
		if _, was := r.weak[name]; weak && !was {
			r.weak[name] = c.now
		} else if !weak {
			delete(r.weak, name)
		}
	}
	for name, t := range c.topics {
		for i, p := range t.partitions {
			note(fmt.Sprintf("%s-%d", name, i), len(p.isr) < len(p.replicas))
		}
	}
	for _, n := range c.brokers() {
		note(n.Host, !n.serves())
	}
	note(nobody, c.acting() == byNobody)
}

// nobody is the weakness that nobody elects leaders.
const nobody = "controller"

// weakFor says that something was seen weak long enough to be known.
func (r *rules) weakFor(c *Cluster, name string) bool {
	since, weak := r.weak[name]
	return weak && c.now.Sub(since) >= c.grace()
}

// brokerStop: with another broker down, or where clients with acks=all would
// find too few replicas, no broker is stopped, unless a person accepted it.
func (r *rules) brokerStop(c *Cluster, t execute.Task, what string) {
	if c.nodes[*t.Action.Node].Role != cluster.Broker || r.journal.accepted {
		return
	}
	if c.acting() == byNobody && r.weakFor(c, nobody) {
		r.disaster(what + ": stops a broker while nobody elects leaders")
	}
	for _, n := range c.brokers() {
		if !slices.Contains(t.Step.Batch, n.ID) && !n.serves() && r.weakFor(c, n.Host) {
			r.disaster(fmt.Sprintf("%s: broker %d is down already", what, n.ID))
		}
	}
	for name, topic := range c.topics {
		for i, p := range topic.partitions {
			full := fmt.Sprintf("%s-%d", name, i)
			left := slices.DeleteFunc(slices.Clone(p.isr), func(id int32) bool { return slices.Contains(t.Step.Batch, id) })
			before, short := r.journal.approved.Short[full]
			if len(left) == len(p.isr) || len(left) >= topic.minISR || !r.weakFor(c, full) || short && before < topic.minISR || slices.Contains(t.Step.Impact, full) {
				continue
			}
			r.disaster(fmt.Sprintf("%s: leaves %s with ISR %v, it needs %d", what, full, left, topic.minISR))
		}
	}
}
