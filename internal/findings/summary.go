package findings

import (
	"fmt"

	"migrator/internal/facts"
	"migrator/internal/gates"
)

// Summary is what the gates need of the findings.
func Summary(list []Finding) facts.Preflight {
	var out facts.Preflight
	for _, f := range list {
		switch {
		case f.Blocks():
			out.Blocks = append(out.Blocks, f.blocking())
		case f.Severity == Warn && f.Verdict == Found && f.Waived == "":
			out.Warnings++
		}
	}
	return out
}

func (f Finding) blocking() facts.Blocking {
	b := facts.Blocking{Code: f.Code, Safety: f.Kind != gates.Availability, Unknown: f.Verdict != Found}
	switch {
	case len(f.Items) > 0:
		b.Text, b.Fix = fmt.Sprintf("%s %s: %s", f.Title, f.Items[0].Where, f.Items[0].Seen), f.Items[0].Fix
		if more := len(f.Items) - 1; more > 0 {
			b.Text += fmt.Sprintf(" and %d more", more)
		}
	case len(f.Missing) > 0:
		b.Text, b.Fix = f.Missing[0].Cause, f.Missing[0].How
	}
	return b
}
