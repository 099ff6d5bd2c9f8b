package config

import (
	"fmt"
	"slices"
	"strings"

	"migrator/internal/cluster"
)

// source answers where a node's setting comes from: its own key, or the
// defaults of its role.
type source struct {
	c          *checker
	nodeAt     string
	defaultsAt string
	own        rawSettings
	common     rawSettings
}

func (s source) text(key string, of func(rawSettings) text) (string, text) {
	if t := of(s.own); t.set {
		return s.nodeAt + "." + key, t
	}
	if t := of(s.common); t.set {
		return s.defaultsAt + "." + key, t
	}
	return s.nodeAt + "." + key, text{}
}

func (s source) texts(key string, of func(rawSettings) texts) (string, texts) {
	if t := of(s.own); t.set {
		return s.nodeAt + "." + key, t
	}
	if t := of(s.common); t.set {
		return s.defaultsAt + "." + key, t
	}
	return s.nodeAt + "." + key, texts{}
}

// drive reads how a node is reached, where its files are and what starts it.
func (c *checker) drive(s source, n *Node, m Migration) {
	c.access(s, n)
	in := filler{c: c, node: n, nodeAt: s.nodeAt}
	at, raw := s.text("properties", func(r rawSettings) text { return r.Properties })
	if v, ok := c.required(at, raw, "the path of the node's .properties file"); ok {
		n.Properties = c.absolute(at, in.fill(at, v))
	}
	in.propertiesKnown = true
	c.logs(s, in, n)
	c.logDirs(s, in, n)
	c.settings(s, in, n)
	c.commands(s, in, n, m)
}

// logs takes a list of absolute paths, one argv that follows the log, or none.
func (c *checker) logs(s source, in filler, n *Node) {
	at, raw := s.texts("logs", func(r rawSettings) texts { return r.Logs })
	const say = "a list of absolute paths, one argv such as [journalctl, -u, kafka, -o, cat, -f], or none"
	switch {
	case !raw.set:
		c.add(at, "missing: %s", say)
		return
	case raw.one != nil && raw.one.value == "none":
		n.Logs.None = true
		return
	}
	entries, ok := c.list(at, raw, say)
	if !ok {
		return
	}
	entries = in.fillAll(at, entries)
	absolute := 0
	for _, e := range entries {
		if strings.HasPrefix(e, "/") {
			absolute++
		}
	}
	switch {
	case len(entries) == 0 || entries[0] == "":
		c.add(at, "empty: say %s", say)
	case absolute == len(entries):
		n.Logs.Files = entries
	case len(entries) == 1 || strings.HasSuffix(entries[0], ".log"):
		c.add(at, "neither absolute paths nor an argv with arguments: say %s", say)
	default:
		n.Logs.Argv = entries
	}
}

func (c *checker) logDirs(s source, in filler, n *Node) {
	at, raw := s.texts("log_dirs", func(r rawSettings) texts { return r.LogDirs })
	dirs, ok := c.list(at, raw, "[/var/lib/kafka/metadata]")
	if n.Role == cluster.Controller && (!raw.set || ok && len(dirs) == 0) {
		c.add(at, "missing: the folders that format writes to, which a way back archives")
	}
	for i, d := range in.fillAll(at, dirs) {
		here := fmt.Sprintf("%s[%d]", at, i)
		d = c.absolute(here, d)
		if slices.Contains(n.LogDirs, d) {
			c.add(here, "%s is named twice", d)
		}
		n.LogDirs = append(n.LogDirs, d)
	}
}

func (c *checker) settings(s source, in filler, n *Node) {
	at, raw := s.defaultsAt+".settings", s.common.Settings
	if s.own.Settings != nil {
		at, raw = s.nodeAt+".settings", s.own.Settings
	}
	seen := map[string]bool{}
	for i, r := range raw {
		here := fmt.Sprintf("%s[%d]", at, i)
		key, ok := c.required(here+".key", r.Key, "a Kafka property, such as log.dirs")
		secret := c.secret(here+".value", r.Value.secret)
		value, _ := c.scalar(here+".value", r.Value.text)
		if !r.Value.text.set && !r.Value.secret.set {
			c.add(here+".value", "missing: write \"\" for a property that is to be empty")
		}
		if !ok {
			continue
		}
		if strings.ContainsAny(key, "\r\n\x00 =:") {
			c.add(here+".key", "%q is not a property name", key)
		}
		if strings.ContainsAny(value, "\r\n\x00") {
			c.add(here+".value", "more than one line")
		}
		if seen[key] {
			c.add(here+".key", "%s is set twice", key)
		}
		seen[key] = true
		n.Settings = append(n.Settings, Setting{Key: key, Value: in.fill(here+".value", value), Secret: secret})
	}
}

// absolute notes a relative path; it would depend on where the service started.
func (c *checker) absolute(at, path string) string {
	if !strings.HasPrefix(path, "/") || strings.ContainsRune(path, 0) {
		c.add(at, "%q is not an absolute path", path)
	}
	return path
}
