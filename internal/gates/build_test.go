package gates

import (
	"fmt"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/kraftlog"
	"migrator/internal/plan"
)

// The builders make a healthy cluster of three brokers and three controllers
// as seen at one moment; a test changes one thing of it.

var (
	moment   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	goodFile = []byte("broker.id=1\ninter.broker.protocol.version=3.9\nzookeeper.connect=zk:2181\nlog.dirs=/data\n")
)

const testCluster = "abcDEFghiJKLmnoPQRstuA"

func ptr[T any](v T) *T { return &v }

func known[T any](v T, at time.Time) facts.Fact[T] { return facts.Known(v, "test", at) }

func unknown[T any]() facts.Fact[T] {
	return facts.Unknown[T]("connection refused", "test", moment)
}

// change replaces a known fact by a changed copy of its value.
func change[T any](f *facts.Fact[T], edit func(*T)) {
	v, ok := f.Get()
	if !ok {
		panic("the builder gives no such fact")
	}
	edit(&v)
	*f = facts.Known(v, f.Source(), f.Begun())
}

func inventory() cluster.Inventory {
	var inv cluster.Inventory
	for i := range 3 {
		id := int32(i + 1)
		inv.Brokers = append(inv.Brokers, cluster.Node{ID: id, Role: cluster.Broker, Host: fmt.Sprintf("b%d", id)})
		inv.Controllers = append(inv.Controllers, cluster.Node{ID: 3000 + id, Role: cluster.Controller, Host: fmt.Sprintf("c%d", id), Port: 9093})
	}
	return inv
}

func brokerIDs() []int32     { return []int32{1, 2, 3} }
func controllerIDs() []int32 { return []int32{3001, 3002, 3003} }

// atRest is a cluster in ZooKeeper mode before anything was done.
func atRest(at time.Time) View {
	v := View{
		Settings: Settings{Inventory: inventory(), ClusterID: testCluster, KafkaVersion: "3.9.2", GoodPolls: 3, PollInterval: 2 * time.Second,
			MaxFactAge: 15 * time.Second, MaxUnavailable: 15 * time.Second, CanaryTopic: "__migrator_canary", NoRehearsal: true, MetadataVersion: ptr(int16(21))},
		Phase: cluster.Initial, Now: at, Expected: map[int32]string{}, Short: map[string]int{},
	}
	s := &v.Snapshot
	s.Begun = at
	s.ClusterID = known(testCluster, at)
	s.Holder = known(facts.Holder{Present: true, ID: 2, Ephemeral: true}, at)
	s.ZKEpoch = known(facts.ZKEpoch{Present: true, Value: 4}, at)
	s.Migration = known(facts.MigrationZnode{}, at)
	s.Writable = known(true, at)
	s.Driver = known(facts.Driver{Held: true}, at)
	s.Deleting = known([]string{}, at)
	s.Reassigning = known([]string{}, at)
	s.Preflight = known(facts.Preflight{}, at)
	s.MinISR = known(map[string]int{"orders": 2}, at)
	s.Ensemble = known([]facts.ZKMember{{Address: "zk1", Serving: ptr(true)}, {Address: "zk2", Serving: ptr(true)}, {Address: "zk3", Serving: ptr(true)}}, at)
	s.CanaryStats = known(facts.Canary{Sent: 100, Acked: 100, LastAck: at, MarkerKey: "delete.retention.ms", MarkerValue: "1700", MarkerAt: at.Add(-time.Second)}, at)
	s.ZKMarker = known(map[string]string{"delete.retention.ms": "1700"}, at)
	s.API, s.Quorum = map[int32]facts.Fact[facts.API]{}, map[int32]facts.Fact[facts.Quorum]{}
	s.Files, s.Running = map[int32]facts.Fact[facts.File]{}, map[int32]facts.Fact[bool]{}
	s.Lines, s.Meta = map[int32]facts.Fact[facts.Lines]{}, map[int32]facts.Fact[[]facts.MetaProperties]{}
	var regs []facts.Registration
	for _, id := range brokerIDs() {
		regs = append(regs, facts.Registration{ID: id, Czxid: 100 + int64(id)})
		s.API[id] = known(facts.API{UpdateMetadata: true}, at)
		s.Files[id] = known(facts.File{Exists: true, SHA256: "zk-file", Content: goodFile, Mode: cluster.ZK}, at)
		s.Running[id] = known(true, at)
		s.Lines[id] = known(facts.Lines{Started: true}, at)
		s.Meta[id] = known([]facts.MetaProperties{{Dir: "/data", Exists: true, ClusterID: testCluster, NodeID: fmt.Sprint(id)}}, at)
	}
	s.Registered = known(regs, at)
	for _, id := range controllerIDs() {
		s.Running[id] = known(false, at)
		s.Files[id] = known(facts.File{}, at)
		s.Meta[id] = known([]facts.MetaProperties{{Dir: "/meta"}}, at)
		s.Quorum[id], s.API[id] = unknown[facts.Quorum](), unknown[facts.API]()
	}
	s.Log = unknown[facts.Log]()
	s.Metadata = known(metadata(), at)
	return v
}

