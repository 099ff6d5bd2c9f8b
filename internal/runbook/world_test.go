package runbook

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/facts"
	"migrator/internal/kraftlog"
	"migrator/internal/phases"
)

// Three brokers and three controllers; every file holds the same password.

const secret = "hunter2-of-the-brokers"

var moment = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

func known[T any](v T) facts.Fact[T] { return facts.Known(v, "test", moment) }

func migration() config.Migration {
	m := config.Migration{Name: "payments",
		ZooKeeper: config.ZooKeeper{Connect: "zk1:2181,zk2:2181,zk3:2181/kafka"},
		Kafka:     config.Kafka{Version: "3.9.2", Bootstrap: []string{"b1:9092", "b2:9092"}},
		Quorum:    config.Quorum{Mode: "static", Listener: config.QuorumListener{Name: "CONTROLLER", Protocol: "PLAINTEXT", Port: 9093}},
		Gates:     config.Gates{GoodPolls: 3, PollInterval: 2 * time.Second, StepTimeout: 5 * time.Minute, MaxFactAge: 15 * time.Second},
		Soaks:     []config.Soak{{Phase: cluster.DualWrite, Duration: time.Hour}},
		Drill:     config.Drill{Phase: cluster.DualWrite, Kinds: []string{"clean", "crash"}, MaxUnavailable: 15 * time.Second},
		Roll:      config.Roll{Batch: "node"},
		Canary:    config.Canary{Topic: "__migrator_canary", Interval: 100 * time.Millisecond},
		Approve:   cluster.Phases()}
	for i, id := range []int32{1, 2, 3, 3001, 3002, 3003} {
		unit := fmt.Sprintf("kafka@%d", id)
		n := config.Node{Node: cluster.Node{ID: id, Role: cluster.Broker, Host: fmt.Sprintf("b%d", id)}, Properties: fmt.Sprintf("/etc/kafka/broker-%d.properties", id),
			Logs:     config.Logs{Files: []string{fmt.Sprintf("/var/log/kafka-%d/server.log", id), fmt.Sprintf("/var/log/kafka-%d/controller.log", id)}},
			Commands: config.Commands{Start: []string{"systemctl", "start", unit}, Stop: []string{"systemctl", "stop", unit}, Running: []string{"systemctl", "is-active", "--quiet", unit}}}
		if id > 3000 {
			n.Role, n.Host, n.Port = cluster.Controller, fmt.Sprintf("c%d", i-2), 9093
			n.Properties, n.LogDirs = fmt.Sprintf("/etc/kafka/controller-%d.properties", id), []string{fmt.Sprintf("/meta/%d", id)}
			n.Commands.Format = []string{"kafka-storage.sh", "format", "--cluster-id={cluster_id}", "--release-version={metadata_version}", "--config", n.Properties}
			n.Commands.Kill = []string{"systemctl", "kill", "--signal=KILL", unit}
			n.Commands.Disable = []string{"systemctl", "disable", unit}
			n.Settings = []config.Setting{{Key: "log.dirs", Value: n.LogDirs[0]}, {Key: "ssl.keystore.password", Value: secret}}
		}
		m.Nodes = append(m.Nodes, n)
	}
	return m
}

const security = "ssl.keystore.location=/etc/kafka/keys.jks\nssl.keystore.password=" + secret + "\n"

func file(content string, mode cluster.Mode) facts.Fact[facts.File] {
	sum := sha256.Sum256([]byte(content))
	return known(facts.File{Exists: true, Content: []byte(content), SHA256: hex.EncodeToString(sum[:]), Mode: mode})
}

// world is the cluster with its brokers in one mode, as a plan would find it.
func world(brokers cluster.Mode, provisioned, copied bool) facts.Snapshot {
	s := facts.Snapshot{Begun: moment, ClusterID: known("abcDEFghiJKLmnoPQRstuA"), Holder: known(facts.Holder{Present: true, ID: 2, Ephemeral: true}),
		ZKEpoch: known(facts.ZKEpoch{Present: true, Value: 4}), Migration: known(facts.MigrationZnode{Present: provisioned}), MinISR: known(map[string]int{"orders": 2, "single": 1}),
		Quorum: map[int32]facts.Fact[facts.Quorum]{}, API: map[int32]facts.Fact[facts.API]{}, Files: map[int32]facts.Fact[facts.File]{}, Kept: map[int32]facts.Fact[[]facts.KeptFile]{}}
	md := facts.Metadata{Partitions: []facts.Partition{{Topic: "single", HasLeader: true, Leader: 1, Replicas: []int32{1}, ISR: []int32{1}}}}
	image := kraftlog.Image{HasState: true, State: cluster.StatePreMigration, Brokers: map[int32]kraftlog.Broker{}, Controllers: map[int32]kraftlog.Controller{}}
	for id := int32(1); id <= 3; id++ {
		s.API[id], s.Files[id] = brokerIn(brokers, id)
		s.Kept[id] = known([]facts.KeptFile{})
		md.Partitions = append(md.Partitions, facts.Partition{Topic: "orders", Partition: id, HasLeader: true, Leader: id, Replicas: []int32{1, 2, 3}, ISR: []int32{1, 2, 3}})
	}
	s.Metadata = known(md)
	for id := int32(3001); id <= 3003; id++ {
		s.Files[id] = known(facts.File{})
		if !provisioned {
			continue
		}
		s.API[id] = known(facts.API{DescribeQuorum: true, ZkMigrationReady: true})
		s.Quorum[id] = known(facts.Quorum{Epoch: 7, Leader: 3002, HasLeader: true, IsLeader: id == 3002})
		s.Files[id] = file(fmt.Sprintf("process.roles=controller\nnode.id=%d\nlog.dirs=/meta/%d\ncontroller.listener.names=CONTROLLER\nlisteners=CONTROLLER://c%d:9093\n"+
			"controller.quorum.voters=3001@c1:9093,3002@c2:9093,3003@c3:9093\nzookeeper.connect=zk1:2181,zk2:2181,zk3:2181/kafka\nzookeeper.metadata.migration.enable=true\n%s", id, id, id-3000, security), cluster.KRaftMigrating)
	}
	if copied {
		image.State = cluster.StateMigration
		s.Holder = known(facts.Holder{Present: true, ID: 3002, KRaftEpoch: ptr(int32(7))})
		s.Migration = known(facts.MigrationZnode{Present: true, Offset: ptr(int64(498)), ControllerEpoch: ptr(int32(7))})
	}
	if provisioned {
		s.Log = known(facts.Log{Leader: 3002, Epoch: 7, HighWatermark: 500, Image: image})
	}
	return s
}

