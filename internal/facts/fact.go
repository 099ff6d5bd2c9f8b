// Package facts holds what was observed of a cluster at one moment. Every
// observation is a Fact: a value with its source and age, or unknown with the
// cause. The package is pure: readers fill it, gates judge it.
package facts

import (
	"encoding/json"
	"time"
)

// Fact is one observation. The zero Fact is unknown ("never read"), so a
// forgotten reader can never be mistaken for a healthy cluster.
type Fact[T any] struct {
	value  T
	known  bool
	cause  string
	source string
	begun  time.Time
}

// Known is an observation that succeeded. begun is when the read started, not
// when it ended: a value is never newer than its question.
func Known[T any](value T, source string, begun time.Time) Fact[T] {
	return Fact[T]{value: value, known: true, source: source, begun: begun}
}

// Unknown is an observation that failed, with its cause in words for an operator.
func Unknown[T any](cause, source string, begun time.Time) Fact[T] {
	return Fact[T]{cause: cause, source: source, begun: begun}
}

// Get returns the value and whether it is known.
func (f Fact[T]) Get() (T, bool) { return f.value, f.known }

// Known says whether the value was read.
func (f Fact[T]) Known() bool { return f.known }

// Cause says why the fact is unknown; empty when it is known.
func (f Fact[T]) Cause() string {
	switch {
	case f.known:
		return ""
	case f.cause == "":
		return "never read"
	default:
		return f.cause
	}
}

// Source names where the value comes from, such as "DescribeQuorum at controller 3001".
func (f Fact[T]) Source() string { return f.source }

// Begun is when the read started; zero if it never did.
func (f Fact[T]) Begun() time.Time { return f.begun }

// Fresh keeps a fact that was begun at or after notBefore and turns an older
// one into unknown, with both times in the cause. A fact read before the last
// effect says nothing about its outcome.
func (f Fact[T]) Fresh(notBefore time.Time) Fact[T] {
	if !f.known || !f.begun.Before(notBefore) {
		return f
	}
	return Unknown[T]("read at "+f.begun.UTC().Format(time.RFC3339Nano)+", before "+notBefore.UTC().Format(time.RFC3339Nano), f.source, f.begun)
}

// MarshalJSON shows value, source and time, or the cause.
func (f Fact[T]) MarshalJSON() ([]byte, error) {
	out := map[string]any{"source": f.source, "begun": nil, "known": f.known, "value": nil, "cause": nil}
	if !f.begun.IsZero() {
		out["begun"] = f.begun.UTC().Format(time.RFC3339Nano)
	}
	if f.known {
		out["value"] = f.value
	} else {
		out["cause"] = f.Cause()
	}
	return json.Marshal(out)
}
