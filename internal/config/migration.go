package config

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"migrator/internal/cluster"
	"migrator/internal/zkread/zkconnect"
)

var (
	namePattern     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
	versionPattern  = regexp.MustCompile(`^\d{1,4}\.\d{1,4}\.\d{1,4}([.-][0-9A-Za-z.-]{1,40})?$`)
	topicPattern    = regexp.MustCompile(`^[A-Za-z0-9._-]{1,249}$`)
	listenerPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
)

// ValidName says whether a migration may be called so.
func ValidName(name string) bool { return namePattern.MatchString(name) }

func (c *checker) file(raw rawFile) File {
	var f File
	if len(raw.Migrations) == 0 {
		c.add("migrations", "missing: a list with one entry per cluster")
	}
	for i, m := range raw.Migrations {
		f.Migrations = append(f.Migrations, c.migration(fmt.Sprintf("migrations[%d]", i), m))
	}
	c.between(f.Migrations)
	return f
}

func (c *checker) migration(at string, raw rawMigration) Migration {
	m := defaults()
	if v, ok := c.required(at+".name", raw.Name, "a name for this cluster, which a person types to confirm"); ok {
		if !ValidName(v) {
			c.add(at+".name", "%q: use up to 63 letters, digits, dots, dashes and underscores, beginning with a letter or digit", v)
		}
		m.Name = v
	}
	c.zookeeper(at+".zookeeper.connect", raw, &m)
	c.kafka(at+".kafka", raw, &m)
	c.quorum(at+".quorum", raw, &m)
	c.judging(at, raw, &m)
	c.drill(at+".drill", raw, &m)
	c.roll(at+".roll", raw, &m)
	c.canary(at+".canary", raw, &m)
	c.approve(at+".approve", raw.Approve, &m)
	c.waivers(at+".waivers", raw, &m)
	c.clients(at, raw, &m)
	c.hooks(at+".hooks", raw, &m)
	c.rehearsal(at, raw, &m)
	c.nodes(at, raw, &m)
	return m
}

func (c *checker) zookeeper(at string, raw rawMigration, m *Migration) {
	v, ok := c.required(at, raw.ZooKeeper.Connect, "the brokers' zookeeper.connect, such as zk1:2181,zk2:2181,zk3:2181/kafka")
	if !ok {
		return
	}
	if _, err := zkconnect.Parse(v); err != nil {
		c.add(at, "%v", err)
	}
	m.ZooKeeper.Connect = v
}

func (c *checker) kafka(at string, raw rawMigration, m *Migration) {
	if v, ok := c.required(at+".version", raw.Kafka.Version, "the version that the nodes run, such as 3.9.2"); ok {
		if !versionPattern.MatchString(v) {
			c.add(at+".version", "%q is malformed: say all three numbers, such as 3.9.2", v)
		}
		m.Kafka.Version = v
	}
	servers, ok := c.list(at+".bootstrap", raw.Kafka.Bootstrap, "[host:port, host:port]")
	if !raw.Kafka.Bootstrap.set || ok && len(servers) == 0 {
		c.add(at+".bootstrap", "missing: at least one broker as host:port")
	}
	for i, s := range servers {
		host, port, err := net.SplitHostPort(s)
		if err != nil || host == "" || !validPort(port) {
			c.add(fmt.Sprintf("%s.bootstrap[%d]", at, i), "%q is not host:port", s)
		}
	}
	m.Kafka.Bootstrap = servers
}

