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
	"testing"
	"time"
	"unicode"
)

func TestWrapper(t *testing.T) {
	t.Parallel()
	t.Run("only busybox", func(t *testing.T) {
		t.Parallel()
		testNode(t, NewWrapper([]string{"env", "PATH=" + onlyBusybox(t)}, nil))
	})
	t.Run("another mount namespace and language", func(t *testing.T) {
		t.Parallel()
		testNode(t, NewWrapper(append(namespace(t), "env", "LANG=de_DE.UTF-8", "LC_ALL=de_DE.UTF-8", "QUOTING_STYLE=shell", "TZ=Asia/Tokyo"), nil))
	})
}

// onlyBusybox is a folder with busybox's commands and no others.
func onlyBusybox(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs busybox and starts some thousand processes: make test runs it")
	}
	dir := t.TempDir()
	if out, err := exec.Command("busybox", "--install", "-s", dir).CombinedOutput(); err != nil {
		t.Fatalf("busybox is needed (as root: make sshd): %v: %s", err, out)
	}
	return dir
}

// namespace is the way into a mount namespace, this test's own: what it mounts
// must show there too.
func namespace(t *testing.T) []string {
	t.Helper()
	prefix := []string{"nsenter", "-t", strconv.Itoa(os.Getpid()), "-m", "--"}
	if out, err := exec.Command(prefix[0], append(prefix[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("a mount namespace cannot be entered here: %v: %s", err, out)
	}
	return prefix
}

// What stands between us and the node is not the node: nothing that it says or
// does may pass for a missing file or a process that does not run.
func TestAWayThatDoesNotLeadToTheNode(t *testing.T) {
	for name, prefix := range map[string][]string{
		"fails and says nothing":     {"false"},
		"succeeds and says nothing":  {"true"},
		"prints what it should run":  {"echo"},
		"never stops talking":        {"yes"},
		"greets before each answer":  {"sh", "-c", `echo Welcome to b1; "$@"`, "-"},
		"gives a terminal":           {"sh", "-c", `"$@" | sed "s/$/\r/"`, "-"},
		"is no program":              {"/no/such/kubectl", "exec", "--"},
		"cannot find the container":  {"sh", "-c", "echo 'Error response from daemon: No such container: kafka-1' >&2; exit 1"},
		"answers in colours":         {"sh", "-c", `printf '\033[2J\033[31m%s\n' "$(seq 1 9999)"; exit 3`},
		"waits for ever":             {"sh", "-c", "exec sleep 600"},
		"leaves a child with a pipe": {"sh", "-c", "sleep 5 & exit 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			path := filepath.Join(t.TempDir(), "a")
			put(t, path, "a=1\n", 0o600)
			node := NewWrapper(prefix, nil)
			if info, err := node.Stat(ctx, path); err == nil {
				t.Errorf("stat %+v", info)
			}
			if data, err := node.ReadFile(ctx, path); err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
				t.Errorf("read %q, %v", data, err)
			}
			if tailed, err := node.Tail(ctx, path, Cursor{}); err == nil {
				t.Errorf("tail %+v", tailed)
			}
			err := node.WriteFile(ctx, path, nil, WriteOptions{Expect: Expect{Absent: true}})
			var changed *ChangedError
			if err == nil || errors.As(err, &changed) {
				t.Errorf("write: %v", err)
			}
			for _, c := range err.Error() {
				if c != '\n' && !unicode.IsPrint(c) {
					t.Fatalf("message with %q: %q", c, err)
				}
			}
			r, err := node.Run(ctx, []string{"test", "-f", path})
			var notStarted *NotStartedError
			if !errors.As(err, &notStarted) {
				t.Errorf("run %+v, %v", r, err)
			}
			wantsWhole(t, path, "a=1\n")
		})
	}
}

func TestAShellOnTheWayIsNoticed(t *testing.T) {
	node := NewWrapper([]string{"sh", "-c", `eval "$*"`, "-"}, nil) // as ssh does with its arguments
	r, err := node.Run(t.Context(), []string{"true"})
	var notStarted *NotStartedError
	if !errors.As(err, &notStarted) || !strings.Contains(err.Error(), "as it is") {
		t.Errorf("%+v, %v; want not started", r, err)
	}
}

