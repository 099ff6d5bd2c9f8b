// Package journal is the append-only record of every migration: one bbolt
// file, a bucket per migration, each entry fsynced before Append returns.
package journal

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"go.etcd.io/bbolt"
)

const (
	version  = 1       // of Entry
	maxBody  = 1 << 20 // bytes; contents belong into Blobs
	sumBytes = 4
)

// Entry is one record. Seq begins at 1 in each migration and has no gaps.
type Entry struct {
	V       int             `json:"v"`
	Seq     uint64          `json:"seq"`
	Time    time.Time       `json:"time"`
	Attempt int             `json:"attempt"`
	Kind    string          `json:"kind"`
	Actor   string          `json:"actor"`
	Body    json.RawMessage `json:"body"`
}

// Decode reads the body into a value; a field the value does not know is an error.
func (e Entry) Decode(into any) error {
	d := json.NewDecoder(bytes.NewReader(e.Body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("decode journal entry %d (%s): %w", e.Seq, e.Kind, err)
	}
	return nil
}

// Append writes one entry and returns when it is on the disk. Any error is an
// *AppendError: nothing more may be executed then.
func (s *Store) Append(migration, kind, actor string, attempt int, body any, now time.Time) (Entry, error) {
	entry, err := s.append(migration, Entry{V: version, Time: now.UTC(), Attempt: attempt, Kind: kind, Actor: actor}, body)
	if err != nil {
		return Entry{}, &AppendError{Migration: migration, Kind: kind, Err: err}
	}
	return entry, nil
}

func (s *Store) append(migration string, entry Entry, body any) (Entry, error) {
	if !s.known(entry.Kind) {
		return Entry{}, fmt.Errorf("%w %q", ErrUnknownKind, entry.Kind)
	}
	var err error
	if entry.Body, err = json.Marshal(body); err != nil {
		return Entry{}, fmt.Errorf("encode the body: %w", err)
	}
	if len(entry.Body) > maxBody {
		return Entry{}, fmt.Errorf("the body has %d bytes, more than %d", len(entry.Body), maxBody)
	}
	err = s.db.Update(func(tx *bbolt.Tx) error {
		bucket, err := tx.Bucket(bucketMigrations).CreateBucketIfNotExists([]byte(migration))
		if err != nil {
			return err
		}
		bucket.FillPercent = 0.9 // keys only grow
		if entry.Seq, err = bucket.NextSequence(); err != nil {
			return err
		}
		value, err := encode(entry)
		if err != nil {
			return err
		}
		return bucket.Put(key(entry.Seq), value)
	})
	return entry, err
}

// Read returns the entries of a migration with a Seq above afterSeq, oldest
// first. A migration nobody wrote for has none.
func (s *Store) Read(migration string, afterSeq uint64) ([]Entry, error) {
	var entries []Entry
	err := s.db.View(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(bucketMigrations).Bucket([]byte(migration))
		if bucket == nil {
			return nil
		}
		c := bucket.Cursor()
		for k, v := c.Seek(key(afterSeq + 1)); k != nil; k, v = c.Next() {
			entry, err := s.decode(k, v)
			if err != nil {
				return err
			}
			entries = append(entries, entry)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read journal of %s: %w", migration, err)
	}
	return entries, nil
}

// Migrations names all migrations that have entries, sorted.
func (s *Store) Migrations() ([]string, error) {
	var names []string
	err := s.db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketMigrations).ForEachBucket(func(k []byte) error {
			names = append(names, string(k))
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list migrations of the journal: %w", err)
	}
	return names, nil
}

func key(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

// encode puts a checksum before the entry: bbolt has none over values.
func encode(e Entry) ([]byte, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode the entry: %w", err)
	}
	return append(binary.BigEndian.AppendUint32(nil, sum(text)), text...), nil
}

func (s *Store) decode(k, v []byte) (Entry, error) {
	if len(k) != 8 || len(v) < sumBytes || binary.BigEndian.Uint32(v) != sum(v[sumBytes:]) {
		return Entry{}, fmt.Errorf("%w: an entry fails its checksum", ErrDamaged)
	}
	var e Entry
	if err := json.Unmarshal(v[sumBytes:], &e); err != nil {
		return Entry{}, errors.Join(fmt.Errorf("%w: an entry is no JSON", ErrDamaged), err)
	}
	if seq := binary.BigEndian.Uint64(k); e.Seq != seq {
		return Entry{}, fmt.Errorf("%w: entry %d lies at place %d", ErrDamaged, e.Seq, seq)
	}
	if e.V > version || e.V < 1 {
		return Entry{}, fmt.Errorf("%w: entry %d has version %d, this program knows %d", ErrNewer, e.Seq, e.V, version)
	}
	if !s.known(e.Kind) {
		return Entry{}, fmt.Errorf("%w %q in entry %d", ErrUnknownKind, e.Kind, e.Seq)
	}
	return e, nil
}

func sum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }
