package orchestrate_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/gates"
	"migrator/internal/orchestrate"
	"migrator/internal/simcluster"
	"migrator/internal/status"
)

// lostInHybrid is a cluster of which a broker died for good before it was
// rolled to KRaft, with another one done.
func lostInHybrid(t *testing.T) (*simcluster.Cluster, *run, int32) {
	t.Helper()
	c, s := simcluster.New(simcluster.Options{Seed: 1}), simcluster.NewStore()
	r := begin(t, c, s, afterEntry, nil)
	t.Cleanup(r.end)
	var dead int32
	r.approveUntil(t, "one broker of three runs in KRaft mode", func(st status.Status) bool {
		left := slices.DeleteFunc(st.BrokersIn(cluster.ZKMigrating), func(id int32) bool { return st.Step != nil && slices.Contains(st.Step.Batch, id) })
		if len(st.BrokersIn(cluster.KRaft)) != 1 || len(left) == 0 {
			return false
		}
		dead = left[len(left)-1]
		return true
	})
	c.Crash(dead, true)
	time.Sleep(15 * time.Second) // its session ends; the open step goes on
	return c, r, dead
}

// approveUntil approves plans, and accepts what availability gates name after
// each restart, until the condition holds.
func (r *run) approveUntil(t *testing.T, what string, holds func(status.Status) bool) status.Status {
	t.Helper()
	var last status.Status
	for range 40 * 60 * 4 {
		time.Sleep(250 * time.Millisecond)
		last = r.m.Status()
		if holds(last) {
			return last
		}
		for _, g := range last.Gates {
			if g.Verdict == "fail" && (g.Name == gates.ISRWithout || g.Name == gates.NoOffline) {
				r.do(t, orchestrate.Command{Verb: orchestrate.Advance, Accept: g.Name, Reason: "known"})
			}
		}
		switch last.RunStatus {
		case status.NeedsApproval:
			r.do(t, orchestrate.Command{Verb: orchestrate.Advance, Digest: last.Plan.Digest, Confirm: last.Name})
		case status.Blocked:
			r.do(t, orchestrate.Command{Verb: orchestrate.Retry})
		}
	}
	t.Fatalf("never: %s; %s: %s", what, last.RunStatus, last.Headline)
	return last
}

// do gives a command; a refusal is answered, anything else is a failure.
func (r *run) do(t *testing.T, c orchestrate.Command) *orchestrate.Refusal {
	t.Helper()
	c.Actor = "alice"
	err := r.m.Do(t.Context(), c)
	var refused *orchestrate.Refusal
	if err != nil && !errors.As(err, &refused) {
		t.Fatal(err)
	}
	return refused
}

func (r *run) accepts(t *testing.T, what string) *orchestrate.Refusal {
	t.Helper()
	return r.do(t, orchestrate.Command{Verb: orchestrate.Advance, Accept: what, Reason: "its machine burnt down"})
}

func nodeName(id int32) string { return fmt.Sprintf("broker-%d", id) }

func TestForwardGoesOnWithoutABrokerThatAPersonAcceptedAsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r, dead := lostInHybrid(t)
		if why := r.accepts(t, nodeName(4-dead)); why == nil {
			t.Error("a broker that runs was accepted as lost")
		}
		time.Sleep(20 * time.Second)
		if st := r.m.Status(); len(st.BrokersIn(cluster.KRaft)) != 1 {
			t.Fatalf("it went on without a person's word: %s", st.Headline)
		}
		if why := r.accepts(t, nodeName(dead)); why != nil {
			t.Fatalf("refused: %s", why.Message)
		}
		st := r.approveUntil(t, "dual-write", func(st status.Status) bool {
			return st.Phase != nil && *st.Phase == cluster.DualWrite && st.Soak != nil
		})
		if i := slices.IndexFunc(st.Nodes, func(n status.Node) bool { return n.ID == dead && n.Lost }); i < 0 {
			t.Errorf("the status does not show broker %d as lost", dead)
		}
		if st.Plan == nil || slices.ContainsFunc(st.Plan.Steps, func(s status.StepView) bool { return slices.Contains(s.Batch, dead) }) {
			t.Errorf("the plan of dual-write touches the lost broker %d", dead)
		}
		if v := c.Violations(); len(v) > 0 {
			t.Error(v)
		}
	})
}

func TestALostBrokerThatIsStillRegisteredHoldsFinalizeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r, dead := lostInHybrid(t)
		if why := r.accepts(t, nodeName(dead)); why != nil {
			t.Fatalf("refused: %s", why.Message)
		}
		st := r.approveUntil(t, "the gate before finalize is all that is left", func(st status.Status) bool {
			return st.Phase != nil && *st.Phase == cluster.DualWrite && st.Plan == nil && gateReads(st, gates.LostUnregistered, "fail") && gateReads(st, gates.SoakWhole, "pass")
		})
		if st.RunStatus == status.NeedsApproval {
			t.Error("finalize is offered while the lost broker is registered as ZooKeeper broker")
		}
		c.Repair(dead)
		st = r.approveUntil(t, "the broker that came back is rolled, and finalize ends it", func(st status.Status) bool { return st.RunStatus == status.Finished })
		if v := c.Violations(); len(v) > 0 {
			t.Error(v)
		}
	})
}

func gateReads(st status.Status, name, verdict string) bool {
	return slices.ContainsFunc(st.Gates, func(g status.Gate) bool { return g.Name == name && g.Verdict == verdict })
}

func TestBackGoesOnWithoutABrokerThatAPersonAcceptedAsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r, dead := lostInHybrid(t)
		if why := r.accepts(t, nodeName(dead)); why != nil {
			t.Fatalf("refused: %s", why.Message)
		}
		r.do(t, orchestrate.Command{Verb: orchestrate.Pause})
		if err := turnBack(t.Context(), r.m, r.m.Status().Name, cluster.Initial); err != nil {
			t.Fatal(err)
		}
		r.approveUntil(t, "back in initial", func(st status.Status) bool {
			return st.Phase != nil && *st.Phase == cluster.Initial && st.RunStatus != status.Reverting && st.RunStatus != status.Observing
		})
		st := r.m.Status()
		if in := st.BrokersIn(cluster.ZK); len(in) != 2 || slices.Contains(in, dead) {
			t.Errorf("brokers in ZooKeeper mode: %v, want the two live ones", in)
		}
		time.Sleep(10 * time.Second)
		if st = r.m.Status(); st.RunStatus == status.NeedsApproval || !strings.Contains(st.Headline, "reassign") {
			t.Errorf("%s: %s; want a refusal to begin again while partitions name the lost broker", st.RunStatus, st.Headline)
		}
		if v := c.Violations(); len(v) > 0 {
			t.Error(v)
		}
	})
}