// Kafka is the first process of many a container: who stops it has no container
// to run commands in. Then the prefix is a script that tells what is done here
// from what is done there (docs/guide.md).
func TestAPrefixOfTheOperatorsOwn(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "kafka-pod")
	put(t, script, `#!/bin/sh
pod=$1; shift
case $1 in
  pod-start)   : > "$pod.up" ;;
  pod-stop)    rm -f "$pod.up" ;;
  pod-running) test -e "$pod.up" ;;
  *)           exec env "$@" ;;
esac
`, 0o700)
	node := NewWrapper([]string{script, filepath.Join(dir, "kafka-0")}, nil)
	for _, step := range []struct {
		command string
		exit    int
	}{{"pod-running", 1}, {"pod-start", 0}, {"pod-running", 0}, {"pod-stop", 0}, {"pod-running", 1}} {
		if r, err := node.Run(t.Context(), []string{step.command}); err != nil || r.Exit != step.exit {
			t.Errorf("%s: %+v, %v; want exit %d", step.command, r, err, step.exit)
		}
	}
	path := filepath.Join(dir, "server.properties")
	if err := node.WriteFile(t.Context(), path, []byte("a=1\n"), WriteOptions{Expect: Expect{Absent: true}}); err != nil {
		t.Error(err)
	}
	wantsWhole(t, path, "a=1\n")
}

func TestAContainerThatIsGoneIsNoAnswer(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	node := NewWrapper([]string{"sh", "-c", `test ! -e "$0" || exit 1; "$@"`, gone}, nil)
	running := []string{"sh", "-c", "exit 1"}
	if r, err := node.Run(t.Context(), running); err != nil || r.Exit != 1 {
		t.Fatalf("%+v, %v; want no", r, err)
	}
	put(t, gone, "", 0o600)
	if r, err := node.Run(t.Context(), running); err == nil {
		t.Errorf("%+v; the container is gone, and the process was said not to run", r)
	}
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	if r, err := node.Run(t.Context(), running); err != nil || r.Exit != 1 {
		t.Errorf("back again: %+v, %v", r, err)
	}
}

func TestWhoMayNotReadOrWriteIsTold(t *testing.T) {
	nobody := []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"}
	if err := exec.Command(nobody[0], append(nobody[1:], "true")...).Run(); err != nil {
		t.Skipf("only root may become somebody else: %v", err)
	}
	node := NewWrapper(nobody, nil)
	dir, err := os.MkdirTemp("", "nobody")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	readable, secret, closed := filepath.Join(dir, "readable"), filepath.Join(dir, "secret"), filepath.Join(dir, "closed")
	put(t, readable, "a=1\n", 0o644)
	put(t, secret, "a=1\n", 0o600)
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(closed, "a"), "a=1\n", 0o644)
	expected := WriteOptions{Expect: Expect{SHA256: Sum([]byte("a=1\n"))}}
	for name, try := range map[string]func() error{
		"read":                       func() error { _, err := node.ReadFile(t.Context(), secret); return err },
		"read in a closed folder":    func() error { _, err := node.ReadFile(t.Context(), filepath.Join(closed, "a")); return err },
		"missing in a closed folder": func() error { _, err := node.Stat(t.Context(), filepath.Join(closed, "none")); return err },
		"tail":                       func() error { _, err := node.Tail(t.Context(), secret, Cursor{}); return err },
		"write":                      func() error { return node.WriteFile(t.Context(), readable, []byte("a=2\n"), expected) },
	} {
		if err := try(); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: error %v, want permission denied", name, err)
		}
	}
	if err := os.RemoveAll(closed); err != nil {
		t.Fatal(err)
	}
	wantsWhole(t, readable, "a=1\n")
	// Who may write into the folder, but not give the file to its owner, must not take it.
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := node.WriteFile(t.Context(), readable, []byte("a=2\n"), expected); err == nil || !strings.Contains(err.Error(), "keep its owner 0:0") {
		t.Errorf("error %v, want that the owner cannot be kept", err)
	}
	wantsWhole(t, readable, "a=1\n")
}

func TestTheServicesOwnSettingsStayOutOfWrappers(t *testing.T) {
	t.Setenv("MIGRATOR_TOKEN", "hunter2")
	node := NewWrapper([]string{"sh", "-c", `test -z "$MIGRATOR_TOKEN" || exit 9; "$@"`, "-"}, nil)
	if r, err := node.Run(t.Context(), []string{"true"}); err != nil || r.Exit != 0 {
		t.Errorf("%+v, %v: the token reached the prefix", r, err)
	}
	if _, err := node.Stat(t.Context(), "/"); err != nil {
		t.Errorf("%v: the token reached the prefix", err)
	}
}

func TestSecretsOfAPrefixAreRedacted(t *testing.T) {
	node := NewWrapper([]string{"sh", "-c", "echo no access with $0 >&2; exit 1", "--token=hunter2"}, func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") })
	gone := NewWrapper([]string{"/no/such/kubectl", "--token=hunter2"}, node.local.Redact)
	for _, n := range []*Wrapper{node, gone} {
		_, stat := n.Stat(t.Context(), "/")
		_, run := n.Run(t.Context(), []string{"true"})
		for _, err := range []error{stat, run} {
			if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "[redacted]") {
				t.Errorf("error %v, want one without the secret", err)
			}
		}
	}
}
