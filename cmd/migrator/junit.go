package main

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"migrator/internal/findings"
)

// junitSuite is one preflight as JUnit XML, which CI servers show: one case a
// check. Only what blocks fails the suite, as it does the exit code.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"` // preflight.block, preflight.warn, preflight.info
	Name    string     `xml:"name,attr"`
	Failure *junitText `xml:"failure"` // found, and it blocks
	Error   *junitText `xml:"error"`   // cannot be ruled out, and that blocks
	Skipped *junitText `xml:"skipped"` // says nothing in this phase, or a warning that cannot be seen
	Out     string     `xml:"system-out,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func junit(doc preflightDoc) junitSuite {
	out := junitSuite{Name: "preflight " + doc.Name, Tests: len(doc.Findings)}
	for _, f := range doc.Findings {
		c := junitCase{Class: "preflight." + f.Severity, Name: f.Code + " " + f.Title}
		text := &junitText{Message: f.Evidence, Text: f.text()}
		switch {
		case f.Blocks && f.Verdict == "fail":
			c.Failure = text
			out.Failures++
		case f.Blocks:
			c.Error = text
			out.Errors++
		case f.Verdict == "skipped" || f.Verdict == "unknown":
			c.Skipped = text
			out.Skipped++
		case f.Verdict == "fail":
			c.Out = strings.ToUpper(f.word()) + ": " + f.text()
		}
		out.Cases = append(out.Cases, c)
	}
	return out
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

// writeJUnit writes the file whole or not at all: aside, then renamed.
func writeJUnit(path string, doc preflightDoc) error {
	data, err := xml.MarshalIndent(junit(doc), "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	data = append([]byte(xml.Header), append(data, '\n')...)
	aside, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = aside.Write(data)
	for _, next := range []func() error{func() error { return aside.Chmod(0o644) }, aside.Sync} {
		if err == nil {
			err = next()
		}
	}
	if closed := aside.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(aside.Name(), path)
	}
	if err != nil {
		_ = os.Remove(aside.Name()) // the first fault is the one to tell
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// waived says whether a person has accepted the warning.
func (f finding) waived() bool { return f.Waived != nil && f.Severity == string(findings.Warn) }
