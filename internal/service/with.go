package service

import (
	"errors"
	"fmt"
	"time"

	"migrator/internal/config"
	"migrator/internal/execute"
	"migrator/internal/journal"
	"migrator/internal/orchestrate"
)

// Connect makes a migration's observer, executor and canary. record reads its
// journal; the rest of the answer is filled in by the service.
type Connect func(m config.Migration, record func() ([]journal.Entry, error), blobs execute.Blobs) orchestrate.Deps

// OpenWith is Open with other ways to the clusters than those of
// migrations.yaml, for a cluster that is not real.
func OpenWith(o Options, connect Connect) (*Service, error) {
	store, err := journal.Open(o.DataDir, known)
	if err != nil {
		return nil, err
	}
	s := &Service{log: o.Log, store: store, claimed: map[string]string{}}
	for _, m := range o.File.Migrations {
		b := book{s.store, m.Name}
		deps := connect(m, b.Read, s.store.Blobs())
		deps.Journal, deps.Blobs, deps.Log, deps.Now, deps.Failpoint = b, s.store.Blobs(), o.Log, time.Now, o.Failpoint
		deps.Claim = func(id string) error { return s.claim(id, m.Name) }
		machine, err := orchestrate.New(m, deps)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("migration %s: %w", m.Name, err), s.Close())
		}
		s.machines = append(s.machines, &running{cfg: m, machine: machine})
	}
	return s, nil
}
