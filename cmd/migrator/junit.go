package main

import (
	"fmt"
	"strings"

	"migrator/internal/findings"
	"migrator/internal/junit"
)

// junitSuite is one preflight as a report for CI servers: one case a check.
// Only what blocks fails the suite, as it does the exit code.
func junitSuite(doc preflightDoc) junit.Suite {
	var cases []junit.Case
	for _, f := range doc.Findings {
		c := junit.Case{Class: "preflight." + f.Severity, Name: f.Code + " " + f.Title}
		text := &junit.Text{Message: f.Evidence, Text: f.text()}
		switch {
		case f.Blocks && f.Verdict == "fail":
			c.Failure = text // found, and it blocks
		case f.Blocks:
			c.Error = text // cannot be ruled out, and that blocks
		case f.Verdict == "skipped" || f.Verdict == "unknown":
			c.Skipped = text // says nothing in this phase, or a warning that cannot be seen
		case f.Verdict == "fail":
			c.Out = strings.ToUpper(f.word()) + ": " + f.text()
		}
		cases = append(cases, c)
	}
	return junit.New("preflight "+doc.Name, cases)
}

// text is what was seen, where, and what to do about it.
func (f finding) text() string {
	var b strings.Builder
	for _, i := range f.Items {
		fmt.Fprintf(&b, "%s: %s\n%s\n", i.Where, i.Seen, i.Fix)
	}
	if len(f.Items) == 0 {
		fmt.Fprintf(&b, "%s\n", f.Evidence)
		if f.ToDo != "" {
			fmt.Fprintf(&b, "%s\n", f.ToDo)
		}
	}
	if f.Why != "" && f.Verdict != "pass" {
		fmt.Fprintf(&b, "why: %s (%s)\n", f.Why, f.Reference)
	}
	return b.String()
}

// waived says whether a person has accepted the warning.
func (f finding) waived() bool { return f.Waived != nil && f.Severity == string(findings.Warn) }
