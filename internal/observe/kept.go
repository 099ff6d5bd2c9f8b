package observe

import (
	"context"
	"sync"
	"time"

	"migrator/internal/facts"
)

// kept is a read too long for a round: it runs beside the rounds, and each
// takes the last finished answer with the time that one was begun.
type kept[T any] struct {
	mu    sync.Mutex
	last  facts.Fact[T] // zero until the first read ended
	begun time.Time     // of the newest read, finished or not; zero makes it due
	first chan struct{} // closed at the end of the first read; made by refresh
}

// refresh starts a new read if the newest one is older than every. It returns
// a channel that is closed once any read has ended.
func (k *kept[T]) refresh(ctx context.Context, o *Observer, source string, every, limit time.Duration, ask func(context.Context) (T, error)) <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.first == nil {
		k.first = make(chan struct{})
	}
	begun := o.deps.Now()
	if !k.last.Known() {
		every = min(every, retryEvery) // a failure is not kept as long as an answer
	}
	if !k.begun.IsZero() && begun.Sub(k.begun) < every {
		return k.first
	}
	_, started := o.running.start(ctx, source, begun, limit, func(ctx context.Context) func() {
		v, err := ask(ctx)
		return func() { k.finish(fact(v, source, begun, err)) }
	})
	if started {
		k.begun = begun
	}
	return k.first
}

func (k *kept[T]) finish(f facts.Fact[T]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last.Begun().IsZero() {
		close(k.first)
	}
	k.last = f
}

// forget makes the next refresh start a read, as soon as none runs. The answer
// that is there keeps its begun, which tells its age.
func (k *kept[T]) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begun = time.Time{}
}

// hurry makes a read due that would be due later, if the newest is not quite new.
func (k *kept[T]) hurry(now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now.Sub(k.begun) >= retryEvery {
		k.begun = time.Time{}
	}
}

func (k *kept[T]) answer(source string, now time.Time) facts.Fact[T] {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last.Begun().IsZero() {
		return facts.Unknown[T]("the first reading has not ended", source, now)
	}
	return k.last
}

const (
	topicsEvery = 10 * time.Second
	topicsSoon  = time.Second
	minISREvery = time.Minute
	// A survey reads every znode and looks at every machine. While it finds
	// something that blocks, somebody is at work and waits for the next one.
	preflightEvery = 2 * time.Minute
	preflightSoon  = 15 * time.Second
	preflightLimit = 5 * time.Minute
	retryEvery     = 2 * time.Second // after a failure, or when something is missing

	topicsSource = "scan of /brokers/topics"
	minISRSource = "min.insync.replicas through brokers"

	preflightSource = "survey of znodes, brokers and machines"
)

// MarkTopics makes the next round that wants topics begin a new scan at once:
// after a write, an earlier scan says nothing.
func (o *Observer) MarkTopics() { o.topics.forget() }

// keptReads refreshes what lives beside the rounds. A round never waits for a
// scan; it waits for the very first min.insync.replicas only.
func (o *Observer) keptReads(ctx context.Context, want Want) []read {
	var reads []read
	if want.Topics {
		every := topicsEvery
		if want.TopicsSoon {
			every = topicsSoon
		}
		o.topics.refresh(ctx, o, topicsSource, every, scanLimit, o.sources.zk.topics)
		reads = append(reads, taken(o, &o.topics, topicsSource, nil, func(s *facts.Snapshot, f facts.Fact[facts.ZKTopics]) { s.ZKTopics = f }))
	}
	if want.MinISR {
		first := o.minISR.refresh(ctx, o, minISRSource, minISREvery, scanLimit, o.sources.brokers.minISR)
		reads = append(reads, taken(o, &o.minISR, minISRSource, first, func(s *facts.Snapshot, f facts.Fact[map[string]int]) { s.MinISR = f }))
	}
	return reads
}

// learnTopics has min.insync.replicas read anew when brokers name a topic that
// the kept answer does not know; else a new topic would be unknown for a minute.
func (o *Observer) learnTopics(s facts.Snapshot) {
	md, ok := s.Metadata.Get()
	minISR, okToo := s.MinISR.Get()
	if !ok || !okToo {
		return
	}
	for _, p := range md.Partitions {
		if _, has := minISR[p.Topic]; !has {
			o.minISR.hurry(o.deps.Now())
			return
		}
	}
}

// taken puts a kept answer into the snapshot, after ready if that is not nil.
func taken[T any](o *Observer, k *kept[T], source string, ready <-chan struct{}, set func(*facts.Snapshot, facts.Fact[T])) read {
	now := func(string, time.Time) put {
		return func(s *facts.Snapshot) { set(s, k.answer(source, o.deps.Now())) }
	}
	return read{
		name: "take: " + source,
		wait: o.limit,
		ask: func(ctx context.Context, begun time.Time) put {
			if ready != nil {
				select {
				case <-ready:
				case <-ctx.Done():
				}
			}
			return now("", begun)
		},
		missing: now,
	}
}

// preflight begins a survey when one is due, on top of what this round saw, and
// takes the last finished one.
func (o *Observer) preflight(ctx context.Context, s *facts.Snapshot, want Want) {
	if !want.Preflight || ctx.Err() != nil {
		return
	}
	seen, every := *s, preflightEvery
	s.Preflight = o.finding.answer(preflightSource, o.deps.Now())
	if last, ok := s.Preflight.Get(); ok && len(last.Blocks) > 0 {
		every = preflightSoon
	}
	o.finding.refresh(ctx, o, preflightSource, every, preflightLimit, func(ctx context.Context) (facts.Preflight, error) {
		return o.sources.preflight(ctx, seen)
	})
}
