package orchestrate

import (
	"context"
	"slices"
	"sync"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/gates"
	"migrator/internal/observe"
	"migrator/internal/phases"
	"migrator/internal/plan"
)

// eager is the time between rounds while something is about to become true.
const eager = 250 * time.Millisecond

// eye is what the loop asks of the observing goroutine.
type eye struct {
	mu    sync.Mutex
	want  observe.Want
	every time.Duration
	whole time.Duration // at least this often every machine is looked at
	stale bool          // an effect ended: look at every machine
}

func (e *eye) set(w observe.Want, every, whole time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.want, e.every, e.whole = w, every, whole
}

func (e *eye) effect() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stale = true
}

// next is what the coming round asks: every machine after an effect or when
// the last whole round is old, else only those of the open step. A command per
// node four times a second would cost more than the restart it watches.
func (e *eye) next(lastWhole time.Duration) (want observe.Want, whole bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	want = e.want
	whole = e.stale || want.Machines == nil || lastWhole >= e.whole
	if whole {
		want.Machines, e.stale = nil, false
	}
	return want, whole
}

func (e *eye) interval() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.every
}

// watch runs round after round until ctx ends. Rounds begin at the wanted
// interval, or at once when kicked (an effect just ended).
func (m *Machine) watch(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var lastWhole time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.kick:
		case <-timer.C:
		}
		begun := time.Now()
		want, whole := m.eye.next(begun.Sub(lastWhole))
		if whole {
			lastWhole = begun
		}
		snap := m.deps.Observer.Round(ctx, want)
		select {
		case m.snapshots <- snap:
		case <-ctx.Done():
			return
		}
		timer.Reset(max(m.eye.interval()-time.Since(begun), 10*time.Millisecond))
	}
}

// look asks for a round right now.
func (m *Machine) look() {
	select {
	case m.kick <- struct{}{}:
	default:
	}
}

// ask tells the observer what the phase and the open step need, and how often.
func (m *Machine) ask() {
	every := m.cfg.Gates.PollInterval
	if m.eagerNow() {
		every = min(eager, every)
	}
	m.eye.set(m.want(), every, m.cfg.Gates.PollInterval)
}

// eagerNow: polled quickly until the awaited gates first all pass, then at the
// poll interval, so that good polls lie that far apart.
func (m *Machine) eagerNow() bool {
	if !m.seen || len(m.pending) > 0 {
		return true
	}
	if m.state.Run == nil || m.state.Blocked != nil || phases.Asking(m.state) {
		return false
	}
	if step, ok := m.state.OpenStep(); ok {
		if step.Kind == plan.SoakEnd {
			return false
		}
		return !m.judgement.Set(phases.StepKey(step.ID, "done")).Passing
	}
	return !m.state.Paused
}

func (m *Machine) want() observe.Want {
	w := observe.Want{Files: true, Meta: true, MinISR: true, Quorum: true, Topics: m.needsTopics(), Preflight: m.atTheBeginning()}
	// With every controller stopped for good nobody leads; waiting for a leader
	// would only make the controllerless window longer.
	w.Log = len(m.state.Down) < len(m.inv.Controllers)
	if m.goesBack() {
		w.Kept = cluster.IDs(m.inv.Brokers)
	}
	if step, ok := m.state.OpenStep(); ok {
		w.Lines = slices.Clone(step.Batch)
		w.Machines = slices.Clone(step.Batch)
		w.TopicsSoon = slices.Contains(step.Done, gates.Parity) || slices.Contains(step.Done, gates.StoresAgree)
		w.Named = slices.Contains(step.Done, gates.Follows)
		if slices.Contains(step.Done, gates.SettingsPlanned) {
			w.Settings = slices.Clone(step.Batch)
		}
	}
	heard := slices.Clone(m.inv.Controllers)
	if m.state.Run != nil && m.state.Run.Plan.Revert {
		heard = append(heard, m.inv.Brokers...)
	}
	for _, n := range heard {
		if !slices.Contains(w.Lines, n.ID) {
			w.Lines = append(w.Lines, n.ID)
		}
	}
	return w
}

// atTheBeginning: the plan whose steps make the first controller is still to be approved.
func (m *Machine) atTheBeginning() bool {
	return m.seen && m.state.Run == nil && !m.state.Adopt && m.state.Phase == cluster.Initial && m.state.Completed[cluster.Initial].IsZero()
}

// needsTopics: the full scan of ZooKeeper runs only where parity is asked for.
func (m *Machine) needsTopics() bool {
	p := m.state.Phase
	if m.state.Run != nil && m.state.Run.Plan.Revert {
		return false // the open step asks for it by itself
	}
	if m.state.Run != nil {
		switch m.state.Run.Plan.Phase {
		case cluster.Load:
			step, ok := m.state.OpenStep()
			return ok && slices.Contains(step.Done, gates.Parity)
		case cluster.DualWrite:
			return true
		default:
			return false
		}
	}
	return p == cluster.Load || p == cluster.Hybrid || p == cluster.DualWrite
}

// progress notices that something moved: a time limit means time without it.
type progress struct {
	at      time.Time
	last    mark
	running map[int32]int // by node, as last known: a read that fails now and then is no progress
	lines   map[int32]int
}

type mark struct {
	inISR    int
	epochs   int64
	notes    int
	migrated int64
}

func (p *progress) see(s facts.Snapshot, now time.Time) {
	next := p.last
	if l, ok := s.Log.Get(); ok {
		next.notes = len(l.Image.Brokers)
	}
	if m, ok := s.Metadata.Get(); ok {
		next.inISR, next.epochs = 0, 0
		for _, part := range m.Partitions {
			next.inISR += len(part.ISR)
			next.epochs += int64(part.LeaderEpoch)
		}
	}
	if z, ok := s.Migration.Get(); ok && z.Offset != nil {
		next.migrated = min(*z.Offset, 1) // the first offset is progress; its noise afterwards is not
	}
	if p.running == nil {
		p.running, p.lines = map[int32]int{}, map[int32]int{}
	}
	started := note(p.running, s.Running, func(running bool) int {
		if running {
			return 1
		}
		return 0
	})
	// Notes are all lines since the step began, so their number says whether
	// there are new ones.
	logged := note(p.lines, s.Lines, func(l facts.Lines) int { return len(l.Notes) })
	if next != p.last || started || logged {
		p.at = now
	}
	p.last = next
}

// note keeps each node's count where it is known, and says whether one changed.
func note[T any](last map[int32]int, now map[int32]facts.Fact[T], count func(T) int) (changed bool) {
	for id, f := range now {
		v, ok := f.Get()
		if !ok {
			continue
		}
		n := count(v)
		before, seen := last[id]
		changed = changed || !seen || n != before
		last[id] = n
	}
	return changed
}
