package drill

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	sampleEvery    = 100 * time.Millisecond
	probeDeadline  = 2 * time.Second
	beforeDeadline = 10 * time.Second
)

// sampler asks every 100 ms, each probe in a goroutine and with a deadline of
// its own: a hanging one must not hide the answer to a later one.
type sampler struct {
	seen   chan observation
	probes sync.WaitGroup
	cancel context.CancelFunc
}

// startSampler begins to sample. Read seen until stop has returned or no longer care.
func startSampler(ctx context.Context, probes ...probe) *sampler {
	running, cancel := context.WithCancel(ctx)
	s := &sampler{seen: make(chan observation, 64), cancel: cancel}
	s.probes.Go(func() {
		tick := time.NewTicker(sampleEvery)
		defer tick.Stop()
		for {
			for _, ask := range probes {
				s.probes.Go(func() { s.ask(running, ask) })
			}
			select {
			case <-running.Done():
				return
			case <-tick.C:
			}
		}
	})
	return s
}

// stop ends the sampler and waits for its probes.
func (s *sampler) stop() {
	s.cancel()
	s.probes.Wait()
}

func (s *sampler) ask(ctx context.Context, ask probe) {
	one, cancel := context.WithTimeout(ctx, probeDeadline)
	defer cancel()
	begun := time.Now()
	o := ask(one)
	o.begun, o.ended = begun, time.Now()
	select {
	case s.seen <- o:
	case <-ctx.Done():
	}
}

type probe func(ctx context.Context) observation

func askLeader(p Probes, excluding int32) probe {
	return func(ctx context.Context) observation {
		id, epoch, err := p.Leader(ctx, excluding)
		if err != nil {
			return observation{err: fmt.Errorf("ask the other controllers who leads: %w", err)}
		}
		return observation{leader: &leaderView{id, epoch}}
	}
}

func askWrite(p Probes) probe {
	return func(ctx context.Context) observation {
		if err := p.WriteMetadata(ctx); err != nil {
			return observation{err: fmt.Errorf("write metadata: %w", err)}
		}
		return observation{written: true}
	}
}

func askStores(p Probes) probe {
	return func(ctx context.Context) observation {
		var s storesView
		var err error
		if s.holder, err = p.Holder(ctx); err != nil {
			return observation{err: fmt.Errorf("read /controller: %w", err)}
		}
		if s.zkEpoch, err = p.ZKEpoch(ctx); err != nil {
			return observation{err: fmt.Errorf("read /controller_epoch: %w", err)}
		}
		if s.migration, err = p.Migration(ctx); err != nil {
			return observation{err: fmt.Errorf("read /migration: %w", err)}
		}
		return observation{stores: &s}
	}
}
