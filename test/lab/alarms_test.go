package lab_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"migrator/internal/cluster"
	"migrator/internal/lab"
	"migrator/internal/status"
)

// leftover is the /migration of a quorum that is no more.
const leftover = `{"version":0,"kraft_metadata_offset":244,"kraft_controller_id":3001,"kraft_metadata_epoch":1,"kraft_controller_epoch":1}`

// TestAlarms brings about what must stop everything: another quorum's
// /migration, before the controllers start and while they run.
func TestAlarms(t *testing.T) {
	c := startCluster(t, lab.Options{})
	o := lab.YAMLOptions{Name: "payments", Soak: "1h", PollInterval: "500ms", GoodPolls: 1, StepTimeout: "3m"}
	op := newOperator(t, c, o)
	originals := op.files(c.BrokerIDs())
	conn := connectZooKeeper(t, c)

	op.refusesLeftover(conn)
	op.drive(3*time.Minute, complete(cluster.Initial))
	op.alarmsAtLeftover(conn, originals)
}

// refusesLeftover: a fresh quorum would skip the copy and delete every topic.
func (op *operator) refusesLeftover(conn *zk.Conn) {
	op.t.Helper()
	if _, err := conn.Create("/migration", []byte(leftover), 0, zk.WorldACL(zk.PermAll)); err != nil {
		op.t.Fatal(err)
	}
	exit, out, errs := runMigrator(op.t.Context(), op.t, "preflight", op.name, "--config", op.config)
	if exit != 3 || !strings.Contains(out, "MIG113 FAIL") || !strings.Contains(out, "at offset 244") || !strings.Contains(out, "every topic is deleted") {
		op.t.Errorf("preflight exited %d, want 3 with MIG113, the offset and what would be lost:\n%s%s", exit, out, errs)
	}
	op.showsGate("migration-absent", "fail", "at offset 244")
	if s := op.status(); s.RunStatus == status.NeedsApproval {
		op.t.Errorf("a plan is offered: %s", s.Headline)
	}
	if err := conn.Delete("/migration", -1); err != nil {
		op.t.Fatal(err)
	}
}

// alarmsAtLeftover: seen beside running controllers there is one remedy, to
// stop them now; done, nothing is lost and the way leads back.
func (op *operator) alarmsAtLeftover(conn *zk.Conn, originals map[int32]string) {
	op.t.Helper()
	if _, err := conn.Set("/migration", []byte(leftover), -1); err != nil {
		op.t.Fatal(err)
	}
	op.blocksFor("migration-is-ours", "offset 244", "Stop all controllers now.")
	op.stopsAll([]int32{3001, 3002, 3003})
	op.goesBack(cluster.Initial, originals)
}

func (op *operator) stopsAll(ids []int32) {
	op.t.Helper()
	for _, id := range ids {
		if err := op.c.Stop(op.t.Context(), strconv.Itoa(int(id))); err != nil {
			op.t.Fatal(err)
		}
	}
}

// blocksFor waits until a gate's alarm blocks, with its words.
func (op *operator) blocksFor(gate, says, todo string) {
	op.t.Helper()
	var s status.Status
	op.until("the alarm "+gate+" blocks", time.Minute, func() bool { s = op.status(); return s.RunStatus == status.Blocked })
	if b := s.Blocked; !strings.HasPrefix(b.What, gate+":") || !strings.Contains(b.What, says) || !strings.HasPrefix(b.ToDo, todo) {
		op.t.Errorf("blocked by %+v, want gate %s saying %q, to do %q", *b, gate, says, todo)
	}
	op.t.Logf("blocked: %+v", *s.Blocked)
}
