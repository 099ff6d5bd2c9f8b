package phases

import (
	"strings"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/gates"
	"migrator/internal/kraftlog"
)

// soak plays snapshots, one poll apart, through the clock as the service does.
type soak struct {
	t     *testing.T
	b     *story
	clock Clock
	now   time.Time
}

const poll = 2 * time.Second

func beginSoak(t *testing.T) *soak {
	k := Soak{Phase: cluster.DualWrite, Required: time.Minute, Running: true}
	b := begin(t).at(cluster.DualWrite).approved(built(t, cluster.DualWrite, dualWriting()).Plan).add(KindSoak, Body{Soak: &k}).closed("soak-begin")
	return &soak{t: t, b: b, clock: Clock{Soak: k}, now: moment}
}

// seen is one judged snapshot after a span; it says whether the clock was journalled.
func (k *soak) seen(after time.Duration, j gates.Judgement) bool {
	k.now = k.now.Add(after)
	snap := dualWriting()
	snap.Begun = k.now
	clock, write := Account(k.clock, k.b.s, j, snap, 11*time.Second, k.now)
	k.clock = clock
	if write {
		body := clock.Soak
		k.b.add(KindSoak, Body{Soak: &body})
	}
	return write
}

func good() gates.Judgement { return passing(SoakSet) }

func bad(gate string, r gates.Result) gates.Judgement { return refuses(passing(), SoakSet, gate, r) }

func (k *soak) want(what string, elapsed time.Duration) {
	k.t.Helper()
	if k.clock.Elapsed != elapsed {
		k.t.Errorf("%s: %s counted, want %s", what, k.clock.Elapsed, elapsed)
	}
}

func TestTheSoakCountsOnlySpansBetweenTwoPassingSnapshots(t *testing.T) {
	k := beginSoak(t)
	k.seen(0, good())
	k.want("the first snapshot ends no span", 0)
	k.seen(poll, good())
	k.want("two passing snapshots", poll)
	k.seen(poll, bad(gates.Ensemble, gates.Fail))
	k.want("the span into a failure", poll)
	k.seen(poll, good())
	k.want("the span out of a failure", poll)
	k.seen(poll, good())
	k.want("the next whole span", 2*poll)
}

func TestTimeInWhichNobodyWatchedIsNotCounted(t *testing.T) {
	k := beginSoak(t)
	k.seen(0, good())
	k.seen(poll, good())
	k.seen(time.Minute, good())
	k.want("a gap longer than the limit", poll)
	k.seen(poll, good())
	k.want("after the gap", 2*poll)
	k.seen(0, good())
	k.want("the same snapshot once more", 2*poll)
	k.seen(-poll, good())
	k.want("a snapshot from before", 2*poll)
}

func TestTheSoakRestartsOrPausesByTheGateThatFails(t *testing.T) {
	restarts := map[string]bool{gates.Parity: true, gates.DualWrite: true, gates.SameLeader: true, gates.NoOffline: true, gates.BrokersSteady: true, gates.CanaryHealthy: true}
	for _, gate := range SoakGates() {
		t.Run(gate, func(t *testing.T) {
			k := beginSoak(t)
			k.seen(0, good())
			k.seen(poll, good())
			k.seen(poll, bad(gate, gates.Unknown))
			k.want("an unknown only holds the clock", poll)
			if k.clock.PausedBecause == "" || k.clock.RestartedBecause != "" {
				t.Errorf("unknown: paused %q, restarted %q", k.clock.PausedBecause, k.clock.RestartedBecause)
			}
			write := k.seen(poll, bad(gate, gates.Fail))
			if !restarts[gate] {
				k.want("a failure holds the clock", poll)
				return
			}
			k.want("a failure voids the time so far", 0)
			if !strings.Contains(k.clock.RestartedBecause, gate) || !write {
				t.Errorf("restarted because %q, journalled %v: the reason must survive", k.clock.RestartedBecause, write)
			}
			k.seen(poll, good())
			k.seen(poll, good())
			k.want("it counts again from the next passing span", poll)
			if k.clock.PausedBecause != "" || k.clock.RestartedBecause == "" {
				t.Errorf("paused %q, restarted %q: a person must still read why it began again", k.clock.PausedBecause, k.clock.RestartedBecause)
			}
		})
	}
}

