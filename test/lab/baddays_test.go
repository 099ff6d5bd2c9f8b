package lab_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/lab"
	"migrator/internal/status"
)

// TestBadDays lives through what goes wrong around a migration that begins:
// each ends in a clear message and a state from which it goes on.
func TestBadDays(t *testing.T) {
	c := startCluster(t, lab.Options{})
	o := lab.YAMLOptions{Name: "payments", Soak: "5s", PollInterval: "500ms", GoodPolls: 2, StepTimeout: "2m"}
	yaml := c.MigrationsYAML(o)

	t.Run("a wrong chroot is a finding of preflight", func(t *testing.T) {
		wrong := writeFile(t, strings.Replace(yaml, c.ZooKeeperConnect(), c.ZooKeeperConnect()+"/kafka", 1))
		exit, out, errs := runMigrator(t.Context(), t, "preflight", "payments", "--config", wrong)
		if exit != 3 || !strings.Contains(out+errs, "/cluster/id") {
			t.Errorf("exit %d, want 3 and /cluster/id named:\n%s%s", exit, out, errs)
		}
	})
	t.Run("a ready cluster passes preflight and shows its plan", func(t *testing.T) {
		path := writeFile(t, yaml)
		if exit, out, errs := runMigrator(t.Context(), t, "preflight", "payments", "--config", path); exit != 0 {
			t.Errorf("preflight exit %d:\n%s%s", exit, out, errs)
		}
		exit, out, errs := runMigrator(t.Context(), t, "plan", "payments", "--config", path, "--phase", "load")
		if exit != 0 || !strings.Contains(out, "+zookeeper.metadata.migration.enable=true") {
			t.Errorf("plan exit %d, want the flag among the added lines:\n%s%s", exit, out, errs)
		}
	})

	op := newOperator(t, c, o)
	foreign := filepath.Join(c.DataDir(3002), "meta.properties")
	if err := os.MkdirAll(filepath.Dir(foreign), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, foreign, "version=1\nnode.id=3002\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\n")
	op.showsGate("controller-folders", "fail", "AAAAAAAAAAAAAAAAAAAAAA")
	if s := op.status(); s.RunStatus == status.NeedsApproval {
		t.Error("a plan is offered while controller 3002's folder belongs to another cluster")
	}
	if err := os.Remove(foreign); err != nil {
		t.Fatal(err)
	}

	t.Run("a second service on the same data folder", func(t *testing.T) {
		exit, out, errs := runMigrator(t.Context(), t, "serve", "--config", op.config, "--data", op.data, "--listen", freeAddress(t))
		if exit != 1 || !strings.Contains(out+errs, op.data) {
			t.Errorf("exit %d, want 1 and the folder named:\n%s%s", exit, out, errs)
		}
	})
	t.Run("a second service with a store of its own executes nothing", func(t *testing.T) {
		second := newOperator(t, c, o)
		second.showsGate("one-driver", "fail", "pid")
		if s := second.status(); s.Plan != nil && s.RunStatus == status.NeedsApproval {
			t.Errorf("the second service offers a plan: %s", s.Headline)
		}
	})

	op.drive(2*time.Minute, func(s status.Status) bool { return s.PhaseComplete && s.RunStatus == status.NeedsApproval })
	op.fileEditedBetweenPlanAndApproval()
	op.fileEditedDuringTheRoll()
	op.stopsInTheMiddleOfAStep()
	op.controllerStoppedByHand()
	op.drive(4*time.Minute, func(s status.Status) bool {
		return s.Phase != nil && *s.Phase == cluster.Load && s.PhaseComplete && s.RunStatus == status.NeedsApproval
	})
	op.losesItsDataFolder()
}

// losesItsDataFolder: with an empty store the facts say where the cluster is,
// and a plan whose first step is to adopt it brings the migration on.
func (op *operator) losesItsDataFolder() {
	op.t.Helper()
	before := op.starts(op.c.BrokerIDs())
	op.kill()
	if err := os.RemoveAll(op.data); err != nil {
		op.t.Fatal(err)
	}
	op.start()
	offered := op.drive(time.Minute, func(s status.Status) bool { return s.RunStatus == status.NeedsApproval })
	if offered.Phase == nil || *offered.Phase != cluster.Load || offered.Plan.Steps[0].Kind != "adopt" {
		op.t.Fatalf("phase %v, first step %+v; want load, adopted", offered.Phase, offered.Plan.Steps[0].Step)
	}
	op.advance(offered)
	op.drive(2*time.Minute, func(s status.Status) bool {
		return s.PhaseComplete && s.RunStatus == status.NeedsApproval && s.Plan.Phase == cluster.Hybrid
	})
	for id, n := range op.starts(op.c.BrokerIDs()) {
		if n != before[id] {
			op.t.Errorf("broker %d was restarted to be adopted", id)
		}
	}
}

