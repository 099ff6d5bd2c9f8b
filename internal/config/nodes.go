package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"migrator/internal/cluster"
)

var hostPattern = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9._-]{0,252}[A-Za-z0-9_])?$|^[0-9A-Fa-f:.]{2,45}$`)

// ValidHost says whether a text is a host name or address.
func ValidHost(host string) bool { return hostPattern.MatchString(host) }

func (c *checker) nodes(at string, raw rawMigration, m *Migration) {
	if len(raw.Brokers) == 0 {
		c.add(at+".brokers", "missing: the list of brokers")
	}
	switch n := len(raw.Controllers); {
	case n == 0:
		c.add(at+".controllers", "missing: an odd number of controllers, three or five")
	case n == 1:
		c.add(at+".controllers", "a single controller cannot fail over: name three or five")
	case n%2 == 0:
		c.add(at+".controllers", "%d controllers are an even number, which survives no more failures than %d: name %d", n, n-1, n+1)
	}
	for i, r := range raw.Brokers {
		here := fmt.Sprintf("%s.brokers[%d]", at, i)
		c.keep(here, c.node(here, at+".broker_defaults", cluster.Broker, r, raw.BrokerDefaults, *m), m)
	}
	for i, r := range raw.Controllers {
		here := fmt.Sprintf("%s.controllers[%d]", at, i)
		c.keep(here, c.node(here, at+".controller_defaults", cluster.Controller, r, raw.ControllerDefaults, *m), m)
	}
	if m.Roll.Batch == "rack" {
		c.racks(at, m.Nodes)
	}
}

// keep adds a node unless its id is taken. Brokers and controllers share one
// space of ids: as observers and voters they meet in one quorum.
func (c *checker) keep(at string, n Node, m *Migration) {
	// A bad id is -1 here and a problem already, so it never leaves this package.
	if other, ok := m.Node(n.ID); ok && n.ID >= 0 {
		if other.Role == n.Role {
			c.add(at+".id", "%d is the id of another %s: ids are unique", n.ID, n.Role)
		} else {
			c.add(at+".id", "%d is the id of a %s: brokers and controllers share one space of ids", n.ID, other.Role)
		}
	}
	m.Nodes = append(m.Nodes, n)
}

func (c *checker) node(at, defaultsAt string, role cluster.Role, raw rawNode, common rawSettings, m Migration) Node {
	n := Node{Node: cluster.Node{ID: c.id(at+".id", raw.ID), Role: role}}
	if v, ok := c.required(at+".host", raw.Host, "the name under which the other nodes reach this one"); ok {
		if !ValidHost(v) {
			c.add(at+".host", "%q is not a host name or address", v)
		}
		n.Host = v
	}
	n.Rack, _ = c.scalar(at+".rack", raw.Rack)
	if role == cluster.Controller {
		n.Port = m.Quorum.Listener.Port
		c.number(at+".port", raw.Port, 1, 65535, &n.Port)
	} else if raw.Port.set {
		c.add(at+".port", "brokers have no port here: their listeners come from their registration")
	}
	c.drive(source{c: c, nodeAt: at, defaultsAt: defaultsAt, own: raw.Own, common: common}, &n, m)
	return n
}

// id is -1 for an id that is no id, which is a problem noted already.
func (c *checker) id(at string, raw text) int32 {
	v, ok := c.required(at, raw, "a number, node.id or broker.id of this node")
	if !ok {
		return -1
	}
	n, err := strconv.ParseInt(v, 10, 32)
	if err != nil || n < 0 || strings.HasPrefix(v, "+") {
		c.add(at, "%q is not a node id: a whole number from 0 to 2147483647", v)
		return -1
	}
	return int32(n)
}

func (c *checker) racks(at string, nodes []Node) {
	i := 0
	for _, n := range nodes {
		if n.Role != cluster.Broker {
			continue
		}
		if n.Rack == "" {
			c.add(fmt.Sprintf("%s.brokers[%d].rack", at, i), "missing: roll.batch is rack, so every broker needs its rack")
		}
		i++
	}
}

// places refuses two nodes in one place, within a migration or between two:
// the same properties file, the same controller address, the same log folder.
// Through local access every node is on this machine, whatever its host says.
func (c *checker) places(all []Migration) {
	taken := map[string]string{}
	claim := func(at, owner, what, key string) {
		if first, ok := taken[what+" "+key]; ok {
			if first != owner {
				c.add(at, "%s %s belongs to %s already: two nodes in one place", what, key, first)
			}
			return
		}
		taken[what+" "+key] = owner
	}
	for i, m := range all {
		counts := map[cluster.Role]int{}
		for _, n := range m.Nodes {
			at := fmt.Sprintf("migrations[%d].%ss[%d]", i, n.Role, counts[n.Role])
			counts[n.Role]++
			machine := n.Host + ":"
			switch n.Access.Kind {
			case "local":
				machine = ""
			case "wrapper": // two containers of one host have the same paths
				machine += strings.Join(n.Access.Argv, " ") + ":"
			}
			if n.Properties != "" {
				claim(c.nearest(at, "properties"), at, "the file", machine+n.Properties)
			}
			if n.Role == cluster.Controller && n.Host != "" {
				claim(c.nearest(at, "port"), at, "the address", fmt.Sprintf("%s:%d", n.Host, n.Port))
			}
			for _, dir := range slices.Compact(slices.Clone(n.LogDirs)) {
				claim(c.nearest(at, "log_dirs"), at, "the folder", machine+dir)
			}
		}
	}
}

// nearest is the node's own key when it has one, else the node.
func (c *checker) nearest(at, key string) string {
	l1, c1 := position(c.doc, at)
	if l2, c2 := position(c.doc, at+"."+key); l1 != l2 || c1 != c2 {
		return at + "." + key
	}
	return at
}
