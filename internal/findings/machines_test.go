package findings

import (
	"fmt"
	"testing"
	"time"

	"migrator/internal/facts"
)

// machine puts what was looked at on one node into a healthy cluster.
func machine(id int32, m Machine) Survey {
	s := healthy()
	s.Machines[id] = m
	return s
}

// folder is what one log folder of broker 1 holds.
func folder(dir string, f Folder) Survey {
	f.Whole = true
	s := machine(1, Machine{Folders: map[string]facts.Fact[Folder]{dir: known(f)}})
	s.Snapshot.ZKTopics = known(facts.ZKTopics{Topics: map[string]facts.ZKTopic{"orders": {ID: "ordersAAAAAAAAAAAAAAAA", HasID: true}}})
	return s
}

func TestWhatLiesInLogFolders(t *testing.T) {
	ids := func(pairs ...string) Survey {
		f := Folder{TopicIDs: map[string]string{}}
		for i := 0; i < len(pairs); i += 2 {
			f.TopicIDs[pairs[i]] = pairs[i+1]
		}
		return folder("/d1/a", f)
	}
	judgeAll(t, []seen{
		{"an old metadata log in the second folder (FR-100)", folder("/d1/b", Folder{Odd: []string{metadataFolder}}), "MIG355", Found, "/d1/b/__cluster_metadata-0"},
		{"in the folder where Kafka deletes it (FR-100)", folder("/d1/a", Folder{Odd: []string{metadataFolder}}), "MIG355", Clear, ""},
		{"and that is said", folder("/d1/a", Folder{Odd: []string{metadataFolder}}), "MIG356", Found, "/d1/a"},
		{"a stray partition (FR-113)", folder("/d1/a", Folder{Odd: []string{"orders-3.0f1c-stray", "x-1.2-delete"}}), "MIG357", Found, "orders-3.0f1c-stray"},
		{"no partition.metadata (FR-016)", folder("/d1/a", Folder{Bare: []string{"orders-3"}}), "MIG358", Found, "orders-3"},
		{"the zero id (FR-016)", ids("orders-3", noTopicID), "MIG358", Found, "without a topic id"},
		{"another id than ZooKeeper's (FR-016)", ids("orders-3", "other"), "MIG358", Found, "/brokers/topics/orders"},
		{"the right id, a topic with dashes, one that ZooKeeper does not have", ids("orders-3", "ordersAAAAAAAAAAAAAAAA", "a-b-0", "x", "gone-0", "y"), "MIG358", Clear, ""},
		{"nobody looked", healthy(), "MIG360", Unknown, "broker 1"},
		{"nobody looked, and nothing blocks", healthy(), "MIG358", Clear, ""},
	})
}

func TestHowProcessesAreStarted(t *testing.T) {
	process := func(p Process) Survey { return machine(1, Machine{Process: known(p)}) }
	limit := func(ms int64) Survey { return machine(1, Machine{StopLimit: known(&ms)}) }
	judgeAll(t, []seen{
		{"a setting on the command line (FR-058)", process(Process{Overrides: []string{"broker.id"}}), "MIG362", Found, "--override broker.id"},
		{"an image's variables (FR-059)", process(Process{Environment: []string{"KAFKA_CFG_NODE_ID", "KAFKA_HEAP_OPTS"}}), "MIG363", Found, "KAFKA_CFG_NODE_ID"},
		{"ordinary variables", process(Process{Environment: []string{"KAFKA_HEAP_OPTS", "KAFKA_OPTS", "KAFKA_LOG4J_OPTS"}}), "MIG363", Clear, ""},
		{"90 seconds", limit(90000), "MIG361", Found, "90 s"},
		{"five minutes", limit(300000), "MIG361", Unknown, "broker 2"},
		{"not systemd", healthy(), "MIG361", Unknown, "never read"},
	})
}

func TestClocksThatDiffer(t *testing.T) {
	clock := func(ms int64) Survey {
		s := machine(1, Machine{ClockAheadMs: known(ms)})
		s.Migration.Nodes[0].Access.Kind = "ssh"
		return s
	}
	nobody := healthy()
	nobody.Migration.Nodes[0].Access.Kind = "ssh"
	judgeAll(t, []seen{
		{"an hour ahead", clock(3_600_000), "MIG367", Found, "1h0m0s ahead"},
		{"half a minute behind", clock(-30_000), "MIG367", Found, "30s behind"},
		{"a slow connection", clock(2_100), "MIG367", Clear, ""},
		{"this machine's own", healthy(), "MIG367", Clear, ""},
		{"nobody looked", nobody, "MIG367", Unknown, "broker 1"},
	})
}

