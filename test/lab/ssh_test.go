package lab_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/lab"
	"migrator/internal/remote/sshtest"
	"migrator/internal/status"
)

// sshHosts are three machines, each with a broker and a controller, that only
// ssh leads to.
type sshHosts []*sshtest.Server

// startHosts starts their servers and writes the ssh_config of each node.
func startHosts(t *testing.T, c *lab.Cluster) (hosts sshHosts, configs string) {
	t.Helper()
	configs = t.TempDir()
	for i := range 3 {
		hosts = append(hosts, sshtest.Start(t, fmt.Sprintf("127.0.0.%d", i+2)))
	}
	for _, ids := range [][]int32{c.BrokerIDs(), c.ControllerIDs()} {
		for i, id := range ids {
			h := hosts[i%len(hosts)]
			write(t, filepath.Join(configs, fmt.Sprint(id)), fmt.Sprintf("Host 127.0.0.1\n  HostName %s\n  Port %d\n  User %s\n  IdentityFile %s\n  UserKnownHostsFile %s\n",
				h.Address, h.Port, h.User, h.KeyFile, h.Known))
		}
	}
	return hosts, configs
}

// overSSH is the cluster's migrations.yaml with nodes that only ssh leads to.
func overSSH(c *lab.Cluster, configs string, o lab.YAMLOptions) string {
	return strings.ReplaceAll(c.MigrationsYAML(o), "{kind: local}", `{kind: ssh, config: "`+configs+`/{id}"}`)
}

// TestOverSSH drives nodes through sshd on three addresses until the copy is
// done. Meanwhile one host's connections are cut: the way is made anew, and
// nothing counts as stopped.
func TestOverSSH(t *testing.T) {
	c := startCluster(t, lab.Options{})
	hosts, configs := startHosts(t, c)
	op := newOperatorOf(t, c, "payments", overSSH(c, configs, lab.YAMLOptions{Name: "payments", Soak: "5s", PollInterval: "500ms", GoodPolls: 2, StepTimeout: "2m"}))
	before := op.starts(c.BrokerIDs())
	op.drive(4*time.Minute, complete(cluster.Initial))
	for _, h := range hosts {
		if h.Connections() == 0 || h.Connections() > 2 {
			t.Errorf("host %s has %d connections, want 1 or 2", h.Address, h.Connections())
		}
	}
	hosts[0].Cut()
	op.drive(4*time.Minute, complete(cluster.Load))
	for id, n := range op.starts(c.BrokerIDs()) {
		if n-before[id] != 1 {
			t.Errorf("broker %d was started %d times, want once", id, n-before[id])
		}
	}
}

// TestOverSSHWithLinksThatBreak goes to dual write and back; up to there connections
// are cut in the middle of whatever happens. A step may block, since the end of
// what ran is unknown then; retry goes on, and nobody is started once too often.
func TestOverSSHWithLinksThatBreak(t *testing.T) {
	nightly(t)
	c := startCluster(t, lab.Options{})
	hosts, configs := startHosts(t, c)
	op := newOperatorOf(t, c, "payments", overSSH(c, configs, lab.YAMLOptions{Name: "payments", Soak: "5s", PollInterval: "500ms", GoodPolls: 2, StepTimeout: "2m", DrillKinds: []string{"clean"}}))
	originals, before := op.files(c.BrokerIDs()), op.starts(c.BrokerIDs())
	cuts, retries, next := 0, 0, time.Now()
	op.until("dual write is reached although links break", 15*time.Minute, func() bool {
		s := op.status()
		switch {
		case s.RunStatus == status.Blocked:
			t.Logf("blocked: %s", s.Blocked.What)
			if exit, out, errs := op.run("retry", op.name); exit != 0 {
				t.Fatalf("retry exited %d: %s%s", exit, out, errs)
			}
			retries++
		case complete(cluster.DualWrite)(s):
			return true
		case s.RunStatus == status.NeedsApproval:
			op.advance(s)
		case s.RunStatus == status.Executing && time.Now().After(next):
			hosts[cuts%len(hosts)].Cut()
			cuts++
			next = time.Now().Add(2 * time.Second)
		}
		return false
	})
	t.Logf("connections were cut %d times, %d retries", cuts, retries)
	for id, n := range op.starts(c.BrokerIDs()) {
		if n-before[id] != 2 {
			t.Errorf("broker %d was started %d times, want twice", id, n-before[id])
		}
	}
	op.goesBack(cluster.Initial, originals)
}
