package rehearse

import (
	"fmt"
	"strings"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/evidence"
	"migrator/internal/junit"
	"migrator/internal/phases"
)

// suite is the rehearsal for CI servers: a case for each gate that was judged,
// each step and each promise; what was not reached is skipped.
func (r *Report) suite() junit.Suite {
	var cases []junit.Case
	reached := map[cluster.Phase]bool{}
	last := len(r.Pack.Plans) - 1
	for i, p := range r.Pack.Plans {
		if !p.Revert {
			reached[p.Phase] = true
		}
		cases = append(cases, r.planCases(i, i == last)...)
	}
	cases = append(cases, r.holding()...)
	for _, row := range phases.Table() {
		if row.Phase.Index() <= r.To.Index() && !reached[row.Phase] {
			cases = append(cases, junit.Case{Class: "rehearsal." + string(row.Phase), Name: "plan " + row.Work, Skipped: &junit.Text{Message: "not reached"}})
		}
	}
	for _, p := range r.Promises {
		c := junit.Case{Class: "rehearsal.promises", Name: p.Text}
		if !p.Kept {
			c.Failure = &junit.Text{Message: p.Seen}
		}
		cases = append(cases, c)
	}
	return junit.New("rehearsal "+r.Name, append(cases, r.end()))
}

// planCases are the gates before a plan, and its steps with theirs. A plan that
// was approved once more has its number in the class.
func (r *Report) planCases(i int, last bool) []junit.Case {
	p := r.Pack.Plans[i]
	class := "rehearsal." + string(p.Phase)
	if p.Revert {
		class = "rehearsal.back-to-" + string(p.Phase)
	}
	earlier := 0
	for _, other := range r.Pack.Plans[:i] {
		if other.Phase == p.Phase && other.Revert == p.Revert {
			earlier++
		}
	}
	if earlier > 0 {
		class += fmt.Sprintf("-%d", earlier+1)
	}
	cases := gateCases(class, "before the plan", p.Verdicts)
	for _, planned := range p.Planned {
		st := stepOf(r.Pack, p, planned.ID)
		c := junit.Case{Class: class, Name: "step " + planned.ID + ": " + planned.Sentence}
		switch {
		case st == nil && p.Void != "":
			c.Skipped = &junit.Text{Message: "the plan ended before: " + p.Void}
		case st == nil:
			c.Skipped = &junit.Text{Message: "not reached"}
		case st.Done != nil:
			c.Seconds = fmt.Sprintf("%.3f", st.Done.Sub(st.Opened).Seconds())
		case last && r.Result == Held:
			c.Failure = &junit.Text{Message: r.Why, Text: strings.Join([]string{r.Why, r.ToDo, failedTries(*st)}, "\n")}
		default:
			c.Error = &junit.Text{Message: orText(p.Void, orText(r.Why, "not done"))}
		}
		cases = append(cases, c)
		if st != nil {
			cases = append(cases, gateCases(class, "before step "+st.ID, st.Before)...)
			cases = append(cases, gateCases(class, "after step "+st.ID, st.After)...)
		}
	}
	return cases
}

// stepOf finds the step among those opened while its plan ran.
func stepOf(pack evidence.Pack, p evidence.Plan, id string) *evidence.Step {
	for i := range pack.Steps {
		st := &pack.Steps[i]
		if st.Digest == p.Digest && st.ID == id && !st.Opened.Before(p.ApprovedAt) && (p.Ended == nil || !st.Opened.After(*p.Ended)) {
			return st
		}
	}
	return nil
}

// gateCases are gates as they were judged when they let something go on.
func gateCases(class, when string, verdicts []evidence.Verdict) []junit.Case {
	var out []junit.Case
	for _, v := range verdicts {
		c := junit.Case{Class: class, Name: "gate " + v.Gate + " " + when, Out: fmt.Sprintf("%s (seen by %s at %s)", v.Evidence, orText(v.Source, "nobody"), v.ObservedAt.UTC().Format(time.RFC3339))}
		if v.Verdict != "pass" { // a person accepted it
			c.Skipped = &junit.Text{Message: v.Verdict + ": " + v.Evidence}
		}
		out = append(out, c)
	}
	return out
}

// holding are the gates that hold the rehearsal up as it ended.
func (r *Report) holding() []junit.Case {
	if r.Result != Held {
		return nil
	}
	var out []junit.Case
	for _, g := range standsStill(r.Status) {
		c := junit.Case{Class: "rehearsal.held", Name: "gate " + g.Name + ": holds " + strings.Join(g.Blocks, ", ")}
		text := &junit.Text{Message: g.Evidence, Text: fmt.Sprintf("%s (seen by %s)\n%s\n", g.Evidence, orText(g.Source, "nobody"), g.ToDo)}
		if g.Verdict == "fail" {
			c.Failure = text
		} else {
			c.Error = text // not seen, which never passes
		}
		out = append(out, c)
	}
	return out
}

// end is the case that fails whenever the command does.
func (r *Report) end() junit.Case {
	c := junit.Case{Class: "rehearsal", Name: "came to its end", Seconds: fmt.Sprintf("%.3f", r.Ended.Sub(r.Began).Seconds())}
	text := &junit.Text{Message: r.Why, Text: strings.TrimSpace(r.Why + "\n" + r.ToDo)}
	switch r.Result {
	case Green, Unkept: // a broken promise has a case of its own
	case Held:
		c.Failure = text
	default:
		c.Error = text
	}
	return c
}

// failedTries are what the step's actions said when they failed.
func failedTries(st evidence.Step) string {
	var out []string
	for _, a := range st.Actions {
		if n := len(a.Tries); n > 0 && a.Tries[n-1].OK != nil && !*a.Tries[n-1].OK {
			out = append(out, a.ID+": "+a.Tries[n-1].Detail)
		}
	}
	return strings.Join(out, "\n")
}
