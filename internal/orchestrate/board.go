package orchestrate

import (
	"sync"

	"migrator/internal/facts"
	"migrator/internal/plan"
	"migrator/internal/status"
)

// board is what others may read at any time: the published status and the
// snapshot it was made from. The status is built when somebody reads it: the
// loop turns several times a second, mostly unwatched. Each subscriber has a
// one-place, latest-wins mailbox, so that a slow one never blocks the loop.
type board struct {
	mu     sync.Mutex
	input  status.Input // nothing in it changes once it is published
	built  bool         // status was made from it
	status status.Status
	doing  string       // what a long action says of itself
	asked  *plan.Action // what a person is to do within an action of ours
	subs   map[chan status.Status]struct{}
}

// read answers the newest status; the caller holds the lock.
func (b *board) read() status.Status {
	if !b.built {
		b.status, b.built = status.Build(b.input), true
	}
	return b.status
}

// Status is the newest published one.
func (m *Machine) Status() status.Status {
	m.board.mu.Lock()
	defer m.board.mu.Unlock()
	return m.board.read()
}

// Facts is the snapshot the status was made from.
func (m *Machine) Facts() facts.Snapshot {
	m.board.mu.Lock()
	defer m.board.mu.Unlock()
	return m.board.input.Snapshot
}

// PlannedFile is the content of a file that a person is to write in the open step.
func (m *Machine) PlannedFile(sha string) ([]byte, bool) {
	m.board.mu.Lock()
	defer m.board.mu.Unlock()
	data, ok := m.board.input.Planned[sha]
	return data, ok
}

// Doing is what a long action tells of its progress; the next published status shows it.
func (m *Machine) Doing(text string) {
	m.board.mu.Lock()
	defer m.board.mu.Unlock()
	m.board.doing = text
}

// AskPerson is what a long action wants a person to do, nil when that is over;
// the next published status shows it.
func (m *Machine) AskPerson(a *plan.Action) {
	m.board.mu.Lock()
	defer m.board.mu.Unlock()
	m.board.asked = a
}

// Subscribe answers a mailbox that holds the newest status, and how to give it back.
func (m *Machine) Subscribe() (<-chan status.Status, func()) {
	box := make(chan status.Status, 1)
	m.board.mu.Lock()
	defer m.board.mu.Unlock()
	if m.board.subs == nil {
		m.board.subs = map[chan status.Status]struct{}{}
	}
	m.board.subs[box] = struct{}{}
	box <- m.board.read()
	return box, func() {
		m.board.mu.Lock()
		defer m.board.mu.Unlock()
		delete(m.board.subs, box)
	}
}

func (m *Machine) publish() {
	in := status.Input{Name: m.cfg.Name, Config: m.live, State: m.state, Snapshot: m.snap, Seen: m.seen, Judgement: m.judgement,
		Located: m.located, Decision: m.decision, Clock: m.clock, Busy: m.busyNames(), Planned: m.toWrite(), Now: m.deps.Now()}
	if m.offer.built != nil {
		in.Offer = &m.offer.built.Plan
	}
	if m.broken != nil {
		in.Broken = m.broken.Error()
	}
	m.board.mu.Lock()
	defer m.board.mu.Unlock()
	if len(m.busy) == 0 {
		m.board.doing, m.board.asked = "", nil
	}
	in.Doing, in.Asked = m.board.doing, m.board.asked
	m.board.input, m.board.built = in, false
	for box := range m.board.subs {
		select {
		case <-box:
		default:
		}
		box <- m.board.read()
	}
}
