package configgen

import (
	"slices"
	"strings"
)

// LostEdit says what goes with somebody's edit of a file when next takes its
// place: lines the edit added that next lacks, and lines it took out that next
// brings back. Secrets are redacted, and a line with one always counts; blank
// lines and mere order never do.
func LostEdit(was, edited, next []byte) (added, back []string, err error) {
	before, err := Parse(was)
	if err != nil {
		return nil, nil, err
	}
	now, err := Parse(edited)
	if err != nil {
		return nil, nil, err
	}
	after, err := Parse(next)
	if err != nil {
		return nil, nil, err
	}
	there := strings.Split(display(after, nil), "\n")
	still := strings.Split(display(now, before), "\n")
	for _, l := range diffLines(before, now, nil) {
		secret := strings.Contains(l.Text, "[redacted")
		switch {
		case strings.TrimSpace(l.Text) == "":
		case l.Kind == DiffInsert && (secret || !slices.Contains(there, l.Text)):
			added = append(added, l.Text)
		case l.Kind == DiffDelete && slices.Contains(there, l.Text) && (secret || !slices.Contains(still, l.Text)):
			back = append(back, l.Text)
		}
	}
	return added, back, nil
}
