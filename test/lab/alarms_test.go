package lab_test

import (
	"fmt"
	"os"
	"regexp"
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

// TestAlarms brings about, on one cluster, what must stop everything: another
// quorum's /migration before and after the controllers start, a controller that
// migrations.yaml does not have, and old controllers started after a revert.
func TestAlarms(t *testing.T) {
	nightly(t)
	c := startCluster(t, lab.Options{Controllers: 4})
	o := lab.YAMLOptions{Name: "payments", Soak: "1h", PollInterval: "500ms", GoodPolls: 1, StepTimeout: "3m"}
	yaml := c.MigrationsYAML(o)
	stranger := regexp.MustCompile(`(?m)^ *- \{id: 3004, .*port: (\d+), .*\n`)
	port := stranger.FindStringSubmatch(yaml)[1]
	op := newOperatorOf(t, c, o.Name, stranger.ReplaceAllString(yaml, ""))
	originals := op.files(c.BrokerIDs())
	conn := connectZooKeeper(t, c)

	op.refusesLeftover(conn)
	op.drive(3*time.Minute, complete(cluster.Initial))
	op.alarmsAtLeftover(conn, originals)
	op.drive(5*time.Minute, complete(cluster.Load))
	migration, _, err := conn.Get("/migration")
	if err != nil {
		t.Fatal(err)
	}
	op.alarmsAtStranger(port, originals)
	op.alarmsAtOldControllers(conn, migration, originals)
}

// refusesLeftover: a fresh quorum would skip the copy and delete every topic.
func (op *operator) refusesLeftover(conn *zk.Conn) {
	op.t.Helper()
	if _, err := conn.Create("/migration", []byte(leftover), 0, zk.WorldACL(zk.PermAll)); err != nil {
		op.t.Fatal(err)
	}
	exit, out, errs := runMigrator(op.t.Context(), op.t, "preflight", op.name, "--config", op.config)
	if exit != 3 || !strings.Contains(out, "MIG202 BLOCK") || !strings.Contains(out, "up to offset 244") || !strings.Contains(out, "every topic is deleted") {
		op.t.Errorf("preflight exited %d, want 3 with MIG202, the offset and what would be lost:\n%s%s", exit, out, errs)
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

// alarmsAtStranger: a controller that migrations.yaml does not have, and that
// takes itself for a voter, registers with the quorum. Its registration stays in the log for good, but once it is
// stopped nothing is held up.
func (op *operator) alarmsAtStranger(port string, originals map[int32]string) {
	op.t.Helper()
	raw, err := os.ReadFile(op.c.PropertiesPath(3001))
	if err != nil {
		op.t.Fatal(err)
	}
	text := strings.ReplaceAll(strings.ReplaceAll(string(raw), "/nodes/3001/", "/nodes/3004/"), "node.id=3001", "node.id=3004")
	text = regexp.MustCompile(`(?m)^((?:advertised\.)?listeners=.*:)\d+$`).ReplaceAllString(text, "${1}"+port)
	text = regexp.MustCompile(`(?m)^(controller\.quorum\.voters=.*)$`).ReplaceAllString(text, "${1},3004@127.0.0.1:"+port)
	write(op.t, op.c.PropertiesPath(3004), text)
	id, _, err := connectZooKeeper(op.t, op.c).Get("/cluster/id")
	if err != nil {
		op.t.Fatal(err)
	}
	clusterID := regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(string(id))[1]
	if exit, out, err := lab.Control(op.t.Context(), op.c.Dir(), "format", "3004", "--cluster-id="+clusterID, "--release-version=3.9", "--config", op.c.PropertiesPath(3004)); exit != 0 {
		op.t.Fatalf("format 3004: exit %d, %s, %v", exit, out, err)
	}
	op.startsAll([]int32{3004})
	op.blocksFor("inventory", "3004", "")
	op.stopsAll([]int32{3004})
	op.until("the block ends by itself", time.Minute, func() bool { return op.status().RunStatus != status.Blocked })
	op.goesBack(cluster.Initial, originals)
}

// alarmsAtOldControllers: two old controllers, a majority of their quorum, are
// started by hand after a revert. Without /migration they leave /controller to
// the broker, and no plan is offered beside them; with the old /migration back
// they take it, and the way back frees it once more.
func (op *operator) alarmsAtOldControllers(conn *zk.Conn, migration []byte, originals map[int32]string) {
	op.t.Helper()
	old := []int32{3001, 3002}
	for _, id := range old {
		if err := os.Rename(op.archived(id), op.c.DataDir(id)); err != nil {
			op.t.Fatal(err)
		}
	}
	op.startsAll(old)
	op.until("the old controllers make /migration anew", time.Minute, func() bool {
		there, _, err := conn.Exists("/migration")
		return err == nil && there
	})
	op.showsGate("controllers-not-running", "fail", "3001 runs although a revert stopped it for good")
	if s := op.status(); s.RunStatus == status.NeedsApproval {
		op.t.Errorf("a plan is offered beside old controllers: %s", s.Headline)
	}
	op.stopsAll(old)
	if _, err := conn.Set("/migration", migration, -1); err != nil {
		op.t.Fatal(err)
	}
	op.startsAll(old)
	op.blocksFor("controller-free", "is held by KRaft controller", "Somebody started an old controller.")
	op.stopsAll(old)
	op.goesBack(cluster.Initial, originals)
}

func (op *operator) startsAll(ids []int32) {
	op.t.Helper()
	for _, id := range ids {
		if err := op.c.Start(op.t.Context(), strconv.Itoa(int(id))); err != nil {
			op.t.Fatal(err)
		}
	}
}

func (op *operator) stopsAll(ids []int32) {
	op.t.Helper()
	for _, id := range ids {
		if err := op.c.Stop(op.t.Context(), strconv.Itoa(int(id))); err != nil {
			op.t.Fatal(err)
		}
	}
}

// archived is the newest folder of a controller that a revert put aside.
func (op *operator) archived(id int32) string {
	op.t.Helper()
	for attempt := 9; attempt > 0; attempt-- {
		dir := fmt.Sprintf("%s.migrator-reverted-%d", op.c.DataDir(id), attempt)
		if _, err := os.Stat(dir); err == nil {
			return dir
		}
	}
	op.t.Fatalf("controller %d has no folder put aside", id)
	return ""
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
