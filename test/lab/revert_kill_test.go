package lab_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/lab"
	"migrator/internal/status"
)

// killSeedEnv names the seed of the kills, to have the same ones again.
const killSeedEnv = "KILL_SEED"

// reaper kills the service with SIGKILL once in each step it sees, after a
// while drawn from a printed seed.
type reaper struct {
	op     *operator
	random *rand.Rand
	struck map[string]bool
	limit  int // of kills
}

func newReaper(op *operator) *reaper {
	op.t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv(killSeedEnv); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			op.t.Fatal(err)
		}
	}
	op.t.Logf("the same kills again: %s=%d", killSeedEnv, seed)
	return &reaper{op: op, random: rand.New(rand.NewPCG(seed, 0)), struck: map[string]bool{}}
}

func (r *reaper) see(s status.Status) {
	if s.Step == nil || s.Plan == nil || r.op.kills >= r.limit || r.struck[s.Plan.Digest+s.Step.ID] {
		return
	}
	r.struck[s.Plan.Digest+s.Step.ID] = true
	r.op.pause(time.Duration(r.random.Int64N(int64(2500 * time.Millisecond))))
	r.op.t.Log(time.Now().Format("15:04:05.0"), "killing the service")
	r.op.kill()
	r.op.start()
}

// TestRevertFromHybridAfterElectionsWhileTheServiceIsKilled forces elections
// before the copy, so that the KRaft epoch lies beyond what a ZooKeeper
// controller would reach (KAFKA-20488), goes forward until two of three brokers
// run in KRaft mode, and goes back to plain ZooKeeper. On both ways the service
// is killed at random moments, at least ten times in all.
func TestRevertFromHybridAfterElectionsWhileTheServiceIsKilled(t *testing.T) {
	c := startCluster(t, lab.Options{})
	op := newOperator(t, c, lab.YAMLOptions{Name: "payments", Soak: "1h", PollInterval: "500ms", GoodPolls: 2, StepTimeout: "3m"})
	originals, started := op.files(c.BrokerIDs()), op.starts(c.BrokerIDs())
	reaper := newReaper(op)
	seeing := func(done func(status.Status) bool) func(status.Status) bool {
		return func(s status.Status) bool { reaper.see(s); return done(s) }
	}
	reaper.limit = 2
	op.drive(3*time.Minute, seeing(complete(cluster.Initial)))
	for range 6 {
		op.forceElection()
	}
	reaper.limit = 7
	op.drive(5*time.Minute, seeing(complete(cluster.Load)))
	if e := op.status().Epochs; e == nil || e.Margin == nil || *e.Margin >= 0 {
		t.Fatalf("epochs %+v: the test lost its point, the margin should be negative", e)
	}

	touched := op.twoBrokersInKRaftMode()
	reaper.limit = 15
	op.whileReverting = reaper.see
	op.goesBack(cluster.Initial, originals)
	if op.kills < 10 {
		t.Errorf("the service was killed %d times only, want ten", op.kills)
	}
	if s := op.status(); s.Canary == nil || s.Canary.Lost != 0 || s.Canary.Acked == 0 {
		t.Errorf("canary %+v, want records and none lost", s.Canary)
	}
	for id, n := range op.starts(c.BrokerIDs()) {
		want := 2 // into migration mode, and back
		if slices.Contains(touched, id) {
			want = 4
		}
		if got := n - started[id]; got != want {
			t.Errorf("broker %d was restarted %d times, want %d", id, got, want)
		}
	}
}

// twoBrokersInKRaftMode approves the plan hybrid and pauses it between two
// brokers; it answers those already in KRaft mode.
func (op *operator) twoBrokersInKRaftMode() []int32 {
	op.t.Helper()
	op.advance(op.status())
	op.untilModes(cluster.KRaft, 2)
	op.rests()
	return op.inMode(cluster.KRaft)
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
