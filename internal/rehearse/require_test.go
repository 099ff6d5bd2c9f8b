package rehearse

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"migrator/internal/client"
	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/execute"
	"migrator/internal/gates"
	"migrator/internal/journal"
	"migrator/internal/orchestrate"
	"migrator/internal/service"
	"migrator/internal/simcluster"
	"migrator/internal/status"
)

// production is a larger cluster whose migration asks for a rehearsal, and its
// service.
func production(t *testing.T) *hosted {
	t.Helper()
	sim := simcluster.New(simcluster.Options{Name: "payments", Brokers: 5, Soak: time.Hour, Seed: 2, Speed: 50, Reading: time.Millisecond})
	m := sim.Migration()
	m.RequireRehearsal = time.Hour
	m.Gates.PollInterval, m.Gates.GoodPolls = 20*time.Millisecond, 1
	log := slog.New(slog.DiscardHandler)
	svc, err := service.OpenWith(service.Options{File: config.File{Migrations: []config.Migration{m}}, DataDir: t.TempDir(), Log: log},
		func(_ config.Migration, record func() ([]journal.Entry, error), blobs execute.Blobs) orchestrate.Deps {
			life := sim.Live(simcluster.RecordFunc(record), blobs)
			return orchestrate.Deps{Observer: life, Executor: life, Canary: life}
		})
	if err != nil {
		t.Fatal(err)
	}
	h, err := host(t.Context(), svc, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.end(t.Context(), logTo{t}, 0, func() error { return nil }); err != nil {
			t.Error(err)
		}
	})
	return h
}

// until ends where the cluster stands in a phase.
type until cluster.Phase

func (u until) see(_ context.Context, _ *follower, now status.Status) (busy, done bool, err error) {
	return false, now.Phase != nil && *now.Phase == cluster.Phase(u), nil
}

// drive approves all that is offered, until dual-write or a gate that holds it.
func drive(t *testing.T, h *hosted) error {
	t.Helper()
	f := follower{client: h.client, name: "payments", out: logTo{t}, timeline: newTimeline(time.Now(), false), course: until(cluster.DualWrite), patience: 500 * time.Millisecond, began: time.Now()}
	return f.follow(t.Context(), 20*time.Second)
}

func TestProductionWaitsForARehearsalOfTheSameShape(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 20 s: make test runs it")
	}
	t.Parallel()
	_, o := staging(t)
	o.Revert = true
	r, err := o.Rehearse(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	good, err := Registration(r.Folder)
	if err != nil {
		t.Fatal(err)
	}
	h := production(t)
	var block *BlockedError
	if err := drive(t, h); !errors.As(err, &block) || !strings.Contains(err.Error(), "no rehearsal is registered") {
		t.Fatalf("without a rehearsal: %v", err)
	}
	if s, err := h.client.Status(t.Context(), "payments"); err != nil || *s.Phase != cluster.Load || !s.PhaseComplete {
		t.Fatalf("it stands in %v (complete: %t), want load, complete: %v", s.Phase, s.PhaseComplete, err)
	}
	for says, change := range map[string]func(*gates.Rehearsal){
		"migrations.yaml allows":             func(r *gates.Rehearsal) { r.Ended = r.Ended.Add(-2 * time.Hour) },
		"which is not yet":                   func(r *gates.Rehearsal) { r.Ended = r.Ended.Add(2 * time.Hour) },
		"Kafka 3.9.2 here, 3.9.1":            func(r *gates.Rehearsal) { r.Shape.KafkaVersion = "3.9.1" },
		"brokers into mode kraft: not rehea": func(r *gates.Rehearsal) { r.Shape.Turns = r.Shape.Turns[:2] },
	} {
		bad := good
		change(&bad)
		var refusal *client.Refusal
		if err := h.client.Rehearsal(t.Context(), "payments", client.Command{Rehearsal: &bad}); !errors.As(err, &refusal) || refusal.Exit != 3 || !strings.Contains(err.Error(), says) {
			t.Errorf("want a refusal that says %q: %v", says, err)
		}
	}
	for range 2 { // once more changes nothing
		if err := h.client.Rehearsal(t.Context(), "payments", client.Command{Actor: "ann", Rehearsal: &good}); err != nil {
			t.Fatal(err)
		}
	}
	if err := drive(t, h); err != nil {
		t.Errorf("with a rehearsal: %v", err)
	}
}

func TestAPackThatIsNotGreenIsNotRegistered(t *testing.T) {
	t.Parallel()
	_, o := staging(t)
	o.To = cluster.Initial
	r, err := o.Rehearse(t.Context())
	if err != nil || r.Result != Green {
		t.Fatalf("%s: %v", r.Result, err)
	}
	var refused *RefusedError
	if _, err := Registration(r.Folder); !errors.As(err, &refused) || !strings.Contains(err.Error(), "not done: load, hybrid, dual-write, finalize") {
		t.Errorf("a rehearsal of initial alone: %v", err)
	}
	path := filepath.Join(r.Folder, "evidence.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), `"initial"`, `"finalize"`, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Registration(r.Folder); !errors.As(err, &refused) || !strings.Contains(err.Error(), "was altered: evidence.json") {
		t.Errorf("an altered pack: %v", err)
	}
	if _, err := Registration(t.TempDir()); exitOf(err) != 2 {
		t.Errorf("a folder that is no pack: %v", err)
	}
}
