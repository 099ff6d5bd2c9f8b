package lab_test

import (
	"strconv"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/lab"
	"migrator/internal/status"
)

// TestRevertFromHybridAfterElectionsWhileTheServiceIsKilled forces elections
// before the copy, so that the KRaft epoch lies beyond what a ZooKeeper
// controller would reach (KAFKA-20488), goes forward until two of three brokers
// run in KRaft mode, and goes back to plain ZooKeeper while the service is
// killed with SIGKILL again and again.
func TestRevertFromHybridAfterElectionsWhileTheServiceIsKilled(t *testing.T) {
	c := startCluster(t, lab.Options{})
	op := newOperator(t, c, lab.YAMLOptions{Name: "payments", Soak: "1h", PollInterval: "500ms", GoodPolls: 2, StepTimeout: "3m"})
	originals := op.files(c.BrokerIDs())
	op.drive(3*time.Minute, complete(cluster.Initial))
	for range 6 {
		op.forceElection()
	}
	op.drive(4*time.Minute, complete(cluster.Load))
	if e := op.status().Epochs; e == nil || e.Margin == nil || *e.Margin >= 0 {
		t.Fatalf("epochs %+v: the test lost its point, the margin should be negative", e)
	}

	op.advance(op.status())
	op.untilModes(cluster.KRaft, 2)
	op.rests()

	killed := map[string]bool{}
	op.whileReverting = func(s status.Status) {
		if s.Step == nil || killed[s.Step.ID] || op.kills >= 8 {
			return
		}
		killed[s.Step.ID] = true
		op.pause(time.Duration(op.kills) * 150 * time.Millisecond)
		op.kill()
		op.start()
	}
	op.goesBack(cluster.Initial, originals)
	if op.kills < 5 {
		t.Errorf("the service was killed %d times only: the test lost its point", op.kills)
	}
	if s := op.status(); s.Canary == nil || s.Canary.Lost != 0 {
		t.Errorf("canary %+v", s.Canary)
	}
}

// forceElection restarts the active controller.
func (op *operator) forceElection() {
	op.t.Helper()
	leader := op.leader()
	if err := op.c.Stop(op.t.Context(), strconv.Itoa(int(leader))); err != nil {
		op.t.Fatal(err)
	}
	if err := op.c.Start(op.t.Context(), strconv.Itoa(int(leader))); err != nil {
		op.t.Fatal(err)
	}
	op.until("another controller leads and the quorum is whole", time.Minute, func() bool {
		s := op.status()
		return op.leaderOf(s) != 0 && op.leaderOf(s) != leader && s.PhaseComplete
	})
}

func (op *operator) leader() int32 {
	op.t.Helper()
	var id int32
	op.until("a controller leads", time.Minute, func() bool { id = op.leaderOf(op.status()); return id != 0 })
	return id
}

func (op *operator) leaderOf(s status.Status) int32 {
	for _, n := range s.Nodes {
		if n.Role == cluster.Controller && n.Leader {
			return n.ID
		}
	}
	return 0
}
