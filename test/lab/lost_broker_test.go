package lab_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/gates"
	"migrator/internal/lab"
	"migrator/internal/status"
)

// TestForwardAndBackWithABrokerLostForGood: one of three brokers dies in hybrid
// before its turn and does not come back. After a person accepted it by name
// the others go on to dual-write, and all the way back; nothing acknowledged is
// lost. Started again with its original file it is a broker like any other.
func TestForwardAndBackWithABrokerLostForGood(t *testing.T) {
	c := startCluster(t, lab.Options{})
	op := newOperator(t, c, lab.YAMLOptions{Name: "payments", Soak: "1h", PollInterval: "500ms", GoodPolls: 2, StepTimeout: "3m"})
	originals := op.files(c.BrokerIDs())
	op.drive(4*time.Minute, complete(cluster.Load))
	op.advance(op.status())
	op.untilModes(cluster.KRaft, 1)
	op.rests()
	dead := op.inMode(cluster.ZKMigrating)[1]
	name := fmt.Sprintf("broker-%d", dead)

	if exit, out, errs := op.run("advance", op.name, "--accept", name, "--reason", "it runs"); exit != 3 {
		t.Errorf("a broker that runs was accepted as lost, exit %d: %s%s", exit, out, errs)
	}
	if err := c.Kill(t.Context(), strconv.Itoa(int(dead))); err != nil {
		t.Fatal(err)
	}
	op.showsGate(gates.NoOtherDown, "fail", fmt.Sprintf("broker %d", dead))
	op.until("it is accepted as lost", time.Minute, func() bool {
		exit, _, _ := op.run("advance", op.name, "--accept", name, "--reason", "its machine burnt down")
		return exit == 0
	})
	if exit, out, errs := op.run("resume", op.name); exit != 0 {
		t.Fatalf("resume exited %d: %s%s", exit, out, errs)
	}
	op.acceptingUntil("dual-write", func(s status.Status) bool { return atRest(cluster.DualWrite)(s) })
	live := slices.DeleteFunc(c.BrokerIDs(), func(id int32) bool { return id == dead })
	if got := op.inMode(cluster.KRaft); !slices.Equal(got, live) {
		t.Fatalf("brokers %v run in KRaft mode, want %v", got, live)
	}

	op.whileReverting = func(s status.Status) { op.acceptsUnavailable(s) }
	of := maps.Clone(originals)
	delete(of, dead)
	op.goesBack(cluster.Initial, of)
	if err := os.WriteFile(c.PropertiesPath(dead), []byte(originals[dead]), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context(), strconv.Itoa(int(dead))); err != nil {
		t.Fatal(err)
	}
	op.until("the broker that came back is one like any other", 2*time.Minute, func() bool {
		s := op.status()
		return s.RunStatus == status.NeedsApproval && !slices.ContainsFunc(s.Nodes, func(n status.Node) bool { return n.Lost })
	})
	op.whileReverting = nil
	op.drive(5*time.Minute, complete(cluster.Load))
	if s := op.status(); s.Canary == nil || s.Canary.Lost != 0 {
		t.Errorf("canary %+v", s.Canary)
	}
}

// acceptsUnavailable takes upon itself what a restart makes unavailable while
// a replica is missing for good.
func (op *operator) acceptsUnavailable(s status.Status) {
	op.t.Helper()
	for _, g := range s.Gates {
		if g.Verdict == "fail" && (g.Name == gates.ISRWithout || g.Name == gates.NoOffline) && len(g.Subjects) > 0 {
			op.run("advance", op.name, "--accept", g.Name, "--reason", "one replica is lost")
		}
	}
}

// acceptingUntil goes on, accepting unavailability, until done says so.
func (op *operator) acceptingUntil(what string, done func(status.Status) bool) {
	op.t.Helper()
	last := ""
	op.until(what, 5*time.Minute, func() bool {
		s := op.status()
		if line := fmt.Sprintf("%s: %s", s.RunStatus, s.Headline); line != last {
			op.t.Log(time.Now().Format("15:04:05.0"), line)
			last = line
		}
		if done(s) {
			return true
		}
		if s.RunStatus == status.Blocked {
			op.t.Fatalf("blocked: %+v", *s.Blocked)
		}
		op.acceptsUnavailable(s)
		if s.RunStatus == status.NeedsApproval {
			op.advance(s)
		}
		return false
	})
}
