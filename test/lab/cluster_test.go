package lab_test

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"migrator/internal/lab"
)

// One cluster serves all the checks that leave it whole: starting one costs
// seconds. What ends it comes last.
func TestCluster(t *testing.T) {
	began := time.Now()
	c := startCluster(t, lab.Options{Chroot: "/kafka"})
	t.Logf("started in %s", time.Since(began).Round(time.Millisecond))
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()

	t.Run("brokers run and are reachable, controllers are not there yet", func(t *testing.T) { checkFresh(ctx, t, c) })
	t.Run("log lines are split as Kafka's defaults split them", func(t *testing.T) { checkLogs(ctx, t, c) })
	t.Run("a stopped broker leaves its port to itself and starts again on it", func(t *testing.T) { checkRestart(ctx, t, c) })
	t.Run("the commands of migrations.yaml drive a node and tell the truth", func(t *testing.T) { checkCommands(ctx, t, c) })
	t.Run("a paused broker exists but does not answer", func(t *testing.T) { checkPause(ctx, t, c) })
	t.Run("formatting goes through with the arguments given", func(t *testing.T) { checkFormat(ctx, t, c) })
	t.Run("a killed supervisor takes every process with it", func(t *testing.T) { checkSupervisorKilled(ctx, t, c) })
}

func checkFresh(ctx context.Context, t *testing.T, c *lab.Cluster) {
	for _, address := range c.Bootstrap() {
		if err := dial(ctx, address); err != nil {
			t.Errorf("broker at %s: %v", address, err)
		}
	}
	if got := len(javas(t, c.Dir())); got != 4 {
		t.Errorf("%d processes, want ZooKeeper and three brokers", got)
	}
	for _, id := range c.ControllerIDs() {
		if _, err := os.Stat(c.PropertiesPath(id)); !os.IsNotExist(err) {
			t.Errorf("controller %d has properties before a migration wrote them (%v)", id, err)
		}
	}
	for _, address := range append(c.Bootstrap(), strings.Split(strings.TrimSuffix(c.ZooKeeperConnect(), "/kafka"), ",")...) {
		_, port, _ := net.SplitHostPort(address)
		if n, err := strconv.Atoi(port); err != nil || n >= 32768 {
			t.Errorf("%s is not below the ephemeral range", address)
		}
	}
}

