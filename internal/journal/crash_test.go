package journal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

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
