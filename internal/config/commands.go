package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"migrator/internal/cluster"
	"migrator/internal/configgen"
)

// commands merges per key: a node may override stop alone.
func (c *checker) commands(s source, in filler, n *Node, m Migration) {
	controller := n.Role == cluster.Controller
	crash := slices.Contains(m.Drill.Kinds, "crash")
	for _, cmd := range []struct {
		key    string
		of     func(rawCommands) texts
		to     *[]string
		needed bool
		why    string
	}{
		{"format", func(r rawCommands) texts { return r.Format }, &n.Commands.Format, controller, "prepares a controller's folders with the cluster's id"},
		{"start", func(r rawCommands) texts { return r.Start }, &n.Commands.Start, true, "starts the node"},
		{"stop", func(r rawCommands) texts { return r.Stop }, &n.Commands.Stop, true, "stops the node cleanly"},
		{"running", func(r rawCommands) texts { return r.Running }, &n.Commands.Running, true, "exits 0 while the process exists, 1 to 4 when not"},
		{"kill", func(r rawCommands) texts { return r.Kill }, &n.Commands.Kill, controller && crash, "crashes a controller, since drill.kinds has crash"},
		{"disable", func(r rawCommands) texts { return r.Disable }, &n.Commands.Disable, false, ""},
	} {
		at, raw := s.texts("commands."+cmd.key, func(r rawSettings) texts { return cmd.of(r.Commands) })
		if !raw.set {
			if cmd.needed && n.Access.Kind != "manual" { // a person knows how

				c.add(at, "missing: the argv that %s", cmd.why)
			}
			continue
		}
		in.format = cmd.key == "format"
		*cmd.to = c.argv(at, raw, in)
		if in.format && controller {
			c.initialControllers(at, *cmd.to, m.Quorum.Mode)
		}
	}
}

// initialControllers: a dynamic quorum's folders are formatted with its first
// voters (KIP-853), and a static one's refuse to be.
func (c *checker) initialControllers(at string, argv []string, mode string) {
	named := slices.ContainsFunc(argv, func(a string) bool { return strings.Contains(a, "{initial_controllers}") })
	switch {
	case len(argv) == 0:
	case mode == "dynamic" && !named:
		c.add(at, "quorum.mode is dynamic, whose folders are formatted with the first voters: add \"--initial-controllers={initial_controllers}\"")
	case mode == "static" && named:
		c.add(at, "quorum.mode is static, whose folders are formatted without {initial_controllers}")
	}
}

func (c *checker) argv(at string, raw texts, in filler) []string {
	argv, ok := c.list(at, raw, "an argv list such as [systemctl, start, kafka]; a shell string is never run")
	switch {
	case !ok:
		return nil
	case len(argv) == 0:
		c.add(at, "empty: an argv needs a program")
		return nil
	case argv[0] == "":
		c.add(at+"[0]", "empty: the first entry is the program")
	}
	c.arguments(at, argv)
	return in.fillAll(at, argv)
}

// arguments are seen by every user of the machine, and by whoever reads a plan.
func (c *checker) arguments(at string, argv []string) {
	for i, a := range argv {
		here := fmt.Sprintf("%s[%d]", at, i)
		if strings.ContainsRune(a, 0) {
			c.add(here, "has a zero byte, which no argument can have")
		}
		if configgen.LooksSecret(a) {
			c.add(here, "looks as if it held a secret, which plans and every list of processes would show: let the program read it from a file or from its environment")
		}
	}
}

// placeholder is a name in braces; ${...} belongs to Kafka's config providers.
var placeholder = regexp.MustCompile(`\$?\{[A-Za-z_][A-Za-z0-9_-]*\}`)

// filler replaces placeholders by what is known of one node.
type filler struct {
	c               *checker
	node            *Node
	nodeAt          string
	propertiesKnown bool
	format          bool
}

func (f filler) fillAll(at string, in []string) []string {
	out := make([]string, 0, len(in))
	for i, s := range in {
		out = append(out, f.fill(fmt.Sprintf("%s[%d]", at, i), s))
	}
	return out
}

func (f filler) fill(at, s string) string {
	return placeholder.ReplaceAllStringFunc(s, func(p string) string {
		if p[0] == '$' {
			return p
		}
		switch p {
		case "{id}":
			return strconv.Itoa(int(f.node.ID))
		case "{host}":
			return f.node.Host
		case "{rack}":
			if f.node.Rack == "" {
				f.c.add(f.nodeAt+".rack", "missing: %s uses {rack}", at)
			}
			return f.node.Rack
		case "{port}":
			if f.node.Role != cluster.Controller {
				f.c.add(at, "{port} is a controller's listener: brokers have no port here")
			}
			return strconv.Itoa(f.node.Port)
		case "{properties}":
			if !f.propertiesKnown {
				f.c.add(at, "{properties} cannot be a part of itself")
			}
			return f.node.Properties
		case "{cluster_id}", "{metadata_version}", "{initial_controllers}":
			if !f.format {
				f.c.add(at, "%s is known only in commands.format", p)
			}
			return p
		}
		f.c.add(at, "unknown placeholder %s: use {id}, {host}, {rack}, {properties}, {port}, or in format also {cluster_id}, {metadata_version}, {initial_controllers}", p)
		return p
	})
}
