package phases

import (
	"slices"
	"strings"
	"testing"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/gates"
)

func heldBy(id int32) facts.Snapshot {
	s := provisioned()
	s.Holder = known(facts.Holder{Present: true, ID: id, Ephemeral: true})
	return s
}

func ledBy(id int32) facts.Snapshot {
	s := dualWriting()
	for _, c := range controllers() {
		s.Quorum[c] = known(facts.Quorum{Epoch: 8, Leader: id, HasLeader: true, IsLeader: c == id})
	}
	return s
}

func TestTheHolderOfTheRoleNowComesLast(t *testing.T) {
	load := func(t *testing.T) *story {
		return begin(t).at(cluster.Initial).approved(built(t, cluster.Load, heldBy(2)).Plan)
	}
	finalize := func(t *testing.T) *story {
		return begin(t).at(cluster.DualWrite).approved(built(t, cluster.Finalize, ledBy(3002)).Plan)
	}
	unknownHolder := provisioned()
	unknownHolder.Holder = unknown[facts.Holder]("session expired")
	cutOff := func(s facts.Snapshot, id int32) facts.Snapshot {
		s.Lines = map[int32]facts.Fact[facts.Lines]{id: known(facts.Lines{DeadChannels: []string{"zk-broker-to-controller-alter-partition"}})}
		return s
	}
	noHolder := provisioned()
	noHolder.Holder = known(facts.Holder{})
	twoLeaders := ledBy(3001)
	twoLeaders.Quorum[3002] = known(facts.Quorum{IsLeader: true, Leader: 3002, HasLeader: true})
	tests := []struct {
		name string
		tell func(*testing.T) *story
		snap facts.Snapshot
		step string
		why  string
	}{
		{"the first batch is not the holder", load, heldBy(1), "roll-broker-3", ""},
		{"a broker that lost its way to the controller goes first", load, cutOff(heldBy(2), 3), "roll-broker-3", ""},
		{"but not before the rest when it holds /controller", load, cutOff(heldBy(2), 2), "roll-broker-1", ""},
		{"the holder as planned waits", load, heldBy(2), "roll-broker-1", ""},
		{"a holder that moved between batches waits in its stead", func(t *testing.T) *story { return load(t).closed("roll-broker-1") }, heldBy(3), "roll-broker-2", ""},
		{"a holder that was rolled already holds nothing back", func(t *testing.T) *story { return load(t).closed("roll-broker-1") }, heldBy(1), "roll-broker-3", ""},
		{"an unknown holder is waited for", load, unknownHolder, "", "session expired"},
		{"an absent holder is waited for", load, noHolder, "", "nobody holds /controller"},
		{"the only batch left needs no holder to be known", func(t *testing.T) *story { return load(t).closed("roll-broker-1", "roll-broker-3") }, unknownHolder, "roll-broker-2", ""},
		{"the active controller is last", finalize, ledBy(3001), "roll-controller-3003", ""},
		{"an active controller that moved is last", func(t *testing.T) *story { return finalize(t).closed("roll-controller-3001") }, ledBy(3003), "roll-controller-3002", ""},
		{"two controllers that both claim to lead are no answer", finalize, twoLeaders, "", "more than one controller"},
		{"after the roll comes the copy", func(t *testing.T) *story { return load(t).closed("roll-broker-1", "roll-broker-3", "roll-broker-2") }, unknownHolder, "copy", ""},
		{"after the last step there is none", func(t *testing.T) *story {
			return load(t).closed("roll-broker-1", "roll-broker-3", "roll-broker-2", "copy", "elect")
		}, heldBy(1), "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			up := NextStep(tt.tell(t).s, tt.snap, inventory())
			got := ""
			if up.Step != nil {
				got = up.Step.ID
			}
			if got != tt.step {
				t.Errorf("next step %q (%s), want %q", got, up.Why, tt.step)
			}
			if (up.Why == "") != (tt.why == "") || !strings.Contains(up.Why, tt.why) {
				t.Errorf("why %q, want %q", up.Why, tt.why)
			}
		})
	}
}

