package service

import (
	"context"
	"sync"

	"migrator/internal/canary"
	"migrator/internal/config"
	"migrator/internal/connect"
)

// workload runs the canary of one migration and remembers what it saw last, so
// that its figures stay readable after it stopped.
type workload struct {
	opts canary.Options

	mu      sync.Mutex
	running *canary.Canary
	ended   *canary.Canary // the last one that was stopped
}

func newWorkload(m config.Migration) *workload {
	return &workload{opts: canary.Options{Cluster: connect.Canary(m.Kafka), Topic: m.Canary.Topic, Interval: m.Canary.Interval}}
}

// Start begins producing; it is an error when the topic does not exist.
func (w *workload) Start(ctx context.Context) error {
	c, err := canary.Start(ctx, w.opts)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running = c
	return nil
}

// Finish ends the production and reads every acknowledged record back. It may
// be repeated: an error means that not everything could be read.
func (w *workload) Finish(ctx context.Context) (canary.Verification, error) {
	w.mu.Lock()
	c := w.running
	if c == nil {
		c = w.ended
	}
	w.mu.Unlock()
	if c == nil {
		return canary.Verification{}, nil
	}
	if err := w.Stop(ctx); err != nil {
		return canary.Verification{}, err
	}
	return c.Verify(ctx)
}

// Stop ends it; its figures stay.
func (w *workload) Stop(ctx context.Context) error {
	w.mu.Lock()
	c := w.running
	w.running = nil
	if c != nil {
		w.ended = c
	}
	w.mu.Unlock()
	if c == nil {
		return nil
	}
	return c.Stop(ctx)
}

// Quiet stops the metadata writes of the running client.
func (w *workload) Quiet(on bool) {
	if c := w.newest(); c != nil {
		c.Quiet(on)
	}
}

// Stats is what clients felt; ok is false while nothing has run.
func (w *workload) Stats() (canary.Stats, bool) {
	c := w.newest()
	if c == nil {
		return canary.Stats{}, false
	}
	return c.Stats(), true
}

// Run names the newest run and its figures; ok is false while nothing has run.
func (w *workload) Run() (string, canary.Stats, bool) {
	c := w.newest()
	if c == nil {
		return "", canary.Stats{}, false
	}
	return c.RunID(), c.Stats(), true
}

func (w *workload) newest() *canary.Canary {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running != nil {
		return w.running
	}
	return w.ended
}
