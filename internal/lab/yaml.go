package lab

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// YAMLOptions choose what MigrationsYAML writes; what is zero is left out, so
// that migrations.yaml has its own default.
type YAMLOptions struct {
	Name               string   // "" = lab
	QuorumMode         string   // "" = static
	ControllerProtocol string   // "" = PLAINTEXT
	SoakLoad           string   // duration with a unit, as the rest
	Soak               string   // in dual-write
	PollInterval       string   //
	StepTimeout        string   //
	GoodPolls          int      //
	DrillKinds         []string // clean, crash
	MaxUnavailable     string
	RollBatch          string   // node or rack
	Approve            []string // nil is left out, empty is written
	Rehearsal          bool     // it may be driven by `migrator rehearse`
	CanaryTopic        string
	// Lines for the sections of the same name, such as "tls: {ca: /ca.pem}".
	ZooKeeper, Kafka, Quorum []string
}

// MigrationsYAML is a whole migrations.yaml for this cluster. Its nodes are
// reached as `access: local` and driven by commands that ask the supervisor,
// like anybody's nodes.
func (c *Cluster) MigrationsYAML(o YAMLOptions) string {
	var b strings.Builder
	b.WriteString("migrations:\n")
	fmt.Fprintf(&b, "  - name: %s\n", strconv.Quote(or(o.Name, "lab")))
	fmt.Fprintf(&b, "    zookeeper:\n      connect: %s\n", strconv.Quote(c.ZooKeeperConnect()))
	writeLines(&b, o.ZooKeeper)
	fmt.Fprintf(&b, "    kafka:\n      version: %s\n      bootstrap: %s\n", c.options.Version, flow(c.Bootstrap()))
	writeLines(&b, o.Kafka)
	c.writeQuorum(&b, o)
	b.WriteString("    broker_defaults:\n")
	c.writeDefaults(&b, "server.properties")
	if len(c.options.BrokerSettings) > 0 {
		b.WriteString("      settings:\n")
		writeSettings(&b, c.options.BrokerSettings)
	}
	c.writeCommands(&b, nil)
	b.WriteString("    controller_defaults:\n")
	c.writeDefaults(&b, "controller.properties")
	c.writeControllerSettings(&b)
	c.writeCommands(&b, formatArguments(o))
	c.writeNodes(&b)
	writeGates(&b, o)
	writeSoakAndDrill(&b, o)
	if o.RollBatch != "" {
		fmt.Fprintf(&b, "    roll: {batch: %s}\n", o.RollBatch)
	}
	if o.CanaryTopic != "" {
		fmt.Fprintf(&b, "    canary: {topic: %s}\n", strconv.Quote(o.CanaryTopic))
	}
	if o.Approve != nil {
		fmt.Fprintf(&b, "    approve: %s\n", flow(o.Approve))
	}
	if o.Rehearsal {
		b.WriteString("    rehearsal: true\n")
	}
	return b.String()
}

func (c *Cluster) writeQuorum(b *strings.Builder, o YAMLOptions) {
	fmt.Fprintf(b, "    quorum:\n      mode: %s\n", or(o.QuorumMode, "static"))
	writeLines(b, o.Quorum)
	for _, m := range c.members {
		if m.Kind == controllerKind { // each has a port of its own below
			fmt.Fprintf(b, "      listener: {name: CONTROLLER, protocol: %s, port: %d}\n", or(o.ControllerProtocol, "PLAINTEXT"), m.port)
			return
		}
	}
}

func (c *Cluster) writeDefaults(b *strings.Builder, properties string) {
	node := nodeDir(c.dir, "{id}")
	logs := []string{filepath.Join(node, "logs", "server.log"), filepath.Join(node, "logs", "controller.log")}
	b.WriteString("      access: {kind: local}\n")
	fmt.Fprintf(b, "      properties: %s\n", strconv.Quote(filepath.Join(node, properties)))
	fmt.Fprintf(b, "      logs: %s\n", flow(logs))
}