func (c *checker) quorum(at string, raw rawMigration, m *Migration) {
	q := raw.Quorum
	c.word(at+".mode", q.Mode, []string{"static", "dynamic"}, &m.Quorum.Mode)
	l := &m.Quorum.Listener
	if v, ok := c.scalar(at+".listener.name", q.Listener.Name); ok {
		if !listenerPattern.MatchString(v) {
			c.add(at+".listener.name", "%q is not a listener name", v)
		}
		l.Name = v
	}
	c.word(at+".listener.protocol", q.Listener.Protocol, []string{"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}, &l.Protocol)
	c.number(at+".listener.port", q.Listener.Port, 1, 65535, &l.Port)
}

// judging reads gates and soaks.
func (c *checker) judging(at string, raw rawMigration, m *Migration) {
	g := raw.Gates
	c.number(at+".gates.good_polls", g.GoodPolls, 1, noLimit, &m.Gates.GoodPolls)
	c.positive(at+".gates.poll_interval", g.PollInterval, &m.Gates.PollInterval)
	c.positive(at+".gates.step_timeout", g.StepTimeout, &m.Gates.StepTimeout)
	c.positive(at+".gates.max_fact_age", g.MaxFactAge, &m.Gates.MaxFactAge)
	var seen []cluster.Phase
	for i, s := range raw.Soak {
		here := fmt.Sprintf("%s.soak[%d]", at, i)
		c.required(here+".phase", s.Phase, "load or dual-write")
		c.required(here+".duration", s.Duration, "a time such as 72h")
		var soak Soak
		if !c.phase(here+".phase", s.Phase, &soak.Phase) {
			continue
		}
		if slices.Contains(seen, soak.Phase) {
			c.add(here+".phase", "%s has a soak already", soak.Phase)
			continue
		}
		seen = append(seen, soak.Phase)
		known := slices.IndexFunc(m.Soaks, func(d Soak) bool { return d.Phase == soak.Phase })
		if known < 0 {
			c.add(here+".phase", "no soak in %s: a cluster rests in load and in dual-write", soak.Phase)
			continue
		}
		if !c.duration(here+".duration", s.Duration, &soak.Duration) {
			continue
		}
		switch {
		case soak.Duration < 0:
			c.add(here+".duration", "%q is negative", s.Duration.value)
		case soak.Duration == 0 && soak.Phase == cluster.DualWrite:
			c.add(here+".duration", "the dual-write soak is mandatory before finalize: say how long, more than 0")
		}
		m.Soaks[known] = soak
	}
}

func (c *checker) drill(at string, raw rawMigration, m *Migration) {
	if c.phase(at+".phase", raw.Drill.Phase, &m.Drill.Phase) && m.Drill.Phase != cluster.DualWrite {
		c.add(at+".phase", "the drill belongs to dual-write, inside its soak; %s has none", m.Drill.Phase)
	}
	c.positive(at+".max_unavailable", raw.Drill.MaxUnavailable, &m.Drill.MaxUnavailable)
	if !raw.Drill.Kinds.set {
		return
	}
	kinds, ok := c.list(at+".kinds", raw.Drill.Kinds, "[clean, crash]")
	if ok && len(kinds) == 0 {
		c.add(at+".kinds", "empty: finalize needs a passed drill, so name clean, crash or both")
	}
	for i, k := range kinds {
		here := fmt.Sprintf("%s.kinds[%d]", at, i)
		var kind string
		if c.word(here, raw.Drill.Kinds.items[i], []string{"clean", "crash"}, &kind) && slices.Contains(kinds[:i], k) {
			c.add(here, "%s is named twice", k)
		}
	}
	m.Drill.Kinds = kinds
}

func (c *checker) roll(at string, raw rawMigration, m *Migration) {
	c.word(at+".batch", raw.Roll.Batch, []string{"node", "rack"}, &m.Roll.Batch)
	c.number(at+".max_nodes", raw.Roll.MaxNodes, 0, noLimit, &m.Roll.MaxNodes)
	c.word(at+".first", raw.Roll.First, []string{"node", "rack"}, &m.Roll.First)
}

func (c *checker) canary(at string, raw rawMigration, m *Migration) {
	if v, ok := c.scalar(at+".topic", raw.Canary.Topic); ok {
		if !topicPattern.MatchString(v) || v == "." || v == ".." {
			c.add(at+".topic", "%q is not a topic name", v)
		}
		m.Canary.Topic = v
	}
	c.positive(at+".interval", raw.Canary.Interval, &m.Canary.Interval)
	c.boolean(at+".off", raw.Canary.Off, &m.Canary.Off)
}

func (c *checker) approve(at string, raw texts, m *Migration) {
	if !raw.set {
		return
	}
	names, _ := c.list(at, raw, "[initial, finalize], or [] to be asked before finalize only")
	m.Approve = []cluster.Phase{}
	for i := range names {
		here := fmt.Sprintf("%s[%d]", at, i)
		var p cluster.Phase
		if !c.phase(here, raw.items[i], &p) {
			continue
		}
		if slices.Contains(m.Approve, p) {
			c.add(here, "%s is named twice", p)
			continue
		}
		m.Approve = append(m.Approve, p)
	}
}

// waivers takes codes as they are: who has the registry judges them.
func (c *checker) waivers(at string, raw rawMigration, m *Migration) {
	for i, w := range raw.Waivers {
		here := fmt.Sprintf("%s[%d]", at, i)
		code, ok := c.required(here+".code", w.Code, "a warning's code, such as MIG283: migrator findings lists them")
		reason, told := c.required(here+".reason", w.Reason, "why the warning is accepted; it stands in the evidence")
		if !ok || !told {
			continue
		}
		if slices.ContainsFunc(m.Waivers, func(other Waiver) bool { return other.Code == code }) {
			c.add(here+".code", "%s is waived already", code)
			continue
		}
		line, column := position(c.doc, here+".code")
		m.Waivers = append(m.Waivers, Waiver{Code: code, Reason: reason, At: Problem{Path: here + ".code", Line: line, Column: column}})
	}
}

// between refuses two migrations of one cluster: names, trees and nodes.
func (c *checker) between(all []Migration) {
	for i, m := range all {
		for j, other := range all[:i] {
			at, first := fmt.Sprintf("migrations[%d]", i), fmt.Sprintf("migrations[%d]", j)
			if m.Name != "" && m.Name == other.Name {
				c.add(at+".name", "%q is the name of %s already", m.Name, first)
			}
			a, errA := zkconnect.Parse(m.ZooKeeper.Connect)
			b, errB := zkconnect.Parse(other.ZooKeeper.Connect)
			if errA == nil && errB == nil && a.Overlaps(b) {
				c.add(at+".zookeeper.connect", "the same ZooKeeper tree as %s: one cluster has one migration", first)
			}
		}
	}
	c.places(all)
}

// hooks keep their placeholders: which node it is about is known when they run.
func (c *checker) hooks(at string, raw rawMigration, m *Migration) {
	node := []string{"{id}", "{host}", "{rack}"}
	for _, h := range []struct {
		key   string
		raw   texts
		known []string
		to    *[]string
	}{
		{"freeze", raw.Hooks.Freeze, nil, &m.Hooks.Freeze},
		{"thaw", raw.Hooks.Thaw, nil, &m.Hooks.Thaw},
		{"before_node", raw.Hooks.BeforeNode, node, &m.Hooks.BeforeNode},
		{"after_node", raw.Hooks.AfterNode, node, &m.Hooks.AfterNode},
	} {
		if !h.raw.set {
			continue
		}
		here := at + "." + h.key
		argv, ok := c.list(here, h.raw, "an argv list such as [systemctl, stop, puppet]; a shell string is never run")
		if ok && (len(argv) == 0 || argv[0] == "") {
			c.add(here, "empty: an argv needs a program")
		}
		c.arguments(here, argv)
		for i, a := range argv {
			for _, p := range placeholder.FindAllString(a, -1) {
				if p[0] != '$' && !slices.Contains(h.known, p) {
					c.add(fmt.Sprintf("%s[%d]", here, i), "unknown placeholder %s: before_node and after_node know {id}, {host} and {rack}, freeze and thaw none", p)
				}
			}
		}
		*h.to = argv
	}
	if len(m.Hooks.Freeze) > 0 && len(m.Hooks.Thaw) == 0 {
		c.add(at+".thaw", "missing: what freeze stops must go on afterwards")
	}
}

func (c *checker) rehearsal(at string, raw rawMigration, m *Migration) {
	here := at + ".rehearsal"
	c.boolean(here, raw.Rehearsal, &m.Rehearsal)
	m.RehearsalAt.Path = here
	m.RehearsalAt.Line, m.RehearsalAt.Column = position(c.doc, here)
	if raw.RequireRehearsal == nil {
		return
	}
	here = at + ".require_rehearsal"
	if _, ok := c.required(here+".within", raw.RequireRehearsal.Within, "how old the rehearsal may be, such as 720h"); ok {
		c.positive(here+".within", raw.RequireRehearsal.Within, &m.RequireRehearsal)
	}
	if m.Rehearsal {
		c.add(here, "beside rehearsal: true: a rehearsal needs no rehearsal")
	}
}

func validPort(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n >= 1 && n <= 65535 && !strings.HasPrefix(s, "+")
}