// The copy begins the moment the last broker registers: with another one
// missing it would wait, or begin without it.
func TestTheLastBatchOfLoadWaitsForEveryOtherBroker(t *testing.T) {
	b := begin(t).at(cluster.Initial).approved(built(t, cluster.Load, heldBy(2)).Plan)
	has := func() bool {
		return slices.Contains(NextStep(b.s, heldBy(2), inventory()).Before, gates.OthersReady)
	}
	for _, id := range []string{"roll-broker-1", "roll-broker-3"} {
		if has() {
			t.Errorf("%s waits for all others, although more batches follow", id)
		}
		b.closed(id)
	}
	if !has() {
		t.Error("the last batch does not wait for the other brokers")
	}
	b.opened("roll-broker-2")
	sets := Sets(b.s, heldBy(2), inventory(), 3)
	if !slices.ContainsFunc(sets, func(s gates.Set) bool { return slices.Contains(s.Gates, gates.OthersReady) }) {
		t.Error("the opened last batch is not judged again for the other brokers")
	}
	hybrid := begin(t).at(cluster.Load).approved(built(t, cluster.Hybrid, loaded()).Plan).closed("roll-broker-1", "roll-broker-2")
	if slices.Contains(NextStep(hybrid.s, loaded(), inventory()).Before, gates.OthersReady) {
		t.Error("the last batch of hybrid waits for brokers in migration mode")
	}
}

func TestWhatIsJudgedFollowsWhatIsAwaited(t *testing.T) {
	rolling := func() *story {
		return begin(t).at(cluster.Initial).approved(built(t, cluster.Load, heldBy(2)).Plan)
	}
	soaking := func() *story {
		return begin(t).at(cluster.DualWrite).approved(built(t, cluster.DualWrite, dualWriting()).Plan).closed("soak-begin")
	}
	tests := []struct {
		name string
		s    State
		want []string
	}{
		{"before the first phase is known", New(), []string{WatchSet, "done/initial", "enter/initial", "enter/load"}},
		{"at rest: leaving, this plan and the next", begin(t).at(cluster.Initial).s, []string{WatchSet, "done/initial", "enter/initial", "enter/load"}},
		{"at rest after the plan: leaving and the next", begin(t).at(cluster.Initial).approved(built(t, cluster.Initial, atRest()).Plan).planDone().s, []string{WatchSet, "done/initial", "enter/load"}},
		{"at the end: nothing follows", begin(t).at(cluster.Initial).at(cluster.Finalize).s, []string{WatchSet, "done/finalize", "enter/finalize"}},
		{"to adopt: only this plan", begin(t).at(cluster.Load).s, []string{WatchSet, RevertSet, "done/load", "enter/load"}},
		{"between batches: before the next", rolling().s, []string{WatchSet, "step/roll-broker-1/before"}},
		{"a batch just opened: before and after it", rolling().opened("roll-broker-1").s, []string{WatchSet, "step/roll-broker-1/done", "step/roll-broker-1/before"}},
		{"a batch under way: after it", rolling().opened("roll-broker-1").done("stop-1").s, []string{WatchSet, "step/roll-broker-1/done"}},
		{"while it soaks: the soak's gates as well", soaking().opened("drill-clean").done("drill-clean").closed("drill-clean").s, []string{WatchSet, RevertSet, "step/drill-crash/before", SoakSet}},
		{"during a drill: not the soak's gates", soaking().opened("drill-clean").done("drill-clean").s, []string{WatchSet, RevertSet, "step/drill-clean/done"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, set := range Sets(tt.s, heldBy(2), inventory(), 3) {
				got = append(got, set.Key)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("judged %v, want %v", got, tt.want)
			}
		})
	}
}
