package configgen

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// The kinds of a diff line.
const (
	DiffHunk   = "@"
	DiffEqual  = " "
	DiffDelete = "-"
	DiffInsert = "+"
)

// DiffLine is one line of a unified diff, redacted and free of control
// characters. Reason and Source stand beside a key's line that changed.
type DiffLine struct {
	Kind   string
	Text   string
	Reason string
	Source string
}

const diffContext = 3

// Diff is a unified diff of two files with secrets redacted on both sides; a
// secret that differs shows as changed. Equal files give an empty text.
func Diff(path string, before, after []byte) string {
	a, err := Parse(before)
	if err != nil {
		return fmt.Sprintf("%s: no diff, the first file cannot be read: %v\n", path, err)
	}
	b, err := Parse(after)
	if err != nil {
		return fmt.Sprintf("%s: no diff, the second file cannot be read: %v\n", path, err)
	}
	lines := diffLines(a, b, nil)
	if len(lines) == 0 {
		return ""
	}
	return header(path, before == nil) + body(lines)
}

// Unified prints the explained diff: under each changed key stands its reason.
func (r Rendered) Unified(path string, created bool) string {
	if len(r.Diff) == 0 {
		return ""
	}
	return header(path, created) + body(r.Diff)
}

func header(path string, created bool) string {
	from := path
	if created {
		from = "/dev/null"
	}
	return "--- " + from + "\n+++ " + path + "\n"
}

func body(lines []DiffLine) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Kind + l.Text + "\n")
		if l.Reason != "" {
			fmt.Fprintf(&b, "      ^ %s (%s)\n", l.Reason, l.Source)
		}
	}
	return b.String()
}

func diffLines(before, after *Document, changes []Change) []DiffLine {
	old, now := display(before, nil), display(after, before)
	u, err := udiff.ToUnifiedDiff("", "", old, udiff.Lines(old, now), diffContext)
	if err != nil {
		return []DiffLine{{Kind: DiffHunk, Text: "no diff: " + err.Error()}}
	}
	deleted, inserted := keysByLine(before), keysByLine(after)
	removals, others := byKey(changes)
	var out []DiffLine
	for _, h := range u.Hunks {
		out = append(out, DiffLine{Kind: DiffHunk})
		head := len(out) - 1
		from, to := h.FromLine, h.ToLine
		for _, l := range h.Lines {
			text, ended := strings.CutSuffix(l.Content, "\n")
			line := DiffLine{Text: text}
			switch l.Kind {
			case udiff.Delete:
				line.Kind = DiffDelete
				line.explain(removals, deleted[from])
				from++
			case udiff.Insert:
				line.Kind = DiffInsert
				line.explain(others, inserted[to])
				to++
			default:
				line.Kind = DiffEqual
				from++
				to++
			}
			out = append(out, line)
			if !ended {
				out = append(out, DiffLine{Kind: `\`, Text: " No newline at end of file"})
			}
		}
		out[head].Text = fmt.Sprintf("@ -%d,%d +%d,%d @@", start(h.FromLine, from), from-h.FromLine, start(h.ToLine, to), to-h.ToLine)
	}
	return out
}

// start follows diff's habit of naming the line before an empty range.
func start(first, next int) int {
	if first == next {
		return first - 1
	}
	return first
}

func (l *DiffLine) explain(changes map[string]Change, key string) {
	if c, ok := changes[key]; ok {
		l.Reason, l.Source = c.Reason, c.Source
	}
}

// byKey: a removal is explained beside the deleted line, any other change
// beside the inserted one.
func byKey(changes []Change) (removals, others map[string]Change) {
	removals, others = map[string]Change{}, map[string]Change{}
	for _, c := range changes {
		switch c.Op {
		case opRemove:
			removals[c.Key] = c
		case opRename:
			others[c.To] = c
		default:
			others[c.Key] = c
		}
	}
	return removals, others
}

func keysByLine(d *Document) map[int]string {
	keys := map[int]string{}
	for _, e := range d.entries {
		keys[e.Line] = e.Key
	}
	return keys
}
