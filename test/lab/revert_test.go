package lab_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/connect"
	"migrator/internal/lab"
	"migrator/internal/status"
)

// TestRevertFromLoadAndFromDualWrite goes back from the copy (route c), forward
// again, back from all brokers in KRaft mode (route e), and forward a third
// time to the end of load. Files come back byte for byte, nothing acknowledged
// is lost, elections work.
func TestRevertFromLoadAndFromDualWrite(t *testing.T) {
	c := startCluster(t, lab.Options{})
	op := newOperator(t, c, lab.YAMLOptions{Name: "payments", Soak: "1h", PollInterval: "500ms", GoodPolls: 2, StepTimeout: "3m"})
	originals := op.files(c.BrokerIDs())

	op.drive(4*time.Minute, complete(cluster.Initial))
	op.nothingInTheWay()
	op.drive(4*time.Minute, complete(cluster.Load))
	op.nothingInTheWay()
	op.goesBack(cluster.Initial, originals)
	op.nothingInTheWay()

	op.drive(6*time.Minute, func(s status.Status) bool {
		return s.Phase != nil && *s.Phase == cluster.DualWrite && s.RunStatus == status.NeedsApproval
	})
	op.nothingInTheWay()
	op.goesBack(cluster.Load, nil)
	op.until("load is complete again", time.Minute, func() bool { return complete(cluster.Load)(op.status()) })
	op.goesBack(cluster.Initial, originals)

	op.drive(4*time.Minute, complete(cluster.Load))
	if s := op.status(); s.Canary == nil || s.Canary.Lost != 0 {
		t.Errorf("canary %+v after two ways back", s.Canary)
	}
	op.keptZnodes("load", "hybrid", "revert-to-initial", "revert-to-load")
}

// nothingInTheWay: wherever a migration may rest, preflight raises no false alarm.
func (op *operator) nothingInTheWay() {
	op.t.Helper()
	if exit, out, errs := runMigrator(op.t.Context(), op.t, "preflight", op.name, "--config", op.config); exit != 0 {
		op.t.Errorf("preflight of a cluster at rest exited %d:\n%s%s", exit, out, errs)
	}
}

// keptZnodes: before each of these plans a backup was taken that is whole.
func (op *operator) keptZnodes(plans ...string) {
	op.t.Helper()
	for _, plan := range plans {
		files, err := filepath.Glob(filepath.Join(op.data, "backups", op.name, "*-"+plan+".znodes"))
		if err != nil || len(files) == 0 {
			op.t.Errorf("no backup before the plan %s: %v", plan, err)
			continue
		}
		if exit, out, errs := runMigrator(op.t.Context(), op.t, "backup", "verify", files[0]); exit != 0 {
			op.t.Errorf("backup verify %s exited %d:\n%s%s", files[0], exit, out, errs)
		}
	}
}

func complete(p cluster.Phase) func(status.Status) bool {
	return func(s status.Status) bool {
		return s.Phase != nil && *s.Phase == p && s.PhaseComplete && s.RunStatus == status.NeedsApproval
	}
}

func (op *operator) files(ids []int32) map[int32]string {
	op.t.Helper()
	out := map[int32]string{}
	for _, id := range ids {
		raw, err := os.ReadFile(op.c.PropertiesPath(id))
		if err != nil {
			op.t.Fatal(err)
		}
		out[id] = string(raw)
	}
	return out
}

// goesBack reads the plan back, is refused without digest and name, starts it,
// and checks from outside where it ended.
func (op *operator) goesBack(to cluster.Phase, originals map[int32]string) {
	op.t.Helper()
	plan := op.wayBack(to)
	digest := plan.Digest
	if exit, out, errs := op.run("revert", op.name, "--to", string(to), "--digest", digest, "--confirm", "orders"); exit != 3 {
		op.t.Errorf("a wrong name exited %d:\n%s%s", exit, out, errs)
	}
	if exit, out, errs := op.run("revert", op.name, "--to", string(to), "--digest", digest, "--confirm", op.name); exit != 0 {
		op.t.Fatalf("revert exited %d:\n%s%s", exit, out, errs)
	}
	last := ""
	op.until("the revert has ended", 6*time.Minute, func() bool {
		s := op.status()
		if line := string(s.RunStatus) + ": " + s.Headline; line != last {
			op.t.Log(time.Now().Format("15:04:05.0"), line)
			last = line
		}
		if s.RunStatus == status.Blocked {
			op.t.Fatalf("blocked: %+v", *s.Blocked)
		}
		if op.whileReverting != nil && s.RunStatus == status.Reverting {
			op.whileReverting(s)
		}
		return s.RunStatus != status.Reverting && s.RunStatus != status.Observing && s.Phase != nil && *s.Phase == to
	})
	if to == cluster.Initial {
		op.isPlainZooKeeper(originals)
		if !slices.ContainsFunc(plan.Steps, func(st status.StepView) bool { return st.ID == "follow" }) {
			return // a broker held /controller all the time
		}
		if w := op.status().Window; w == nil || w.Open || w.Seconds == nil || !strings.Contains(w.Text, "was accepted") {
			op.t.Errorf("window without a controller %+v, want one that an accepted metadata write ended", w)
		} else {
			op.t.Logf("there was no controller for %.1f s", *w.Seconds)
		}
	}
}

// wayBack reads the plan back.
func (op *operator) wayBack(to cluster.Phase) *status.Plan {
	op.t.Helper()
	exit, out, errs := op.run("revert", op.name, "--to", string(to), "--json")
	var doc struct{ Plan *status.Plan }
	if err := json.Unmarshal([]byte(out), &doc); exit != 4 || err != nil || doc.Plan == nil {
		op.t.Fatalf("revert --json exited %d, %v:\n%s%s", exit, err, out, errs)
	}
	return doc.Plan
}

func (op *operator) isPlainZooKeeper(originals map[int32]string) {
	op.t.Helper()
	for id, content := range op.files(slices.Sorted(maps.Keys(originals))) {
		if content != originals[id] {
			op.t.Errorf("broker %d's file is not what it was:\n%s", id, content)
		}
	}
	file, err := config.Load(op.config)
	if err != nil {
		op.t.Fatal(err)
	}
	zk, err := connect.Reader(file.Migrations[0].ZooKeeper, 10*time.Second)
	if err != nil {
		op.t.Fatal(err)
	}
	defer zk.Close()
	ctx, cancel := context.WithTimeout(op.t.Context(), 20*time.Second)
	defer cancel()
	holder, err := zk.Controller(ctx)
	if err != nil || !holder.Present || !holder.Ephemeral || holder.KRaftEpoch != nil && *holder.KRaftEpoch >= 0 {
		op.t.Errorf("/controller is %+v, %v; want a broker's", holder, err)
	}
	if m, err := zk.Migration(ctx); err != nil || m.Present {
		op.t.Errorf("/migration is %+v, %v; want none", m, err)
	}
	for _, id := range op.c.BrokerIDs() {
		for _, file := range []string{"server.log", "controller.log", "state-change.log"} {
			raw, err := os.ReadFile(op.c.LogPath(id, file))
			if err == nil && strings.Contains(string(raw), "StateChangeFailedException") {
				op.t.Errorf("broker %d logged a refused election in %s", id, file)
			}
		}
	}
	for _, id := range op.c.ControllerIDs() {
		if up, err := op.c.Running(ctx, strconv.Itoa(int(id))); err != nil || up {
			op.t.Errorf("controller %d runs %v, %v; want it stopped", id, up, err)
		}
	}
}
