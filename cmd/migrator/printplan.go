package main

import (
	"fmt"
	"io"
	"strings"

	"migrator/internal/status"
)

// planDoc is what `plan --json` and `advance --json` print.
type planDoc struct {
	Plan *status.Plan `json:"plan"`
}

// printPlan prints the plan as a person reads it; the digest stands below the diffs.
func printPlan(w io.Writer, name string, p *status.Plan) error {
	var b strings.Builder
	fmt.Fprintf(&b, "plan %s of %s\n", p.Phase, name)
	for i, s := range p.Steps {
		fmt.Fprintf(&b, "\n%d. %s%s\n", i+1, s.Sentence, expectedTime(s.Expected))
		for _, text := range s.Warnings {
			fmt.Fprintf(&b, "   WARNING: %s\n", text)
		}
		if s.State != "planned" {
			fmt.Fprintf(&b, "   %s\n", s.State)
		}
		for _, a := range s.Actions {
			if a.State == "failed" {
				fmt.Fprintf(&b, "   %s failed: %s\n", a.ID, a.Error)
			}
		}
		if len(s.Before) > 0 {
			fmt.Fprintf(&b, "   before: %s\n", strings.Join(s.Before, ", "))
		}
		if len(s.Done) > 0 {
			fmt.Fprintf(&b, "   done when: %s\n", strings.Join(s.Done, ", "))
		}
		if len(s.Impact) > 0 {
			fmt.Fprintf(&b, "   unavailable while it restarts: %s\n", strings.Join(s.Impact, ", "))
		}
		fmt.Fprintf(&b, "   undo: %s\n", s.Undo)
		for _, a := range s.Step.Actions {
			if len(a.Argv) > 0 {
				fmt.Fprintf(&b, "   %s: %s\n", a.ID, quoted(a.Argv))
			}
		}
		for _, d := range s.Diffs {
			fmt.Fprintf(&b, "\n%s", indent(d.Unified))
			for _, text := range d.Notes {
				fmt.Fprintf(&b, "   look at node %d: %s\n", d.Node, text)
			}
		}
	}
	fmt.Fprintf(&b, "\nexpected: %s\ndigest: %s\n", planTime(p), p.Digest)
	_, err := io.WriteString(w, plain(b.String()))
	return err
}

func expectedTime(s *float64) string {
	if s == nil {
		return ""
	}
	return " (about " + seconds(*s) + ")"
}

// planTime adds what has a figure; waiting, such as a soak, comes on top.
func planTime(p *status.Plan) string {
	total, open := 0.0, false
	for _, s := range p.Steps {
		if s.Expected == nil {
			open = true
			continue
		}
		total += *s.Expected
	}
	if open {
		return "about " + seconds(total) + ", and the soak on top"
	}
	return "about " + seconds(total)
}

func quoted(argv []string) string {
	var out []string
	for _, a := range argv {
		if strings.ContainsAny(a, " \t\n\"'") || a == "" {
			a = fmt.Sprintf("%q", a)
		}
		out = append(out, a)
	}
	return strings.Join(out, " ")
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("   " + line)
	}
	return b.String()
}
