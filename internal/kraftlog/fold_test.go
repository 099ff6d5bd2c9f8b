package kraftlog

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twmb/franz-go/pkg/kbin"

	"migrator/internal/cluster"
)

// fold applies one batch from offset 0 in epoch 4, all below the high watermark.
func fold(t *testing.T, records ...rec) *Fold {
	t.Helper()
	f := NewFold()
	if _, err := f.ApplyBatches(batchOf(0, 4, records...), int64(len(records))); err != nil {
		t.Fatalf("apply: %v", err)
	}
	return f
}

func text(s string) *string { return &s }

func leaderChange() rec { return rec{control: controlLeaderChange, value: []byte{0, 0}} }

func TestBrokerRegistrations(t *testing.T) {
	registered := Broker{
		ID: 1, Epoch: 10, Incarnation: uuidText(id(1)), MigratingZK: true, Fenced: true, Rack: text("r1"),
		Endpoints: []Endpoint{{Name: "PLAINTEXT", Host: "kafka-1", Port: 9092}},
	}
	with := func(change func(*Broker)) map[int32]Broker {
		b := registered
		change(&b)
		return map[int32]Broker{1: b}
	}
	first := registerBroker(1, 10, true, true)
	tests := []struct {
		name    string
		records []rec
		want    map[int32]Broker
	}{
		{"a migrating broker registers fenced", []rec{first}, with(func(*Broker) {})},
		{"an unfence record unfences it", []rec{first, nodeRecord(8, 1, 10)}, with(func(b *Broker) { b.Fenced = false })},
		{"a fence record fences it again", []rec{first, nodeRecord(8, 1, 10), nodeRecord(7, 1, 10)}, with(func(*Broker) {})},
		{"a registration change unfences it", []rec{first, changeBroker(1, 10, -1, 0)}, with(func(b *Broker) { b.Fenced = false })},
		{"a registration change starts its shutdown and leaves the fence alone", []rec{first, changeBroker(1, 10, 0, 1)}, with(func(b *Broker) { b.InControlledShutdown = true })},
		{
			"a new registration as KRaft broker replaces the old one",
			[]rec{first, changeBroker(1, 10, -1, 1), registerBroker(1, 12, false, true)},
			with(func(b *Broker) { b.Epoch, b.MigratingZK, b.RegisteredAt = 12, false, 2 }),
		},
		{"an old record version has neither flag", []rec{registerBrokerV0(1, 10)}, with(func(b *Broker) { b.MigratingZK, b.Rack = false, nil })},
		{"an unregistered broker is gone", []rec{first, nodeRecord(1, 1, 10)}, map[int32]Broker{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, fold(t, test.records...).Image().Brokers); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPartitions(t *testing.T) {
	base := []rec{topic("orders", 1), partition(1, 0, 2, 5, []int32{2, 3}, []int32{3, 2})}
	want := Partition{Replicas: []int32{2, 3}, ISR: []int32{3, 2}, Adding: []int32{7}, Removing: []int32{}, Leader: 2, HasLeader: true, LeaderEpoch: 5}
	with := func(change func(*Partition)) map[string]Topic {
		p := want
		change(&p)
		return map[string]Topic{"orders": {ID: uuidText(id(1)), Partitions: map[int32]Partition{0: p}}}
	}
	isr := func(list ...int32) tagged { return tagged{0, int32s(nil, list...)} }
	leader := func(n int32) tagged { return tagged{1, kbin.AppendInt32(nil, n)} }
	tests := []struct {
		name    string
		records []rec
		want    map[string]Topic
	}{
		{"a new partition is as recorded", nil, with(func(*Partition) {})},
		{"a shrunk ISR raises the partition epoch only", []rec{changePartition(1, 0, isr(2))}, with(func(p *Partition) { p.ISR, p.PartitionEpoch = []int32{2}, 1 })},
		{"a new leader raises both epochs", []rec{changePartition(1, 0, leader(3))}, with(func(p *Partition) { p.Leader, p.LeaderEpoch, p.PartitionEpoch = 3, 6, 1 })},
		{"the same leader named again raises both epochs too", []rec{changePartition(1, 0, leader(2))}, with(func(p *Partition) { p.LeaderEpoch, p.PartitionEpoch = 6, 1 })},
		{"without a leader it says so", []rec{changePartition(1, 0, leader(-1))}, with(func(p *Partition) { p.Leader, p.HasLeader, p.LeaderEpoch, p.PartitionEpoch = 0, false, 6, 1 })},
		{"a null array means no change", []rec{changePartition(1, 0, tagged{0, []byte{0}})}, with(func(p *Partition) { p.PartitionEpoch = 1 })},
		{"an empty array empties it", []rec{changePartition(1, 0, tagged{4, int32s(nil)})}, with(func(p *Partition) { p.Adding, p.PartitionEpoch = []int32{}, 1 })},
		{"tags of newer features are passed over", []rec{changePartition(1, 0, isr(2), tagged{6, int32s(nil, 3)})}, with(func(p *Partition) { p.ISR, p.PartitionEpoch = []int32{2}, 1 })},
		{"a removed topic is gone", []rec{removeTopic(1)}, map[string]Topic{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			records := append(append([]rec{}, base...), test.records...)
			if diff := cmp.Diff(test.want, fold(t, records...).Image().Topics); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConfigsFeaturesControllersAndCounts(t *testing.T) {
	image := fold(t,
		leaderChange(),
	).Image()
	if !image.HasOffset || image.Offset != 0 || image.HasState {
		t.Errorf("a lone leader change is offset 0 and no state: %+v", image)
	}
	image = fold(t,
		topic("orders", 1), topic("gone", 2),
		config(2, "orders", "retention.ms", text("5")), config(2, "orders", "cleanup.policy", text("compact")),
		config(2, "orders", "cleanup.policy", nil), config(2, "gone", "retention.ms", text("5")), removeTopic(2),
		config(4, "1", "log.cleaner.threads", text("2")), config(4, "", "min.insync.replicas", text("2")),
		config(4, "1", "listener.name.x.ssl.keystore.password", text("hunter2")),
		config(16, "metrics", "interval.ms", text("1")),
		feature("metadata.version", 21), feature("kraft.version", 1), feature("kraft.version", 0),
		registerController(3001, true), migrationState(2), empty(20), empty(20), empty(99),
	).Image()
	want := Image{
		Offset: 18, HasOffset: true, LastChange: 18, HasChange: true, Epoch: 4, State: cluster.StatePreMigration, HasState: true,
		Brokers:        map[int32]Broker{},
		Controllers:    map[int32]Controller{3001: {ID: 3001, Incarnation: uuidText(id(3001 & 0xff)), ZkMigrationReady: true, Endpoints: []Endpoint{{Name: "CONTROLLER", Host: "kafka-c", Port: 9093}}, Offset: 14}},
		Features:       map[string]int16{"metadata.version": 21},
		Topics:         map[string]Topic{"orders": {ID: uuidText(id(1)), Partitions: map[int32]Partition{}}},
		TopicConfigs:   map[string]map[string]string{"orders": {"retention.ms": "5"}},
		BrokerConfigs:  map[int32]map[string]string{1: {"log.cleaner.threads": "2", "listener.name.x.ssl.keystore.password": Hidden}},
		BrokerDefaults: map[string]string{"min.insync.replicas": "2"},
		Other:          map[string]int{"NoOp": 2, "unknown-99": 1, "Config of resource type 16": 1},
	}
	if diff := cmp.Diff(want, image); diff != "" {
		t.Error(diff)
	}
}

func TestMigrationStateIsKeptByName(t *testing.T) {
	for number, want := range map[int8]cluster.MigrationState{
		0: cluster.StateNone, 1: cluster.StateMigration, 2: cluster.StatePreMigration, 3: cluster.StatePostMigration, 4: cluster.StateZK,
	} {
		if got := fold(t, migrationState(number)).Image(); got.State != want || !got.HasState {
			t.Errorf("state %d is %s, want %s", number, got.State, want)
		}
	}
}

func TestTransactionsCountOnlyWhenEnded(t *testing.T) {
	held := []rec{feature("metadata.version", 21), beginTransaction("ZK Migration"), topic("orders", 1), migrationState(1)}
	tests := []struct {
		name    string
		more    []rec
		offset  int64
		pending int
		topics  int
	}{
		{"while it is open nothing of it is a fact", nil, 0, 2, 0},
		{"a new leader in the middle changes nothing", []rec{empty(20)}, 0, 3, 0},
		{"ended, all of it is", []rec{empty(24)}, 4, 0, 1},
		{"aborted, none of it is", []rec{empty(25)}, 4, 0, 0},
		{"records after the end count at once", []rec{empty(24), topic("b", 2)}, 5, 0, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			image := fold(t, append(append([]rec{}, held...), test.more...)...).Image()
			if image.Offset != test.offset || image.Pending != test.pending || len(image.Topics) != test.topics {
				t.Errorf("offset %d, pending %d, topics %d; want %d, %d, %d", image.Offset, image.Pending, len(image.Topics), test.offset, test.pending, test.topics)
			}
			if image.HasState != (test.topics > 0) {
				t.Errorf("state known: %v", image.HasState)
			}
		})
	}
}

func TestHighWatermarkCutsABatch(t *testing.T) {
	f := NewFold()
	log := batchOf(0, 4, topic("a", 1), topic("b", 2), topic("c", 3))
	next, err := f.ApplyBatches(log, 2)
	if err != nil || next != 2 || len(f.Image().Topics) != 2 {
		t.Fatalf("next %d, %d topics, %v; want 2, 2", next, len(f.Image().Topics), err)
	}
	// Kafka sends whole batches, so the same one comes again.
	next, err = f.ApplyBatches(log, 3)
	if err != nil || next != 3 || len(f.Image().Topics) != 3 {
		t.Fatalf("next %d, %d topics, %v; want 3, 3", next, len(f.Image().Topics), err)
	}
}

func TestTornLastBatchIsLeftForTheNextFetch(t *testing.T) {
	first, second := batchOf(0, 4, topic("a", 1)), batchOf(1, 4, topic("b", 2))
	for cut := range len(second) {
		f := NewFold()
		next, err := f.ApplyBatches(append(bytes.Clone(first), second[:cut]...), 2)
		if err != nil || next != 1 {
			t.Fatalf("cut at %d: next %d, %v; want 1", cut, next, err)
		}
	}
}

func TestImagesDoNotChangeLater(t *testing.T) {
	f := fold(t, topic("a", 1), partition(1, 0, 2, 5, []int32{2}, []int32{2}), config(2, "a", "k", text("1")), config(4, "1", "k", text("1")))
	before := f.Image()
	wantTopics, wantConfig := maps.Clone(before.Topics["a"].Partitions), maps.Clone(before.TopicConfigs["a"])
	_, err := f.ApplyBatches(batchOf(4, 5,
		changePartition(1, 0, tagged{1, kbin.AppendInt32(nil, -1)}), config(2, "a", "k", text("2")), config(4, "1", "k", text("2")),
		partition(1, 1, 2, 5, []int32{2}, []int32{2}), topic("b", 2)), 9)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantTopics, before.Topics["a"].Partitions); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(wantConfig, before.TopicConfigs["a"]); diff != "" {
		t.Error(diff)
	}
	if len(before.Topics) != 1 || before.BrokerConfigs[1]["k"] != "1" {
		t.Errorf("the image changed: %+v", before)
	}
	after := f.Image()
	if after.Topics["a"].Partitions[0].HasLeader || len(after.Topics) != 2 || after.TopicConfigs["a"]["k"] != "2" || after.Epoch != 5 {
		t.Errorf("the next image lacks the change: %+v", after)
	}
}

func TestSnapshotThenLog(t *testing.T) {
	f := fold(t, topic("old", 9))
	snapshot := snapshotOf(feature("metadata.version", 21), migrationState(1), topic("a", 1), partition(1, 0, 2, 5, []int32{2}, []int32{2}), registerBroker(1, 7, false, false))
	if err := f.ApplySnapshot(30, 6, snapshot); err != nil {
		t.Fatal(err)
	}
	image := f.Image()
	if image.Offset != 29 || image.Epoch != 6 || f.Next() != 30 || len(image.Topics) != 1 || image.Brokers[1].RegisteredAt != 29 {
		t.Fatalf("snapshot gave %+v, next %d", image, f.Next())
	}
	if _, err := f.ApplyBatches(batchOf(30, 7, topic("b", 2)), 31); err != nil {
		t.Fatal(err)
	}
	if image := f.Image(); image.Offset != 30 || len(image.Topics) != 2 || image.Epoch != 7 {
		t.Errorf("after the log: %+v", image)
	}
}

func TestIncompleteSnapshotLeavesTheFoldAlone(t *testing.T) {
	whole := snapshotOf(topic("a", 1))
	for cut := range len(whole) {
		f := fold(t, topic("old", 9))
		if err := f.ApplySnapshot(30, 6, whole[:cut]); err == nil {
			t.Fatalf("cut at %d: no error", cut)
		}
		if _, ok := f.Image().Topics["old"]; !ok || f.Next() != 1 {
			t.Fatalf("cut at %d: the fold changed", cut)
		}
	}
}

func TestFaultsNameTheOffset(t *testing.T) {
	compressed := batchOf(3, 4, topic("a", 1))
	compressed[22] |= 2
	flipped := batchOf(3, 4, topic("a", 1))
	flipped[len(flipped)-2] ^= 1
	old := batchOf(3, 4, topic("a", 1))
	old[16] = 1
	one := func(r rec) []byte { return batchOf(3, 4, r) }
	tests := []struct {
		name  string
		bytes []byte
		want  string
	}{
		{"compressed batch", seal(compressed), "codec 2"},
		{"flipped bit", flipped, "checksum"},
		{"old batch format", old, "format version 1"},
		{"jump in the log", batchOf(5, 4, topic("a", 1)), "jumps from offset 3 to 5"},
		{"frame version", one(rec{value: []byte{2, 20, 0, 0}}), "frame version 2"},
		{"record version of a newer Kafka", one(rec{value: noTags(frame(0, 4))}), "RegisterBroker version 4"},
		{"cut off record", one(rec{value: frame(2, 0)}), "Topic is cut off"},
		{"bytes too many", one(rec{value: append(noTags(kbin.AppendInt8(frame(21, 0), 1)), 9)}), "ZkMigrationState is cut off or malformed"},
		{"state without a name", one(migrationState(9)), "migration state 9"},
		{"no value", one(rec{}), "no value"},
		{"fence of an unknown broker", one(nodeRecord(7, 5, 1)), "broker 5, which is not registered"},
		{"unfence at another epoch", batchOf(3, 4, registerBroker(5, 2, true, true), nodeRecord(8, 5, 1)), "registered at epoch 2"},
		{"partition of an unknown topic", one(partition(8, 0, 1, 1, nil, nil)), "does not exist"},
		{"change of an unknown partition", batchOf(3, 4, topic("a", 1), changePartition(1, 7)), "does not exist"},
		{"end without a transaction", one(empty(24)), "EndTransaction without"},
		{"transaction within a transaction", batchOf(3, 4, beginTransaction("x"), beginTransaction("y")), "within another"},
		{"array longer than the record", one(rec{value: append(frame(3, 0), bytes.Repeat([]byte{0xff}, 24)...)}), "Partition is cut off"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := fold(t, empty(20), empty(20), empty(20))
			_, err := f.ApplyBatches(test.bytes, 100)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "offset") {
				t.Fatalf("error %v, want %q with its offset", err, test.want)
			}
			if _, again := f.ApplyBatches(batchOf(f.Next(), 4, empty(20)), 100); again == nil {
				t.Error("a broken fold went on")
			}
		})
	}
}

func TestUnknownTypesOnlyCount(t *testing.T) {
	image := fold(t, rec{value: []byte{1, 0xff, 0x7f, 9, 1, 2, 3}}).Image()
	if diff := cmp.Diff(map[string]int{"unknown-16383": 1}, image.Other); diff != "" {
		t.Error(diff)
	}
}

func TestAskingForTheSameImageCopiesNothing(t *testing.T) {
	f := NewFold()
	records := make([]rec, 0, 200)
	for i := range 100 {
		records = append(records, topic(fmt.Sprint("t", i), byte(i)), partition(byte(i), 0, 1, 1, []int32{1}, []int32{1}))
	}
	if _, err := f.ApplyBatches(batchOf(0, 1, records...), 200); err != nil {
		t.Fatal(err)
	}
	f.Image()
	if n := testing.AllocsPerRun(10, func() { f.Image() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzApply(f *testing.F) {
	log := batchOf(0, 4, topic("a", 1), partition(1, 0, 2, 5, []int32{2}, []int32{2}), registerBroker(1, 7, true, true), changeBroker(1, 7, -1, 0),
		changePartition(1, 0, tagged{0, int32s(nil, 2)}), config(2, "a", "k", text("v")), beginTransaction("x"), migrationState(2), empty(24))
	f.Add(log, int64(9), true)
	f.Add(snapshotOf(topic("a", 1), registerController(3001, true)), int64(0), false)
	f.Fuzz(func(t *testing.T, b []byte, hw int64, reseal bool) {
		if reseal && len(b) >= headerEnd { // let changed bytes pass the checksum
			b = seal(bytes.Clone(b))
		}
		fold := NewFold()
		next, err := fold.ApplyBatches(b, hw)
		if err == nil && next > max(hw, 0) {
			t.Errorf("read to %d, past the high watermark %d", next, hw)
		}
		fold.Image()
		_ = NewFold().ApplySnapshot(30, 1, b)
	})
}

func TestANoOpIsNoChange(t *testing.T) {
	f := NewFold()
	if image := f.Image(); image.HasChange {
		t.Errorf("an empty log has a last change at %d", image.LastChange)
	}
	image := fold(t, migrationState(2), empty(20), empty(20)).Image()
	if !image.HasChange || image.LastChange != 0 || image.Offset != 2 {
		t.Errorf("last change %d (known %t) at offset %d, want 0 at 2", image.LastChange, image.HasChange, image.Offset)
	}
}
