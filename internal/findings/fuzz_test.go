package findings

import (
	"strings"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/facts"
)

// places is where hostile bytes are put: every kind of znode that Kafka keeps.
func places() []string {
	return []string{"/cluster/id", "/controller", "/controller_epoch", "/migration", "/feature", "/brokers/seqid", "/brokers/ids/1", "/brokers/ids/x",
		"/brokers/topics/orders", "/brokers/topics/orders/partitions/0/state", "/brokers/topics/orders/partitions/x/state",
		"/config/topics/orders", "/config/topics/gone", "/config/brokers/1", "/config/brokers/<default>", "/config/brokers/all", "/config/users/u", "/config/users/%zz",
		"/config/users/u/clients/c", "/config/clients/c", "/config/ips/10.0.0.1", "/kafka-acl/Topic/orders", "/kafka-acl/Odd/x", "/kafka-acl-extended/prefixed/Topic/o",
		"/delegation_token/tokens/t", "/admin/delete_topics/orders", "/admin/reassign_partitions", "/admin/preferred_replica_election", "/latest_producer_id_block"}
}

// FuzzJudge: whatever stands in znodes and files, every check comes to an answer,
// says nothing overlong and nothing on several lines.
func FuzzJudge(f *testing.F) {
	for _, seed := range []string{"", "null", "{}", "[]", `{"version":1}`, `{"version":1,"config":{"a":null}}`, `{"version":1,"config":{"producer_byte_rate":"1e999"}}`,
		`{"version":3,"topic_id":"AAAAAAAAAAAAAAAAAAAAAA","partitions":{"0":[1],"x":[]},"adding_replicas":{},"removing_replicas":{"9":[2147483647]}}`,
		`{"version":2,"brokerid":3000,"timestamp":"1","kraftControllerEpoch":100}`, "-1", "99999999999999999999", "\x00\xff\xfe", "a\\", "broker.id=1\\\n\tlistener.security.protocol.map=:,:,A:B:C", "listeners=://:,PLAINTEXT://[::1]:x",
		"log.dirs=,,/a,/a\\u00", "controller.quorum.voters=1@,@:,2@h:p"} {
		f.Add([]byte(seed), uint8(0))
		f.Add([]byte(seed), uint8(8))
	}
	f.Fuzz(func(t *testing.T, data []byte, at uint8) {
		var nodes []Znode
		for i, path := range places() {
			z := Znode{Path: path, Readable: true, Data: []byte("{}")}
			switch {
			case int(at)%len(places()) == i, at > 200:
				z.Data = data
			case at > 150 && i%3 == 0:
				z = Znode{Path: path, Why: string(data)}
			}
			nodes = append(nodes, z)
		}
		nodes = append(nodes, Znode{Path: "/brokers/topics/" + strings.ReplaceAll(string(data), "/", "_"), Readable: true, Data: data},
			Znode{Path: "/config/users/" + strings.ReplaceAll(string(data), "/", "_"), Readable: true, Data: data})
		now := time.Unix(1, 0)
		s := Survey{Tree: facts.Known(NewTree(nodes), "ZooKeeper", now)}
		s.Migration.ZooKeeper.Connect = "zk1:2181/kafka"
		s.Snapshot.Files = map[int32]facts.Fact[facts.File]{}
		for _, n := range []cluster.Node{{ID: 1, Role: cluster.Broker, Host: "b1"}, {ID: 3001, Role: cluster.Controller, Host: "c1", Port: 9093}} {
			s.Migration.Nodes = append(s.Migration.Nodes, config.Node{Node: n, Properties: "server.properties"})
			s.Snapshot.Files[n.ID] = facts.Known(facts.File{Exists: true, Content: data}, "file", now)
		}
		phase := cluster.Initial
		for _, found := range Judge(s, &phase) {
			for _, i := range found.Items {
				if len([]rune(i.Seen)) > maxText+3 || strings.ContainsAny(i.Where+i.Seen, "\n\r") {
					t.Errorf("%s shows hostile text as it is: %q", found.Code, i)
				}
			}
		}
	})
}
