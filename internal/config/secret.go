package config

import (
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// SecretSource says where a secret is kept; the file never holds one itself.
// Exactly one of the three is set.
type SecretSource struct {
	Env     string   // name of a variable of the service's environment
	File    string   // absolute path on the service's machine
	Command []string // argv whose output is the secret
}

// String names the source, which is no secret.
func (s *SecretSource) String() string {
	switch {
	case s == nil:
		return "no source"
	case s.Env != "":
		return "environment variable " + s.Env
	case s.File != "":
		return "file " + s.File
	}
	return "command " + s.Command[0]
}

// rawSecret is {env: NAME}, {file: PATH} or {command: [argv]}; anything else is
// remembered without its text, which could be the secret itself.
type rawSecret struct {
	set     bool
	plain   bool // a bare value stands there
	unknown bool // a key of another name
	env     text
	file    text
	command texts
}

// UnmarshalYAML never fails and never keeps a bare value.
func (r *rawSecret) UnmarshalYAML(node ast.Node) error {
	r.set = true
	var pairs []*ast.MappingValueNode
	switch n := unwrap(node).(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	default:
		r.plain = true
		return nil
	}
	for _, pair := range pairs {
		switch pair.Key.String() {
		case "env":
			_ = r.env.UnmarshalYAML(pair.Value) // keeps any shape
		case "file":
			_ = r.file.UnmarshalYAML(pair.Value)
		case "command":
			r.command.fromNode(pair.Value)
		default:
			r.unknown = true
		}
	}
	return nil
}

// fromNode is UnmarshalYAML for a node that the decoder has not reached.
func (t *texts) fromNode(node ast.Node) {
	t.set = true
	list, ok := unwrap(node).(*ast.SequenceNode)
	if !ok {
		t.one = &text{}
		_ = t.one.UnmarshalYAML(node)
		return
	}
	for _, item := range list.Values {
		var one text
		_ = one.UnmarshalYAML(item)
		t.items = append(t.items, one)
	}
}

// secret judges a source; nil where none is given or it is at fault.
func (c *checker) secret(at string, raw rawSecret) *SecretSource {
	const say = "say where it is kept: {env: NAME}, {file: /path} or {command: [argv]}"
	if !raw.set {
		return nil
	}
	given := 0
	for _, set := range []bool{raw.env.set, raw.file.set, raw.command.set} {
		if set {
			given++
		}
	}
	switch {
	case raw.plain:
		c.add(at, "a secret does not stand in this file: %s", say)
		return nil
	case raw.unknown || given != 1:
		c.add(at, "not one source: %s", say)
		return nil
	}
	out := &SecretSource{}
	switch {
	case raw.env.set:
		out.Env, _ = c.required(at+".env", raw.env, "the name of an environment variable")
		if strings.ContainsAny(out.Env, "= \x00") {
			c.add(at+".env", "not the name of an environment variable")
		}
	case raw.file.set:
		if v, ok := c.required(at+".file", raw.file, "the path of a file that holds the secret"); ok {
			out.File = c.absolute(at+".file", v)
		}
	case raw.command.set:
		argv, ok := c.list(at+".command", raw.command, "an argv list such as [pass, show, kafka]")
		if ok && (len(argv) == 0 || argv[0] == "") {
			c.add(at+".command", "empty: an argv needs a program")
		}
		c.arguments(at+".command", argv)
		out.Command = argv
	}
	return out
}
