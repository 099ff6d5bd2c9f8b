// Package draft writes the first migrations.yaml of a cluster from what its
// ZooKeeper says. What nobody can know from there is marked FILL IN. The
// package is pure; values come from znodes and are hostile text.
package draft

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"migrator/internal/config"
)

// Cluster is what was discovered.
type Cluster struct {
	Name      string
	Connect   string // as given, chroot included
	ID        string
	Holder    string // who holds /controller, in words
	Release   string // of the brokers, such as "3.9"; empty when it cannot be told
	Bootstrap []string
	Brokers   []Broker
	// ZooKeeper and Kafka are how it was looked at: their TLS, SASL and digest.
	ZooKeeper config.ZooKeeper
	Kafka     config.Kafka
	Notes     []string // what a person should know of the discovery
}

// Broker is one registration of /brokers/ids.
type Broker struct {
	ID        int32
	Host      string
	Rack      string
	Listeners []Listener
}

// Listener is one endpoint of a registration.
type Listener struct {
	Name     string
	Protocol string
	Address  string // host:port
}

// Mark begins each place that a person must fill in.
const Mark = "# FILL IN:"

// YAML is a commented migrations.yaml. With every marked place filled in, as
// the comments say, it validates.
func YAML(c Cluster) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Made by migrator init from ZooKeeper. Fill in each place marked %q, check the rest,", Mark[2:])
	line("# then: migrator validate --config THIS and migrator preflight NAME --config THIS.")
	line("# Text in braces is replaced for each node: {id} {host} {rack} {port} {properties}.")
	line("# Inside [ ] text with braces needs quotes. What is left out has its default.")
	line("#")
	line("# Cluster id: %s", quote(c.ID))
	line("# %s", oneLine(c.Holder))
	for _, n := range c.Notes {
		line("# Note: %s", oneLine(n))
	}
	line("migrations:")
	line("  - name: %s  # what a person types to confirm a step", quote(c.Name))
	line("    zookeeper:")
	line("      connect: %s", quote(c.Connect))
	zooKeeperLogin(line, c.ZooKeeper)
	line("    kafka:")
	if c.Release == "" {
		line("      version: %s the release that every broker runs, all three numbers; such as 3.9.2", Mark)
	} else {
		line("      version: %s all three numbers; the brokers answer as %s; such as %s", Mark, oneLine(c.Release), patch(c.Release))
	}
	line("      bootstrap: [%s]", strings.Join(quoted(c.Bootstrap), ", "))
	kafkaLogin(line, c.Kafka)
	quorum(line, c)
	brokerDefaults(line)
	controllerDefaults(line)
	brokers(line, c.Brokers)
	controllers(line, c)
	return b.String()
}

// patch is the newest patch of the release that migrations are proven with.
func patch(release string) string {
	if release == "3.9" {
		return "3.9.2"
	}
	return release + ".0"
}

func quorum(line func(string, ...any), c Cluster) {
	name, port := FreeListener(c)
	line("    quorum:")
	line("      mode: static")
	line("      # A listener that no broker has. Its protocol: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.")
	line("      listener: {name: %s, protocol: PLAINTEXT, port: %d}", name, port)
}

// FreeListener is a listener for controllers that collides with no broker's,
// by name or by port, so that a controller may share a broker's host.
func FreeListener(c Cluster) (name string, port int) {
	taken := func(is func(Listener) bool) bool {
		return slices.ContainsFunc(c.Brokers, func(b Broker) bool { return slices.ContainsFunc(b.Listeners, is) })
	}
	name, port = "CONTROLLER", 9093
	for i := 2; taken(func(l Listener) bool { return strings.EqualFold(l.Name, name) }); i++ {
		name = fmt.Sprintf("CONTROLLER%d", i)
	}
	for taken(func(l Listener) bool { return strings.HasSuffix(l.Address, ":"+strconv.Itoa(port)) }) {
		port += 100
	}
	return name, port
}