func metadata() facts.Metadata {
	md := facts.Metadata{ClusterID: testCluster}
	for _, id := range brokerIDs() {
		md.Brokers = append(md.Brokers, facts.MetadataBroker{ID: id})
	}
	for i := range 3 {
		md.Partitions = append(md.Partitions, facts.Partition{Topic: "orders", Partition: int32(i), HasLeader: true, Leader: int32(i + 1),
			LeaderEpoch: 5, Replicas: brokerIDs(), ISR: brokerIDs()})
	}
	return md
}

// provisioned has its quorum beside it, in PRE_MIGRATION.
func provisioned(at time.Time) View {
	v := atRest(at)
	s := &v.Snapshot
	s.Migration = known(facts.MigrationZnode{Present: true, Version: 0}, at)
	leader := facts.Quorum{IsLeader: true, Leader: 3002, HasLeader: true, Epoch: 7, HighWatermark: 500}
	image := kraftlog.Image{HasState: true, State: cluster.StatePreMigration, LastChange: 490, HasChange: true, Features: map[string]int16{"metadata.version": 21},
		Controllers: map[int32]kraftlog.Controller{}, Brokers: map[int32]kraftlog.Broker{}, Topics: map[string]kraftlog.Topic{}}
	for _, id := range controllerIDs() {
		leader.Voters = append(leader.Voters, facts.Replica{ID: id, LogEndOffset: 500, LastFetch: at, LastCaughtUp: at})
		image.Controllers[id] = kraftlog.Controller{ID: id, Incarnation: fmt.Sprintf("inc-%d", id), ZkMigrationReady: true}
		s.Quorum[id] = known(facts.Quorum{Epoch: 7}, at)
		s.API[id] = known(facts.API{DescribeQuorum: true, ZkMigrationReady: true, MetadataVersion: ptr(int16(21))}, at)
		s.Files[id] = known(facts.File{Exists: true, SHA256: "controller-file", Mode: cluster.KRaftMigrating}, at)
		s.Running[id] = known(true, at)
		s.Lines[id] = known(facts.Lines{Started: true}, at)
		s.Meta[id] = known([]facts.MetaProperties{{Dir: "/meta", Exists: true, Version: 1, ClusterID: testCluster, NodeID: fmt.Sprint(id)}}, at)
		v.Expected[id] = "controller-file"
	}
	s.Quorum[3002] = known(leader, at)
	s.Log = known(facts.Log{Leader: 3002, Epoch: 7, HighWatermark: 500, Image: image}, at)
	return v
}

