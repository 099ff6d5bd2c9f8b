// Package findings judges, before a migration begins, everything that would
// make it stall, fail or lose data. Each finding has a stable code, what was
// seen and where, why it matters and what to do. The package is pure: survey
// reads the cluster, findings judges what was read.
package findings

import (
	"fmt"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/gates"
)

// Severity says what a finding does to the migration.
type Severity string

// Severities. Only a block keeps the migration from beginning; a warning can
// be waived with a reason.
const (
	Block Severity = "block"
	Warn  Severity = "warn"
	Info  Severity = "info"
)

// Row is one line of the registry. Codes are stable: none is ever given to
// another finding.
type Row struct {
	Code     string
	Severity Severity
	// Kind of a block: one of safety cannot be accepted, one of availability a
	// person may accept by name. Empty for warnings and infos.
	Kind      gates.Kind
	Title     string // a sentence that is true when the finding is there
	Why       string // what happens to a migration that goes on in spite of it
	Reference string // where Kafka says so: KIP, KAFKA-nnnnn, a documented precondition
	// Gate is the gate that watches the same fault later. Preflight shows the
	// finding, which says more, and not the gate.
	Gate string
	// Start: says something only of a cluster whose migration has not begun.
	Start bool
	// Plan: as long as it is there no plan can be made, which preflight then does
	// not say again.
	Plan bool
	// Copy: says something only until Kafka has copied the metadata.
	Copy bool
}

// Verdict is what became of looking for a finding.
type Verdict string

// Verdicts. The empty verdict is as good as Unknown.
const (
	Clear   Verdict = "clear"
	Found   Verdict = "found"
	Unknown Verdict = "unknown"
	Skipped Verdict = "skipped" // it says nothing of a cluster in this phase, or another finding says why it cannot be looked for
)

// Item is one place where a finding was seen.
type Item struct {
	Where string // node with file and line, or znode, or topic and partition
	Seen  string // bounded, and free of secrets
	Fix   string
}

// Finding is a row judged.
type Finding struct {
	Row
	Verdict Verdict
	Items   []Item
	// Missing says what could not be seen and how to make it visible. Beside
	// items it means that there may be more.
	Missing []Gap
	// Behind is the code of the finding that explains why not everything could be
	// looked at; that one blocks, not this one.
	Behind string
	// Waived is the reason in migrations.yaml, for a warning.
	Waived string
}

// Gap is something that could not be seen.
type Gap struct {
	Cause string
	How   string // how to make it visible
}

// Blocks says whether the finding keeps the migration from beginning: a block
// that was found, or that cannot be ruled out.
func (f Finding) Blocks() bool {
	return f.Severity == Block && f.Verdict != Clear && f.Verdict != Skipped
}

// Judge answers every row of the registry, by code. phase is nil when the
// facts do not tell where the cluster is.
func Judge(s Survey, phase *cluster.Phase) []Finding {
	rows := table()
	begun := phase != nil && *phase != cluster.Initial
	copied := begun && (*phase != cluster.Load || s.copied())
	out := make([]Finding, 0, len(rows))
	for _, r := range rows {
		if r.Start && begun || r.Copy && copied {
			out = append(out, Finding{Row: r.Row, Verdict: Skipped})
			continue
		}
		l := &look{s: &s}
		r.check(l)
		found := l.finding(r.Row)
		found.Waived = s.waiver(found)
		out = append(out, found)
	}
	return explained(out)
}

// copied says whether /migration tells that the copy is done. Unknown is not
// done: then more is looked for, not less.
func (s *Survey) copied() bool {
	m, _ := s.Snapshot.Migration.Get()
	return m.Offset != nil && *m.Offset > 0
}

// waiver is the reason that migrations.yaml gives for accepting a warning.
func (s *Survey) waiver(f Finding) string {
	if f.Severity != Warn || f.Verdict != Found {
		return ""
	}
	for _, w := range s.Migration.Waivers {
		if w.Code == f.Code {
			return w.Reason
		}
	}
	return ""
}

// CheckWaivers finds waivers of something that is no warning of the registry.
func CheckWaivers(f config.File) []config.Problem {
	severities := map[string]Severity{}
	for _, r := range All() {
		severities[r.Code] = r.Severity
	}
	for _, g := range gates.All() {
		severities[g.Code] = Block
	}
	var out []config.Problem
	for _, m := range f.Migrations {
		for _, w := range m.Waivers {
			p := w.At
			switch severity, known := severities[w.Code]; {
			case !known:
				p.Message = fmt.Sprintf("%s is no code of a finding: migrator findings lists them", Bounded(w.Code))
			case severity == Block:
				p.Message = w.Code + " blocks and cannot be waived: remove its cause; one about availability can be accepted by name when its plan is offered"
			case severity == Info:
				p.Message = w.Code + " is for information only: there is nothing to waive"
			default:
				continue
			}
			out = append(out, p)
		}
	}
	return out
}