func TestControllersHaveTheirHeapAndTheirFiles(t *testing.T) {
	replicas := func(n int, heap int64) Survey {
		s := machine(3001, Machine{HeapBytes: known(heap)})
		s.Machines[3002], s.Machines[3003] = s.Machines[3001], s.Machines[3001]
		if heap == 0 {
			s.Machines = map[int32]Machine{}
		}
		md := facts.Metadata{}
		for i := range n / 3 {
			md.Partitions = append(md.Partitions, facts.Partition{Topic: fmt.Sprint(i), Replicas: []int32{1, 2, 3}})
		}
		s.Snapshot.Metadata = known(md)
		return s
	}
	store := controllerSetting(healthy(), "ssl.truststore.location", "/etc/ts.jks")
	store.Machines[3002] = Machine{Files: map[string]facts.Fact[bool]{"/etc/ts.jks": known(false)}}
	there := controllerSetting(healthy(), "ssl.truststore.location", "/etc/ts.jks")
	there.Machines[3002] = Machine{Files: map[string]facts.Fact[bool]{"/etc/ts.jks": known(true)}}
	log := machine(1, Machine{Files: map[string]facts.Fact[bool]{"/var/log/kafka/server.log": known(false)}})
	judgeAll(t, []seen{
		{"a big cluster and 1 GiB", replicas(600000, 1<<30), "MIG365", Found, "controller 3001"},
		{"a big cluster and 8 GiB", replicas(600000, 8<<30), "MIG365", Clear, ""},
		{"a big cluster and nothing known", replicas(600000, 0), "MIG365", Unknown, "controller 3001"},
		{"a small cluster and nothing known", replicas(3000, 0), "MIG365", Clear, ""},
		{"a store that is not on the controller (FR-073)", store, "MIG334", Found, "controller 3002 /etc/ts.jks"},
		{"a store that is", there, "MIG334", Clear, ""},
		{"a log that is not there (FR-087)", log, "MIG364", Found, "server.log"},
		{"logs not looked for", healthy(), "MIG364", Clear, ""},
	})
}

// registered gives brokers and a client their sessions in ZooKeeper.
func registered(clients ...ZKClient) Survey {
	s := healthy()
	var nodes []Znode
	for id := int64(1); id <= 3; id++ {
		nodes = append(nodes, Znode{Path: fmt.Sprintf("/brokers/ids/%d", id), Readable: true, EphemeralOwner: 100 + id,
			Data: []byte(fmt.Sprintf(`{"endpoints":["SSL://pub%d:9094","PLAINTEXT://b%d:9092"]}`, id, id))})
	}
	nodes = append(nodes, Znode{Path: "/cluster/id", Readable: true}, Znode{Path: "/migrator/driver", Readable: true, EphemeralOwner: 7})
	s.Tree = known(NewTree(nodes))
	s.Clients = known(append([]ZKClient{{Member: "zk1:2181", Address: "10.0.0.1:1", Session: 101}, {Member: "zk1:2181", Address: "10.0.9.9:2", Session: 7}}, clients...))
	return s
}

func TestWhoElseSpeaksToZooKeeper(t *testing.T) {
	controller := registered(ZKClient{Address: "10.0.0.31:5", Session: 9, Nodes: []string{"controller 3001"}})
	controller.Snapshot.Running = map[int32]facts.Fact[bool]{3001: known(true)}
	noTree := registered()
	noTree.Tree = facts.Fact[Tree]{}
	tool := healthy()
	tool.Tree = known(NewTree([]Znode{{Path: "/cluster/id", Readable: true}, {Path: "/kafka-manager", Readable: true}}))
	judgeAll(t, []seen{
		{"brokers and the service", registered(), "MIG403", Clear, ""},
		{"a dashboard (FR-023)", registered(ZKClient{Address: "10.1.1.1:40000", Session: 8}), "MIG403", Found, "10.1.1.1:40000"},
		{"another session of the service's host", registered(ZKClient{Address: "10.0.9.9:77", Session: 8}), "MIG403", Clear, ""},
		{"a controller that runs", controller, "MIG403", Clear, ""},
		{"cons is not allowed", healthy(), "MIG403", Unknown, "never read"},
		{"no znodes, which another finding says", noTree, "MIG403", Skipped, ""},
		{"a tool's own tree (FR-023)", tool, "MIG404", Found, "/kafka-manager"},
	})
}

