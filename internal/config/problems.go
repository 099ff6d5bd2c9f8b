package config

import (
	"fmt"
	"strings"
)

// Problem is one fault of migrations.yaml.
type Problem struct {
	Path    string // such as migrations[0].brokers[2].host; empty for the whole file
	Line    int    // from 1; of the nearest key that exists when the fault is a missing one
	Column  int    // from 1
	Message string
}

// Problems is every fault found in one file, in the order of its lines.
type Problems struct {
	Path string // of the file
	List []Problem
}

// Error prints one line per problem: file:line:column: path: message.
func (p *Problems) Error() string {
	lines := make([]string, 0, len(p.List))
	for _, one := range p.List {
		where := fmt.Sprintf("%s:%d:%d: ", p.Path, one.Line, one.Column)
		if one.Path != "" {
			where += one.Path + ": "
		}
		lines = append(lines, where+one.Message)
	}
	return strings.Join(lines, "\n")
}
