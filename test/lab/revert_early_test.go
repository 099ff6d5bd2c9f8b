package lab_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"migrator/internal/cluster"
	"migrator/internal/lab"
	"migrator/internal/status"
)

// TestRevertBeforeTheCopy goes back from where KRaft never acted: controllers
// only (route a), and one of three brokers in migration mode (route b). Each
// time the cluster is as it was, and the way forward is open again.
func TestRevertBeforeTheCopy(t *testing.T) {
	c := startCluster(t, lab.Options{})
	op := newOperator(t, c, lab.YAMLOptions{Name: "payments", Soak: "1h", PollInterval: "500ms", GoodPolls: 2, StepTimeout: "2m"})
	originals := op.files(c.BrokerIDs())
	started := op.starts(c.BrokerIDs())

	op.drive(3*time.Minute, complete(cluster.Initial))
	op.goesBack(cluster.Initial, originals)
	if diff := restarted(started, op.starts(c.BrokerIDs())); len(diff) != 0 {
		t.Errorf("brokers %v were restarted to take controllers away", diff)
	}

	op.drive(3*time.Minute, complete(cluster.Initial))
	op.advance(op.status())
	op.untilModes(cluster.ZKMigrating, 1)
	op.rests()
	touched := op.inMode(cluster.ZKMigrating)
	op.goesBack(cluster.Initial, originals)
	if diff := restarted(started, op.starts(c.BrokerIDs())); !slices.Equal(diff, touched) {
		t.Errorf("brokers %v were restarted, only %v had been touched", diff, touched)
	}

	op.drive(3*time.Minute, complete(cluster.Initial))
}

// TestRevertFromACopyThatFailed: a value that is no number among the users'
// quotas halts one active controller after the other in the middle of the copy.
// /controller is held by a KRaft id and nobody acts (route b'): an alarm, and
// the way back is ready. With the value gone the next migration succeeds.
func TestRevertFromACopyThatFailed(t *testing.T) {
	c := startCluster(t, lab.Options{})
	op := newOperator(t, c, lab.YAMLOptions{Name: "payments", Soak: "1h", PollInterval: "500ms", GoodPolls: 2, StepTimeout: "3m"})
	originals := op.files(c.BrokerIDs())
	op.drive(3*time.Minute, complete(cluster.Initial))
	// A broker in ZooKeeper mode passes over a key it does not know, the copy does
	// not. Set once preflight has looked: it would have refused.
	op.plant("/config/users/reports", `{"version":1,"config":{"note":"plenty"}}`)
	op.advance(op.status())
	op.until("the copy that stands still is an alarm", 4*time.Minute, func() bool {
		s := op.status()
		return s.RunStatus == status.Blocked && strings.Contains(s.Blocked.What, "no controller acts")
	})
	t.Log(op.status().Blocked.What)
	op.goesBack(cluster.Initial, originals)

	op.unplant("/config/users/reports")
	op.drive(5*time.Minute, complete(cluster.Load))
	if s := op.status(); s.Canary == nil || s.Canary.Lost != 0 {
		t.Errorf("canary %+v after the way back", s.Canary)
	}
}

// TestRevertBesideABrokerThatDiesAtItsStart: a client's quota that is no number
// ends a broker in ZooKeeper mode at its next start, in whatever mode. The roll
// blocks and says what it died of; the way back meets the same and goes on when
// the cause is gone.
func TestRevertBesideABrokerThatDiesAtItsStart(t *testing.T) {
	nightly(t)
	c := startCluster(t, lab.Options{})
	op := newOperator(t, c, lab.YAMLOptions{Name: "payments", Soak: "1h", PollInterval: "500ms", GoodPolls: 2, StepTimeout: "2m"})
	originals := op.files(c.BrokerIDs())
	op.drive(3*time.Minute, complete(cluster.Initial))
	op.plant("/config/clients/reports", `{"version":1,"config":{"producer_byte_rate":"plenty"}}`)
	op.advance(op.status())
	blocked := func() bool { return op.status().RunStatus == status.Blocked }
	op.until("the broker's death blocks the roll", 2*time.Minute, blocked)
	if what := op.status().Blocked.What; !strings.Contains(what, "plenty") && !strings.Contains(what, "NumberFormatException") {
		t.Errorf("it does not say what the broker died of: %s", what)
	}
	plan := op.wayBack(cluster.Initial)
	if exit, out, errs := op.run("revert", op.name, "--to", "initial", "--digest", plan.Digest, "--confirm", op.name); exit != 0 {
		t.Fatalf("revert exited %d:\n%s%s", exit, out, errs)
	}
	op.until("the way back meets the same cause", 2*time.Minute, blocked)
	t.Log(op.status().Blocked.What)
	op.unplant("/config/clients/reports")
	if exit, out, errs := op.run("retry", op.name); exit != 0 {
		t.Fatalf("retry exited %d:\n%s%s", exit, out, errs)
	}
	op.until("it is back", 4*time.Minute, func() bool {
		s := op.status()
		if s.RunStatus == status.Blocked {
			t.Fatalf("blocked: %+v", *s.Blocked)
		}
		return s.RunStatus == status.NeedsApproval && s.Phase != nil && *s.Phase == cluster.Initial
	})
	op.isPlainZooKeeper(originals)
}

// restarted are the nodes that were started since.
func restarted(before, now map[int32]int) []int32 {
	var ids []int32
	for id, n := range now {
		if n != before[id] {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// inMode are the brokers that run in a mode, by the status.
func (op *operator) inMode(mode cluster.Mode) []int32 {
	op.t.Helper()
	return op.status().BrokersIn(mode)
}

// untilModes waits until so many brokers run in a mode.
func (op *operator) untilModes(mode cluster.Mode, n int) {
	op.t.Helper()
	op.until("brokers run in mode "+string(mode), 3*time.Minute, func() bool { return len(op.inMode(mode)) == n })
}

// rests pauses the plan and waits until it rests between two steps.
func (op *operator) rests() {
	op.t.Helper()
	if exit, out, errs := op.run("pause", op.name); exit != 0 {
		op.t.Fatalf("pause exited %d: %s%s", exit, out, errs)
	}
	op.until("it rests between two brokers", 3*time.Minute, func() bool { return op.status().RunStatus == status.Paused })
}

func (op *operator) plant(path, data string) {
	op.t.Helper()
	if _, err := connectZooKeeper(op.t, op.c).Create(path, []byte(data), 0, zk.WorldACL(zk.PermAll)); err != nil {
		op.t.Fatalf("create %s: %v", path, err)
	}
}

func (op *operator) unplant(path string) {
	op.t.Helper()
	if err := connectZooKeeper(op.t, op.c).Delete(path, -1); err != nil {
		op.t.Fatalf("delete %s: %v", path, err)
	}
}
