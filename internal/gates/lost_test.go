package gates

import (
	"testing"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/kraftlog"
)

func TestABrokerIsGoneOnlyWhenTheClusterAndItsProcessSaySo(t *testing.T) {
	n := cluster.Node{ID: 3, Role: cluster.Broker}
	live := facts.Metadata{Brokers: []facts.MetadataBroker{{ID: 1}, {ID: 3}}}
	left := facts.Metadata{Brokers: []facts.MetadataBroker{{ID: 1}}}
	down, up, silent := known(false, moment), known(true, moment), facts.Unknown[bool]("its machine does not answer", "running", moment)
	for _, tc := range []struct {
		name    string
		md      facts.Fact[facts.Metadata]
		running facts.Fact[bool]
		want    bool
	}{
		{"live and running", known(live, moment), up, false},
		{"live, its process not seen", known(live, moment), silent, false},
		{"live although its process is gone", known(live, moment), down, false},
		{"not live, but its process hangs", known(left, moment), up, false},
		{"not live and no process", known(left, moment), down, true},
		{"not live, its machine burnt", known(left, moment), silent, true},
		{"nothing known of the cluster", facts.Unknown[facts.Metadata]("no broker answers", "metadata", moment), down, false},
	} {
		s := facts.Snapshot{Metadata: tc.md, Running: map[int32]facts.Fact[bool]{3: tc.running}}
		if got, why := Gone(s, n); got != tc.want {
			t.Errorf("%s: gone %t (%s), want %t", tc.name, got, why, tc.want)
		}
	}
}

func TestReplicasOnALostBrokerAreNotMissed(t *testing.T) {
	v := View{Settings: Settings{Inventory: cluster.Inventory{Lost: []cluster.Node{{ID: 3, Role: cluster.Broker}}}}}
	for _, tc := range []struct {
		isr  []int32
		want bool
	}{{[]int32{1, 2}, true}, {[]int32{1}, false}, {[]int32{1, 3}, false}, {[]int32{1, 2, 3}, true}} {
		if got := isrHolds(&v, facts.Partition{Replicas: []int32{1, 2, 3}, ISR: tc.isr}); got != tc.want {
			t.Errorf("ISR %v of 1, 2, 3 with broker 3 lost: holds %t, want %t", tc.isr, got, tc.want)
		}
	}
	if isrHolds(&v, facts.Partition{Replicas: []int32{3}, HasLeader: false}) == false {
		t.Error("a partition whose only replica is lost is held against its batch: no offline partition is another gate's matter")
	}
}

func TestALostBrokerRegisteredAsZooKeeperBrokerHoldsFinalizeBack(t *testing.T) {
	v := finalized(moment)
	v.Settings.Inventory.Lost = []cluster.Node{{ID: 9, Role: cluster.Broker}}
	lg, _ := v.Snapshot.Log.Get()
	lg.Image.Brokers[9] = kraftlog.Broker{MigratingZK: true, Fenced: true}
	v.Snapshot.Log = known(lg, moment)
	if got := judged(t, LostUnregistered, v); got.Result != Fail {
		t.Errorf("reads %s: %s", got.Result, got.Evidence)
	}
	delete(lg.Image.Brokers, 9)
	v.Snapshot.Log = known(lg, moment)
	if got := judged(t, LostUnregistered, v); got.Result != Pass {
		t.Errorf("unregistered, it reads %s: %s", got.Result, got.Evidence)
	}
}
