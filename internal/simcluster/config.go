package simcluster

import (
	"fmt"
	"slices"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/config"
)

const (
	kafkaVersion     = "3.9.2"
	clusterID        = "simulatedClusterAbcdeg"
	firstController  = 3001
	firstBroker      = 1
	zooKeeperAddress = "zk1:2181,zk2:2181,zk3:2181"
)

// migration describes the cluster as migrations.yaml would. The argv lists
// name what the simulated node understands.
func (o Options) migration() config.Migration {
	m := config.Migration{Name: o.Name,
		ZooKeeper: config.ZooKeeper{Connect: zooKeeperAddress},
		Kafka:     config.Kafka{Version: kafkaVersion, Bootstrap: []string{"broker1:9092"}},
		Quorum:    config.Quorum{Mode: "static", Listener: config.QuorumListener{Name: "CONTROLLER", Protocol: "PLAINTEXT", Port: 9093}},
		Gates:     config.Gates{GoodPolls: 2, PollInterval: 2 * time.Second, StepTimeout: 3 * time.Minute, MaxFactAge: 15 * time.Second},
		Soaks:     []config.Soak{{Phase: cluster.DualWrite, Duration: o.Soak}},
		Drill:     config.Drill{Phase: cluster.DualWrite, Kinds: []string{"clean", "crash"}, MaxUnavailable: 15 * time.Second},
		Roll:      config.Roll{Batch: "node"},
		Canary:    config.Canary{Topic: "__migrator_canary", Interval: 100 * time.Millisecond},
		Approve:   cluster.Phases(),
	}
	if o.Hooks {
		m.Hooks = simHooks()
	}
	if o.ByRack {
		m.Roll = config.Roll{Batch: "rack", First: "node"}
	}
	for i := range o.Brokers {
		id := int32(firstBroker + i)
		n := commonNode(id, "broker")
		n.Node = cluster.Node{ID: id, Role: cluster.Broker, Host: fmt.Sprintf("broker%d", id), Rack: fmt.Sprintf("rack%d", i%3+1)}
		m.Nodes = append(m.Nodes, n)
	}
	for i := range o.Controllers {
		id := int32(firstController + i)
		n := commonNode(id, "controller")
		n.Node = cluster.Node{ID: id, Role: cluster.Controller, Host: fmt.Sprintf("controller%d", i+1), Port: 9093}
		n.LogDirs = []string{"/data/meta"}
		n.Settings = []config.Setting{{Key: "log.dirs", Value: "/data/meta"}}
		n.Commands.Format = []string{"sim", "format", fmt.Sprint(id), "{cluster_id}", "{metadata_version}"}
		m.Nodes = append(m.Nodes, n)
	}
	for i, n := range m.Nodes {
		if slices.Contains(o.Manual, n.ID) {
			m.Nodes[i].Access = config.Access{Kind: "manual", Files: fmt.Sprintf("/srv/by-hand/%d", n.ID)}
		}
	}
	return m
}

func commonNode(id int32, role string) config.Node {
	argv := func(verb string) []string { return []string{"sim", verb, fmt.Sprint(id)} }
	return config.Node{Access: config.Access{Kind: "local"}, Properties: fmt.Sprintf("/etc/kafka/%s-%d.properties", role, id),
		Logs:     config.Logs{Files: []string{fmt.Sprintf("/var/log/kafka/%d.log", id)}},
		Commands: config.Commands{Start: argv("start"), Stop: argv("stop"), Running: argv("running"), Kill: argv("kill")}}
}

// firstFile is a broker's file before the migration.
func firstFile(n config.Node) []byte {
	return fmt.Appendf(nil, `broker.id=%d
broker.rack=%s
listeners=PLAINTEXT://%s:9092
log.dirs=/data/kafka
zookeeper.connect=%s
inter.broker.protocol.version=3.9
default.replication.factor=3
min.insync.replicas=2
`, n.ID, n.Rack, n.Host, zooKeeperAddress)
}
