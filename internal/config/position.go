package config

import (
	"regexp"
	"strconv"

	"github.com/goccy/go-yaml/ast"
)

// position finds where a path such as migrations[0].brokers[2].host stands. A
// path that is not in the file answers with its nearest existing parent, so a
// missing key points at the entry that lacks it.
func position(doc ast.Node, path string) (line, column int) {
	line, column = 1, 1
	node := doc
	for _, step := range steps(path) {
		next, at := child(node, step)
		if next == nil {
			return line, column
		}
		line, column = at.line, at.column
		node = next
	}
	return line, column
}

type place struct{ line, column int }

var stepPattern = regexp.MustCompile(`[^.\[\]]+|\[\d+\]`)

func steps(path string) []string { return stepPattern.FindAllString(path, -1) }

// child is the value below a key or an index. An alias is not followed: the
// line that uses it is the better one to show.
func child(node ast.Node, step string) (ast.Node, place) {
	node = unwrap(node)
	if step[0] == '[' {
		list, ok := node.(*ast.SequenceNode)
		index, err := strconv.Atoi(step[1 : len(step)-1])
		if !ok || err != nil || index >= len(list.Values) {
			return nil, place{}
		}
		return list.Values[index], start(list.Values[index])
	}
	for _, entry := range entries(node) {
		if entry.Key.String() != step {
			continue
		}
		switch unwrap(entry.Value).(type) {
		case *ast.MappingNode, *ast.MappingValueNode, *ast.SequenceNode, *ast.NullNode:
			return entry.Value, start(entry.Key)
		}
		return entry.Value, start(entry.Value)
	}
	return nil, place{}
}

func entries(node ast.Node) []*ast.MappingValueNode {
	switch n := node.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

func unwrap(node ast.Node) ast.Node {
	switch n := node.(type) {
	case *ast.AnchorNode:
		return unwrap(n.Value)
	case *ast.TagNode:
		return unwrap(n.Value)
	}
	return node
}

func start(node ast.Node) place {
	node = unwrap(node)
	if m := entries(node); len(m) > 0 {
		node = m[0].Key
	}
	if node == nil || node.GetToken() == nil || node.GetToken().Position == nil {
		return place{1, 1}
	}
	p := node.GetToken().Position
	return place{p.Line, p.Column}
}

// pathAt is the reverse of position for the key of an unknown field: the path
// of the key that stands at a place, or "" when there is none.
func pathAt(node ast.Node, at place, path string) string {
	node = unwrap(node)
	if list, ok := node.(*ast.SequenceNode); ok {
		for i, v := range list.Values {
			if p := pathAt(v, at, path+"["+strconv.Itoa(i)+"]"); p != "" {
				return p
			}
		}
		return ""
	}
	for _, entry := range entries(node) {
		below := entry.Key.String()
		if path != "" {
			below = path + "." + below
		}
		if start(entry.Key) == at || start(entry.Value) == at && len(entries(unwrap(entry.Value))) == 0 {
			return below
		}
		if p := pathAt(entry.Value, at, below); p != "" {
			return p
		}
	}
	return ""
}
