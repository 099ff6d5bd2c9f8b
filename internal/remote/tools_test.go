package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// tools are the commands that argvFiles uses, without processes: a test can cut
// the way to them at each, thousands of times.
type tools struct {
	calls [][]string
	// fault answers in place of the nth command, counted from 0, and may run it.
	fault func(nth int, run ran, stdin []byte) (execResult, error)
}

func (c *tools) run(ctx context.Context, argv []string, stdin []byte, limit int64) (execResult, error) {
	nth := len(c.calls)
	c.calls = append(c.calls, argv)
	if err := ctx.Err(); err != nil {
		return execResult{}, err
	}
	run := func(stdin []byte) execResult { return tool(argv, stdin) }
	if c.fault != nil {
		return c.fault(nth, run, stdin)
	}
	return run(stdin), nil
}

func tool(argv []string, stdin []byte) execResult {
	out, err := map[string]func(args []string, stdin []byte) (string, error){
		"stat": toolStat, "dd": toolDD,
		"readlink": func(args []string, _ []byte) (string, error) {
			real, err := filepath.EvalSymlinks(args[1])
			return real + "\n", err
		},
		"ls": func(args []string, _ []byte) (string, error) {
			entries, err := os.ReadDir(args[1])
			out := ".\n..\n"
			for _, e := range entries {
				out += e.Name() + "\n"
			}
			return out, err
		},
		"mv":    func(args []string, _ []byte) (string, error) { return "", os.Rename(args[1], args[2]) },
		"chown": func([]string, []byte) (string, error) { return "", nil },
		"chmod": func(args []string, _ []byte) (string, error) {
			mode, err := strconv.ParseUint(args[0], 8, 32)
			return "", errors.Join(err, os.Chmod(args[1], os.FileMode(mode)))
		},
		"rm": func(args []string, _ []byte) (string, error) {
			for _, path := range args[1:] {
				_ = os.Remove(path)
			}
			return "", nil
		},
		"sync": func([]string, []byte) (string, error) { return "", nil },
		"cat":  func(args []string, _ []byte) (string, error) { b, err := os.ReadFile(args[0]); return string(b), err },
		"df":   func([]string, []byte) (string, error) { return "Filesystem\n/dev/a 9 1 99999999 1% /\n", nil },
		"test": func([]string, []byte) (string, error) { return "", nil },
	}[argv[0]](argv[1:], stdin)
	if err != nil {
		return execResult{exit: 1, stdout: []byte(out), stderr: err.Error()}
	}
	return execResult{stdout: []byte(out)}
}

func toolStat(args []string, _ []byte) (string, error) {
	var out strings.Builder
	var failed error
	for _, path := range args[3:] {
		var s syscall.Stat_t
		if err := syscall.Stat(path, &s); err != nil {
			failed = err
			continue
		}
		fmt.Fprintf(&out, "%x %d %d %d %d %d %d %s\n", s.Mode, s.Size, s.Dev, s.Ino, s.Uid, s.Gid, s.Mtim.Sec, path)
	}
	return out.String(), failed
}

func toolDD(args []string, stdin []byte) (string, error) {
	keys := map[string]string{}
	for _, a := range args {
		k, v, _ := strings.Cut(a, "=")
		keys[k] = v
	}
	if to := keys["of"]; to != "" {
		return "", os.WriteFile(to, stdin, 0o644)
	}
	data, err := os.ReadFile(keys["if"])
	bs, _ := strconv.Atoi(keys["bs"])
	skip, _ := strconv.Atoi(keys["skip"])
	count, _ := strconv.Atoi(keys["count"])
	data = data[min(len(data), skip*bs):]
	return string(data[:min(len(data), count*bs)]), err
}

func TestWhatOperationsCost(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "server.properties")
	put(t, path, "a=1\n", 0o640)
	c := &tools{}
	node := operations[argvFiles]{argvFiles{on: c}}
	var at Cursor
	for _, tt := range []struct {
		name string
		most int
		do   func() error
	}{
		{"stat", 1, func() error { _, err := node.Stat(t.Context(), path); return err }},
		{"stat of a missing file", 1, func() error { _, err := node.Stat(t.Context(), path+"x"); return err }},
		{"read", 2, func() error { _, err := node.ReadFile(t.Context(), path); return err }},
		{"the end of a log", 3, func() error { r, err := node.Tail(t.Context(), path, Cursor{FromEnd: true}); at = r.Next; return err }},
		{"an idle log", 2, func() error { _, err := node.Tail(t.Context(), path, at); return err }},
		{"a write", 24, func() error {
			return node.WriteFile(t.Context(), path, []byte("a=2\n"), WriteOptions{Expect: Expect{SHA256: Sum([]byte("a=1\n"))}})
		}},
	} {
		c.calls = nil
		if err := tt.do(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if len(c.calls) > tt.most {
			t.Errorf("%s: %d commands, want at most %d: %q", tt.name, len(c.calls), tt.most, c.calls)
		}
	}
}
