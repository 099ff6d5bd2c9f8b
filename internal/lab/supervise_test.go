package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fakeJava runs until SIGTERM, like a JVM, with the words of the config file as
// its manners: slow (takes a while to end), deaf (ignores SIGTERM).
const fakeJava = `#!/bin/sh
for config; do :; done # the last argument
case "$*" in *StorageTool*) echo "args: $*"; case "$*" in *refuse*) exit 3 ;; esac; exit 0 ;; esac
case $(cat "$config") in
*deaf*) trap : TERM ;;
*slow*) trap 'sleep 0.3; exit 0' TERM ;;
*) trap 'exit 0' TERM ;;
esac
echo "up $$"
while :; do sleep 0.02; done
`

// supervised runs a supervisor of nodes whose config files are given by name,
// and ends it with the test.
func supervised(t *testing.T, dir string, configs map[string]string) (end func() error) {
	t.Helper()
	java := filepath.Join(t.TempDir(), "java")
	writeTest(t, java, fakeJava, 0o700)
	sp := spec{Java: java, Heap: "1m", Ports: 2}
	for name, config := range configs {
		sp.Nodes = append(sp.Nodes, nodeSpec{Name: name, Kind: brokerKind, Config: "server.properties"})
		if err := os.MkdirAll(logsDir(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		writeTest(t, filepath.Join(nodeDir(dir, name), "server.properties"), config, 0o600)
	}
	if err := writeJSON(specPath(dir), sp); err != nil {
		t.Fatal(err)
	}
	stdin, owner := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Supervise(context.Background(), dir, stdin) }()
	closed := false
	end = func() error {
		if closed {
			return nil
		}
		closed = true
		return errors.Join(owner.Close(), <-ended)
	}
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := waitFile(ctx, supervisorLog(dir), 0, literal(listeningMessage)); err != nil {
		t.Fatal(err)
	}
	return end
}

func writeTest(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func mustControl(t *testing.T, dir, verb, node string, args ...string) string {
	t.Helper()
	exit, out, err := Control(t.Context(), dir, verb, node, args...)
	if exit != 0 || err != nil {
		t.Fatalf("%s %s: exit %d, out %q, err %v", verb, node, exit, out, err)
	}
	return out
}

func pidOf(t *testing.T, dir, node string) int {
	t.Helper()
	out := mustControl(t, dir, verbRunning, node)
	_, text, _ := strings.Cut(strings.TrimSpace(out), "pid ")
	pid, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("running says %q", out)
	}
	return pid
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestStartAndStopAreIdempotentAndRunningTellsTheTruth(t *testing.T) {
	dir := t.TempDir()
	supervised(t, dir, map[string]string{"1": "", "2": ""})
	isRunning := func() int {
		exit, _, err := Control(t.Context(), dir, verbRunning, "1")
		if err != nil {
			t.Fatal(err)
		}
		return exit
	}
	if isRunning() != 1 {
		t.Error("running before the first start")
	}
	mustControl(t, dir, verbStop, "1")
	mustControl(t, dir, verbStart, "1")
	first := pidOf(t, dir, "1")
	mustControl(t, dir, verbStart, "1")
	if again := pidOf(t, dir, "1"); again != first {
		t.Errorf("a second start replaced process %d by %d", first, again)
	}
	mustControl(t, dir, verbStop, "1")
	if alive(first) || isRunning() != 1 {
		t.Errorf("stop returned while process %d exists", first)
	}
	mustControl(t, dir, verbStop, "1")
	mustControl(t, dir, verbStart, "1")
	mustControl(t, dir, verbPause, "1")
	if isRunning() != 0 {
		t.Error("a paused process exists, running says it does not")
	}
	mustControl(t, dir, verbKill, "1")
	if isRunning() != 1 {
		t.Error("running after kill")
	}
	c := &Cluster{dir: dir}
	if n, err := c.Starts(1); n != 2 || err != nil {
		t.Errorf("starts.log counts %d starts (%v), want 2", n, err)
	}
	if n, err := c.Starts(2); n != 0 || err != nil {
		t.Errorf("starts.log counts %d starts of the other node (%v), want 0", n, err)
	}
}

// A service that is killed right after it asked for a stop comes back and asks
// for a start: answering "it runs" for the process about to end would leave
// the node down for good.
func TestStartDuringAStopMakesANewProcess(t *testing.T) {
	dir := t.TempDir()
	supervised(t, dir, map[string]string{"1": "slow"})
	mustControl(t, dir, verbStart, "1")
	awaitUp(t, dir, "1")
	first := pidOf(t, dir, "1")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if exit, _, err := Control(ctx, dir, verbStop, "1"); exit == 0 || err == nil {
		t.Fatalf("a stop given up before the process ended: exit %d, err %v", exit, err)
	}
	mustControl(t, dir, verbStart, "1")
	if second := pidOf(t, dir, "1"); second == first || alive(first) {
		t.Errorf("after the start process %d still stands for the node (now %d)", first, second)
	}
}

// awaitUp returns when the node has set its manners.
func awaitUp(t *testing.T, dir, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := waitFile(ctx, stdoutPath(dir, name), 0, literal("up ")); err != nil {
		t.Fatal(err)
	}
}

func TestAStopThatNeverEndsIsCutByTheCallerAndKillEndsIt(t *testing.T) {
	dir := t.TempDir()
	supervised(t, dir, map[string]string{"1": "deaf"})
	mustControl(t, dir, verbStart, "1")
	awaitUp(t, dir, "1")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := Control(ctx, dir, verbStop, "1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stop of a deaf node: %v, want the caller's deadline", err)
	}
	if exit, _, _ := Control(t.Context(), dir, verbRunning, "1"); exit != 0 {
		t.Error("the deaf process exists, running says it does not")
	}
	mustControl(t, dir, verbKill, "1")
}

func TestTheEndOfTheOwnersPipeKillsEveryNode(t *testing.T) {
	dir := t.TempDir()
	end := supervised(t, dir, map[string]string{"1": "deaf", "2": ""})
	var pids []int
	for _, name := range []string{"1", "2"} {
		mustControl(t, dir, verbStart, name)
		pids = append(pids, pidOf(t, dir, name))
	}
	mustControl(t, dir, verbPause, "2")
	if err := end(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d outlives the supervisor", pid)
		}
	}
	if exit, _, err := Control(t.Context(), dir, verbRunning, "1"); exit != ExitUnavailable || err == nil {
		t.Errorf("asking an ended supervisor: exit %d, err %v", exit, err)
	}
}

