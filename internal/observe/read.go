package observe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"migrator/internal/facts"
)

// put writes one finished read into the snapshot. Only the collecting
// goroutine calls it, so a read that comes back late can never touch a
// snapshot that was handed out.
type put func(*facts.Snapshot)

// read is one question of a round.
type read struct {
	name  string        // one read of a name runs at a time, over all rounds
	wait  time.Duration // how long the round waits for the answer
	limit time.Duration // how long the read may go on after that was over; 0 = wait
	turns chan struct{} // nil: needs no turn
	ask   func(ctx context.Context, begun time.Time) put
	// missing puts the unknown fact when the round stopped waiting.
	missing func(cause string, begun time.Time) put
}

// question is the read of a single fact from a source known beforehand.
func question[T any](o *Observer, source string, set func(*facts.Snapshot, facts.Fact[T]), ask func(context.Context) (T, error)) read {
	return located(o, source, set, func(ctx context.Context) (T, string, error) {
		v, err := ask(ctx)
		return v, source, err
	})
}

// located is a question whose ask says itself where the answer came from.
func located[T any](o *Observer, name string, set func(*facts.Snapshot, facts.Fact[T]), ask func(context.Context) (T, string, error)) read {
	return read{
		name: name,
		wait: o.limit,
		ask: func(ctx context.Context, begun time.Time) put {
			v, source, err := ask(ctx)
			f := fact(v, source, begun, err)
			return func(s *facts.Snapshot) { set(s, f) }
		},
		missing: func(cause string, begun time.Time) put {
			return func(s *facts.Snapshot) { set(s, facts.Unknown[T](cause, name, begun)) }
		},
	}
}

func fact[T any](v T, source string, begun time.Time, err error) facts.Fact[T] {
	if err != nil {
		return facts.Unknown[T](cause(err), source, begun)
	}
	return facts.Known(v, source, begun)
}

// maxCause bounds what a node, broker or znode can make us show. The longest
// text of ours is that of a changed host key, with what to do at its end.
const maxCause = 800

func cause(err error) string {
	text := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		text = "no answer in time: " + text
	}
	return bounded(text, maxCause)
}

// byID keeps a fact of one node in a map of the snapshot.
func byID[T any](m func(*facts.Snapshot) *map[int32]facts.Fact[T], id int32) func(*facts.Snapshot, facts.Fact[T]) {
	return func(s *facts.Snapshot, f facts.Fact[T]) {
		target := m(s)
		if *target == nil {
			*target = make(map[int32]facts.Fact[T])
		}
		(*target)[id] = f
	}
}

// collect starts all reads and fills the snapshot with what they bring.
func (o *Observer) collect(ctx context.Context, s *facts.Snapshot, reads []read) {
	answers := make([]chan put, len(reads))
	for i, r := range reads {
		answers[i] = make(chan put, 1)
		go func() { answers[i] <- o.answer(ctx, r) }()
	}
	for _, a := range answers {
		(<-a)(s)
	}
}

// grace lets a read that obeys its deadline say itself what it waited for.
const grace = 100 * time.Millisecond

// answer runs one read and leaves it alone when its time is over. It always
// returns, so collect needs no deadline of its own.
func (o *Observer) answer(ctx context.Context, r read) put {
	if r.turns != nil {
		select {
		case r.turns <- struct{}{}:
			defer func() { <-r.turns }()
		case <-ctx.Done():
			return r.missing("the round ended before its turn", o.deps.Now())
		}
	}
	begun := o.deps.Now()
	done := make(chan put, 1)
	since, started := o.running.start(ctx, r.name, begun, max(r.limit, r.wait), func(ctx context.Context) func() {
		p := r.ask(ctx, begun)
		return func() { done <- p }
	})
	if !started {
		return r.missing("the read begun at "+since.UTC().Format(time.RFC3339)+" has not come back", begun)
	}
	timer := time.NewTimer(r.wait + grace)
	defer timer.Stop()
	select {
	case p := <-done:
		return p
	case <-ctx.Done():
		return r.missing("the round was cut short: "+context.Cause(ctx).Error(), begun)
	case <-timer.C:
		o.deps.Log.Warn("a read does not end in its time", "cluster", o.m.Name, "read", r.name, "limit", r.wait)
		return r.missing(fmt.Sprintf("no answer in %s", r.wait), begun)
	}
}

// unasked puts an unknown fact with the reason why nobody asked.
func unasked[T any](o *Observer, source, why string, set func(*facts.Snapshot, facts.Fact[T])) read {
	return question(o, source, set, func(context.Context) (T, error) {
		var none T
		return none, errors.New(why)
	})
}