func checkLogs(ctx context.Context, t *testing.T, c *lab.Cluster) {
	short, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if _, err := c.WaitLog(short, 1, "controller.log", regexp.MustCompile(`kafka\.controller\.`)); err != nil {
		t.Error(err)
	}
	server, err := os.ReadFile(c.LogPath(1, "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(server, []byte("(kafka.controller.KafkaController)")) {
		t.Error("server.log has lines of the controller")
	}
	if _, err := os.Stat(c.LogPath(1, "state-change.log")); err != nil {
		t.Error(err)
	}
}

func checkRestart(ctx context.Context, t *testing.T, c *lab.Cluster) {
	address := c.Bootstrap()[1]
	if err := c.Stop(ctx, "2"); err != nil {
		t.Fatal(err)
	}
	if err := dial(ctx, address); err == nil {
		t.Errorf("something listens on %s while broker 2 is down", address)
	}
	// Many outgoing connections: the kernel must not give one the free port.
	for range 200 {
		_ = dial(ctx, c.Bootstrap()[0])
	}
	for range 2 { // the second start changes nothing
		if err := c.Start(ctx, "2"); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Ready(ctx, "2"); err != nil {
		t.Fatal(err)
	}
	if err := dial(ctx, address); err != nil {
		t.Errorf("broker 2 after its restart: %v", err)
	}
	if n, err := c.Starts(2); n != 2 || err != nil {
		t.Errorf("broker 2 was started %d times (%v), want 2", n, err)
	}
}

func checkCommands(ctx context.Context, t *testing.T, c *lab.Cluster) {
	steps := []struct {
		verb string
		exit int
	}{
		{"running", 0}, {"stop", 0}, {"stop", 0}, {"running", 1},
		{"start", 0}, {"start", 0}, {"running", 0}, {"kill", 0}, {"running", 1}, {"kill", 0}, {"running", 1},
	}
	for i, s := range steps {
		exit, out, errs := runMigrator(ctx, t, "lab", "ctl", "--dir", c.Dir(), s.verb, "3")
		if exit != s.exit {
			t.Fatalf("step %d, %s 3: exit %d, want %d; stdout %q, stderr %q", i, s.verb, exit, s.exit, out, errs)
		}
		if want, got := s.verb == "running" && s.exit == 0 || s.verb == "start", running(t, c.Dir(), "/nodes/3/"); s.verb != "stop" && s.verb != "kill" && got != want {
			t.Fatalf("step %d, %s 3: the process exists: %v, want %v", i, s.verb, got, want)
		}
	}
	if exit, _, errs := runMigrator(ctx, t, "lab", "ctl", "--dir", c.Dir(), "running", "77"); exit <= 4 || errs == "" {
		t.Errorf("running of no node: exit %d, stderr %q; must not read as \"does not run\"", exit, errs)
	}
	if exit, _, errs := runMigrator(ctx, t, "lab", "ctl", "--dir", t.TempDir(), "running", "3"); exit <= 4 || errs == "" {
		t.Errorf("running without a supervisor: exit %d, stderr %q; must not read as \"does not run\"", exit, errs)
	}
}

func checkPause(ctx context.Context, t *testing.T, c *lab.Cluster) {
	if err := c.Pause(ctx, "1"); err != nil {
		t.Fatal(err)
	}
	if runs, err := c.Running(ctx, "1"); !runs || err != nil {
		t.Errorf("a paused broker runs: %v (%v), want true", runs, err)
	}
	if state := states(t, c.Dir(), "/nodes/1/"); state != "T" {
		t.Errorf("process state %q, want T", state)
	}
	if err := c.Resume(ctx, "1"); err != nil {
		t.Fatal(err)
	}
	if state := states(t, c.Dir(), "/nodes/1/"); state == "T" {
		t.Error("still stopped after resume")
	}
}

func checkFormat(ctx context.Context, t *testing.T, c *lab.Cluster) {
	file := c.PropertiesPath(3001)
	text := "process.roles=controller\nnode.id=3001\ncontroller.quorum.voters=3001@127.0.0.1:19999\n" +
		"listeners=CONTROLLER://127.0.0.1:19999\ncontroller.listener.names=CONTROLLER\nlog.dirs=" + c.DataDir(3001) + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	exit, out, errs := runMigrator(ctx, t, "lab", "ctl", "--dir", c.Dir(), "format", "3001", "--",
		"--cluster-id=-bcdefghijklmnopqrstuv", "--release-version=3.9-IV0", "--config", file)
	if exit != 0 {
		t.Fatalf("exit %d, stdout %q, stderr %q", exit, out, errs)
	}
	meta, err := os.ReadFile(filepath.Join(c.DataDir(3001), "meta.properties"))
	if err != nil || !bytes.Contains(meta, []byte("-bcdefghijklmnopqrstuv")) {
		t.Errorf("meta.properties %q (%v) lacks the cluster id", meta, err)
	}
	if exit, _, errs := runMigrator(ctx, t, "lab", "ctl", "--dir", c.Dir(), "format", "3001", "--", "--config", file); exit == 0 || errs == "" {
		t.Errorf("a format that the tool refuses: exit %d, stderr %q", exit, errs)
	}
}

func checkSupervisorKilled(ctx context.Context, t *testing.T, c *lab.Cluster) {
	if len(javas(t, c.Dir())) == 0 {
		t.Fatal("nothing runs that could outlive the supervisor")
	}
	if err := syscall.Kill(c.SupervisorPID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitGone(ctx, t, c.Dir())
	if err := c.Close(); err == nil {
		t.Error("closing a cluster whose supervisor was killed says nothing of it")
	}
	if err := os.RemoveAll(c.Dir()); err != nil { // kept, because the supervisor failed
		t.Error(err)
	}
}

// A test binary or a rehearsal that gets SIGKILL has no time to clean up.
func TestAKilledOwnerLeavesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), ownerEnv+"="+dir)
	owner.Stderr = os.Stderr
	stdin, err := owner.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	said, err := bufio.NewReader(stdout).ReadString('\n')
	if said != "owning\n" {
		t.Errorf("the owner said %q (%v)", said, err)
	}
	if got := len(javas(t, dir)); got != 2 {
		t.Errorf("%d processes, want 2", got)
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait() // killed
	waitGone(t.Context(), t, dir)
	waitNoSupervisor(t.Context(), t, dir)
}

func TestClosingAClusterLeavesNothing(t *testing.T) {
	c := startCluster(t, lab.Options{Brokers: 1, Controllers: 1, ZooKeeperServers: 3})
	dir := c.Dir()
	if got := len(javas(t, dir)); got != 4 {
		t.Fatalf("%d processes, want an ensemble of three and a broker", got)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if left := javas(t, dir); len(left) != 0 {
		t.Errorf("processes %v outlive the cluster", left)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder of a closed cluster is still there (%v)", err)
	}
}

func dial(ctx context.Context, address string) error {
	dialer := net.Dialer{Timeout: 2 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}
