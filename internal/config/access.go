package config

import (
	"path/filepath"
	"slices"
	"strings"
)

// accessKeys says which keys each kind has besides kind.
var accessKeys = map[string][]string{
	"local":   {},
	"ssh":     {"user", "port", "key_file", "passphrase", "known_hosts", "config", "jump", "become", "max_connections"},
	"wrapper": {"argv"},
	"manual":  {"files"},
}

// access reads the way to a node.
func (c *checker) access(s source, n *Node) {
	at, raw := s.nodeAt+".access", s.own.Access
	if raw == nil {
		raw = s.common.Access
		if raw != nil {
			at = s.defaultsAt + ".access"
		}
	}
	if raw == nil {
		c.add(at, "missing: the way to the node, such as {kind: local}")
		return
	}
	kinds := []string{"local", "ssh", "wrapper", "manual"}
	if _, ok := c.required(at+".kind", raw.Kind, oneOf(kinds)); !ok || !c.word(at+".kind", raw.Kind, kinds, &n.Access.Kind) {
		return
	}
	set := map[string]bool{"user": raw.User.set, "port": raw.Port.set, "key_file": raw.KeyFile.set, "passphrase": raw.Passphrase.set,
		"known_hosts": raw.KnownHosts.set, "config": raw.Config.set, "jump": raw.Jump.set, "become": raw.Become.set,
		"max_connections": raw.MaxConnections.set, "argv": raw.Argv.set, "files": raw.Files.set}
	for key, given := range set {
		if given && !slices.Contains(accessKeys[n.Access.Kind], key) {
			c.add(at+"."+key, "%s access has no such key", n.Access.Kind)
		}
	}
	in := filler{c: c, node: n, nodeAt: s.nodeAt}
	switch n.Access.Kind {
	case "ssh":
		n.Access.Host = n.Host
		n.Access.SSH = c.ssh(at, raw, in)
	case "wrapper":
		if !raw.Argv.set {
			c.add(at+".argv", "missing: the prefix of every command, such as [kubectl, exec, -i, kafka-0, --]")
			return
		}
		n.Access.Argv = c.argv(at+".argv", raw.Argv, in)
	case "manual":
		if v, ok := c.required(at+".files", raw.Files, "the folder on this machine into which a person puts the node's files"); ok {
			// Each node has a folder of its own, or two would be taken for one.
			n.Access.Files = c.absolute(at+".files", in.fill(at+".files", v))
			if !strings.Contains(v, "{id}") && s.own.Access == nil {
				n.Access.Files = filepath.Join(n.Access.Files, in.fill(at, "{id}"))
			}
		}
	}
}

func (c *checker) ssh(at string, raw *rawAccess, in filler) SSH {
	out := SSH{MaxConnections: 2}
	if v, ok := c.scalar(at+".user", raw.User); ok {
		if v == "" || strings.HasPrefix(v, "-") || strings.ContainsAny(v, " @:/\x00\r\n") {
			c.add(at+".user", "%q is not a user name", v)
		}
		out.User = v
	}
	c.number(at+".port", raw.Port, 1, 65535, &out.Port)
	c.number(at+".max_connections", raw.MaxConnections, 1, 64, &out.MaxConnections)
	out.Passphrase = c.secret(at+".passphrase", raw.Passphrase)
	for _, f := range []struct {
		key string
		raw text
		to  *string
	}{{"key_file", raw.KeyFile, &out.KeyFile}, {"known_hosts", raw.KnownHosts, &out.KnownHosts}, {"config", raw.Config, &out.Config}} {
		if v, ok := c.scalar(at+"."+f.key, f.raw); ok {
			*f.to = c.absolute(at+"."+f.key, in.fill(at+"."+f.key, v))
		}
	}
	if v, ok := c.scalar(at+".jump", raw.Jump); ok {
		if v == "" || strings.HasPrefix(v, "-") || strings.ContainsAny(v, " /\x00\r\n") {
			c.add(at+".jump", "%q is not [user@]host[:port]", v)
		}
		out.Jump = v
	}
	if raw.Become.set {
		out.Become = c.argv(at+".become", raw.Become, in)
	}
	return out
}
