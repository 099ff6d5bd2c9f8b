package execute

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
)

// event must not block: it runs within the library's loop.
func (z *ZNodes) event(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	z.mu.Lock()
	switch {
	case e.State == zk.StateHasSession:
		z.away = time.Time{}
	case z.away.IsZero():
		z.away = time.Now()
	}
	z.mu.Unlock()
	select {
	case z.changed <- struct{}{}:
	default:
	}
}

// keep looks after the lock until Close, once a second and when the session
// changes: it takes the lock again after our session has ended, and notices
// one that was removed or taken over while our session lives.
func (z *ZNodes) keep() {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		select {
		case <-z.stopped.Done():
			return
		case <-z.changed:
		case <-every.C:
		}
		z.mu.Lock()
		lock, owner := z.lock, z.owner
		z.mu.Unlock()
		if lock.wanted && z.conn.State() == zk.StateHasSession {
			z.tend(lock, owner)
		}
	}
}

func (z *ZNodes) tend(lock lockState, owner string) {
	ctx, cancel := context.WithTimeout(z.stopped, z.timeout)
	defer cancel()
	if z.conn.SessionID() == lock.session {
		// What it finds is in the state; an error means only that the next turn looks again.
		_, _ = z.look(ctx)
		return
	}
	var held *HeldError
	if err := z.acquire(ctx, owner); errors.As(err, &held) {
		z.mu.Lock()
		defer z.mu.Unlock()
		z.lose()
	}
}

// look reads our lock again: still ours with some version, or not ours.
func (z *ZNodes) look(ctx context.Context) (lockState, error) {
	seen, err := z.read(ctx)
	if err != nil {
		return lockState{}, err
	}
	session := z.conn.SessionID()
	z.mu.Lock()
	defer z.mu.Unlock()
	if seen.present && seen.stat.EphemeralOwner == session {
		z.lock.session, z.lock.version = session, seen.stat.Version
		return z.lock, nil
	}
	if z.lock.session == session {
		// Our session lives and its znode is gone: a person or service removed it.
		z.lose()
	}
	return lockState{}, fmt.Errorf("write %s: %w: the znode is not ours any more", lockPath, ErrNotHeld)
}

// lose needs the mutex.
func (z *ZNodes) lose() {
	if z.lock.wanted {
		z.lock = lockState{}
		close(z.lost)
	}
}
