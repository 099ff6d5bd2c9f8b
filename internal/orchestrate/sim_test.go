package orchestrate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/journal"
	"migrator/internal/orchestrate"
	"migrator/internal/phases"
	"migrator/internal/plan"
	"migrator/internal/simcluster"
	"migrator/internal/status"
)

// book is the journal as one run of the service writes it, until it is killed
// at an entry that dies says.
type book struct {
	*simcluster.Store
	life   *simcluster.Life
	mu     sync.Mutex
	dies   func(seq uint64, kind string, b phases.Body) bool // nil: never
	when   death
	kill   func()
	deaths *deaths // gathered without dying; nil: none
}

// shortly after an entry what it announces is under way.
const shortly = 400 * time.Millisecond

type death int

const (
	afterEntry  death = iota // at once: nothing that the entry announces happens
	beforeEntry              // the entry is not written: what it tells of has happened, unrecorded
	meanwhile                // a moment later: what the entry announces is under way
)

func (d death) String() string { return [...]string{"after it", "before it", "a moment after it"}[d] }

var errKilled = errors.New("the service was killed")

func (b *book) Append(kind, actor string, attempt int, body any) (journal.Entry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.life.Killed() {
		return journal.Entry{}, errKilled
	}
	seq := uint64(b.Len()) + 1
	b.deaths.add(seq, beforeEntry)
	dies := b.dies != nil && b.dies(seq, kind, body.(phases.Body))
	if dies && b.when == beforeEntry {
		b.kill()
		return journal.Entry{}, errKilled
	}
	e, err := b.Store.Append(kind, actor, attempt, body)
	b.deaths.add(seq, afterEntry)
	if b.deaths != nil {
		time.AfterFunc(shortly, func() {
			b.mu.Lock() // nothing is recorded while the copy is made
			defer b.mu.Unlock()
			b.deaths.add(seq, meanwhile)
		})
	}
	if dies && b.when == afterEntry {
		b.kill()
	}
	if dies && b.when == meanwhile {
		time.AfterFunc(shortly, b.kill)
	}
	return e, err
}

// run is one life of the service on the cluster.
type run struct {
	m      *orchestrate.Machine
	life   *simcluster.Life
	cancel context.CancelFunc
	ended  chan struct{}
	back   bool
}

func begin(t *testing.T, c *simcluster.Cluster, s *simcluster.Store, when death, dies func(uint64, string, phases.Body) bool) *run {
	t.Helper()
	return beginWith(t, c.Migration(), c, s, when, dies)
}

func beginWith(t *testing.T, cfg config.Migration, c *simcluster.Cluster, s *simcluster.Store, when death, dies func(uint64, string, phases.Body) bool) *run {
	t.Helper()
	return open(t, cfg, c, &book{Store: s, dies: dies, when: when}, nil)
}

// open begins a life on the cluster that writes the book; wrap may put
// something between the service and the cluster.
func open(t *testing.T, cfg config.Migration, c *simcluster.Cluster, b *book, wrap func(*orchestrate.Deps)) *run {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := b.Store
	r := &run{life: c.Live(s, s), cancel: cancel, ended: make(chan struct{})}
	b.life, b.kill = r.life, func() { r.life.Kill(); cancel() }
	deps := orchestrate.Deps{Observer: r.life, Executor: r.life, Journal: b, Blobs: s, Canary: r.life,
		Log: slog.New(slog.DiscardHandler), Now: time.Now, Claim: func(string) error { return nil }}
	if wrap != nil {
		wrap(&deps)
	}
	m, err := orchestrate.New(cfg, deps)
	if err != nil {
		t.Fatal(err)
	}
	r.m = m
	go func() { defer close(r.ended); _ = m.Run(ctx) }()
	return r
}

func (r *run) end() {
	r.cancel()
	<-r.ended
}

// follow approves every plan as it is offered, until the migration is finished
// or the run ends. It answers whether it finished, and the last status.
func (r *run) follow(limit time.Duration) (bool, status.Status) {
	_, last := r.attend(limit, func(s status.Status) bool { return s.RunStatus == status.Finished }, func(s status.Status) deed {
		if s.RunStatus == status.NeedsApproval {
			r.answer(s)
		}
		return nil
	})
	return last.RunStatus == status.Finished, last
}

// answer approves what is offered; with back set, the first attempt turns
// around where finalize is offered.
func (r *run) answer(s status.Status) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	go func() {
		defer cancel()
		if r.back && s.Attempt == 1 && s.Plan.Phase == cluster.Finalize {
			_ = turnBack(ctx, r.m, s.Name, cluster.Initial)
			return
		}
		_ = r.m.Do(ctx, orchestrate.Command{Verb: orchestrate.Advance, Actor: "alice", Digest: s.Plan.Digest, Confirm: s.Name})
	}()
	select {
	case <-ctx.Done():
	case <-r.ended:
		cancel()
	}
}

