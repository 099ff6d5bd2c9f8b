package execute

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"migrator/internal/canary"
)

const (
	writeEvery = 500 * time.Millisecond
	writeLimit = 5 * time.Second
)

// writeMetadata writes until one write is accepted: a controller acts again. A
// broker that still asks a stopped KRaft controller lets a write hang, so the
// next one is begun beside it.
func (e *Executor) writeMetadata(ctx context.Context) (Result, error) {
	limited, cancel := context.WithTimeout(ctx, e.m.Gates.StepTimeout)
	var tries sync.WaitGroup
	defer tries.Wait()
	defer cancel()
	accepted, refused := make(chan canary.Marker, 1), make(chan error)
	try := func() {
		attempt, done := context.WithTimeout(limited, writeLimit)
		defer done()
		m, err := e.writer.Write(attempt)
		if err != nil {
			select {
			case refused <- err:
			case <-limited.Done():
			}
			return
		}
		select {
		case accepted <- m:
		default: // an earlier one was
		}
	}
	every := time.NewTicker(writeEvery)
	defer every.Stop()
	tries.Go(try)
	last := errors.New("no answer")
	for {
		select {
		case m := <-accepted:
			return Result{Detail: fmt.Sprintf("accepted at %s: %s=%s", m.At.UTC().Format(time.RFC3339Nano), m.Key, m.Value)}, nil
		case last = <-refused:
		case <-every.C:
			tries.Go(try)
		case <-limited.Done():
			return Result{}, fmt.Errorf("no metadata write was accepted within %s: %w", e.m.Gates.StepTimeout, last)
		}
	}
}
