package sshlink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"migrator/internal/config"
)

const (
	firstPause = 250 * time.Millisecond // after a failed attempt, doubled each time
	longPause  = 10 * time.Second
	// patience is how long a caller waits for a host that does not answer, such
	// as one whose sshd is restarted just now.
	patience = 3 * time.Second
)

// Pool holds the links of a process. Whoever reaches the same host in the same
// way shares them. The zero Pool is ready to use.
type Pool struct {
	dial, every, limit, idle time.Duration // of a link's life; 0 = the usual ones

	mu    sync.Mutex
	hosts map[key]*host
}

// key is what makes two ways the same.
type key struct {
	host, user, keyFile, knownHosts, config, jump, passphrase string
	port, most                                                int
	through                                                   string
}

func keyOf(w Way, through []Way) key {
	var names []string
	for _, j := range through {
		names = append(names, fmt.Sprintf("%s@%s:%d", j.User, j.Host, j.Port))
	}
	k := key{host: w.Host, user: w.User, keyFile: w.KeyFile, knownHosts: w.KnownHosts, config: w.Config, jump: w.Jump,
		port: w.Port, most: w.MaxConnections, through: strings.Join(names, ",")}
	if p := w.Passphrase; p != nil {
		k.passphrase = strings.Join(append([]string{p.Env, p.File}, p.Command...), "\x00")
	}
	return k
}

// host gives the links of one way; through are the jump hosts before it.
func (p *Pool) host(w Way, through []Way) *host {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := keyOf(w, through)
	h := p.hosts[k]
	if h == nil {
		h = &host{pool: p, way: w, through: through, most: max(1, w.MaxConnections), changed: make(chan struct{})}
		if p.hosts == nil {
			p.hosts = map[key]*host{}
		}
		p.hosts[k] = h
	}
	return h
}

// Close ends every link. What runs on one sees ErrLost.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.hosts {
		h.mu.Lock()
		for _, l := range h.links {
			_ = l.client.Close()
		}
		h.mu.Unlock()
	}
}

// host keeps the links to one host, and makes them.
type host struct {
	pool    *Pool
	way     Way
	through []Way
	most    int // links

	mu      sync.Mutex
	links   []*link
	dialing bool
	changed chan struct{} // closed and made anew whenever waiting may have an end

	failed error // of the last attempt; nil after one that succeeded
	pause  time.Duration
	next   time.Time // no attempt before it
}

// session takes a place for one session; the caller gives it back.
func (h *host) session(ctx context.Context) (*link, error) {
	return h.take(ctx, func(l *link) bool { return l.sessions < l.limit }, func(l *link) { l.sessions++ })
}

func (h *host) take(ctx context.Context, free func(*link) bool, use func(*link)) (*link, error) {
	begun := time.Now()
	for {
		l, wait, err := h.tryTake(begun, free, use)
		if l != nil || err != nil {
			return l, err
		}
		var timer <-chan time.Time
		if wait.until > 0 {
			timer = time.After(wait.until)
		}
		select {
		case <-wait.changed:
		case <-timer:
		case <-ctx.Done():
			return nil, h.noPlace(ctx)
		}
	}
}

type waiting struct {
	changed <-chan struct{}
	until   time.Duration // when to look again though nothing changed; 0 = never
}

func (h *host) tryTake(begun time.Time, free func(*link) bool, use func(*link)) (*link, waiting, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.links {
		if free(l) {
			use(l)
			return l, waiting{}, nil
		}
	}
	wait := waiting{changed: h.changed}
	if h.dialing || len(h.links) >= h.most {
		return nil, wait, nil
	}
	pause := time.Until(h.next)
	switch {
	case pause <= 0:
		h.dialing = true
		go h.dial()
	case len(h.links) > 0: // another link will have a place
	case isFinal(h.failed) || time.Since(begun)+pause > patience:
		return nil, wait, h.failed
	default:
		wait.until = pause
	}
	return nil, wait, nil
}

