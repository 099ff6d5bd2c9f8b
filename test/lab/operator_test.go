package lab_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"migrator/internal/client"
	"migrator/internal/config"
	"migrator/internal/lab"
	"migrator/internal/status"
)

// operator plays a person with a shell: `migrator serve` as a process of its
// own, driven through the commands only.
type operator struct {
	t      *testing.T
	c      *lab.Cluster
	name   string
	config string
	data   string
	listen string
	client *client.Client
	serve  *exec.Cmd
	ended  chan error // of serve
	kills  int
	// deaths are where the service kills itself, one life after the other.
	deaths []death
	// whileReverting is called with each status seen during a revert.
	whileReverting func(status.Status)
}

func newOperator(t *testing.T, c *lab.Cluster, o lab.YAMLOptions) *operator {
	t.Helper()
	return newOperatorOf(t, c, o.Name, c.MigrationsYAML(o))
}

// newOperatorOf is an operator with a migrations.yaml of his own.
func newOperatorOf(t *testing.T, c *lab.Cluster, name, yaml string) *operator {
	t.Helper()
	dir := t.TempDir()
	op := &operator{t: t, c: c, name: name, config: filepath.Join(dir, "migrations.yaml"), data: filepath.Join(dir, "data"), listen: freeAddress(t)}
	if err := os.WriteFile(op.config, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	op.client = client.New("http://"+op.listen, config.Secret{})
	op.start()
	t.Cleanup(func() {
		if op.serve != nil {
			op.kill()
		}
	})
	return op
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start runs the service and waits until it answers.
func (op *operator) start() {
	op.t.Helper()
	op.serve = exec.Command(migratorBinary(), "serve", "--config", op.config, "--data", op.data, "--listen", op.listen)
	if len(op.deaths) > 0 {
		op.serve = exec.Command(os.Args[0], op.config, op.data, op.listen)
		op.serve.Env = append(os.Environ(), deathEnv+"="+op.deaths[0].String())
	}
	op.serve.Stdout, op.serve.Stderr = os.Stderr, os.Stderr
	op.serve.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := op.serve.Start(); err != nil {
		op.t.Fatal(err)
	}
	serve, ended := op.serve, make(chan error, 1)
	op.ended = ended
	go func() { ended <- serve.Wait() }()
	op.until("the service answers", 20*time.Second, func() bool {
		exit, _, _ := op.ask("status", op.name, "--json")
		if exit != 0 && op.died(0) {
			op.start()
			return true
		}
		return exit == 0
	})
}

// kill ends the service at once, as a power cut would.
func (op *operator) kill() {
	op.t.Helper()
	if err := op.serve.Process.Kill(); err != nil {
		op.t.Fatal(err)
	}
	<-op.ended // it says "signal: killed"
	op.serve = nil
	op.kills++
}

// run gives a command to the service, once more when it died meanwhile as told.
func (op *operator) run(args ...string) (exit int, stdout, stderr string) {
	op.t.Helper()
	exit, stdout, stderr = op.ask(args...)
	patience := time.Duration(0)
	if exit == 5 {
		patience = 2 * time.Second // its connection ends before it is waited for
	}
	if !op.died(patience) {
		return exit, stdout, stderr
	}
	op.start()
	return op.run(args...)
}

func (op *operator) ask(args ...string) (exit int, stdout, stderr string) {
	op.t.Helper()
	ctx, cancel := context.WithTimeout(op.t.Context(), time.Minute)
	defer cancel()
	return runMigrator(ctx, op.t, append(args, "--server", "http://"+op.listen)...)
}

// died says that the service has reached its death; any other end is a failure.
func (op *operator) died(patience time.Duration) bool {
	op.t.Helper()
	if op.serve == nil || len(op.deaths) == 0 {
		return false
	}
	select {
	case err := <-op.ended:
		if state, ok := op.serve.ProcessState.Sys().(syscall.WaitStatus); !ok || state.Signal() != syscall.SIGKILL {
			op.t.Fatalf("the service ended by itself: %v", err)
		}
		op.t.Log(time.Now().Format("15:04:05.0"), "the service died", op.deaths[0])
		op.deaths, op.serve = op.deaths[1:], nil
		op.kills++
		return true
	case <-time.After(patience):
		return false
	}
}

// status asks as the command line does, without a process for each question.
func (op *operator) status() status.Status {
	op.t.Helper()
	ctx, cancel := context.WithTimeout(op.t.Context(), time.Minute)
	defer cancel()
	s, err := op.client.Status(ctx, op.name)
	if err == nil {
		return s
	}
	if !op.died(2 * time.Second) {
		op.t.Fatalf("status: %v", err)
	}
	op.start()
	return op.status()
}

// advance approves the offered plan.
func (op *operator) advance(s status.Status) {
	op.t.Helper()
	exit, out, errs := op.run("advance", op.name, "--digest", s.Plan.Digest, "--confirm", op.name)
	if exit != 0 && exit != 4 {
		op.t.Fatalf("advance %s exited %d: %s%s", s.Plan.Phase, exit, out, errs)
	}
}

// until polls a condition; what names it for the failure.
func (op *operator) until(what string, limit time.Duration, holds func() bool) {
	op.t.Helper()
	deadline := time.Now().Add(limit)
	for !holds() {
		if time.Now().After(deadline) {
			op.t.Fatalf("not within %s: %s", limit, what)
		}
		op.pause(200 * time.Millisecond)
	}
}

func (op *operator) pause(d time.Duration) {
	select {
	case <-op.t.Context().Done():
		op.t.Fatal(op.t.Context().Err())
	case <-time.After(d):
	}
}

// drive goes on until done says so; a blocked migration fails the test.
func (op *operator) drive(limit time.Duration, done func(status.Status) bool) status.Status {
	op.t.Helper()
	var s status.Status
	last := ""
	op.until("the migration gets where it should", limit, func() bool {
		s = op.status()
		if line := fmt.Sprintf("%s: %s", s.RunStatus, s.Headline); line != last {
			op.t.Log(time.Now().Format("15:04:05.0"), line)
			last = line
		}
		switch {
		case done(s):
			return true
		case s.RunStatus == status.Blocked:
			op.t.Fatalf("blocked: %+v", *s.Blocked)
		case s.RunStatus == status.NeedsApproval:
			op.advance(s)
		}
		return false
	})
	return s
}

// finished is the end of drive: the cluster runs without ZooKeeper.
func finished(s status.Status) bool { return s.RunStatus == status.Finished }

// starts is how often each node was started since the cluster came up.
func (op *operator) starts(ids []int32) map[int32]int {
	op.t.Helper()
	out := map[int32]int{}
	for _, id := range ids {
		n, err := op.c.Starts(id)
		if err != nil {
			op.t.Fatal(err)
		}
		out[id] = n
	}
	return out
}

// property reads one key of a node's file; ok is false when the line is absent.
func (op *operator) property(id int32, key string) (string, bool) {
	op.t.Helper()
	f, err := os.Open(op.c.PropertiesPath(id))
	if err != nil {
		op.t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if k, v, ok := strings.Cut(lines.Text(), "="); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v), true
		}
	}
	return "", false
}
