package lab_test

import (
	"context"
	"log/slog"
	"os"
	"syscall"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/lab"
	"migrator/internal/orchestrate"
	"migrator/internal/plan"
	"migrator/internal/service"
	"migrator/internal/serving"
	"migrator/internal/status"
)

// deathEnv makes this program the service of its arguments (configuration, data
// folder, address) that dies by SIGKILL at a boundary. The built migrator has
// no such switch.
const deathEnv = "MIGRATOR_TEST_DIE"

// death is the first reach of a boundary by an action of a kind.
type death struct {
	at   orchestrate.Boundary
	kind plan.ActionKind
}

func (d death) String() string { return string(d.at) + " " + string(d.kind) }

// serveUntil is `migrator serve` with a death.
func serveUntil(die string, args []string) error {
	file, err := config.Load(args[0])
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	svc, err := service.Open(service.Options{File: file, DataDir: args[1], Log: log, Failpoint: func(b orchestrate.Boundary, a plan.Action) {
		if (death{b, a.Kind}).String() == die {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // nothing is done between the call and its effect
		}
	}})
	if err != nil {
		return err
	}
	return serving.Run(context.Background(), svc, serving.Options{Listen: args[2], Log: log, Listening: func(string) {}})
}

// TestServiceDiesAtEveryKindOfBoundary lets the service die by SIGKILL before
// an intent, after it, after the effect and after the outcome, of every action
// of a roll and of the way back. Each next one goes on: no node is restarted
// twice for it, and the way back ends where the way forward began, although one
// partition's state lies beyond what the next ZooKeeper controller would reach.
func TestServiceDiesAtEveryKindOfBoundary(t *testing.T) {
	const before, intent, effect, outcome = orchestrate.BeforeIntent, orchestrate.AfterIntent, orchestrate.AfterEffect, orchestrate.AfterOutcome
	c := startCluster(t, lab.Options{})
	op := newOperator(t, c, lab.YAMLOptions{Name: "payments", Soak: "1h", PollInterval: "500ms", GoodPolls: 2, StepTimeout: "3m"})
	originals, started := op.files(c.BrokerIDs()), op.starts(c.BrokerIDs())

	op.dies(death{intent, plan.SaveZnodes}, death{effect, plan.FormatDirs})
	op.drive(3*time.Minute, complete(cluster.Initial))
	op.dies(
		death{before, plan.Stop}, death{intent, plan.Write}, death{effect, plan.Start},
		death{outcome, plan.Stop}, death{before, plan.Write}, death{intent, plan.Start},
		death{effect, plan.Stop}, death{outcome, plan.Write}, death{before, plan.Start}, death{outcome, plan.Start},
		death{effect, plan.ElectPreferred})
	op.drive(5*time.Minute, complete(cluster.Load))
	epoch := op.showsTheEdge(partition{"__migrator_canary", 0})

	op.dies(
		death{outcome, plan.SaveImage}, death{intent, plan.Stop}, death{effect, plan.Stop}, death{before, plan.Archive}, death{effect, plan.Archive},
		death{intent, plan.RevertZnodes}, death{effect, plan.RevertZnodes},
		death{before, plan.Stop}, death{effect, plan.Write}, death{intent, plan.Start},
		death{outcome, plan.Write}, death{effect, plan.Start})
	followed := false
	op.whileReverting = func(s status.Status) {
		if !followed && s.Step != nil && s.Step.Kind == plan.Follow { // it has no action, only gates
			followed = true
			op.kill()
			op.start()
		}
	}
	op.goesBack(cluster.Initial, originals)
	op.dies()
	if e := op.status().Epochs; e == nil || e.ZooKeeper < epoch+3 {
		t.Errorf("epochs %+v: /controller_epoch %d was to be raised to %d, and a broker then took the next one", e, epoch, epoch+2)
	}

	for id, n := range op.starts(c.BrokerIDs()) {
		if got := n - started[id]; got != 2 {
			t.Errorf("broker %d was restarted %d times, want once for load and once back", id, got)
		}
	}
	for id, n := range op.starts(c.ControllerIDs()) {
		if n != 1 {
			t.Errorf("controller %d was started %d times, want once", id, n)
		}
	}
	if s := op.status(); s.Canary == nil || s.Canary.Lost != 0 || s.Canary.Acked == 0 {
		t.Errorf("canary %+v, want records and none lost", s.Canary)
	}
}

// dies gives the service its next deaths. Those given before must be past.
func (op *operator) dies(deaths ...death) {
	op.t.Helper()
	if len(op.deaths) > 0 {
		op.t.Errorf("the service was to die at %v and never got there", op.deaths)
	}
	op.deaths = deaths
	if len(deaths) > 0 {
		op.kill()
		op.start()
	}
}
