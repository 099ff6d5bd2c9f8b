package findings

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/facts"
)

const clusterID = "MkU3OEVBNTcwNTJENDM2Qg"

// known is a fact that was read.
func known[T any](v T) facts.Fact[T] { return facts.Known(v, "test", time.Unix(1, 0)) }

// brokerText is the file of a plain broker of Kafka 3.9.
func brokerText(id int) string {
	return fmt.Sprintf(`# a comment
broker.id=%[1]d
broker.rack=%[2]c
listeners=PLAINTEXT://b%[1]d:9092
log.dirs=/d%[1]d/a,/d%[1]d/b
zookeeper.connect=zk1:2181,zk2:2181,zk3:2181/kafka
inter.broker.protocol.version=3.9
`, id, 'a'+id-1)
}

// healthy is a cluster in which no finding is found: three brokers in
// ZooKeeper mode and three controllers to be, each on a host of its own.
func healthy() Survey {
	m := config.Migration{Name: "payments"}
	m.ZooKeeper.Connect = "zk1:2181,zk2:2181,zk3:2181/kafka"
	m.Kafka.Version = "3.9.2"
	m.Quorum.Mode = "static"
	m.Quorum.Listener = config.QuorumListener{Name: "CONTROLLER", Protocol: "PLAINTEXT", Port: 9093}
	s := Survey{Machines: map[int32]Machine{}}
	s.Snapshot.ClusterID = known(clusterID)
	s.Snapshot.Files = map[int32]facts.Fact[facts.File]{}
	s.Snapshot.Meta = map[int32]facts.Fact[[]facts.MetaProperties]{}
	for i := 1; i <= 3; i++ {
		id, rack := int32(i), string(rune('a'+i-1))
		m.Nodes = append(m.Nodes, config.Node{Node: cluster.Node{ID: id, Role: cluster.Broker, Host: fmt.Sprintf("b%d", i), Rack: rack},
			Access: config.Access{Kind: "local"}, Properties: "/etc/kafka/server.properties", Logs: config.Logs{Files: []string{"/var/log/kafka/server.log"}}})
		s.Snapshot.Files[id] = known(facts.File{Exists: true, Content: []byte(brokerText(i)), Mode: cluster.ZK})
		var dirs []facts.MetaProperties
		for _, d := range []string{"a", "b"} {
			dirs = append(dirs, facts.MetaProperties{Dir: fmt.Sprintf("/d%d/%s", i, d), Exists: true, ClusterID: clusterID, NodeID: fmt.Sprint(i)})
		}
		s.Snapshot.Meta[id] = known(dirs)
	}
	for i := 1; i <= 3; i++ {
		id := int32(3000 + i)
		m.Nodes = append(m.Nodes, config.Node{Node: cluster.Node{ID: id, Role: cluster.Controller, Host: fmt.Sprintf("c%d", i), Port: 9093, Rack: string(rune('a' + i - 1))},
			Access: config.Access{Kind: "local"}, Properties: "/etc/kafka/controller.properties", LogDirs: []string{"/var/lib/kafka/metadata"},
			Settings: []config.Setting{{Key: "log.dirs", Value: "/var/lib/kafka/metadata"}}})
		s.Snapshot.Files[id] = known(facts.File{})
		s.Snapshot.Meta[id] = known([]facts.MetaProperties{{Dir: "/var/lib/kafka/metadata"}})
	}
	s.Migration = m
	s.Snapshot.Registered = known([]facts.Registration{{ID: 1, Rack: "a"}, {ID: 2, Rack: "b"}, {ID: 3, Rack: "c"}})
	return s
}

// withFile changes one node's file: text is added to the plain one, or takes
// the place of all when it begins with "=".
func withFile(s Survey, id int32, text string) Survey {
	content := brokerText(int(id)) + text
	if rest, whole := strings.CutPrefix(text, "="); whole {
		content = rest
	}
	s.Snapshot.Files[id] = known(facts.File{Exists: true, Content: []byte(content), Mode: cluster.ZK})
	return s
}

// everyFile adds the same lines to the file of each broker.
func everyFile(s Survey, text string) Survey {
	for id := int32(1); id <= 3; id++ {
		s = withFile(s, id, text)
	}
	return s
}

// without takes a line out of a broker's file.
func without(s Survey, id int32, key string) Survey {
	var kept []string
	for line := range strings.Lines(brokerText(int(id))) {
		if !strings.HasPrefix(line, key+"=") {
			kept = append(kept, line)
		}
	}
	return withFile(s, id, "="+strings.Join(kept, ""))
}

// seen is one input of a finding: the smallest change to a healthy cluster.
type seen struct {
	name string
	s    Survey
	code string
	want Verdict
	in   string // text that the first item, or the gap, must show
}

func judgeAll(t *testing.T, cases []seen) {
	t.Helper()
	for _, c := range cases {
		f := judged(t, c.s, c.code)
		text := fmt.Sprintf("%+v %+v", f.Items, f.Missing)
		if f.Verdict != c.want || !strings.Contains(text, c.in) {
			t.Errorf("%s: %s is %s, want %s with %q in %s", c.name, c.code, f.Verdict, c.want, c.in, text)
		}
	}
}

// TestAHealthyClusterHasNoFinding: a false alarm teaches people to look away.
func TestAHealthyClusterHasNoFinding(t *testing.T) {
	phase := cluster.Initial
	for _, f := range Judge(healthy(), &phase) {
		if f.Verdict == Found && f.Severity != Info {
			t.Errorf("%s %s: %+v", f.Code, f.Title, f.Items)
		}
		if f.Verdict == Unknown && f.Code[3] == '3' && f.Severity == Block {
			t.Errorf("%s %s is not known: %+v", f.Code, f.Title, f.Missing)
		}
	}
}
