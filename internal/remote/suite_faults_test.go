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

// testFaults is what no kind of node may tear. It needs file systems of its own.
func testFaults(t *testing.T, node Node) {
	const before = "a=1\n"
	large := []byte(strings.Repeat("b=22222\n", 4096)) // 32 KiB
	expected := WriteOptions{Expect: Expect{SHA256: Sum([]byte(before))}}

	t.Run("a full disk is named, and the file is as it was", func(t *testing.T) {
		dir := mounted(t, "size=64k")
		path, filler := filepath.Join(dir, "server.properties"), filepath.Join(dir, "filler")
		put(t, path, before, 0o640)
		put(t, filler, strings.Repeat("x", 40<<10), 0o600)
		err := node.WriteFile(t.Context(), path, large, expected)
		if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, ErrInDoubt) || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("error %v, want no space left", err)
		}
		wantsWhole(t, path, before)
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		if err := node.WriteFile(t.Context(), path, large, expected); err != nil {
			t.Errorf("with space again: %v", err)
		}
		wantsWhole(t, path, string(large))
	})
	t.Run("a read-only file system is named", func(t *testing.T) {
		dir := mounted(t, "size=64k")
		path := filepath.Join(dir, "server.properties")
		put(t, path, before, 0o640)
		if err := syscall.Mount("none", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
		err := node.WriteFile(t.Context(), path, large, expected)
		if !errors.Is(err, syscall.EROFS) || errors.Is(err, ErrInDoubt) || !strings.Contains(err.Error(), "read-only file system") {
			t.Errorf("error %v, want read-only file system", err)
		}
		wantsWhole(t, path, before)
	})
	t.Run("what a cut-off write left aside goes with the next one", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "server.properties")
		put(t, path, before, 0o640)
		dir := filepath.Dir(path)
		put(t, filepath.Join(dir, ".server.properties.migrator-OLD"), "half", 0o600)
		put(t, filepath.Join(dir, ".server.properties.migrator-0123456789ab.bak.migrator-OLD"), "half", 0o600)
		put(t, filepath.Join(dir, ".other.properties.migrator-OLD"), "another's", 0o600)
		if err := node.WriteFile(t.Context(), path, []byte("a=2\n"), expected); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"server.properties": "a=2\n", ".other.properties.migrator-OLD": "another's",
			filepath.Base(BackupPath(path, Sum([]byte(before)))): before}
		if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a path through a file is an error, not a missing file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "file")
		put(t, path, before, 0o600)
		if info, err := node.Stat(t.Context(), filepath.Join(path, "deeper", "still")); !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("%+v, %v; want not a directory", info, err)
		}
		if info, err := node.Stat(t.Context(), filepath.Join(filepath.Dir(path), "none", "deeper", "still")); err != nil || info.Exists {
			t.Errorf("%+v, %v; want missing", info, err)
		}
	})
	t.Run("a named pipe in a file's place holds nobody", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "pipe")
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := node.ReadFile(t.Context(), path); !errors.Is(err, ErrNotRegular) {
			t.Errorf("error %v, want not regular", err)
		}
		if _, err := node.Tail(t.Context(), path, Cursor{FromEnd: true}); !errors.Is(err, ErrNotRegular) {
			t.Errorf("error %v, want not regular", err)
		}
	})
	t.Run("odd names are names", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), `-rf a  b\n\ümläut $(touch x) 'quo"te *`)
		put(t, path, before, 0o600)
		if err := node.WriteFile(t.Context(), path, large, expected); err != nil {
			t.Error(err)
		}
		wantsWhole(t, path, string(large))
		if tailed, err := node.Tail(t.Context(), path, Cursor{}); err != nil || string(tailed.Data) != string(large) {
			t.Errorf("tailed %d bytes, %v", len(tailed.Data), err)
		}
	})
	t.Run("no time left changes nothing", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "server.properties")
		put(t, path, before, 0o640)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := node.WriteFile(ctx, path, large, expected); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want cancelled", err)
		}
		wantsWhole(t, path, before)
	})
}

// wantsWhole compares a file and sees that nothing was left aside.
func wantsWhole(t *testing.T, path, content string) {
	t.Helper()
	files := contents(t, filepath.Dir(path))
	if files[filepath.Base(path)] != content {
		t.Errorf("%d bytes %.40q, want %d bytes", len(files[filepath.Base(path)]), files[filepath.Base(path)], len(content))
	}
	for name := range files {
		if strings.HasPrefix(name, asidePrefix(filepath.Base(path))) {
			t.Errorf("%s is left", name)
		}
	}
}

// mounted is a small file system of the test's own.
func mounted(t *testing.T, options string) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root may mount a file system for this test")
	}
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("no file system of its own for this test: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// eachFiles runs a test over the files of this machine and those over commands.
func eachFiles(t *testing.T, story func(*testing.T, files)) {
	t.Run("os", func(t *testing.T) { story(t, osFiles{}) })
	t.Run("commands", func(t *testing.T) { story(t, argvFiles{on: process{prefix: []string{"env"}}}) })
}

// edited lets somebody else act after a file was made aside.
type edited struct {
	files
	edit func()
}

func (e edited) create(ctx context.Context, path string, data []byte, as entry) error {
	err := e.files.create(ctx, path, data, as)
	e.edit()
	return err
}

func TestAnEditBetweenCheckAndRenameIsNotLost(t *testing.T) {
	eachFiles(t, func(t *testing.T, on files) {
		path := filepath.Join(t.TempDir(), "server.properties")
		for name, edit := range map[string]func(){
			"written in place": func() { put(t, path, "theirs\n", 0o600) },
			"replaced":         func() { put(t, path+".new", "theirs\n", 0o600); _ = os.Rename(path+".new", path) },
			"removed":          func() { _ = os.Remove(path) },
		} {
			put(t, path, "a=1\n", 0o640)
			err := writeFile(t.Context(), edited{on, edit}, path, []byte("a=2\n"), WriteOptions{Expect: Expect{SHA256: Sum([]byte("a=1\n"))}})
			var changed *ChangedError
			if !errors.As(err, &changed) {
				t.Errorf("%s: error %v, want changed", name, err)
			}
			if name == "removed" {
				if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s: it is back: %v", name, err)
				}
				continue
			}
			wantsWhole(t, path, "theirs\n")
		}
	})
}
