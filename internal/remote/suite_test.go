package remote

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testNode is what every kind of node must do. The node and the test share a
// file system.
func testNode(t *testing.T, node Node) {
	t.Run("run", func(t *testing.T) { testRun(t, node) })
	t.Run("read and stat", func(t *testing.T) { testRead(t, node) })
	t.Run("write", func(t *testing.T) { testWrite(t, node) })
	t.Run("tail", func(t *testing.T) { testTail(t, node) })
	t.Run("faults", func(t *testing.T) { testFaults(t, node) })
}

func testRun(t *testing.T, node Node) {
	tests := []struct {
		name string
		argv []string
		want Result
	}{
		{"output of both kinds and exit 0", []string{"sh", "-c", "echo out; echo err >&2"}, Result{Stdout: "out\n", Stderr: "err\n"}},
		{"an exit code is an answer, not an error", []string{"sh", "-c", "exit 3"}, Result{Exit: 3}},
		{"a signal is told as shells do", []string{"sh", "-c", "kill -TERM $$"}, Result{Exit: 143, Signal: "terminated"}},
		{"nothing waits on standard input", []string{"cat"}, Result{}},
		{"arguments are never split or expanded", []string{"printf", "%s|", "a b", "$HOME", "*"}, Result{Stdout: "a b|$HOME|*|"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := node.Run(t.Context(), tt.argv)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("the tail of long output is kept", func(t *testing.T) {
		got, err := node.Run(t.Context(), []string{"sh", "-c", "seq 1 40000; echo last"})
		if err != nil {
			t.Fatal(err)
		}
		if !got.Truncated || len(got.Stdout) > MaxOutput || !strings.HasSuffix(got.Stdout, "40000\nlast\n") {
			t.Errorf("truncated %v, %d bytes ending %q", got.Truncated, len(got.Stdout), got.Stdout[max(0, len(got.Stdout)-12):])
		}
	})
	t.Run("what cannot be started has certainly done nothing", func(t *testing.T) {
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		for name, try := range map[string]func() error{
			"no such program": func() error { _, err := node.Run(t.Context(), []string{"/no/such/program"}); return err },
			"empty argv":      func() error { _, err := node.Run(t.Context(), nil); return err },
			"no time left":    func() error { _, err := node.Run(cancelled, []string{"true"}); return err },
		} {
			var notStarted *NotStartedError
			if err := try(); !errors.As(err, &notStarted) {
				t.Errorf("%s: error %v, want not started", name, err)
			}
		}
	})
}

func testRead(t *testing.T, node Node) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.properties")
	put(t, path, "a=1\n", 0o640)

	data, err := node.ReadFile(t.Context(), path)
	if err != nil || string(data) != "a=1\n" {
		t.Errorf("read %q, %v", data, err)
	}
	if _, err := node.ReadFile(t.Context(), path+".gone"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: error %v, want not exist", err)
	}
	if _, err := node.ReadFile(t.Context(), dir); !errors.Is(err, ErrNotRegular) {
		t.Errorf("folder: error %v, want not regular", err)
	}
	big := filepath.Join(dir, "big")
	put(t, big, "", 0o600)
	if err := os.Truncate(big, MaxFile+1); err != nil {
		t.Fatal(err)
	}
	if _, err := node.ReadFile(t.Context(), big); !errors.Is(err, ErrTooLarge) {
		t.Errorf("large file: error %v, want too large", err)
	}

	info, err := node.Stat(t.Context(), path)
	if err != nil || !info.Exists || info.Dir || info.Size != 4 || info.Mode.Perm() != 0o640 || info.ModTime.IsZero() {
		t.Errorf("stat %+v, %v", info, err)
	}
	if info, err := node.Stat(t.Context(), path+".gone"); err != nil || info.Exists {
		t.Errorf("stat of a missing file %+v, %v", info, err)
	}
	if info, err := node.Stat(t.Context(), dir); err != nil || !info.Dir {
		t.Errorf("stat of a folder %+v, %v", info, err)
	}
}

func testWrite(t *testing.T, node Node) {
	const before, after = "a=1\n", "a=2\n"
	tests := []struct {
		name    string
		present string
		options WriteOptions
		changed bool
		refused bool
		backup  bool
	}{
		{name: "replaces the content it expects and keeps a copy", present: before, options: WriteOptions{Expect: Expect{SHA256: Sum([]byte(before))}}, backup: true},
		{name: "creates a file that must not be there", options: WriteOptions{Expect: Expect{Absent: true}}},
		{name: "leaves a file that somebody edited", present: "a=9\n", options: WriteOptions{Expect: Expect{SHA256: Sum([]byte(before))}}, changed: true},
		{name: "leaves a file that must not be there", present: before, options: WriteOptions{Expect: Expect{Absent: true}}, changed: true},
		{name: "does not create a file that should exist", options: WriteOptions{Expect: Expect{SHA256: Sum([]byte(before))}}, changed: true},
		{name: "refuses a write without a precondition", present: before, refused: true},
		{name: "refuses two preconditions", present: before, options: WriteOptions{Expect: Expect{Absent: true, SHA256: Sum([]byte(before))}}, refused: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "server.properties")
			if tt.present != "" {
				put(t, path, tt.present, 0o604)
			}
			err := node.WriteFile(t.Context(), path, []byte(after), tt.options)
			var changed *ChangedError
			if errors.As(err, &changed) != tt.changed {
				t.Errorf("error %v, changed wanted: %v", err, tt.changed)
			}
			if (err != nil) != (tt.changed || tt.refused) {
				t.Errorf("error %v", err)
			}
			if tt.changed && tt.present != "" && changed != nil && changed.Got != Sum([]byte(tt.present)) {
				t.Errorf("found hash %s, want that of the present content", changed.Got)
			}
			want := map[string]string{}
			switch {
			case err != nil && tt.present != "":
				want["server.properties"] = tt.present
			case err == nil:
				want["server.properties"] = after
			}
			if tt.backup {
				want[filepath.Base(BackupPath(path, Sum([]byte(tt.present))))] = tt.present
			}
			if diff := cmp.Diff(want, contents(t, filepath.Dir(path))); diff != "" {
				t.Errorf("folder afterwards:\n%s", diff)
			}
		})
	}
	t.Run("keeps mode and link, and backs up each content once", func(t *testing.T) { testWriteTwice(t, node) })
	t.Run("a new file gets the wanted mode", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "new")
		if err := node.WriteFile(t.Context(), path, nil, WriteOptions{Expect: Expect{Absent: true}, Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
	})
	t.Run("keeps the owner", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "server.properties")
		put(t, path, before, 0o640)
		if err := os.Chown(path, 4711, 4712); err != nil && !errors.Is(err, fs.ErrPermission) {
			t.Fatal(err) // who may not give files away proves that it stays the own one
		}
		want := owner(t, path)
		if err := node.WriteFile(t.Context(), path, []byte(after), WriteOptions{Expect: Expect{SHA256: Sum([]byte(before))}}); err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{path, BackupPath(path, Sum([]byte(before)))} {
			if got := owner(t, p); got != want {
				t.Errorf("%s: owner %v, want %v", p, got, want)
			}
		}
	})
	t.Run("a folder that is not there", func(t *testing.T) {
		err := node.WriteFile(t.Context(), filepath.Join(t.TempDir(), "none", "a"), nil, WriteOptions{Expect: Expect{Absent: true}})
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error %v, want not exist", err)
		}
	})
	t.Run("a backup with foreign content stops the write", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "server.properties")
		put(t, path, before, 0o600)
		put(t, BackupPath(path, Sum([]byte(before))), "something else", 0o600)
		if err := node.WriteFile(t.Context(), path, []byte(after), WriteOptions{Expect: Expect{SHA256: Sum([]byte(before))}}); err == nil {
			t.Error("no error")
		}
		if got := contents(t, filepath.Dir(path))["server.properties"]; got != before {
			t.Errorf("content %q, want it untouched", got)
		}
	})
}

