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
	data, err := readBounded(path)
	if err != nil {
		return File{}, err
	}
	return Parse(path, data)
}

func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read configuration %s: %w", path, err)
	}
	return data, nil
}

// LoadLogin reads the keys tls, digest and sasl below zookeeper and kafka: what
// is needed to look at a cluster that has no migrations.yaml yet.
func LoadLogin(path string) (ZooKeeper, Kafka, error) {
	data, err := readBounded(path)
	if err != nil {
		return ZooKeeper{}, Kafka{}, err
	}
	var raw rawLogin
	doc, problem := decode(data, &raw)
	if problem != nil {
		return ZooKeeper{}, Kafka{}, &Problems{Path: path, List: []Problem{*problem}}
	}
	c := &checker{doc: doc}
	var m Migration
	c.zooKeeperLogin("zookeeper", raw.ZooKeeper, &m)
	c.kafkaLogin("kafka", raw.Kafka, &m)
	return m.ZooKeeper, m.Kafka, c.verdict(path)
}

// Parse judges the text of a migrations.yaml; path is only shown. Text that is
// no YAML or has an unknown key is reported alone, since decoding ends there;
// everything else is reported at once.
func Parse(path string, data []byte) (File, error) {
	if len(data) > maxFileBytes {
		return File{}, &Problems{Path: path, List: []Problem{{Line: 1, Column: 1,
			Message: fmt.Sprintf("larger than %d bytes", maxFileBytes)}}}
	}
	var raw rawFile
	doc, problem := decode(data, &raw)
	if problem != nil {
		return File{}, &Problems{Path: path, List: []Problem{*problem}}
	}
	c := &checker{doc: doc}
	file := c.file(raw)
	if err := c.verdict(path); err != nil {
		return File{}, err
	}
	file.Path = path
	return file, nil
}

// verdict is every problem in the order of the file's lines, or nil.
func (c *checker) verdict(path string) error {
	if len(c.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(c.problems, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return &Problems{Path: path, List: c.problems}
}

// decode turns a panic of the YAML library into a problem: it falls over some
// malformed tags, and a service must not end by the text of a file.
func decode(data []byte, raw any) (doc ast.Node, problem *Problem) {
	if at := bytes.IndexFunc(data, func(r rune) bool { return r == utf8.RuneError || r < ' ' && r != '\n' && r != '\r' && r != '\t' }); at >= 0 {
		line := 1 + bytes.Count(data[:at], []byte("\n"))
		return nil, &Problem{Line: line, Column: at - bytes.LastIndexByte(data[:at], '\n'), Message: "a control character, or a byte that is no UTF-8"}
	}
	defer func() {
		if caught := recover(); caught != nil {
			problem = &Problem{Line: 1, Column: 1, Message: "not YAML that can be understood: look for stray ! tags and unclosed quotes"}
		}
	}()
	tree, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, hintQuotes(data, yamlProblem(nil, err))
	}
	var docs []*ast.DocumentNode
	for _, d := range tree.Docs {
		if d.Body != nil && d.Body.Type() != ast.CommentType && d.Body.Type() != ast.NullType {
			docs = append(docs, d)
		}
	}
	if len(docs) == 0 {
		return nil, &Problem{Line: 1, Column: 1, Message: "nothing in the file: it needs a list `migrations`"}
	}
	doc = docs[0].Body
	if len(docs) > 1 {
		at := start(docs[1].Body)
		return nil, &Problem{Line: at.line, Column: at.column, Message: "a second YAML document: one file holds one, with all migrations in its list"}
	}
	if err := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(raw); err != nil {
		return nil, yamlProblem(doc, err)
	}
	return doc, nil
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
