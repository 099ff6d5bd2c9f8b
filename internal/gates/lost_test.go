package gates

import (
	"testing"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/kraftlog"
)

func TestABrokerIsGoneOnlyWhenRegistriesAndItsProcessSaySo(t *testing.T) {
	n := cluster.Node{ID: 3, Role: cluster.Broker}
	none, session := known([]facts.Registration{{ID: 1}}, moment), known([]facts.Registration{{ID: 1}, {ID: 3}}, moment)
	image := func(brokers map[int32]kraftlog.Broker) facts.Fact[facts.Log] {
		return known(facts.Log{Image: kraftlog.Image{Brokers: brokers}}, moment)
	}
	fenced, alive, unread := image(map[int32]kraftlog.Broker{3: {Fenced: true}}), image(map[int32]kraftlog.Broker{3: {}}), unknown[facts.Log]()
	names := known(facts.Metadata{Brokers: []facts.MetadataBroker{{ID: 1}, {ID: 3}}}, moment)
	forgets := known(facts.Metadata{Brokers: []facts.MetadataBroker{{ID: 1}}}, moment)
	down, up, silent := known(false, moment), known(true, moment), facts.Unknown[bool]("its machine does not answer", "running", moment)
	for _, tc := range []struct {
		name    string
		ids     facts.Fact[[]facts.Registration]
		log     facts.Fact[facts.Log]
		md      facts.Fact[facts.Metadata]
		running facts.Fact[bool]
		want    bool
	}{
		{"its session lives", session, fenced, forgets, down, false},
		{"unfenced in the metadata log", none, alive, forgets, down, false},
		{"fenced, but its process hangs", none, fenced, forgets, up, false},
		{"fenced and no process", none, fenced, forgets, down, true},
		{"fenced, a broker in ZooKeeper mode still names it", none, fenced, names, down, true},
		{"fenced, its machine burnt", none, fenced, forgets, silent, true},
		{"never in the metadata log", none, image(nil), forgets, down, true},
		{"no quorum, a broker names it", none, unread, names, down, false},
		{"no quorum, nobody names it", none, unread, forgets, down, true},
		{"no quorum, no broker answers", none, unread, unknown[facts.Metadata](), down, false},
		{"ZooKeeper unreadable", unknown[[]facts.Registration](), fenced, forgets, down, false},
	} {
		s := facts.Snapshot{Registered: tc.ids, Log: tc.log, Metadata: tc.md, Running: map[int32]facts.Fact[bool]{3: tc.running}}
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
