package lab_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// javas finds the nodes of a cluster by their command lines, without the
// supervisor's help: command lines by process id.
func javas(t *testing.T, dir string) map[int]string {
	t.Helper()
	return processes(t, "\x00-Dmigrator.lab="+dir+"\x00")
}

// processes finds command lines, words ending in zero bytes, with a part.
func processes(t *testing.T, part string) map[int]string {
	t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]string{}
	for _, e := range entries {
		text, err := os.ReadFile(e)
		if err != nil || !bytes.Contains(text, []byte(part)) {
			continue // ended meanwhile, or another's
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(e))); err == nil {
			found[pid] = string(text)
		}
	}
	return found
}

func running(t *testing.T, dir, part string) bool {
	t.Helper()
	for _, line := range javas(t, dir) {
		if strings.Contains(line, part) {
			return true
		}
	}
	return false
}

// states is the kernel's letters for the processes whose command line has part.
func states(t *testing.T, dir, part string) string {
	t.Helper()
	letters := ""
	for pid, line := range javas(t, dir) {
		if !strings.Contains(line, part) {
			continue
		}
		text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		if err != nil {
			t.Fatal(err)
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		letters += fields[0]
	}
	return letters
}

// waitGone returns when no node of the cluster exists.
func waitGone(ctx context.Context, t *testing.T, dir string) {
	t.Helper()
	waitNone(ctx, t, func() map[int]string { return javas(t, dir) })
}

// waitNoSupervisor returns when no process supervises the cluster.
func waitNoSupervisor(ctx context.Context, t *testing.T, dir string) {
	t.Helper()
	waitNone(ctx, t, func() map[int]string { return processes(t, "\x00supervise\x00--dir\x00"+dir+"\x00") })
}

func waitNone(ctx context.Context, t *testing.T, find func() map[int]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		left := find()
		if len(left) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("still there: %v", left)
		}
	}
}