func testWriteTwice(t *testing.T, node Node) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.properties"), filepath.Join(dir, "link.properties")
	put(t, real, "v=0\n", 0o604)
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	for _, step := range [][2]string{{"v=0\n", "v=1\n"}, {"v=1\n", "v=0\n"}, {"v=0\n", "v=2\n"}} {
		if err := node.WriteFile(t.Context(), link, []byte(step[1]), WriteOptions{Expect: Expect{SHA256: Sum([]byte(step[0]))}, Mode: 0o777}); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link became %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(real); err != nil || info.Mode().Perm() != 0o604 {
		t.Errorf("mode %v, %v; want 0604", info.Mode(), err)
	}
	want := map[string]string{
		"real.properties": "v=2\n", "link.properties": "v=2\n",
		filepath.Base(BackupPath(real, Sum([]byte("v=0\n")))): "v=0\n",
		filepath.Base(BackupPath(real, Sum([]byte("v=1\n")))): "v=1\n",
	}
	if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func owner(t *testing.T, path string) [2]uint32 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	stat := info.Sys().(*syscall.Stat_t)
	return [2]uint32{stat.Uid, stat.Gid}
}

func put(t *testing.T, path, content string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// contents is every file of a folder, so that a file left aside is noticed.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(data)
	}
	return files
}
