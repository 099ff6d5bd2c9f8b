package gates

import (
	"fmt"
	"time"

	"migrator/internal/facts"
)

// Limits that differ from max_fact_age because the source is slower than a round.
const (
	// A whole scan of ZooKeeper's topics takes seconds to tens of seconds on a
	// large cluster and runs every ten.
	topicsMaxAge = time.Minute
	// The effective min.insync.replicas of all topics is asked for once a
	// minute; it is configuration and no restart of ours changes it.
	minISRMaxAge = 2 * time.Minute
	// Preflight reads the whole tree and every machine, every two minutes.
	preflightMaxAge = 6 * time.Minute
)

// ageRule says when a fact is too old to count.
type ageRule struct {
	limit       time.Duration
	afterEffect bool // must have been begun after the open step's last action ended
}

// fresh turns a fact that is too old into unknown. A fact from before the last
// effect of the step says nothing about its outcome.
func fresh[T any](v *View, f facts.Fact[T]) facts.Fact[T] {
	return aged(v, f, ageRule{limit: v.Settings.MaxFactAge, afterEffect: true})
}

func aged[T any](v *View, f facts.Fact[T], rule ageRule) facts.Fact[T] {
	if !f.Known() {
		return f
	}
	age := v.Now.Sub(f.Begun())
	switch {
	case age > rule.limit:
		return facts.Unknown[T](fmt.Sprintf("read %s ago, and counts for %s only", span(age), span(rule.limit)), f.Source(), f.Begun())
	case -age > rule.limit:
		// The clock was set back; such a fact would count for ever.
		return facts.Unknown[T](fmt.Sprintf("read %s in the future", span(-age)), f.Source(), f.Begun())
	case rule.afterEffect && v.Step != nil && f.Begun().Before(v.Step.NotBefore):
		return facts.Unknown[T](fmt.Sprintf("read %s before the step's last action ended", span(v.Step.NotBefore.Sub(f.Begun()))), f.Source(), f.Begun())
	default:
		return f
	}
}

func topicsRule(v *View) ageRule {
	return ageRule{limit: max(v.Settings.MaxFactAge, topicsMaxAge), afterEffect: true}
}

func minISRRule(v *View) ageRule {
	return ageRule{limit: max(v.Settings.MaxFactAge, minISRMaxAge)}
}
