package simcluster

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"migrator/internal/journal"
)

// Store is a journal and its file contents in memory. It outlives the runs of
// the service.
type Store struct {
	mu      sync.Mutex
	entries []journal.Entry
	blobs   map[string][]byte
	full    bool
}

// NewStore is an empty store.
func NewStore() *Store { return &Store{blobs: map[string][]byte{}} }

// Fill makes every later append fail, as a full disk would, until it is false.
func (s *Store) Fill(full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full = full
}

// Append writes one entry.
func (s *Store) Append(kind, actor string, attempt int, body any) (journal.Entry, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return journal.Entry{}, fmt.Errorf("encode the body: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full {
		return journal.Entry{}, errors.New("no space left on device")
	}
	e := journal.Entry{V: 1, Seq: uint64(len(s.entries) + 1), Time: time.Now(), Attempt: attempt, Kind: kind, Actor: actor, Body: raw}
	s.entries = append(s.entries, e)
	return e, nil
}

// Read answers all entries.
func (s *Store) Read() ([]journal.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clip(s.entries), nil // an entry never changes
}

// Len is the number of entries.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.entries)
}

// Put keeps a content under its SHA-256.
func (s *Store) Put(data []byte) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blobs[sum(data)] = slices.Clone(data)
	return sum(data), nil
}

// Get answers a content by its SHA-256.
func (s *Store) Get(sha string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.blobs[sha]
	if !ok {
		return nil, fmt.Errorf("no blob %s", sha)
	}
	return slices.Clone(data), nil
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}
