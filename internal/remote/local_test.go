package remote

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"migrator/internal/config"
)

func newTestLocal(t *testing.T) *Local {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "outputs")
	return &Local{Dir: dir}
}

func TestLocal(t *testing.T) { testNode(t, newTestLocal(t)) }

func TestOpen(t *testing.T) {
	if n, err := Open(config.Access{Kind: "local"}); err != nil || n == nil {
		t.Errorf("local: %v, %v", n, err)
	}
	if n, err := Open(config.Access{Kind: "wrapper", Argv: []string{"env"}}); err != nil || n == nil {
		t.Errorf("wrapper: %v, %v", n, err)
	}
	if n, err := Open(config.Access{Kind: "ssh", Host: "kafka-1"}); err != nil || n == nil {
		t.Errorf("ssh: %v, %v", n, err)
	}
	if n, err := Open(config.Access{Kind: "manual", Files: "/srv/by-hand/1"}); err != nil || n == nil {
		t.Errorf("manual: %v, %v", n, err)
	}
	if _, err := Open(config.Access{}); err == nil {
		t.Errorf("no kind: error %v, want unknown kind", err)
	}
}

func TestACommandThatOutlivesItsDeadlineIsLeftAlone(t *testing.T) {
	node := newTestLocal(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := node.Run(ctx, []string{"sh", "-c", "echo begun; exec sleep 300"})
	var still *StillRunningError
	if !errors.As(err, &still) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error %v, want still running by deadline", err)
	}
	t.Cleanup(func() { _ = syscall.Kill(still.PID, syscall.SIGKILL) })
	if still.Result.Stdout != "begun\n" {
		t.Errorf("output so far %q", still.Result.Stdout)
	}
	if err := syscall.Kill(still.PID, 0); err != nil {
		t.Errorf("process %d: %v, want it alive", still.PID, err)
	}
	if group, err := syscall.Getpgid(still.PID); err != nil || group != still.PID {
		t.Errorf("process group %d, %v; want its own, %d", group, err, still.PID)
	}
}

func TestADaemonDoesNotHoldTheCommandThatStartedIt(t *testing.T) {
	node := newTestLocal(t)
	r, err := node.Run(t.Context(), []string{"sh", "-c", "sleep 300 & echo $!"})
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(r.Stdout))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Fatalf("daemon: %v, want it alive", err)
	}
	if n := len(outputs(t, node.Dir)); n == 0 {
		t.Error("the file a daemon writes to is gone: it would grow unseen")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		if _, err := node.Run(t.Context(), []string{"true"}); err != nil {
			t.Fatal(err)
		}
		return len(outputs(t, node.Dir)) == 0
	})
}

func TestEndlessOutputIsBoundedOnDisk(t *testing.T) {
	node := newTestLocal(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*sweepEvery+200*time.Millisecond)
	defer cancel()
	r, err := node.Run(ctx, []string{"yes", "0123456789012345678901234567890123456789"})
	var still *StillRunningError
	if !errors.As(err, &still) {
		t.Fatalf("error %v, want still running", err)
	}
	t.Cleanup(func() { _ = syscall.Kill(still.PID, syscall.SIGKILL) })
	if !r.Truncated || len(r.Stdout) > MaxOutput {
		t.Errorf("truncated %v with %d bytes", r.Truncated, len(r.Stdout))
	}
	if err := syscall.Kill(still.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		if err := sweep(node.Dir); err != nil {
			t.Fatal(err)
		}
		return len(outputs(t, node.Dir)) == 0
	})
}

func TestManyCommandsAtOnceKeepTheirOutputApart(t *testing.T) {
	node := newTestLocal(t)
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			want := strconv.Itoa(i) + "\n"
			r, err := node.Run(t.Context(), []string{"echo", strconv.Itoa(i)})
			if err != nil || r.Stdout != want {
				t.Errorf("got %+v, %v; want %q", r, err, want)
			}
		})
	}
	all.Wait()
	if err := sweep(node.Dir); err != nil { // one that looked at a file just then left it to the next
		t.Error(err)
	}
	if n := len(outputs(t, node.Dir)); n != 0 {
		t.Errorf("%d output files are left", n)
	}
}

func TestASecretCutInHalfIsNotShown(t *testing.T) {
	node := newTestLocal(t)
	node.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") }
	for shift := range 9 { // the cut falls somewhere into the secret
		script := "printf '%*s' " + strconv.Itoa(shift) + " ''; yes 'password=hunter2' | head -c 200000"
		r, err := node.Run(t.Context(), []string{"sh", "-c", script})
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(r.Stdout, "\n")
		if first != "password=[redacted]" {
			t.Fatalf("first line %q", first)
		}
	}
}

func TestSecretsAreRedacted(t *testing.T) {
	node := newTestLocal(t)
	node.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") }
	r, err := node.Run(t.Context(), []string{"sh", "-c", "echo out hunter2; echo err hunter2 >&2"})
	if err != nil {
		t.Fatal(err)
	}
	if r.Stdout != "out [redacted]\n" || r.Stderr != "err [redacted]\n" {
		t.Errorf("got %+v", r)
	}
	_, err = node.Run(t.Context(), []string{"/no/such/program", "--password=hunter2"})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %v, want one without the secret", err)
	}
}

func TestTheServicesOwnSettingsStayOutOfNodes(t *testing.T) {
	t.Setenv("MIGRATOR_TOKEN", "hunter2")
	r, err := newTestLocal(t).Run(t.Context(), []string{"env"})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(r.Stdout, "hunter2") {
		t.Error("the token reached a command")
	}
}

// A node started by a command must survive the service, however it ends.
func TestACommandSurvivesAKilledService(t *testing.T) {
	if dir := os.Getenv("REMOTE_TEST_SERVICE"); dir != "" {
		_, _ = (&Local{Dir: dir}).Run(context.Background(), []string{"sh", "-c", "echo $$ > " + dir + "/pid; exec sleep 300"})
		return
	}
	dir := filepath.Join(t.TempDir(), "outputs")
	service := exec.Command(os.Args[0], "-test.run=^TestACommandSurvivesAKilledService$")
	service.Env = append(os.Environ(), "REMOTE_TEST_SERVICE="+dir)
	service.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	eventually(t, func() bool {
		data, err := os.ReadFile(filepath.Join(dir, "pid"))
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(data)))
		return err == nil
	})
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	// The whole group of the service goes, as on Ctrl-C at a terminal.
	if err := syscall.Kill(-service.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = service.Wait() // killed
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("the command died with the service: %v", err)
	}
}

func TestAFolderOfOutputsThatOthersMayEnterIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	_, err := (&Local{Dir: dir}).Run(t.Context(), []string{"true"})
	var notStarted *NotStartedError
	if !errors.As(err, &notStarted) {
		t.Errorf("error %v, want not started", err)
	}
}

func outputs(t *testing.T, dir string) []fs.DirEntry {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// eventually tries until it holds; the test's own deadline ends it.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(10 * time.Second)
	defer limit.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatal("did not come to hold in 10 s")
		}
	}
}
