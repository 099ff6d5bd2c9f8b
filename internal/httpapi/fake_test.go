package httpapi

import (
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/facts"
	"migrator/internal/journal"
	"migrator/internal/orchestrate"
	"migrator/internal/plan"
	"migrator/internal/status"
)

// stub is a machine that answers as told and publishes what it is given.
type stub struct {
	mu   sync.Mutex
	now  status.Status
	subs map[chan status.Status]struct{}
	got  []orchestrate.Command
	do   func(orchestrate.Command) error
}

func (s *stub) Do(_ context.Context, c orchestrate.Command) error {
	s.mu.Lock()
	s.got = append(s.got, c)
	s.mu.Unlock()
	if s.do == nil {
		return nil
	}
	return s.do(c)
}

func (s *stub) Status() status.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *stub) Facts() facts.Snapshot {
	return facts.Snapshot{Files: map[int32]facts.Fact[facts.File]{1: facts.Known(facts.File{Exists: true, SHA256: "ab", Content: []byte("sasl.jaas.config=hunter2")}, "file", epoch)}}
}

func (s *stub) PlannedFile(sha string) ([]byte, bool) {
	return []byte("broker.id=2\n"), sha == "c0ffee"
}

func (s *stub) Subscribe() (<-chan status.Status, func()) {
	box := make(chan status.Status, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.subs == nil {
		s.subs = map[chan status.Status]struct{}{}
	}
	s.subs[box] = struct{}{}
	box <- s.now
	return box, func() { s.mu.Lock(); defer s.mu.Unlock(); delete(s.subs, box) }
}

func (s *stub) publish(change func(*status.Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.now)
	for box := range s.subs {
		select {
		case <-box:
		default:
		}
		box <- s.now
	}
}

func (s *stub) commands() []orchestrate.Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]orchestrate.Command(nil), s.got...)
}

// one is a service of a single migration.
type one struct{ m *stub }

func (o one) Names() []string { return []string{"payments"} }

func (o one) Machine(name string) (Machine, bool) { return o.m, name == "payments" }

func (o one) Journal(string, uint64) ([]journal.Entry, error) {
	return []journal.Entry{{V: 1, Seq: 7, Kind: "bound", Body: []byte(`{}`)}}, nil
}

func (o one) Evidence(_ string, w io.Writer) error { _, err := io.WriteString(w, "tar"); return err }

var epoch = time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)

// waiting is a migration whose plan waits for a person.
func waiting() *stub {
	phase, at := cluster.Initial, epoch
	return &stub{now: status.Status{Name: "payments", Phase: &phase, RunStatus: status.NeedsApproval, Headline: "the plan load is ready", Seq: 7, ObservedAt: &at,
		Gates: []status.Gate{}, Nodes: []status.Node{}, Plan: &status.Plan{Phase: cluster.Load, Digest: "d1", Approval: true,
			Steps: []status.StepView{{Step: plan.Step{ID: "roll-broker-1", Kind: plan.Roll, Sentence: "restart broker 1", Batch: []int32{1}}, State: "planned"}}}}}
}

func newServer(t *testing.T, m *stub, change func(*Options)) *Server {
	t.Helper()
	o := Options{Listen: "127.0.0.1:0", Now: func() time.Time { return epoch }}
	if change != nil {
		change(&o)
	}
	s, err := New(one{m}, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func withToken(o *Options) { o.Token = config.NewSecret("s3cret") }
