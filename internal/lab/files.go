package lab

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// member is one node of a cluster as its owner knows it.
type member struct {
	nodeSpec
	id   int32
	port int
	more []int // further ports of a broker
	rack string
}

const host = "127.0.0.1"

// zooCfg renders zoo.cfg for one server. peers maps server number minus one to
// its quorum and election ports, and is empty for a single server.
func zooCfg(dir string, m member, o *ZooKeeperOptions, peers [][2]int) string {
	port := "clientPort"
	if o.TLS != nil {
		port = "secureClientPort"
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# ZooKeeper server %[1]d
tickTime=2000
initLimit=10
syncLimit=5
dataDir=%[2]s
%[3]s=%[4]d
%[3]sAddress=%[5]s
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=*
`, m.id, filepath.Join(nodeDir(dir, m.Name), "data"), port, m.port, host)
	for _, line := range o.Extra {
		fmt.Fprintln(&b, line)
	}
	for i, p := range peers {
		fmt.Fprintf(&b, "server.%d=%s:%d:%d\n", i+1, host, p[0], p[1])
	}
	return b.String()
}

// serverProperties renders a broker's file the way people keep theirs: with
// comments, groups and blank lines that a migration must not lose.
func serverProperties(dir string, m member, o Options, connect string) string {
	replicas := min(3, o.Brokers)
	text := fmt.Sprintf(`# Broker %[1]d of the lab

############################# Server Basics #############################

# The id of the broker. This must be set to a unique integer for each broker.
broker.id=%[1]d
broker.rack=%[2]s

############################# Socket Server Settings #############################

listeners=PLAINTEXT://%[3]s:%[4]d
advertised.listeners=PLAINTEXT://%[3]s:%[4]d
num.network.threads=2
num.io.threads=4

############################# Log Basics #############################

# A comma separated list of directories under which to store log files
log.dirs=%[5]s
num.partitions=1
num.recovery.threads.per.data.dir=1

# Nobody should lose a record to one broken disk
default.replication.factor=%[6]d
min.insync.replicas=%[7]d

############################# Internal Topic Settings #############################

offsets.topic.replication.factor=%[6]d
offsets.topic.num.partitions=10
transaction.state.log.replication.factor=%[6]d
transaction.state.log.min.isr=%[7]d
transaction.state.log.num.partitions=10

############################# Zookeeper #############################

zookeeper.connect=%[8]s
zookeeper.connection.timeout.ms=18000

############################# Protocol #############################

inter.broker.protocol.version=%[9]s

############################# Group Coordinator Settings #############################

group.initial.rebalance.delay.ms=0
`, m.id, m.rack, host, m.port, filepath.Join(nodeDir(dir, m.Name), "data"),
		replicas, min(2, replicas), connect, protocolVersion(o.Version))
	return merge(text, fill(o.ExtraBroker, dir, m))
}

// fill replaces {id}, {port}, {port1} and on, {rack} and {dir} (the node's folder).
func fill(lines []string, dir string, m member) []string {
	pairs := []string{"{id}", strconv.Itoa(int(m.id)), "{port}", strconv.Itoa(m.port), "{rack}", m.rack, "{dir}", nodeDir(dir, m.Name)}
	for i, port := range m.more {
		pairs = append(pairs, fmt.Sprintf("{port%d}", i+1), strconv.Itoa(port))
	}
	r := strings.NewReplacer(pairs...)
	filled := make([]string, 0, len(lines))
	for _, line := range lines {
		filled = append(filled, r.Replace(line))
	}
	return filled
}

// merge puts each extra line in place of the line with its key, or at the end.
func merge(text string, extra []string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for _, line := range extra {
		key, _, _ := strings.Cut(line, "=")
		replaced := false
		for i, old := range lines {
			if k, _, ok := strings.Cut(old, "="); ok && k == key {
				lines[i], replaced = line, true
			}
		}
		if !replaced {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// protocolVersion is the inter.broker.protocol.version of a release: its first
// two numbers.
func protocolVersion(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}
