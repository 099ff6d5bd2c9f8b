package gates

import "fmt"

func judgePreflight(l *look) { l.preflight(true) }

func judgePreflightUse(l *look) { l.preflight(false) }

// preflight weighs the findings of one kind. What could not be ruled out is
// unknown; a finding about availability may be accepted by its code.
func (l *look) preflight(safety bool) {
	l.todo = "migrator preflight shows each finding whole, with every place and what to do there."
	p, ok := useAged(l, "findings", l.v.Snapshot.Preflight, ageRule{limit: max(l.v.Settings.MaxFactAge, preflightMaxAge), afterEffect: true})
	if !ok {
		return
	}
	for _, b := range p.Blocks {
		switch {
		case b.Safety != safety:
		case b.Unknown:
			l.unsure("%s: %s (%s)", b.Code, b.Text, b.Fix)
		default:
			subject := b.Code
			if safety {
				subject = ""
			}
			l.bad(subject, "%s: %s", b.Code, b.Text)
		}
	}
	kept := "no finding blocks"
	if p.Warnings > 0 {
		kept = fmt.Sprintf("no finding blocks; %s", plural(p.Warnings, "warning: see migrator preflight", "warnings: see migrator preflight"))
	}
	l.pass("%s", kept)
}