// fileEditedBetweenPlanAndApproval: what was read is no longer what would be done.
func (op *operator) fileEditedBetweenPlanAndApproval() {
	op.t.Helper()
	shown := op.status()
	restore := op.edit(2)
	exit, out, errs := op.run("advance", op.name, "--digest", shown.Plan.Digest)
	if exit != 4 {
		op.t.Errorf("approving a plan after a file changed exited %d, want 4:\n%s%s", exit, out, errs)
	}
	restore()
	op.until("the old plan is offered again once the file is as it was", 30*time.Second, func() bool {
		s := op.status()
		return s.RunStatus == status.NeedsApproval && s.Plan.Digest == shown.Plan.Digest
	})
}

// fileEditedDuringTheRoll: the next crash would boot that node into another
// mode, so everything stops until the file is as it was.
func (op *operator) fileEditedDuringTheRoll() {
	op.t.Helper()
	op.advance(op.status())
	var last int32
	op.until("the first batch is open", time.Minute, func() bool {
		s := op.status()
		if s.Step == nil || s.Step.Kind != "roll" {
			return false
		}
		for _, st := range s.Plan.Steps {
			if st.Kind == "roll" && st.State == "planned" {
				last = st.Batch[0]
			}
		}
		return true
	})
	restore := op.edit(last)
	op.until("the changed file blocks", time.Minute, func() bool {
		s := op.status()
		return s.RunStatus == status.Blocked && strings.Contains(s.Blocked.What, "files")
	})
	restore()
	op.until("it goes on by itself once the file is as it was", time.Minute, func() bool { return op.status().RunStatus == status.Executing })
}

// stopsInTheMiddleOfAStep: SIGTERM brings the open batch's nodes back first.
func (op *operator) stopsInTheMiddleOfAStep() {
	op.t.Helper()
	var open []int32
	op.until("a batch is being stopped", 2*time.Minute, func() bool {
		s := op.status()
		if s.Step == nil || s.Step.Kind != "roll" || len(s.Step.Actions) == 0 || s.Step.Actions[0].State != "running" && s.Step.Actions[0].State != "done" {
			return false
		}
		open = s.Step.Batch
		return s.Step.Actions[len(s.Step.Actions)-1].State != "done"
	})
	if err := op.serve.Process.Signal(syscall.SIGTERM); err != nil {
		op.t.Fatal(err)
	}
	if err := <-op.ended; err != nil {
		op.t.Errorf("the service ended with %v after SIGTERM", err)
	}
	op.serve = nil
	for _, id := range open {
		if up, err := op.c.Running(op.t.Context(), strconv.Itoa(int(id))); err != nil || !up {
			op.t.Errorf("broker %d is down after the service ended: running %v, %v", id, up, err)
		}
	}
	op.start()
}

// controllerStoppedByHand: with no majority to spare no batch begins; it goes
// on when the controller is back.
func (op *operator) controllerStoppedByHand() {
	op.t.Helper()
	if err := op.c.Stop(op.t.Context(), "3001"); err != nil {
		op.t.Fatal(err)
	}
	op.until("the stopped controller is named", time.Minute, func() bool {
		for _, g := range op.status().Gates {
			if g.Verdict != "pass" && strings.Contains(g.Evidence, "3001") {
				return true
			}
		}
		return false
	})
	if err := op.c.Start(op.t.Context(), "3001"); err != nil {
		op.t.Fatal(err)
	}
}

// edit appends a line to a node's file and answers how to take it back.
func (op *operator) edit(id int32) (restore func()) {
	op.t.Helper()
	path := op.c.PropertiesPath(id)
	before, err := os.ReadFile(path)
	if err != nil {
		op.t.Fatal(err)
	}
	write(op.t, path, string(before)+"num.io.threads=9\n")
	return func() {
		op.t.Helper()
		write(op.t, path, string(before))
	}
}

// showsGate waits until a gate reads as wanted with the text in its evidence.
func (op *operator) showsGate(gate, verdict, says string) {
	op.t.Helper()
	seen := ""
	op.until("gate "+gate+" reads "+verdict, 30*time.Second, func() bool {
		for _, g := range op.status().Gates {
			if g.Name == gate {
				seen = g.Verdict + ": " + g.Evidence
				if g.Verdict == verdict && strings.Contains(g.Evidence, says) {
					return true
				}
			}
		}
		return false
	})
	op.t.Logf("gate %s %s", gate, seen)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o640); err != nil {
		t.Fatal(err)
	}
}

func writeFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "migrations.yaml")
	write(t, path, content)
	return path
}
