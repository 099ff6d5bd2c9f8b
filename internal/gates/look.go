package gates

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"migrator/internal/facts"
)

// look is one gate looking at one view. It notes what was read, from where and
// how old, so that no verdict can forget a missing fact.
type look struct {
	v        *View
	round    *round
	sources  []string
	oldest   time.Time
	missing  []string
	problems []problem
	passed   string
	notes    []string
	todo     string
}

// problem is one reason to fail. subject names what a person could accept;
// empty if nobody may.
type problem struct {
	subject string
	text    string
}

// bad notes a reason to fail.
func (l *look) bad(subject, format string, args ...any) {
	l.problems = append(l.problems, problem{subject: subject, text: fmt.Sprintf(format, args...)})
}

// unsure notes, once, something that must be known and is not.
func (l *look) unsure(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(l.missing, text) {
		l.missing = append(l.missing, text)
	}
}

// note adds a sentence that an operator should see beside a pass.
func (l *look) note(format string, args ...any) {
	l.notes = append(l.notes, fmt.Sprintf(format, args...))
}

// pass says what was seen if neither a problem nor a missing fact was noted.
func (l *look) pass(format string, args ...any) { l.passed = fmt.Sprintf(format, args...) }

// use reads a fact that the gate cannot do without.
func use[T any](l *look, what string, f facts.Fact[T]) (T, bool) {
	return useAged(l, what, f, ageRule{limit: l.v.Settings.MaxFactAge, afterEffect: true})
}

// peek reads a fact that helps if it is there.
func peek[T any](l *look, f facts.Fact[T]) (T, bool) {
	f = fresh(l.v, f)
	value, ok := f.Get()
	if ok {
		l.saw(f.Source(), f.Begun())
	}
	return value, ok
}

func useAged[T any](l *look, what string, f facts.Fact[T], rule ageRule) (T, bool) {
	f = aged(l.v, f, rule)
	value, ok := f.Get()
	l.saw(f.Source(), f.Begun())
	if !ok {
		l.unsure("%s: %s", what, cut(f.Cause()))
	}
	return value, ok
}

func (l *look) saw(source string, begun time.Time) {
	if source != "" && !slices.Contains(l.sources, source) {
		l.sources = append(l.sources, source)
	}
	if !begun.IsZero() && (l.oldest.IsZero() || begun.Before(l.oldest)) {
		l.oldest = begun
	}
}

// verdict weighs what was noted. A problem outweighs a missing fact; without
// either, only a gate that said what it saw passes.
func (l *look) verdict(info Info) Verdict {
	out := Verdict{Gate: info.Name, Kind: info.Kind, Source: listed(l.sources, "; "), ObservedAt: l.oldest}
	switch {
	case len(l.problems) > 0:
		l.fail(&out)
	case len(l.missing) > 0:
		out.Evidence = "not known: " + listed(l.missing, "; ")
		out.ToDo = "Nothing goes on while this is unknown. Make the named source readable; it is read again in every round."
	case l.passed == "":
		out.Evidence = "the gate came to no answer"
	default:
		out.Result, out.Evidence = Pass, strings.Join(append([]string{l.passed}, l.notes...), "; ")
	}
	return out
}

// fail states the problems, and whether a person accepted all of them. What is
// unknown beside them cannot have been accepted.
func (l *look) fail(out *Verdict) {
	var texts []string
	acceptable := out.Kind == Availability
	for _, p := range l.problems {
		texts = append(texts, p.text)
		acceptable = acceptable && p.subject != ""
		if p.subject != "" && !slices.Contains(out.Subjects, p.subject) {
			out.Subjects = append(out.Subjects, p.subject)
		}
	}
	out.Result, out.Evidence, out.ToDo = Fail, listed(texts, "; "), l.todo
	if len(l.missing) > 0 {
		out.Evidence += "; not known: " + listed(l.missing, "; ")
	}
	if !acceptable {
		out.Subjects = nil
		return
	}
	if len(l.missing) == 0 && accepted(l.v.Accepted, *out) {
		out.Result, out.Accepted, out.Evidence = Pass, true, "accepted by a person: "+out.Evidence
	}
}

// accepted says that one acceptance names the gate and covers all its subjects.
func accepted(list []Acceptance, v Verdict) bool {
	return slices.ContainsFunc(list, func(a Acceptance) bool {
		return a.Gate == v.Gate && containsAll(a.Subjects, v.Subjects)
	})
}

func containsAll[T comparable](all, some []T) bool {
	return !slices.ContainsFunc(some, func(t T) bool { return !slices.Contains(all, t) })
}
