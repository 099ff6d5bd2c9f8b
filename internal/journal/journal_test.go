package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
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

// Whatever happens to the file, opening answers with an error and never takes
// a damaged store for a new or a whole one.
func TestDamageIsTold(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir)
	for i := range 300 {
		mustAppend(t, s, "payments", "intent", map[string]any{"step": i, "text": strings.Repeat("x", 200)})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	used := bytes.LastIndex(whole, []byte(`"step":`)) + 1
	// Older copies of an entry lie in free pages, so all copies are changed.
	flipped := bytes.ReplaceAll(whole, []byte(`"step":150,`), []byte(`"step":151,`))

	damages := map[string]func() []byte{
		"empty":          func() []byte { return nil },
		"text":           func() []byte { return []byte("this is no journal\n") },
		"zeroes":         func() []byte { return make([]byte, len(whole)) },
		"first page cut": func() []byte { return whole[:4096] },
		"one value bit":  func() []byte { return flipped },
	}
	for _, part := range []int{8192, 12288, used / 2, used - 4096} {
		damages[fmt.Sprintf("cut at %d", part)] = func() []byte { return whole[:part] }
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			broken := t.TempDir()
			if err := os.WriteFile(filepath.Join(broken, fileName), damage(), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(broken, anyKind)
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("error %v, want damaged", err)
			}
			if err == nil {
				_ = s.Close()
			}
		})
	}
	t.Run("noise in any page", func(t *testing.T) {
		for page := 0; page*4096 < used; page++ {
			data := bytes.Clone(whole)
			for i := range 4096 {
				data[page*4096+i] ^= 0xa5
			}
			broken := t.TempDir()
			if err := os.WriteFile(filepath.Join(broken, fileName), data, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(broken, anyKind)
			if err != nil {
				if !errors.Is(err, ErrDamaged) {
					t.Errorf("page %d: error %v, want damaged", page, err)
				}
				continue
			}
			// A page that is free, or the older of the two first pages, may be noise.
			entries, err := s.Read("payments", 0)
			if err != nil || len(entries) < 299 {
				t.Errorf("page %d: opened with %d entries, %v", page, len(entries), err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// The child writes and acknowledges until it is killed; every acknowledged
// entry must be there.
func TestAcknowledgedEntriesSurviveAKill(t *testing.T) {
	if dir := os.Getenv("JOURNAL_TEST_WRITER"); dir != "" {
		write(dir)
		return
	}
	dir := t.TempDir()
	acknowledged := 0
	for round := range 8 {
		child := exec.Command(os.Args[0], "-test.run=^TestAcknowledgedEntriesSurviveAKill$")
		child.Env = append(os.Environ(), "JOURNAL_TEST_WRITER="+dir)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			if seq, err := strconv.Atoi(lines.Text()); err == nil {
				acknowledged = max(acknowledged, seq)
			}
			if n == 5+7*round {
				_ = child.Process.Kill()
			}
		}
		_ = child.Wait() // killed
	}
	s := mustOpen(t, dir)
	entries, err := s.Read("m", 0)
	if err != nil {
		t.Fatal(err)
	}
	if acknowledged == 0 || len(entries) < acknowledged {
		t.Errorf("%d entries, %d acknowledged", len(entries), acknowledged)
	}
}

func write(dir string) {
	s, err := Open(dir, anyKind)
	if err != nil {
		fmt.Println(err)
		return
	}
	for {
		e, err := s.Append("m", "intent", "a", 1, strings.Repeat("x", 500), noon)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(e.Seq)
	}
}

// A full disk: the child may not let any file grow, like ENOSPC but without root.
func TestAFullDiskIsAnErrorAndEndsWithRoom(t *testing.T) {
	if dir := os.Getenv("JOURNAL_TEST_FULL"); dir != "" {
		fillUp(t, dir)
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestAFullDiskIsAnErrorAndEndsWithRoom$", "-test.v")
	child.Env = append(os.Environ(), "JOURNAL_TEST_FULL="+t.TempDir())
	if out, err := child.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("filled after")) {
		t.Errorf("%v\n%s", err, out)
	}
}

func fillUp(t *testing.T, dir string) {
	signal.Ignore(syscall.SIGXFSZ)
	s := mustOpen(t, dir)
	mustAppend(t, s, "m", "intent", nil)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 256 << 10, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	written := uint64(1)
	for written < 10_000 {
		e, err := s.Append("m", "intent", "a", 1, strings.Repeat("x", 2000), noon)
		if err != nil {
			var failed *AppendError
			if !errors.As(err, &failed) {
				t.Fatalf("error %v, want an append error", err)
			}
			break
		}
		written = e.Seq
	}
	fmt.Println("filled after", written)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	if e := mustAppend(t, s, "m", "intent", nil); e.Seq != written+1 {
		t.Errorf("seq %d after %d", e.Seq, written)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if entries, err := mustOpen(t, dir).Read("m", 0); err != nil || uint64(len(entries)) != written+1 {
		t.Errorf("%d entries, %v; want %d", len(entries), err, written+1)
	}
}
