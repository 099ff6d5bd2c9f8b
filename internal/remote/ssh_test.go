package remote

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"migrator/internal/remote/sshlink"
	"migrator/internal/remote/sshtest"
)

func sshNode(t *testing.T, server *sshtest.Server, become ...string) *SSH {
	t.Helper()
	var pool sshlink.Pool
	t.Cleanup(pool.Close)
	access := server.Access()
	access.SSH.Become = become
	return newSSH(&pool, access)
}

func TestSSH(t *testing.T) {
	server := sshtest.Start(t, "127.0.0.2")
	testNode(t, sshNode(t, server))
	if n := server.Connections(); n > 2 {
		t.Errorf("%d connections, want at most 2", n)
	}
}

func TestADaemonOutlivesTheConnectionThatStartedIt(t *testing.T) {
	server := sshtest.Start(t, "127.0.0.2")
	node := sshNode(t, server)
	r, err := node.Run(t.Context(), []string{"sh", "-c", "(while sleep 0.02; do echo alive; echo alive >&2; done) & echo $!; exit 3"})
	if err != nil || r.Exit != 3 {
		t.Fatalf("%+v, %v; want it back with exit 3 while the daemon holds the output", r, err)
	}
	first, _, _ := strings.Cut(r.Stdout[strings.IndexFunc(r.Stdout, func(c rune) bool { return c >= '0' && c <= '9' }):], "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(pid, syscall.SIGKILL)
	server.Cut()
	if _, err := node.Run(t.Context(), []string{"sleep", "0.3"}); err != nil { // reconnects
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("the daemon ended with the connection: %v", err)
	}
}

// A link that is cut leaves a command running, and its end unknown: never
// exit 1, which a `running` command says for no.
func TestALinkCutInTheMiddleOfACommand(t *testing.T) {
	server := sshtest.Start(t, "127.0.0.2")
	node := sshNode(t, server)
	done := filepath.Join(t.TempDir(), "done")
	time.AfterFunc(time.Second, func() { server.Cut() })
	_, err := node.Run(t.Context(), []string{"sh", "-c", "echo begun; sleep 2; echo going on; touch " + done})
	var notStarted *NotStartedError
	if !errors.Is(err, ErrLost) || errors.As(err, &notStarted) {
		t.Errorf("error %v, want that the end is unknown", err)
	}
	eventually(t, func() bool { _, err := os.Stat(done); return err == nil })
	if _, err := node.Stat(t.Context(), "/"); err != nil {
		t.Errorf("the next operation: %v", err)
	}
}

// A read or a look at a log that is cut brings an error or the whole, never a
// part that passes for the whole.
func TestReadsWhileLinksAreCutAreWholeOrAnError(t *testing.T) {
	server := sshtest.Start(t, "127.0.0.2")
	node := sshNode(t, server)
	path := filepath.Join(t.TempDir(), "server.log")
	text := strings.Repeat("a line of some length\n", 40_000)
	put(t, path, text, 0o640)
	failed, at, tailed := 0, Cursor{}, ""
	for i := range 12 {
		if _, err := node.Stat(t.Context(), path); err != nil { // a link to cut
			t.Fatal(err)
		}
		cut := time.AfterFunc(time.Duration(i*5)*time.Millisecond, func() { server.Cut() })
		data, err := node.ReadFile(t.Context(), path)
		if err == nil && string(data) != text {
			t.Errorf("%d bytes of %d without an error", len(data), len(text))
		}
		got, tailErr := node.Tail(t.Context(), path, at)
		at, tailed = got.Next, tailed+string(got.Data)
		if !strings.HasPrefix(text, tailed) {
			t.Fatalf("after %d bytes the log is another", len(tailed))
		}
		if err != nil || tailErr != nil {
			failed++
		}
		cut.Stop()
	}
	for got := (Tailed{More: true}); got.More; {
		var err error
		if got, err = node.Tail(t.Context(), path, at); err != nil {
			t.Fatal(err)
		}
		at, tailed = got.Next, tailed+string(got.Data)
	}
	if tailed != text {
		t.Errorf("followed %d bytes of %d", len(tailed), len(text))
	}
	t.Logf("%d of 12 were cut", failed)
}

func TestWritesWhileLinksAreCutAreNeverTorn(t *testing.T) {
	server := sshtest.Start(t, "127.0.0.2")
	node := sshNode(t, server)
	path := filepath.Join(t.TempDir(), "server.properties")
	old, young := strings.Repeat("old=1\n", 30_000), strings.Repeat("new=2\n", 30_000)
	put(t, path, old, 0o604)
	stop := make(chan struct{})
	cutting := make(chan struct{})
	go func() {
		defer close(cutting)
		for pause := 50 * time.Millisecond; ; pause *= 2 { // at last one comes through
			select {
			case <-stop:
				return
			case <-time.After(pause):
				server.Cut()
			}
		}
	}()
	failed := 0
	for {
		err := node.WriteFile(t.Context(), path, []byte(young), WriteOptions{Expect: Expect{SHA256: Sum([]byte(old))}})
		data, readErr := os.ReadFile(path)
		if readErr != nil || string(data) != old && string(data) != young {
			t.Fatalf("%d bytes, %v: torn", len(data), readErr)
		}
		if err == nil || string(data) == young {
			break
		}
		failed++
	}
	close(stop)
	<-cutting
	t.Logf("%d writes failed before one came through", failed)
	if err := node.WriteFile(t.Context(), path, []byte(old), WriteOptions{Expect: Expect{SHA256: Sum([]byte(young))}}); err != nil {
		t.Fatal(err)
	}
	for name := range contents(t, filepath.Dir(path)) {
		if name != filepath.Base(path) && !strings.HasSuffix(name, ".bak") {
			t.Errorf("left over: %s", name)
		}
	}
}

// A host that stands still for a while and goes on loses nothing.
func TestAHostThatPausesInTheMiddleOfEachOperation(t *testing.T) {
	server := sshtest.Start(t, "127.0.0.2")
	node := sshNode(t, server)
	path := filepath.Join(t.TempDir(), "server.properties")
	put(t, path, "a=1\n", 0o640)
	if _, err := node.Stat(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	for name, do := range map[string]func() error{
		"run":  func() error { _, err := node.Run(t.Context(), []string{"sleep", "0.2"}); return err },
		"read": func() error { _, err := node.ReadFile(t.Context(), path); return err },
		"tail": func() error { _, err := node.Tail(t.Context(), path, Cursor{}); return err },
		"write": func() error {
			return node.WriteFile(t.Context(), path, []byte("a=1\n"), WriteOptions{Expect: Expect{SHA256: Sum([]byte("a=1\n"))}})
		},
	} {
		done := make(chan error, 1)
		go func() { done <- do() }()
		<-time.After(20 * time.Millisecond)
		server.Pause()
		<-time.After(300 * time.Millisecond)
		server.Resume()
		if err := <-done; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSudoThatWantsAPasswordIsNoAnswer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, who lets sudo run as a user that has no right to it")
	}
	server := sshtest.Start(t, "127.0.0.2")
	node := sshNode(t, server, "sudo", "-n", "-u", "nobody", "sudo", "-n")
	_, err := node.Run(t.Context(), []string{"test", "-e", "/nowhere"})
	var notStarted *NotStartedError
	if !errors.As(err, &notStarted) || !strings.Contains(err.Error(), "NOPASSWD") || !strings.Contains(err.Error(), "password is required") {
		t.Errorf("error %v, want that it was not started, what sudo said and what to do", err)
	}
	if info, err := node.Stat(t.Context(), "/nowhere"); err == nil {
		t.Errorf("stat %+v without error: sudo's refusal passed for a missing file", info)
	}
}

func TestSudoThatWorks(t *testing.T) {
	server := sshtest.Start(t, "127.0.0.2")
	node := sshNode(t, server, "sudo", "-n")
	if os.Geteuid() != 0 {
		t.Skip("needs root, who may always use sudo")
	}
	r, err := node.Run(t.Context(), []string{"sh", "-c", "echo $SUDO_USER; exit 4"})
	if err != nil || r.Exit != 4 || r.Stdout != server.User+"\n" {
		t.Errorf("%+v, %v", r, err)
	}
	path := filepath.Join(t.TempDir(), "a")
	if err := node.WriteFile(t.Context(), path, []byte("a=1\n"), WriteOptions{Expect: Expect{Absent: true}}); err != nil {
		t.Error(err)
	}
	if data, err := node.ReadFile(t.Context(), path); err != nil || string(data) != "a=1\n" {
		t.Errorf("%q, %v", data, err)
	}
}

// A start-up file of the login shell that prints something breaks sftp and
// whoever reads output from its first byte.
func TestALoginShellThatGreets(t *testing.T) {
	greeting := filepath.Join(t.TempDir(), "greeting")
	put(t, greeting, "echo Welcome; echo 'Authorized use only' >&2\n", 0o644)
	server := sshtest.Start(t, "127.0.0.2", "SetEnv BASH_ENV="+greeting)
	node := sshNode(t, server)
	r, err := node.Run(t.Context(), []string{"printf", "out"})
	if err != nil || r.Stdout != "out" || r.Stderr != "" {
		t.Errorf("%+v, %v", r, err)
	}
	if data, err := node.ReadFile(t.Context(), greeting); err != nil || !strings.HasPrefix(string(data), "echo") {
		t.Errorf("%q, %v", data, err)
	}
}

func TestAnAccountThatMayNotRunCommands(t *testing.T) {
	server := sshtest.Start(t, "127.0.0.2", "ForceCommand echo 'This account is currently not available.'; exit 1")
	_, err := sshNode(t, server).Run(t.Context(), []string{"true"})
	var notStarted *NotStartedError
	if !errors.As(err, &notStarted) {
		t.Errorf("error %v, want not started", err)
	}
}

func TestSecretsAreRedactedOverSSH(t *testing.T) {
	node := sshNode(t, sshtest.Start(t, "127.0.0.2"))
	node.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") }
	r, err := node.Run(t.Context(), []string{"sh", "-c", "echo out hunter2; echo err hunter2 >&2"})
	if err != nil || r.Stdout != "out [redacted]\n" || r.Stderr != "err [redacted]\n" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err = node.Run(t.Context(), []string{"/no/such/program", "--password=hunter2"}); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %v, want one without the secret", err)
	}
}