func TestAFolderTooDeepForASocketStillWorks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("deep", 30))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	end := supervised(t, dir, map[string]string{"1": ""})
	path, err := os.ReadFile(socketNamePath(dir))
	if err != nil {
		t.Fatal(err)
	}
	mustControl(t, dir, verbStart, "1")
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(strings.TrimSpace(string(path)))); !os.IsNotExist(err) {
		t.Errorf("the socket's folder is left behind (%v)", err)
	}
}

func TestFormat(t *testing.T) {
	dir := t.TempDir()
	supervised(t, dir, map[string]string{"1": ""})
	out := mustControl(t, dir, verbFormat, "1", "--cluster-id=-x", "--config", "f")
	if want := "kafka.tools.StorageTool format --cluster-id=-x --config f\n"; !strings.HasSuffix(out, want) {
		t.Errorf("the tool ran with %q, want it to end in %q", out, want)
	}
	exit, _, err := Control(t.Context(), dir, verbFormat, "1", "refuse")
	if exit != 3 || err == nil || !strings.Contains(err.Error(), "args: ") {
		t.Errorf("a refusal: exit %d, err %v; want the tool's code and its words", exit, err)
	}
	mustControl(t, dir, verbStart, "1")
	if exit, _, err := Control(t.Context(), dir, verbFormat, "1"); exit == 0 || err == nil {
		t.Error("a running node was formatted")
	}
}

func TestWhatCannotBeAskedIsNotAnAnswer(t *testing.T) {
	dir := t.TempDir()
	supervised(t, dir, map[string]string{"1": ""})
	tests := []struct{ name, dir, verb, node string }{
		{"a node that the cluster lacks", dir, verbRunning, "9"},
		{"a verb that does not exist", dir, "jump", "1"},
		{"a folder without a supervisor", t.TempDir(), verbRunning, "1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			exit, out, err := Control(t.Context(), tt.dir, tt.verb, tt.node)
			if exit <= 4 || err == nil {
				t.Errorf("exit %d, out %q, err %v; 0 to 4 would answer the question", exit, out, err)
			}
		})
	}
}

func TestManyAtOnceMakeOneProcess(t *testing.T) {
	dir := t.TempDir()
	supervised(t, dir, map[string]string{"1": ""})
	failures := make(chan error)
	for range 10 {
		go func() {
			exit, _, err := Control(t.Context(), dir, verbStart, "1")
			if exit != 0 && err == nil {
				err = fmt.Errorf("exit %d", exit)
			}
			failures <- err
		}()
	}
	for range 10 {
		if err := <-failures; err != nil {
			t.Error(err)
		}
	}
	if n, err := (&Cluster{dir: dir}).Starts(1); n != 1 || err != nil {
		t.Errorf("%d processes (%v), want 1", n, err)
	}
}
