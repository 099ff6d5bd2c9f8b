package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"migrator/internal/cluster"
)

// checker turns raw text into values and collects every problem on the way.
type checker struct {
	doc      ast.Node
	problems []Problem
}

// add notes a problem once; a fault in *_defaults is met for every node.
func (c *checker) add(path, format string, args ...any) {
	line, column := position(c.doc, path)
	p := Problem{Path: path, Line: line, Column: column, Message: fmt.Sprintf(format, args...)}
	if !slices.Contains(c.problems, p) {
		c.problems = append(c.problems, p)
	}
}

// scalar gives the text, or false when the key is absent or has another shape.
func (c *checker) scalar(path string, t text) (string, bool) {
	if t.not != "" {
		c.add(path, "%s stands where one value is expected", t.not)
		return "", false
	}
	return t.value, t.set
}

// required is scalar for a key that has no default.
func (c *checker) required(path string, t text, say string) (string, bool) {
	v, ok := c.scalar(path, t)
	if ok && v != "" {
		return v, true
	}
	if t.not == "" {
		c.add(path, "missing: %s", say)
	}
	return "", false
}

func (c *checker) duration(path string, t text, to *time.Duration) bool {
	v, ok := c.scalar(path, t)
	if !ok {
		return false
	}
	if _, err := strconv.ParseFloat(v, 64); err == nil && v != "0s" {
		c.add(path, "%q has no unit: say %ss, %sm or %sh", v, v, v, v)
		return false
	}
	d, err := time.ParseDuration(v)
	if err != nil {
		c.add(path, "%q is not a duration: say a number with a unit, such as 500ms, 15s, 10m or 72h", v)
		return false
	}
	*to = d
	return true
}

func (c *checker) positive(path string, t text, to *time.Duration) {
	if c.duration(path, t, to) && *to <= 0 {
		c.add(path, "%q is not more than 0", t.value)
	}
}

func (c *checker) number(path string, t text, least, most int, to *int) {
	v, ok := c.scalar(path, t)
	if !ok {
		return
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > most || strings.HasPrefix(v, "+") {
		if most == noLimit {
			c.add(path, "%q is not a whole number of at least %d", v, least)
		} else {
			c.add(path, "%q is not a whole number from %d to %d", v, least, most)
		}
		return
	}
	*to = n
}

const noLimit = 1<<31 - 1

// word takes one of a closed set.
func (c *checker) word(path string, t text, allowed []string, to *string) bool {
	v, ok := c.scalar(path, t)
	if !ok {
		return false
	}
	if !slices.Contains(allowed, v) {
		c.add(path, "%q is unknown: say %s", v, oneOf(allowed))
		return false
	}
	*to = v
	return true
}

func (c *checker) boolean(path string, t text, to *bool) {
	var v string
	if c.word(path, t, []string{"true", "false"}, &v) {
		*to = v == "true"
	}
}

func (c *checker) phase(path string, t text, to *cluster.Phase) bool {
	var names []string
	for _, p := range cluster.Phases() {
		names = append(names, string(p))
	}
	var v string
	if !c.word(path, t, names, &v) {
		return false
	}
	*to = cluster.Phase(v)
	return true
}

// list gives the scalars of a list, or false when it is absent or malformed.
func (c *checker) list(path string, t texts, say string) ([]string, bool) {
	if !t.set {
		return nil, false
	}
	if t.one != nil {
		c.add(path, "not a list: say %s", say)
		return nil, false
	}
	out, whole := make([]string, 0, len(t.items)), true
	for i, item := range t.items {
		at := fmt.Sprintf("%s[%d]", path, i)
		v, ok := c.scalar(at, item)
		if !ok && item.not == "" {
			c.add(at, "empty entry")
		}
		whole = whole && ok
		out = append(out, v)
	}
	return out, whole
}

func oneOf(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
