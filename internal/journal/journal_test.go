package journal

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func anyKind(string) bool { return true }

func mustOpen(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir, anyKind)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // a second close does nothing
	return s
}

func mustAppend(t *testing.T, s *Store, migration, kind string, body any) Entry {
	t.Helper()
	e, err := s.Append(migration, kind, "alice", 1, body, noon)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEntriesComeBackAsTheyWereWritten(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir)
	mustAppend(t, s, "payments", "intent", map[string]int{"broker": 1})
	mustAppend(t, s, "payments", "outcome", nil)
	mustAppend(t, s, "audit", "intent", "x")
	id := s.ID()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = mustOpen(t, dir)
	got, err := s.Read("payments", 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []Entry{
		{V: 1, Seq: 1, Time: noon, Attempt: 1, Kind: "intent", Actor: "alice", Body: json.RawMessage(`{"broker":1}`)},
		{V: 1, Seq: 2, Time: noon, Attempt: 1, Kind: "outcome", Actor: "alice", Body: json.RawMessage(`null`)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if later, err := s.Read("payments", 1); err != nil || len(later) != 1 || later[0].Seq != 2 {
		t.Errorf("after 1: %v, %v", later, err)
	}
	if none, err := s.Read("unheard", 0); err != nil || len(none) != 0 {
		t.Errorf("unheard of: %v, %v", none, err)
	}
	if names, err := s.Migrations(); err != nil || !slices.Equal(names, []string{"audit", "payments"}) {
		t.Errorf("migrations %v, %v", names, err)
	}
	if e := mustAppend(t, s, "payments", "intent", 1); e.Seq != 3 {
		t.Errorf("seq %d after reopening, want 3", e.Seq)
	}
	if s.ID() != id || id == "" {
		t.Errorf("store id %q became %q", id, s.ID())
	}
	if other := mustOpen(t, t.TempDir()); other.ID() == id {
		t.Error("two stores have one id")
	}
}

func TestDecodeIsStrict(t *testing.T) {
	e := Entry{Kind: "intent", Body: json.RawMessage(`{"a":1,"b":2}`)}
	var body struct{ A int }
	if err := e.Decode(&body); err == nil {
		t.Error("a field nobody knows was dropped in silence")
	}
}

func TestNobodyElseCanReadIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := mustOpen(t, dir)
	sum, err := s.Blobs().Put([]byte("password=hunter2"))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fs.FileMode{"": 0o700, "journal.db": 0o600, "blobs": 0o700, "blobs/" + sum: 0o600} {
		info, err := os.Stat(filepath.Join(dir, path))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%q: %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 2 {
		t.Errorf("files left over: %v, %v", names, err)
	}
}

func TestAFolderThatIsNotOursAloneKeepsItsMode(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(filepath.Join(dir, "other"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, dir)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestASecondServiceIsToldWhoHoldsTheStore(t *testing.T) {
	dir := t.TempDir()
	mustOpen(t, dir)
	if _, err := Open(dir, anyKind); !errors.Is(err, ErrLocked) {
		t.Errorf("error %v, want locked", err)
	}
}

func TestTwoServicesThatStartAtOnceShareNoStore(t *testing.T) {
	dir := t.TempDir()
	var both sync.WaitGroup
	var won atomic.Int32
	for range 2 {
		both.Go(func() {
			s, err := Open(dir, anyKind)
			switch {
			case err == nil:
				won.Add(1)
				t.Cleanup(func() { _ = s.Close() })
			case !errors.Is(err, ErrLocked):
				t.Errorf("error %v, want locked", err)
			}
		})
	}
	both.Wait()
	if won.Load() != 1 {
		t.Errorf("%d of 2 opened", won.Load())
	}
}

func TestWhatThisProgramDoesNotUnderstandRefusesToOpen(t *testing.T) {
	raw := func(t *testing.T, s *Store, e Entry) {
		t.Helper()
		err := s.db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.Bucket(bucketMigrations).CreateBucketIfNotExists([]byte("m"))
			if err != nil {
				return err
			}
			value, err := encode(e)
			return errors.Join(err, b.SetSequence(e.Seq), b.Put(key(e.Seq), value))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name  string
		entry Entry
		known func(string) bool
		want  error
	}{
		{"an unknown kind", Entry{V: 1, Seq: 1, Kind: "future"}, func(k string) bool { return k != "future" }, ErrUnknownKind},
		{"a newer entry", Entry{V: 2, Seq: 1, Kind: "intent"}, anyKind, ErrNewer},
		{"no version", Entry{Seq: 1, Kind: "intent"}, anyKind, ErrNewer},
		{"a gap", Entry{V: 1, Seq: 2, Kind: "intent"}, anyKind, ErrDamaged},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			s := mustOpen(t, dir)
			raw(t, s, tt.entry)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(dir, tt.known); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
}

func TestAnAppendThatFailsSaysSo(t *testing.T) {
	s, err := Open(t.TempDir(), func(k string) bool { return k == "intent" })
	if err != nil {
		t.Fatal(err)
	}
	wants := func(name string, kind string, body any, cause error) {
		t.Helper()
		_, err := s.Append("m", kind, "a", 1, body, noon)
		var failed *AppendError
		if !errors.As(err, &failed) || (cause != nil && !errors.Is(err, cause)) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	wants("unknown kind", "future", nil, ErrUnknownKind)
	wants("body that is no JSON", "intent", func() {}, nil)
	wants("body too large", "intent", strings.Repeat("x", maxBody), nil)
	if e := mustAppend(t, s, "m", "intent", nil); e.Seq != 1 {
		t.Errorf("a refused entry left a gap: seq %d", e.Seq)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wants("closed store", "intent", nil, nil)
}