func TestConnectionsThatWillBeNeeded(t *testing.T) {
	s := registered()
	list := Connections(s)
	if got := fmt.Sprint(list[1]); got != "[{c1:9093 controller 3001 true} {c2:9093 controller 3002 true} {c3:9093 controller 3003 true}]" {
		t.Errorf("broker 1 needs %s", got)
	}
	want := Connection{To: "b2:9092", For: "the inter-broker listener of broker 2"}
	found := false
	for _, c := range list[3001] {
		found = found || c == want
	}
	if !found || len(list[3001]) != 2+3+3 {
		t.Errorf("controller 3001 needs %v, want %v among two controllers, three servers and three brokers", list[3001], want)
	}
	way := func(r Reached, quiet bool) Survey {
		return machine(1, Machine{Reach: []Reach{{Connection: Connection{To: "c1:9093", For: "controller 3001", Quiet: quiet}, Result: known(r)}}})
	}
	untried := machine(1, Machine{Reach: []Reach{{Connection: Connection{To: "c1:9093"}, Result: facts.Unknown[Reached]("no nc", "x", time.Unix(1, 0))}}})
	judgeAll(t, []seen{
		{"open", way(Open, false), "MIG401", Clear, ""},
		{"nobody listens there yet", way(Refused, true), "MIG401", Clear, ""},
		{"refused where somebody must listen (FR-075)", way(Refused, false), "MIG401", Found, "broker 1 to c1:9093"},
		{"a firewall that drops (FR-073, FR-089)", way(Failed("i/o timeout"), true), "MIG401", Found, "i/o timeout"},
		{"not tried", untried, "MIG401", Clear, ""},
		{"not tried, and that is said", untried, "MIG402", Unknown, "no nc"},
	})
}

func TestTheEnsemble(t *testing.T) {
	yes, no := true, false
	with := func(list ...facts.ZKMember) Survey {
		s := healthy()
		s.Snapshot.Ensemble = known(list)
		return s
	}
	even := healthy()
	even.Migration.ZooKeeper.Connect = "zk1:2181,zk2:2181/kafka"
	good := func(mode string) facts.ZKMember {
		return facts.ZKMember{Address: "zk", Serving: &yes, Mode: mode, Version: "3.8.4"}
	}
	judgeAll(t, []seen{
		{"all well", with(good("leader"), good("follower"), good("follower")), "MIG407", Clear, ""},
		{"all well", with(good("leader"), good("follower"), good("follower")), "MIG408", Clear, ""},
		{"an old server", with(facts.ZKMember{Address: "zk1", Serving: &yes, Version: "3.6.4"}), "MIG405", Found, "3.6.4"},
		{"a new one", with(facts.ZKMember{Address: "zk1", Serving: &yes, Version: "3.10.0"}), "MIG405", Clear, ""},
		{"two servers", even, "MIG406", Found, "2 servers"},
		{"three servers", healthy(), "MIG406", Clear, ""},
		{"a server that stands alone (FR-024)", with(good("leader"), good("standalone")), "MIG407", Found, "standalone"},
		{"two leaders", with(good("leader"), good("leader")), "MIG407", Found, "each leads"},
		{"nobody tells", with(facts.ZKMember{Address: "zk1", Why: "srvr is not allowed"}), "MIG408", Unknown, "srvr is not allowed"},
		{"nobody tells, and nothing blocks", with(facts.ZKMember{Address: "zk1"}), "MIG407", Clear, ""},
		{"one is down (FR-114)", with(facts.ZKMember{Address: "zk1", Serving: &no, Why: "connection refused"}), "MIG408", Found, "connection refused"},
		{"one lost the others", with(good("read-only")), "MIG408", Found, "read-only"},
	})
}