// noPlace says what a caller waited for in vain.
func (h *host) noPlace(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case len(h.links) > 0:
		return fmt.Errorf("ssh %s: all sessions of %d connections are in use: %w", h.way.Host, len(h.links), ctx.Err())
	case h.failed != nil:
		return fmt.Errorf("%w (%w)", h.failed, ctx.Err())
	}
	return fmt.Errorf("ssh %s: no connection in time: %w", h.way.Host, ctx.Err())
}

// dial makes one link. It does not end with the caller who asked for it first:
// others wait for the same.
func (h *host) dial() {
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(h.pool.dial, dialLimit))
	defer cancel()
	begun := time.Now()
	l, err := h.login(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dialing = false
	h.wake()
	if err != nil {
		h.pause = min(max(firstPause, 2*h.pause), longPause)
		if isFinal(err) || time.Since(begun) > patience {
			// Many a host locks out who fails to log in often, and of one that hangs
			// twenty questions need not each find out in turn.
			h.pause = longPause
		}
		h.failed, h.next = err, time.Now().Add(h.pause)
		return
	}
	h.failed, h.pause, h.next = nil, 0, time.Time{}
	l.idle = time.Now()
	h.links = append(h.links, l)
	go h.keep(l)
}

// keep owns a link to its end.
func (h *host) keep(l *link) {
	idle := cmp.Or(h.pool.idle, idleLimit)
	go l.watch(cmp.Or(h.pool.every, aliveEvery), cmp.Or(h.pool.limit, aliveLimit))
	tick := time.NewTicker(idle / 4)
	defer tick.Stop()
	for {
		select {
		case <-l.gone:
			h.mu.Lock()
			h.drop(l)
			h.mu.Unlock()
			return
		case <-tick.C:
			h.mu.Lock()
			if l.sessions+l.forwards == 0 && time.Since(l.idle) > idle {
				h.drop(l)
				_ = l.client.Close() // watch sees its end
			}
			h.mu.Unlock()
		}
	}
}

// forget drops a link that turned out dead; its keeper may not know yet.
func (h *host) forget(l *link) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(l)
	go l.client.Close()
}

func (h *host) drop(l *link) {
	for i, other := range h.links {
		if other == l {
			h.links = append(h.links[:i:i], h.links[i+1:]...)
		}
	}
	h.wake()
}

// giveBack ends the use of a place.
func (h *host) giveBack(l *link, count *int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*count--
	l.idle = time.Now()
	h.wake()
}

// refused is called when a host opened no further session: it grants fewer than
// it does by default. False says that it grants none at all.
func (h *host) refused(l *link) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	others := l.sessions - 1
	l.limit = max(1, min(l.limit, others))
	return others > 0
}

func (h *host) wake() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// login connects, through the jump hosts if there are some.
func (h *host) login(ctx context.Context) (*link, error) {
	l, err := resolve(h.way)
	if err != nil {
		return nil, fmt.Errorf("ssh %s: %w", h.way.Host, err)
	}
	jumps := l.jumps
	if h.through != nil {
		jumps = h.through // this is a jump host itself
	}
	made := &link{release: func() {}, gone: make(chan struct{}), limit: sessionLimit}
	var via func(context.Context, string) (net.Conn, error)
	if n := len(jumps); n > 0 {
		before := h.pool.host(jumps[n-1], append([]Way{}, jumps[:n-1]...))
		through, err := before.take(ctx, func(*link) bool { return true }, func(l *link) { l.forwards++ })
		if err != nil {
			return nil, fmt.Errorf("ssh %s: jump host: %w", l, err)
		}
		made.release = func() { before.giveBack(through, &through.forwards) }
		via = func(ctx context.Context, address string) (net.Conn, error) {
			return through.client.DialContext(ctx, "tcp", address)
		}
	}
	if made.client, err = connect(ctx, l, via); err != nil {
		made.release()
		return nil, fmt.Errorf("ssh %s: %w", l, err)
	}
	return made, nil
}

// isFinal says whether only a person can change that an attempt fails.
func isFinal(err error) bool {
	var hostKey *HostKeyError
	var auth *AuthError
	return errors.As(err, &hostKey) || errors.As(err, &auth)
}

// NewWay is the way that a node's access describes.
func NewWay(a config.Access) Way { return Way{Host: a.Host, SSH: a.SSH} }