func TestASetThatWasNotJudgedHoldsTheClock(t *testing.T) {
	k := beginSoak(t)
	k.seen(0, good())
	k.seen(poll, gates.Judgement{})
	k.seen(poll, good())
	k.want("nothing counted around an unjudged snapshot", 0)
}

func TestASoakSurvivesTheServiceByItsJournal(t *testing.T) {
	k := beginSoak(t)
	k.seen(0, good())
	for range 15 {
		k.seen(poll, good())
	}
	lived := k.clock.Elapsed
	journalled := k.b.s.Soak.Elapsed
	if lost := lived - journalled; journalled == 0 || lost > 5*time.Second {
		t.Errorf("a kill now loses %s of %s", lost, lived)
	}
	k.clock = Clock{Soak: *k.b.s.Soak} // a new service
	k.seen(poll, good())
	k.want("the time the service was away", journalled)
	k.seen(poll, good())
	k.want("the first span it saw", journalled+poll)
}

func TestTheEndOfASoakIsJournalledAtOnce(t *testing.T) {
	k := beginSoak(t)
	k.seen(0, good())
	for k.clock.Elapsed < k.clock.Required {
		k.seen(poll, good())
	}
	if k.b.s.Soak.Elapsed < k.b.s.Soak.Required {
		t.Errorf("%s of %s journalled although the soak is whole", k.b.s.Soak.Elapsed, k.b.s.Soak.Required)
	}
}

func TestADrillStopsTheClockAndItsElectionIsExpected(t *testing.T) {
	k := beginSoak(t)
	k.seen(0, good())
	k.seen(poll, good())
	k.b.opened("drill-clean")
	if k.seen(poll, good()) {
		t.Error("the clock was journalled during a drill")
	}
	k.seen(poll, bad(gates.SameLeader, gates.Fail))
	k.want("during the drill", poll)
	after := dualWriting()
	edit(&after.Log, func(l *facts.Log) { l.Leader, l.Epoch = 3003, 8 })
	k.clock = AfterDrill(k.clock, after)
	if k.clock.Leader != 3003 || k.clock.LeaderEpoch != 8 {
		t.Errorf("the clock expects leader %d at epoch %d, want the one the drill made", k.clock.Leader, k.clock.LeaderEpoch)
	}
	k.b.done("drill-clean").closed("drill-clean")
	k.seen(poll, good())
	k.seen(poll, good())
	k.want("after the drill", 2*poll)
}

func TestAnUnreadableLogDoesNotForgetTheLeaderOfTheSoak(t *testing.T) {
	k := beginSoak(t)
	k.seen(0, good())
	blind := dualWriting()
	blind.Log = unknown[facts.Log]("no leader")
	if c := AfterDrill(k.clock, blind); c.Leader != 3002 || !c.HasLeader {
		t.Errorf("leader %d, want 3002 kept", c.Leader)
	}
}

func TestARestartTakesTheNewLeaderAndBrokersForTheNextSpan(t *testing.T) {
	k := beginSoak(t)
	k.seen(0, good())
	snap := dualWriting()
	snap.Begun = k.now.Add(poll)
	edit(&snap.Log, func(l *facts.Log) {
		l.Leader, l.Epoch = 3001, 9
		l.Image.Brokers[2] = kraftlog.Broker{ID: 2, Incarnation: "again"}
	})
	c, _ := Account(k.clock, k.b.s, bad(gates.BrokersSteady, gates.Fail), snap, 11*time.Second, snap.Begun)
	if c.Leader != 3001 || c.LeaderEpoch != 9 || c.Incarnations[2] != "again" {
		t.Errorf("the new span begins with leader %d/%d and broker 2 %q; it would restart for ever", c.Leader, c.LeaderEpoch, c.Incarnations[2])
	}
}

func TestNoSoakNoClock(t *testing.T) {
	for name, s := range map[string]State{
		"no plan":              New(),
		"before the soak step": begin(t).at(cluster.DualWrite).approved(built(t, cluster.DualWrite, dualWriting()).Plan).s,
		"after the soak":       begin(t).at(cluster.DualWrite).approved(built(t, cluster.DualWrite, dualWriting()).Plan).closed("soak-begin", "drill-clean", "drill-crash", "soak-end").s,
	} {
		c, write := Account(Clock{LastPass: moment}, s, good(), dualWriting(), time.Minute, moment.Add(poll))
		if c.Elapsed != 0 || write || !c.LastPass.IsZero() {
			t.Errorf("%s: counted %s, journalled %v", name, c.Elapsed, write)
		}
	}
}