// loaded has the copy behind it: every broker in migration mode, dual write.
func loaded(at time.Time) View {
	v := provisioned(at)
	v.Phase = cluster.Load
	s := &v.Snapshot
	s.Holder = known(facts.Holder{Present: true, ID: 3002, KRaftEpoch: ptr(int32(7))}, at)
	s.Migration = known(facts.MigrationZnode{Present: true, ControllerID: ptr(int32(3002)), ControllerEpoch: ptr(int32(7)), Offset: ptr(int64(498)), Version: 40}, at)
	for _, id := range brokerIDs() {
		s.API[id] = known(facts.API{UpdateMetadata: true, ZkMigrationReady: true}, at)
		file := s.Files[id]
		change(&file, func(f *facts.File) { f.Mode = cluster.ZKMigrating })
		s.Files[id] = file
		quorum := s.Quorum[3002]
		change(&quorum, func(q *facts.Quorum) {
			q.Observers = append(q.Observers, facts.Replica{ID: id, LogEndOffset: 500, LastFetch: at, LastCaughtUp: at})
		})
		s.Quorum[3002] = quorum
	}
	change(&s.Log, func(l *facts.Log) {
		l.Image.State = cluster.StateMigration
		l.Image.TopicConfigs = map[string]map[string]string{"__migrator_canary": {"delete.retention.ms": "1700"}}
		for _, id := range brokerIDs() {
			l.Image.Brokers[id] = kraftlog.Broker{ID: id, Incarnation: fmt.Sprintf("inc-%d", id), MigratingZK: true}
		}
		parts := map[int32]kraftlog.Partition{}
		for i := range int32(3) {
			parts[i] = kraftlog.Partition{Replicas: brokerIDs(), ISR: brokerIDs(), Leader: i + 1, HasLeader: true, LeaderEpoch: 5}
		}
		l.Image.Topics["orders"] = kraftlog.Topic{ID: "topicid", Partitions: parts}
	})
	zk := map[int32]facts.ZKPartition{}
	for i := range int32(3) {
		zk[i] = facts.ZKPartition{Replicas: brokerIDs(), HasState: true, ISR: []int32{3, 1, 2}, Leader: i + 1, LeaderEpoch: 5}
	}
	s.ZKTopics = known(facts.ZKTopics{Topics: map[string]facts.ZKTopic{"orders": {ID: "topicid", HasID: true, Partitions: zk}}}, at)
	return v
}

// dualWriting has every broker in KRaft mode.
func dualWriting(at time.Time) View {
	v := loaded(at)
	v.Phase = cluster.DualWrite
	s := &v.Snapshot
	s.Registered = known([]facts.Registration{}, at)
	v.Soak = Soak{Required: time.Hour, Elapsed: time.Hour, HasLeader: true, Leader: 3002, LeaderEpoch: 7, Incarnations: map[int32]string{}}
	v.DrillsWanted, v.DrillsPassed = []string{"clean", "crash"}, []string{"crash", "clean"}
	change(&s.Log, func(l *facts.Log) {
		for _, id := range brokerIDs() {
			l.Image.Brokers[id] = kraftlog.Broker{ID: id, Incarnation: fmt.Sprintf("kraft-%d", id)}
			v.Soak.Incarnations[id] = fmt.Sprintf("kraft-%d", id)
		}
	})
	for _, id := range brokerIDs() {
		s.API[id] = known(facts.API{DescribeQuorum: true, MetadataVersion: ptr(int16(21))}, at)
	}
	return v
}

// finalized has ended: POST_MIGRATION, no flag left.
func finalized(at time.Time) View {
	v := dualWriting(at)
	v.Phase, v.Plan = cluster.Finalize, cluster.Finalize
	s := &v.Snapshot
	change(&s.Log, func(l *facts.Log) {
		l.Image.State = cluster.StatePostMigration
		for _, id := range controllerIDs() {
			l.Image.Controllers[id] = kraftlog.Controller{ID: id, Incarnation: fmt.Sprintf("new-%d", id)}
		}
	})
	for _, id := range controllerIDs() {
		s.API[id] = known(facts.API{DescribeQuorum: true, MetadataVersion: ptr(int16(21))}, at)
		s.Files[id] = known(facts.File{Exists: true, SHA256: "final-file", Mode: cluster.KRaft}, at)
	}
	return v
}

