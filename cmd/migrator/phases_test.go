package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/phases"
)

// TestTheDocumentedPhaseTableIsTheProgramsOwn keeps docs/phases.md from telling
// another story than the code.
func TestTheDocumentedPhaseTableIsTheProgramsOwn(t *testing.T) {
	var b strings.Builder
	b.WriteString("# The phase table\n\nThis is what `migrator phases` prints; `make update` rewrites it.\n\n```text\n")
	rows := []phaseRow{}
	for _, r := range phases.Table() {
		rows = append(rows, phaseRow(r))
	}
	if err := printPhases(&b, rows); err != nil {
		t.Fatal(err)
	}
	b.WriteString("```\n")
	const path = "../../docs/phases.md"
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("docs/phases.md (-want +got); read it, then run with -update:\n%s", diff)
	}
}
