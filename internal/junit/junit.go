// Package junit writes reports as JUnit XML, which CI servers show.
package junit

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
)

// Suite is one report. New counts its cases.
type Suite struct {
	XMLName  xml.Name `xml:"testsuite"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Skipped  int      `xml:"skipped,attr"`
	Cases    []Case   `xml:"testcase"`
}

// Case is one check. At most one of Failure, Error and Skipped is set; with
// none it passed.
type Case struct {
	Class   string `xml:"classname,attr"`
	Name    string `xml:"name,attr"`
	Seconds string `xml:"time,attr,omitempty"` // such as 12.5; empty: not timed
	Failure *Text  `xml:"failure"`             // it is so, and that is wrong
	Error   *Text  `xml:"error"`               // it could not be seen, and that counts as wrong
	Skipped *Text  `xml:"skipped"`             // it was not looked at
	Out     string `xml:"system-out,omitempty"`
}

// Text is why, in a line and at length.
type Text struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// New makes a suite of cases.
func New(name string, cases []Case) Suite {
	s := Suite{Name: name, Tests: len(cases), Cases: cases}
	for _, c := range cases {
		switch {
		case c.Failure != nil:
			s.Failures++
		case c.Error != nil:
			s.Errors++
		case c.Skipped != nil:
			s.Skipped++
		}
	}
	return s
}

// Write writes the file whole or not at all: aside, then renamed.
func Write(path string, s Suite) error {
	data, err := xml.MarshalIndent(s, "", "  ")
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