// controllersGone is a revert with every controller stopped for good.
func controllersGone(at time.Time) View {
	v := loaded(at)
	v.Plan, v.Stopped = cluster.Initial, controllerIDs()
	s := &v.Snapshot
	if l, ok := s.Log.Get(); ok {
		v.Kept = l.Image.Topics
	}
	s.Log = unknown[facts.Log]()
	for _, id := range controllerIDs() {
		s.Running[id] = known(false, at)
		s.Quorum[id] = facts.Unknown[facts.Quorum]("connection refused", "test", at)
		s.API[id] = facts.Unknown[facts.API]("connection refused", "test", at)
	}
	return v
}

// handedBack has a broker as controller again, whom every broker follows.
func handedBack(at time.Time) View {
	v := controllersGone(at)
	s := &v.Snapshot
	s.Migration = known(facts.MigrationZnode{}, at)
	s.Holder = known(facts.Holder{Present: true, ID: 2, Ephemeral: true}, at)
	s.Named = map[int32]facts.Fact[[]int32]{}
	for _, id := range brokerIDs() {
		s.Named[id] = known([]int32{2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, at)
	}
	return v
}

// rolling is a healthy cluster with broker 1 as the batch, just restarted into migration mode.
func rolling(at time.Time) View {
	v := loaded(at)
	v.Plan = cluster.Load
	v.Expected[1] = "zk-file"
	v.Step = &Step{ID: "roll-1", Kind: plan.Roll, Batch: []int32{1}, Mode: cluster.ZKMigrating, Opened: true, NotBefore: at.Add(-time.Second),
		Baseline: Baseline{Czxid: map[int32]int64{1: 50, 2: 51, 3: 52}, Incarnation: map[int32]string{}, HighWatermark: ptr(int64(450)),
			Led: []Led{{Topic: "orders", Partition: 0, Node: 1, Epoch: 4}}}}
	return v
}

// described is the same with broker 1 telling what it runs with.
func described(at time.Time) View {
	v := rolling(at)
	change := v.Snapshot.Files[1]
	file, _ := change.Get()
	file.Content = []byte("broker.id=1\nnum.io.threads=8\nssl.keystore.password=x\n")
	v.Snapshot.Files[1] = facts.Known(file, change.Source(), change.Begun())
	v.Snapshot.Settings = map[int32]facts.Fact[[]facts.Setting]{1: facts.Known([]facts.Setting{{Name: "broker.id", Value: "1", Source: "static"},
		{Name: "num.io.threads", Value: "8", Source: "static"}, {Name: "ssl.keystore.password", Sensitive: true, Source: "static"}}, "DescribeConfigs", at)}
	return v
}

// rollingKRaft is the same after broker 1 came up in KRaft mode.
func rollingKRaft(at time.Time) View {
	v := dualWriting(at)
	v.Phase, v.Plan = cluster.Hybrid, cluster.Hybrid
	v.Step = rolling(at).Step
	v.Step.Mode = cluster.KRaft
	v.Step.Baseline.Incarnation = map[int32]string{1: "inc-1"}
	return v
}

// rollingController is controller 3003 just restarted without the flag.
func rollingController(at time.Time) View {
	v := finalized(at)
	v.Phase = cluster.DualWrite
	v.Step = rolling(at).Step
	v.Step.Batch, v.Step.Mode = []int32{3003}, cluster.KRaft
	v.Step.Baseline.Incarnation = map[int32]string{3003: "inc-3003"}
	return v
}

// setAt changes one entry of a map of facts.
func setAt[T any](m map[int32]facts.Fact[T], id int32, edit func(*T)) {
	f := m[id]
	change(&f, edit)
	m[id] = f
}

// judged judges the views in order and returns what the last says of one gate.
func judged(t *testing.T, gate string, views ...View) Judged {
	t.Helper()
	var memory Memory
	var out Judgement
	for _, v := range views {
		out, memory = Judge(memory, v, []Set{{Key: "test", Gates: []string{gate}}})
	}
	verdict, ok := out.Verdict(gate)
	if !ok {
		t.Fatalf("gate %s was not judged", gate)
	}
	return verdict
}
