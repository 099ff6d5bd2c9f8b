// Package service wires what `serve` and the rehearsal run: one journal, one
// machine per migration, each with its observer, executor and canary.
package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"migrator/internal/config"
	"migrator/internal/execute"
	"migrator/internal/journal"
	"migrator/internal/observe"
	"migrator/internal/orchestrate"
	"migrator/internal/phases"
	"migrator/internal/plan"
)

// Options are what a service is started with.
type Options struct {
	File      config.File
	DataDir   string
	Log       *slog.Logger
	Failpoint func(orchestrate.Boundary, plan.Action) // nil outside tests
}

// Service holds the store and a machine for each migration.
type Service struct {
	log      *slog.Logger
	store    *journal.Store
	machines []*running
	claims   sync.Mutex
	claimed  map[string]string // cluster id -> migration
}

type running struct {
	cfg      config.Migration
	machine  *orchestrate.Machine
	observer *observe.Observer
	executor *execute.Executor
	canary   *workload
	driver   *driver
}

// Open opens the store and replays every migration's journal. Nothing runs yet.
func Open(o Options) (*Service, error) {
	store, err := journal.Open(o.DataDir, known)
	if err != nil {
		return nil, err
	}
	s := &Service{log: o.Log, store: store, claimed: map[string]string{}}
	for _, m := range o.File.Migrations {
		r, err := s.open(m, o)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.machines = append(s.machines, r)
	}
	return s, nil
}

func known(kind string) bool { return slices.Contains(phases.Kinds(), phases.Kind(kind)) }

func (s *Service) open(m config.Migration, o Options) (*running, error) {
	r := &running{cfg: m, canary: newWorkload(m), driver: newDriver(m.ZooKeeper, s.store.ID())}
	var err error
	if r.executor, err = execute.New(m, s.store.Blobs()); err != nil {
		return nil, fmt.Errorf("migration %s: %w", m.Name, err)
	}
	r.executor.Client, r.executor.ZNodes = r.canary, r.driver.session
	r.observer, err = observe.New(m, observe.Deps{Canary: r.canary.Stats, Driver: r.driver.Driver, Writable: r.driver.Writable, Log: o.Log})
	if err != nil {
		r.executor.Close()
		return nil, fmt.Errorf("migration %s: %w", m.Name, err)
	}
	r.machine, err = orchestrate.New(m, orchestrate.Deps{Observer: r.observer, Executor: r.executor, Journal: book{s.store, m.Name},
		Blobs: s.store.Blobs(), Canary: r.canary, Log: o.Log, Now: time.Now, Failpoint: o.Failpoint,
		Claim:      func(id string) error { return s.claim(id, m.Name) },
		KeepZnodes: func(ctx context.Context, plan string) (string, error) { return keepZnodes(ctx, m, o.DataDir, plan) }})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("migration %s: %w", m.Name, err), r.close())
	}
	r.executor.Progress, r.executor.Ask = r.machine.Doing, r.machine.AskPerson
	return r, nil
}

// claim refuses two migrations of one cluster.
func (s *Service) claim(clusterID, name string) error {
	s.claims.Lock()
	defer s.claims.Unlock()
	if other, ok := s.claimed[clusterID]; ok && other != name {
		return fmt.Errorf("migrations %s and %s are the same cluster (id %s): remove one from migrations.yaml", other, name, clusterID)
	}
	s.claimed[clusterID] = name
	return nil
}

// Run runs every machine until ctx ends. drain asks them to bring open batches
// to a safe end first; Run returns when all have.
func (s *Service) Run(ctx context.Context, drain <-chan struct{}) error {
	var wg sync.WaitGroup
	errs := make([]error, len(s.machines))
	for i, r := range s.machines {
		wg.Go(func() {
			if err := r.machine.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
				errs[i] = fmt.Errorf("migration %s: %w", r.cfg.Name, err)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-drain:
		for _, r := range s.machines {
			r.machine.Drain()
		}
		<-done
	}
	return errors.Join(errs...)
}

// Close lets go of everything; call it after Run has returned.
func (s *Service) Close() error {
	var errs []error
	for _, r := range s.machines {
		errs = append(errs, r.close())
	}
	return errors.Join(append(errs, s.store.Close())...)
}

func (r *running) close() error {
	if r.observer == nil {
		return nil // connected by somebody else
	}
	r.driver.Close()
	r.executor.Close()
	return r.observer.Close()
}

// Names lists the migrations in file order.
func (s *Service) Names() []string {
	var out []string
	for _, r := range s.machines {
		out = append(out, r.cfg.Name)
	}
	return out
}

// Machine finds a migration's machine.
func (s *Service) Machine(name string) (*orchestrate.Machine, bool) {
	for _, r := range s.machines {
		if r.cfg.Name == name {
			return r.machine, true
		}
	}
	return nil, false
}

// Config finds a migration's configuration.
func (s *Service) Config(name string) (config.Migration, bool) {
	for _, r := range s.machines {
		if r.cfg.Name == name {
			return r.cfg, true
		}
	}
	return config.Migration{}, false
}

// Journal reads a migration's entries after a sequence number.
func (s *Service) Journal(name string, after uint64) ([]journal.Entry, error) {
	return s.store.Read(name, after)
}

// Blob reads a file's content by its SHA-256, for the evidence pack.
func (s *Service) Blob(sha string) ([]byte, error) { return s.store.Blobs().Get(sha) }

// book is one migration's part of the journal.
type book struct {
	store *journal.Store
	name  string
}

func (b book) Append(kind, actor string, attempt int, body any) (journal.Entry, error) {
	return b.store.Append(b.name, kind, actor, attempt, body, time.Now())
}

func (b book) Read() ([]journal.Entry, error) { return b.store.Read(b.name, 0) }