func (c *Cluster) writeControllerSettings(b *strings.Builder) {
	data := filepath.Join(nodeDir(c.dir, "{id}"), "data")
	fmt.Fprintf(b, "      log_dirs: %s\n      settings:\n", flow([]string{data}))
	fmt.Fprintf(b, "        - {key: log.dirs, value: %s}\n", strconv.Quote(data))
	writeSettings(b, c.options.ExtraController)
}

func writeSettings(b *strings.Builder, lines []string) {
	for _, line := range lines {
		key, value, _ := strings.Cut(line, "=")
		fmt.Fprintf(b, "        - {key: %s, value: %s}\n", strconv.Quote(key), strconv.Quote(value))
	}
}

func writeLines(b *strings.Builder, lines []string) {
	for _, line := range lines {
		fmt.Fprintf(b, "      %s\n", line)
	}
}

func formatArguments(o YAMLOptions) []string {
	args := []string{"--cluster-id={cluster_id}", "--release-version={metadata_version}", "--config", "{properties}"}
	if o.QuorumMode == "dynamic" {
		args = append(args, "--initial-controllers={initial_controllers}")
	}
	return args
}

func (c *Cluster) writeCommands(b *strings.Builder, format []string) {
	ctl := func(verb string, more ...string) string {
		return flow(append([]string{c.options.Binary, "lab", "ctl", "--dir", c.dir, verb, "{id}"}, more...))
	}
	b.WriteString("      commands:\n")
	if format != nil {
		fmt.Fprintf(b, "        format: %s\n", ctl(verbFormat, append([]string{"--"}, format...)...))
	}
	for _, verb := range []string{verbStart, verbStop, verbRunning, verbKill} {
		fmt.Fprintf(b, "        %s: %s\n", verb, ctl(verb))
	}
}

func (c *Cluster) writeNodes(b *strings.Builder) {
	b.WriteString("    brokers:\n")
	for _, m := range c.members {
		if m.Kind == brokerKind {
			fmt.Fprintf(b, "      - {id: %d, host: %s, rack: %q}\n", m.id, host, m.rack)
		}
	}
	b.WriteString("    controllers:\n")
	for _, m := range c.members {
		if m.Kind == controllerKind {
			fmt.Fprintf(b, "      - {id: %d, host: %s, port: %d, rack: %q}\n", m.id, host, m.port, m.rack)
		}
	}
}

func writeGates(b *strings.Builder, o YAMLOptions) {
	var pairs []string
	if o.GoodPolls != 0 {
		pairs = append(pairs, "good_polls: "+strconv.Itoa(o.GoodPolls))
	}
	if o.PollInterval != "" {
		pairs = append(pairs, "poll_interval: "+o.PollInterval)
	}
	if o.StepTimeout != "" {
		pairs = append(pairs, "step_timeout: "+o.StepTimeout)
	}
	if len(pairs) > 0 {
		fmt.Fprintf(b, "    gates: {%s}\n", strings.Join(pairs, ", "))
	}
}

func writeSoakAndDrill(b *strings.Builder, o YAMLOptions) {
	if o.SoakLoad != "" || o.Soak != "" {
		b.WriteString("    soak:\n")
	}
	if o.SoakLoad != "" {
		fmt.Fprintf(b, "      - {phase: load, duration: %s}\n", o.SoakLoad)
	}
	if o.Soak != "" {
		fmt.Fprintf(b, "      - {phase: dual-write, duration: %s}\n", o.Soak)
	}
	if len(o.DrillKinds) == 0 && o.MaxUnavailable == "" {
		return
	}
	pairs := []string{"phase: dual-write"}
	if len(o.DrillKinds) > 0 {
		pairs = append(pairs, "kinds: "+flow(o.DrillKinds))
	}
	if o.MaxUnavailable != "" {
		pairs = append(pairs, "max_unavailable: "+o.MaxUnavailable)
	}
	fmt.Fprintf(b, "    drill: {%s}\n", strings.Join(pairs, ", "))
}

// flow is a YAML flow sequence of quoted strings.
func flow(list []string) string {
	quoted := make([]string, 0, len(list))
	for _, s := range list {
		quoted = append(quoted, strconv.Quote(s))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