func brokerIn(mode cluster.Mode, id int32) (facts.Fact[facts.API], facts.Fact[facts.File]) {
	plainFile := fmt.Sprintf("broker.id=%d\nlisteners=PLAINTEXT://b%d:9092\ninter.broker.protocol.version=3.9\nzookeeper.connect=zk1:2181,zk2:2181,zk3:2181/kafka\nlog.dirs=/data\n%s", id, id, security)
	quorum := "controller.quorum.voters=3001@c1:9093,3002@c2:9093,3003@c3:9093\ncontroller.listener.names=CONTROLLER\nlistener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n"
	switch mode {
	case cluster.KRaft:
		return known(facts.API{DescribeQuorum: true}), file(fmt.Sprintf("process.roles=broker\nnode.id=%d\nlisteners=PLAINTEXT://b%d:9092\nlog.dirs=/data\n%s%s", id, id, quorum, security), mode)
	case cluster.ZKMigrating:
		return known(facts.API{UpdateMetadata: true, ZkMigrationReady: true}), file(plainFile+quorum+"zookeeper.metadata.migration.enable=true\n", mode)
	default:
		return known(facts.API{UpdateMetadata: true}), file(plainFile, mode)
	}
}

// scene is one plan with what it was made from.
type scene struct {
	name   string
	snap   facts.Snapshot
	phase  cluster.Phase
	revert bool
	kept   bool // the brokers' earlier files are known
}

func scenes() []scene {
	return []scene{
		{"initial", world(cluster.ZK, false, false), cluster.Initial, false, false},
		{"load", world(cluster.ZK, true, false), cluster.Load, false, false},
		{"hybrid", world(cluster.ZKMigrating, true, true), cluster.Hybrid, false, false},
		{"dual-write", world(cluster.KRaft, true, true), cluster.DualWrite, false, false},
		{"finalize", world(cluster.KRaft, true, true), cluster.Finalize, false, false},
		{"revert-b", world(cluster.ZKMigrating, true, false), cluster.Initial, true, false},
		{"revert-c", world(cluster.ZKMigrating, true, true), cluster.Initial, true, false},
		{"revert-e", world(cluster.KRaft, true, true), cluster.Initial, true, true},
		{"revert-to-load", world(cluster.KRaft, true, true), cluster.Load, true, true},
	}
}

func (s scene) build(t *testing.T) phases.Built {
	t.Helper()
	in := phases.Inputs{Migration: migration(), Snapshot: s.snap, ClusterID: "abcDEFghiJKLmnoPQRstuA", Phase: s.phase}
	var built phases.Built
	var err error
	if s.revert {
		back := phases.RevertInputs{Inputs: in, State: phases.New()}
		if s.kept {
			back.Content = keptIn(&back.State)
		}
		built, _, err = phases.BuildRevert(back)
	} else {
		built, err = phases.Build(in)
	}
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// keptIn tells a state the files that brokers had before.
func keptIn(state *phases.State) func(string) ([]byte, error) {
	contents := map[string][]byte{}
	for id := int32(1); id <= 3; id++ {
		for mode, into := range map[cluster.Mode]map[int32]string{cluster.ZK: state.Originals, cluster.ZKMigrating: state.Migrating} {
			_, f := brokerIn(mode, id)
			file, _ := f.Get()
			into[id], contents[file.SHA256] = file.SHA256, file.Content
		}
	}
	return func(sha string) ([]byte, error) { return contents[sha], nil }
}

func (s scene) input(t *testing.T, folder string) Input {
	t.Helper()
	return Input{Plan: s.build(t).Plan, Migration: migration(), Snapshot: s.snap, Made: moment, Folder: folder,
		Backup: func(path, sha string) string { return path + ".migrator-" + sha[:12] + ".bak" }}
}
