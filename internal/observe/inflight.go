package observe

import (
	"context"
	"slices"
	"sync"
	"time"
)

// inFlight owns every goroutine that reads. At most one runs per name, so a
// reader that hangs for ever costs one goroutine, not one per round.
type inFlight struct {
	mu     sync.Mutex
	byName map[string]flight
	closed bool
	idle   chan struct{} // non-nil while stop waits; closed when the last one ended
}

type flight struct {
	begun  time.Time
	cancel context.CancelFunc
}

// start runs work in a goroutine of its own for at most limit; it outlives ctx
// on purpose, because a round that ends does not undo what was asked. What work
// returns hands its answer over; it is called once the name is free again, so
// that who has the answer may ask anew. False means that the read of that name,
// begun at the returned time, still runs or that the observer is closed.
func (f *inFlight) start(ctx context.Context, name string, begun time.Time, limit time.Duration, work func(context.Context) (deliver func())) (time.Time, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if other, busy := f.byName[name]; busy || f.closed {
		return other.begun, false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	if f.byName == nil {
		f.byName = make(map[string]flight)
	}
	f.byName[name] = flight{begun: begun, cancel: cancel}
	go func() {
		deliver := work(ctx)
		f.end(name)
		deliver()
	}()
	return begun, true
}

func (f *inFlight) end(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.byName[name].cancel()
	delete(f.byName, name)
	if f.idle != nil && len(f.byName) == 0 {
		close(f.idle)
		f.idle = nil
	}
}

// stop cancels everything and waits for it; the names of what did not end in
// time come back sorted.
func (f *inFlight) stop(limit time.Duration) []string {
	idle := f.cancelAll()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	for name := range f.byName {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (f *inFlight) cancelAll() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for _, running := range f.byName {
		running.cancel()
	}
	if len(f.byName) == 0 {
		none := make(chan struct{})
		close(none)
		return none
	}
	if f.idle == nil {
		f.idle = make(chan struct{})
	}
	return f.idle
}
