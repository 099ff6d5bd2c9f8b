// Package architecture holds the tests that keep the layers apart: which
// package may import what, who may read a clock, run a command or write to
// ZooKeeper, and how long the loop may grow.
package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// file is one source file that ships, parsed.
type file struct {
	pkg  string // folder below the module, such as "internal/phases"
	name string // base name
	at   string // path below the module, for messages
	ast  *ast.File
	fset *token.FileSet
}

// sources parses every Go file of the module that is no test.
func sources(t *testing.T) []file {
	t.Helper()
	root := filepath.Join("..", "..")
	var out []file
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); below != "." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, p, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		at := filepath.ToSlash(below)
		out = append(out, file{pkg: path.Dir(at), name: d.Name(), at: at, ast: parsed, fset: fset})
		return nil
	})
	if err != nil {
		t.Fatalf("read the sources: %v", err)
	}
	if len(out) < 50 {
		t.Fatalf("only %d source files found: the test looks in the wrong place", len(out))
	}
	return out
}

// imports lists the import paths of a file.
func (f file) imports() []string {
	var out []string
	for _, spec := range f.ast.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// nameOf is how the file calls an imported package; ok is false if it does not import it.
func (f file) nameOf(importPath string) (string, bool) {
	for _, spec := range f.ast.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil || p != importPath {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name, true
		}
		return path.Base(p), true
	}
	return "", false
}

// line is where a node stands.
func (f file) line(n ast.Node) int { return f.fset.Position(n.Pos()).Line }

// under says that a folder is the given one or lies below it.
func under(pkg, folder string) bool { return pkg == folder || strings.HasPrefix(pkg, folder+"/") }
