package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxFileBytes bounds migrations.yaml; a hundred clusters fit into a tenth of it.
const maxFileBytes = 1 << 20

// Load reads and judges a migrations.yaml. Faults of the file come as
// *Problems, a file that cannot be read as the system's error.
func Load(path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, fmt.Errorf("read configuration: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return File{}, fmt.Errorf("read configuration %s: %w", path, err)
	}
	return Parse(path, data)
}

// Parse judges the text of a migrations.yaml; path is only shown. Text that is
// no YAML or has an unknown key is reported alone, since decoding ends there;
// everything else is reported at once.
func Parse(path string, data []byte) (File, error) {
	if len(data) > maxFileBytes {
		return File{}, &Problems{Path: path, List: []Problem{{Line: 1, Column: 1,
			Message: fmt.Sprintf("larger than %d bytes", maxFileBytes)}}}
	}
	raw, doc, problem := decode(data)
	if problem != nil {
		return File{}, &Problems{Path: path, List: []Problem{*problem}}
	}
	c := &checker{doc: doc}
	file := c.file(raw)
	if len(c.problems) > 0 {
		slices.SortStableFunc(c.problems, func(a, b Problem) int {
			if a.Line != b.Line {
				return a.Line - b.Line
			}
			return a.Column - b.Column
		})
		return File{}, &Problems{Path: path, List: c.problems}
	}
	file.Path = path
	return file, nil
}

// decode turns a panic of the YAML library into a problem: it falls over some
// malformed tags, and a service must not end by the text of a file.
func decode(data []byte) (raw rawFile, doc ast.Node, problem *Problem) {
	if at := bytes.IndexFunc(data, func(r rune) bool { return r == utf8.RuneError || r < ' ' && r != '\n' && r != '\r' && r != '\t' }); at >= 0 {
		line := 1 + bytes.Count(data[:at], []byte("\n"))
		return raw, nil, &Problem{Line: line, Column: at - bytes.LastIndexByte(data[:at], '\n'), Message: "a control character, or a byte that is no UTF-8"}
	}
	defer func() {
		if caught := recover(); caught != nil {
			problem = &Problem{Line: 1, Column: 1, Message: "not YAML that can be understood: look for stray ! tags and unclosed quotes"}
		}
	}()
	tree, err := parser.ParseBytes(data, 0)
	if err != nil {
		return raw, nil, hintQuotes(data, yamlProblem(nil, err))
	}
	var docs []*ast.DocumentNode
	for _, d := range tree.Docs {
		if d.Body != nil && d.Body.Type() != ast.CommentType && d.Body.Type() != ast.NullType {
			docs = append(docs, d)
		}
	}
	if len(docs) == 0 {
		return raw, nil, &Problem{Line: 1, Column: 1, Message: "nothing in the file: it needs a list `migrations`"}
	}
	doc = docs[0].Body
	if len(docs) > 1 {
		at := start(docs[1].Body)
		return raw, nil, &Problem{Line: at.line, Column: at.column, Message: "a second YAML document: one file holds one, with all migrations in its list"}
	}
	if err := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(&raw); err != nil {
		return raw, nil, yamlProblem(doc, err)
	}
	return raw, doc, nil
}

// yamlProblem turns the decoder's only error into a problem with its place.
func yamlProblem(doc ast.Node, err error) *Problem {
	var y yaml.Error
	if !errors.As(err, &y) {
		return &Problem{Line: 1, Column: 1, Message: err.Error()}
	}
	p := &Problem{Line: 1, Column: 1, Message: y.GetMessage()}
	if t := y.GetToken(); t != nil && t.Position != nil {
		p.Line, p.Column = t.Position.Line, t.Position.Column
		if doc != nil {
			p.Path = pathAt(doc, place{p.Line, p.Column}, "")
		}
	}
	var unknown *yaml.UnknownFieldError
	if errors.As(err, &unknown) {
		p.Message = "unknown key: correct or remove it"
	}
	return p
}

// hintQuotes explains the commonest slip: [stop, node-{id}] is no YAML, since a
// brace within a flow list begins a mapping.
func hintQuotes(data []byte, p *Problem) *Problem {
	lines := bytes.Split(data, []byte("\n"))
	if p.Line >= 1 && p.Line <= len(lines) && placeholder.Match(lines[p.Line-1]) {
		p.Message += "; inside [ ] put text with {...} into quotes"
	}
	return p
}
