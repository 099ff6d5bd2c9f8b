package runbook

import (
	"fmt"
	"strings"

	"migrator/internal/cluster"
	"migrator/internal/config"
)

// tools are command lines of Kafka's own tools for one cluster.
type tools struct {
	bootstrap   string
	controllers string
	zookeeper   string
	members     []string // host:port of each ZooKeeper server
}

func toolsOf(m config.Migration) tools {
	var controllers []string
	for _, n := range m.Nodes {
		if n.Role == cluster.Controller {
			controllers = append(controllers, fmt.Sprintf("%s:%d", n.Host, n.Port))
		}
	}
	servers, _, _ := strings.Cut(m.ZooKeeper.Connect, "/")
	return tools{bootstrap: strings.Join(m.Kafka.Bootstrap, ","), controllers: strings.Join(controllers, ","),
		zookeeper: m.ZooKeeper.Connect, members: strings.Split(servers, ",")}
}

func (t tools) zk(words ...string) string {
	return Shell(append([]string{"zookeeper-shell.sh", t.zookeeper}, words...))
}

func (t tools) zkGet(path string) string { return t.zk("get", "-s", path) }

func (t tools) topics(words ...string) string {
	return Shell(append([]string{"kafka-topics.sh", "--bootstrap-server", t.bootstrap}, words...))
}

// quorum asks the controllers themselves, which works in every phase (KIP-919).
func (t tools) quorum(what string) string {
	return Shell([]string{"kafka-metadata-quorum.sh", "--bootstrap-controller", t.controllers, "describe", what})
}

func (t tools) features() string {
	return Shell([]string{"kafka-features.sh", "--bootstrap-controller", t.controllers, "describe"})
}

func (t tools) reassignments() string {
	return Shell([]string{"kafka-reassign-partitions.sh", "--bootstrap-server", t.bootstrap, "--list"})
}

func (t tools) elect() string {
	return Shell([]string{"kafka-leader-election.sh", "--bootstrap-server", t.bootstrap, "--election-type", "PREFERRED", "--all-topic-partitions"})
}

func (t tools) settings(broker int32) string {
	return Shell([]string{"kafka-configs.sh", "--bootstrap-server", t.bootstrap, "--entity-type", "brokers", "--entity-name", fmt.Sprint(broker), "--describe", "--all"})
}

// writeMetadata sets a topic's config that harms nothing; only a fresh number proves a write.
func (t tools) writeMetadata(topic string) string {
	return Shell([]string{"kafka-configs.sh", "--bootstrap-server", t.bootstrap, "--entity-type", "topics", "--entity-name", topic, "--alter", "--add-config"}) +
		` delete.retention.ms="$(date +%s)"`
}

func (t tools) produce(topic string) string {
	return Shell([]string{"kafka-verifiable-producer.sh", "--bootstrap-server", t.bootstrap, "--topic", topic, "--acks", "-1", "--max-messages", "100"})
}

// grep looks for a text in a node's log; ok is false when nobody said where it is.
func grep(text string, n config.Node) (string, bool) {
	switch l := n.Logs; {
	case len(l.Files) > 0:
		return on(n, append([]string{"grep", "-iE", text}, l.Files...)), true
	case len(l.Argv) > 0:
		return on(n, l.Argv) + " | " + Shell([]string{"grep", "-iE", text}), true
	default:
		return "", false
	}
}
