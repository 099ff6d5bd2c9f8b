package lab_test

import (
	"fmt"
	"maps"
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
	nightly(t)
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
	op.drive(5*time.Minute, func(s status.Status) bool {
		op.acceptsUnavailable(s)
		return atRest(cluster.DualWrite)(s)
	})
	live := slices.DeleteFunc(c.BrokerIDs(), func(id int32) bool { return id == dead })
	if got := op.inMode(cluster.KRaft); !slices.Equal(got, live) {
		t.Fatalf("brokers %v run in KRaft mode, want %v", got, live)
	}

	op.whileReverting = op.acceptsUnavailable
	of := maps.Clone(originals)
	delete(of, dead)
	op.goesBack(cluster.Initial, of)
	write(t, c.PropertiesPath(dead), originals[dead])
	op.startsAll([]int32{dead})
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
