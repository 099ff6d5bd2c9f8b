package orchestrate

import (
	"context"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/facts"
	"migrator/internal/gates"
	"migrator/internal/phases"
	"migrator/internal/plan"
)

// Run owns the migration until ctx ends (at once) or Drain was called and the
// open batch is safe. Every turn: take in one thing, judge, decide, perform.
func (m *Machine) Run(ctx context.Context) error {
	watching, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	m.ask() // before the watching begins: the state belongs to this goroutine
	go func() { defer close(done); m.watch(watching) }()
	defer func() { stop(); <-done; m.endBusy(); m.stopCanary(); m.refusePending() }()
	drain := m.drain
	m.publish()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-drain:
			m.draining, drain = true, nil
		case s := <-m.snapshots:
			m.take(s)
		case r := <-m.results:
			m.record(ctx, r)
		case c := <-m.commands:
			m.command(c)
		}
		m.turn(ctx)
		if m.draining && m.safe() {
			return nil
		}
	}
}

// Drain asks the machine to bring the open batch's nodes back and then end.
func (m *Machine) Drain() { close(m.drain) }

// safe: nothing is being performed and no node is down by our hand, or it
// could not be brought back and only a person can go on.
func (m *Machine) safe() bool {
	atRest := m.state.Blocked != nil || len(m.toBringBack()) == 0
	return len(m.busy) == 0 && (m.broken != nil || atRest && m.decision.Verb != phases.Act)
}

// turn takes the consequences of one event.
func (m *Machine) turn(ctx context.Context) {
	m.decide(ctx)
	if m.answerPending() {
		m.decide(ctx)
	}
	m.runCanary(ctx)
	m.ask()
	m.publish()
	m.giveAnswers()
}

// decide judges, decides and performs until there is nothing left to do now.
func (m *Machine) decide(ctx context.Context) {
	for range maxTurns {
		m.judge()
		m.decision = phases.Decide(m.state, m.situation(), m.deps.Now())
		if !m.perform(ctx, m.decision) {
			return
		}
	}
}

// maxTurns bounds what one event can set off; more would be a loop of our own.
const maxTurns = 50

// judge judges the present snapshot for the present state, once for each pair.
func (m *Machine) judge() {
	if !m.seen || m.judged == m.state.Seq && m.judgement.At.Equal(m.snap.Begun) {
		return
	}
	now := m.deps.Now()
	sets := phases.Sets(m.state, m.snap, m.inv, m.cfg.Gates.GoodPolls)
	j, memory := gates.Judge(m.memory, m.view(now), sets)
	j.At = m.snap.Begun
	m.judgement, m.memory, m.judged = j, memory, m.state.Seq
	m.located = phases.Locate(m.snap, m.inv)
	m.offer = m.makeOffer()
}

// situation is what Decide sees beside the state.
func (m *Machine) situation() phases.Situation {
	in := phases.Situation{Snapshot: m.snap, Judgement: m.judgement, Located: m.located, Inventory: m.inv,
		OfferWhy: m.offer.why, Busy: m.busyNames(), Draining: m.draining, Progress: m.progress.at,
		StepTimeout: m.cfg.Gates.StepTimeout, SoakOfLoad: m.cfg.Soak(cluster.Load),
		Deaths: m.deaths, Planned: m.toWrite(), PollInterval: m.cfg.Gates.PollInterval, MaxFactAge: m.cfg.Gates.MaxFactAge}
	if m.offer.built != nil {
		in.Offer = &m.offer.built.Plan
	}
	if !m.seen {
		in.Located.Why = "no snapshot yet"
	}
	return in
}

// take folds a new snapshot into progress, judgement and the soak clock.
func (m *Machine) take(s facts.Snapshot) {
	now := m.deps.Now()
	if !m.compared {
		found, sure := phases.Rerendered(m.state, m.live, s, &m.memo)
		m.conflicts, m.compared = append(m.conflicts, found...), sure
	}
	m.snap, m.seen = s, true
	m.keep(s)
	m.progress.see(s, now)
	m.deaths = m.deaths.See(m.state, s)
	m.bind()
	m.noteReturned()
	m.judge()
	if step, ok := m.state.OpenStep(); ok && step.Kind == plan.DrillStep {
		m.clock = phases.AfterDrill(m.clock, s)
		return
	}
	clock, write := phases.Account(m.clock, m.state, m.judgement, s, maxGap(m.cfg.Gates), now)
	m.clock = clock
	if write {
		soak := clock.Soak
		m.append(phases.KindSoak, service, phases.Body{Soak: &soak})
	}
}

// maxGap is the longest span between two snapshots that still counts as watched.
func maxGap(g config.Gates) time.Duration { return 3*g.PollInterval + 5*time.Second }
