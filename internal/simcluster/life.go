package simcluster

import (
	"context"
	"sync"
	"time"

	"migrator/internal/facts"
	"migrator/internal/journal"
)

// Record is the journal as the rules read it.
type Record interface {
	Read() ([]journal.Entry, error)
}

// Contents are the files that plans name by hash.
type Contents interface {
	Put(data []byte) (string, error)
	Get(sha string) ([]byte, error)
}

// Life is one run of the service on the cluster: what it observes and acts
// through. After Kill nothing of it reaches the cluster any more; commands
// given before go on without it.
type Life struct {
	c        *Cluster
	record   Record
	contents Contents

	mu     sync.Mutex
	killed bool
	marks  map[int32]int
	probed map[string]bool // actions looked at in this life
	seen   facts.Snapshot  // machine facts of earlier rounds
	last   facts.Snapshot  // the last round, for stale answers
	scan   facts.Fact[facts.ZKTopics]
}

// Live begins a run of the service.
func (c *Cluster) Live(record Record, contents Contents) *Life {
	return &Life{c: c, record: record, contents: contents, marks: map[int32]int{}, probed: map[string]bool{}}
}

// Kill ends the run as SIGKILL would.
func (l *Life) Kill() {
	l.mu.Lock()
	l.killed = true
	l.mu.Unlock()
	defer l.c.hold()()
	l.c.stopClient()
}

// Killed says that the run was ended.
func (l *Life) Killed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.killed
}

// pause waits; false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// RecordFunc reads a journal.
type RecordFunc func() ([]journal.Entry, error)

// Read calls it.
func (f RecordFunc) Read() ([]journal.Entry, error) { return f() }