// turnBack reads the way back and approves it.
func turnBack(ctx context.Context, m *orchestrate.Machine, name string, to cluster.Phase) error {
	return turnBackAs(ctx, m, name, to, "alice")
}

// until waits for a run status; false when it did not come in time.
func (r *run) until(want status.RunStatus, limit time.Duration) (bool, status.Status) {
	return r.attend(limit, func(s status.Status) bool { return s.RunStatus == want }, func(status.Status) deed { return nil })
}

// whole is what a migration leaves behind.
type whole struct {
	entries int
	end     simcluster.End
	starts  map[int32]int
	drills  int // controllers taken away by drills
}

// forward is a whole migration without a fault.
func forward(t *testing.T) whole {
	t.Helper()
	var w whole
	synctest.Test(t, func(t *testing.T) {
		c, s := simcluster.New(simcluster.Options{Seed: 1}), simcluster.NewStore()
		r := begin(t, c, s, afterEntry, nil)
		defer r.end()
		ok, last := r.follow(30 * time.Minute)
		w = judge(t, c, s, ok, last)
	})
	return w
}

// judge wants a finished migration and no broken rule.
func judge(t *testing.T, c *simcluster.Cluster, s *simcluster.Store, ok bool, last status.Status) whole {
	t.Helper()
	if broken := c.Violations(); len(broken) > 0 {
		t.Fatalf("rules broken:\n%s\njournal:\n%s", strings.Join(broken, "\n"), tail(s, 40))
	}
	if !ok {
		t.Fatalf("never finished: %s %q\nnot passing:\n%s\njournal:\n%s", last.RunStatus, last.Headline, notPassing(last), tail(s, 25))
	}
	entries, err := s.Read()
	if err != nil {
		t.Fatal(err)
	}
	if frozen, aside := c.Frozen(); frozen || len(aside) > 0 {
		t.Errorf("at the end the hooks left others frozen: %t, and nodes aside: %v", frozen, aside)
	}
	w := whole{entries: len(entries), end: c.End(), starts: c.Starts()}
	for _, e := range c.Effects() {
		if e.Action.Kind == plan.RunDrill {
			w.drills++
		}
	}
	return w
}

// same wants the same end: every node with the same file in the same mode, and
// no node started more often than the plans and the drills say.
func same(t *testing.T, want, got whole) {
	t.Helper()
	if diff := cmp.Diff(want.end, got.end); diff != "" {
		t.Errorf("another end (-want +got):\n%s", diff)
	}
	controllers := func(w whole) (n int) {
		for id, starts := range w.starts {
			if id >= 3000 {
				n += starts
			} else if starts != want.starts[id] {
				t.Errorf("broker %d was started %d times, want %d", id, starts, want.starts[id])
			}
		}
		return n - w.drills
	}
	if w, g := controllers(want), controllers(got); g > w {
		t.Errorf("controllers were started %d times beside %d drills, want %d", g, got.drills, w)
	}
}

func notPassing(s status.Status) string {
	var out []string
	for _, g := range s.Gates {
		if g.Verdict != "pass" {
			out = append(out, g.Name+" "+g.Verdict+": "+g.Evidence)
		}
	}
	return strings.Join(out, "\n")
}

func tail(s *simcluster.Store, n int) string {
	entries, _ := s.Read()
	var out []string
	blocked := ""
	for _, e := range entries {
		switch what := string(e.Body); {
		case e.Kind == string(phases.KindSoak), e.Kind == string(phases.KindCanary), e.Kind == string(phases.KindRetried) && blocked != "":
			continue
		case e.Kind == string(phases.KindBlocked) && what == blocked:
			continue // again and again
		case e.Kind == string(phases.KindBlocked):
			blocked = what
		default:
			blocked = ""
		}
		out = append(out, fmt.Sprintf("%d %s %s %.300s", e.Seq, e.Time.Format(time.TimeOnly), e.Kind, e.Body))
	}
	return strings.Join(out[max(0, len(out)-n):], "\n")
}

// fold is the state that a journal tells.
func fold(t *testing.T, s *simcluster.Store) phases.State {
	t.Helper()
	entries, err := s.Read()
	if err != nil {
		t.Fatal(err)
	}
	return foldOn(t, phases.New(), entries)
}

func foldOn(t *testing.T, state phases.State, entries []journal.Entry) phases.State {
	t.Helper()
	for _, e := range entries {
		ev := phases.Event{Seq: e.Seq, Time: e.Time, Attempt: e.Attempt, Actor: e.Actor, Kind: phases.Kind(e.Kind)}
		err := json.Unmarshal(e.Body, &ev.Body)
		if err == nil {
			state, err = phases.Apply(state, ev)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return state
}

// fromEnv reads a number that a person may give.
func fromEnv(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is no number above 0", name, text)
	}
	return n
}