func brokerDefaults(line func(string, ...any)) {
	line("    broker_defaults:             # each key may be overridden at a single broker")
	line("      access:")
	line("        kind: %s how this program reaches the brokers' machines; such as local", Mark)
	line("      properties: %s the file that each broker is started with; such as /etc/kafka/broker-{id}.properties", Mark)
	line("      logs: %s its log files, or one command that follows the log, or none; such as [\"/var/log/kafka/broker-{id}/server.log\", \"/var/log/kafka/broker-{id}/controller.log\"]", Mark)
	line("      commands:                  # lists of arguments; no shell reads them")
	line("        start: %s may return early, harmless when it runs already; such as [systemctl, start, \"kafka@{id}\"]", Mark)
	line("        stop: %s a clean stop, which may take five minutes; such as [systemctl, stop, \"kafka@{id}\"]", Mark)
	line("        running: %s exits 0 while the process exists, 1 to 4 when not; such as [systemctl, is-active, --quiet, \"kafka@{id}\"]", Mark)
}

func controllerDefaults(line func(string, ...any)) {
	line("    controller_defaults:")
	line("      access:")
	line("        kind: %s how this program reaches the controllers' machines; such as local", Mark)
	line("      properties: %s the file that will be written for each controller; such as /etc/kafka/controller-{id}.properties", Mark)
	line("      logs: %s as above; such as [\"/var/log/kafka/controller-{id}/server.log\", \"/var/log/kafka/controller-{id}/controller.log\"]", Mark)
	line("      log_dirs: %s an empty folder for the metadata log; such as [\"/var/lib/kafka/metadata-{id}\"]", Mark)
	line("      settings:                  # further lines of the controllers' files")
	line("        - key: log.dirs")
	line("          value: %s the same folder; such as \"/var/lib/kafka/metadata-{id}\"", Mark)
	line("      commands:")
	line("        format: [kafka-storage.sh, format, \"--cluster-id={cluster_id}\", \"--release-version={metadata_version}\", --config, \"{properties}\"]")
	line("        start: %s as above; such as [systemctl, start, \"kafka-controller@{id}\"]", Mark)
	line("        stop: %s as above; such as [systemctl, stop, \"kafka-controller@{id}\"]", Mark)
	line("        running: %s as above; such as [systemctl, is-active, --quiet, \"kafka-controller@{id}\"]", Mark)
	line("        kill: %s only the crash drill uses it; such as [systemctl, kill, --signal=KILL, \"kafka-controller@{id}\"]", Mark)
}

func brokers(line func(string, ...any), list []Broker) {
	line("    brokers:")
	for _, b := range list {
		for _, l := range b.Listeners {
			line("      # %s %s at %s", oneLine(l.Name), oneLine(l.Protocol), oneLine(l.Address))
		}
		line("      - id: %d", b.ID)
		if config.ValidHost(b.Host) {
			line("        host: %s", quote(b.Host))
		} else {
			line("        host: %s it is registered as %s, which is no host name; such as b%d", Mark, quote(b.Host), b.ID)
		}
		if b.Rack != "" {
			line("        rack: %s", quote(b.Rack))
		}
	}
}

// controllers proposes three ids that are far from every broker's: both kinds
// share one space of ids.
func controllers(line func(string, ...any), c Cluster) {
	base := int32(3000)
	for _, b := range c.Brokers {
		for base <= b.ID && base < 1<<30 {
			base += 1000
		}
	}
	_, port := FreeListener(c)
	line("    controllers:                 # three or five, in different racks where there are any")
	for i := int32(1); i <= 3; i++ {
		line("      - id: %d", base+i)
		line("        host: %s the machine of this controller; such as controller-%d.example.com", Mark, i)
		line("        port: %d", port)
	}
}

// quote writes text as a double-quoted YAML scalar on one line, whatever it holds.
func quote(text string) string {
	if len(text) > 500 {
		text = text[:500]
	}
	return strconv.QuoteToASCII(strings.ToValidUTF8(text, "?"))
}

func quoted(list []string) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		out = append(out, quote(s))
	}
	return out
}

// oneLine is text fit for a comment.
func oneLine(text string) string {
	q := quote(text)
	return q[1 : len(q)-1]
}
