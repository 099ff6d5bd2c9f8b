package lab_test

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/lab"
	"migrator/internal/status"
)

// TestRevertAfterAFlagWasTakenAwayAndAfterTheDataFolderIsLost: in dual-write
// somebody restarts a controller without the migration flag, so that the next
// election could end it (route h); the way back to load puts the flag back
// first. Forward again, the data folder is lost: the cluster is adopted and
// goes back to plain ZooKeeper with the files that were kept on the nodes.
func TestRevertAfterAFlagWasTakenAwayAndAfterTheDataFolderIsLost(t *testing.T) {
	nightly(t)
	c := startCluster(t, lab.Options{})
	op := newOperator(t, c, lab.YAMLOptions{Name: "payments", Soak: "1h", PollInterval: "500ms", GoodPolls: 2, StepTimeout: "3m"})
	originals := op.files(c.BrokerIDs())

	op.drive(8*time.Minute, atRest(cluster.DualWrite))
	leader := op.leader()
	follower := c.ControllerIDs()[0]
	if follower == leader {
		follower = c.ControllerIDs()[1]
	}
	led := op.startsOf(leader)
	op.losesItsFlag(follower)
	op.until("the missing flag is an alarm that names its controller", time.Minute, func() bool {
		s := op.status()
		return s.RunStatus == status.Blocked && strings.Contains(s.Blocked.What, strconv.Itoa(int(follower)))
	})
	t.Log(op.status().Blocked.What, "|", op.status().Blocked.ToDo)
	op.goesBack(cluster.Load, nil)
	op.until("load is complete again", time.Minute, func() bool { return complete(cluster.Load)(op.status()) })
	if value, _ := op.property(follower, "zookeeper.metadata.migration.enable"); value != "true" {
		t.Errorf("controller %d has the flag %q in its file, want true", follower, value)
	}
	if op.startsOf(leader) != led {
		t.Errorf("the leader %d was restarted while a controller had no flag", leader)
	}

	op.drive(6*time.Minute, atRest(cluster.DualWrite))
	op.kill()
	if err := os.RemoveAll(op.data); err != nil {
		t.Fatal(err)
	}
	op.start()
	offered := op.drive(time.Minute, func(s status.Status) bool { return s.RunStatus == status.NeedsApproval })
	if offered.Plan.Steps[0].Kind != "adopt" {
		t.Fatalf("the first step is %s, want adopt", offered.Plan.Steps[0].Kind)
	}
	op.goesBack(cluster.Initial, originals)
	op.drive(4*time.Minute, complete(cluster.Load))
	if s := op.status(); s.Canary == nil || s.Canary.Lost != 0 {
		t.Errorf("canary %+v", s.Canary)
	}
}

func atRest(p cluster.Phase) func(status.Status) bool {
	return func(s status.Status) bool {
		return s.Phase != nil && *s.Phase == p && s.RunStatus == status.NeedsApproval
	}
}

func (op *operator) startsOf(id int32) int {
	op.t.Helper()
	return op.starts([]int32{id})[id]
}

// losesItsFlag is what a configuration tool does that knows nothing of us.
func (op *operator) losesItsFlag(id int32) {
	op.t.Helper()
	path := op.c.PropertiesPath(id)
	raw, err := os.ReadFile(path)
	if err != nil {
		op.t.Fatal(err)
	}
	lines := slices.DeleteFunc(strings.SplitAfter(string(raw), "\n"), func(l string) bool {
		return strings.HasPrefix(l, "zookeeper.metadata.migration.enable")
	})
	write(op.t, path, strings.Join(lines, ""))
	op.stopsAll([]int32{id})
	op.startsAll([]int32{id})
}
