package kafkaread

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Brokers asks the brokers of one cluster. It is safe for concurrent use.
type Brokers struct {
	settings settings
	seeds    []string

	mu     sync.Mutex
	nodes  map[string]*node
	known  []string // addresses that Metadata named last
	good   string   // the address that answered last
	closed bool
}

// OpenBrokers takes bootstrap addresses as host:port; it connects to none yet.
func OpenBrokers(seeds []string, opts ...Option) (*Brokers, error) {
	if len(seeds) == 0 {
		return nil, errors.New("open brokers: no bootstrap address")
	}
	for _, seed := range seeds {
		if _, _, err := net.SplitHostPort(seed); err != nil {
			return nil, fmt.Errorf("open brokers: bootstrap address %.100q: %w", seed, err)
		}
	}
	return &Brokers{settings: newSettings(opts), seeds: slices.Clone(seeds), nodes: map[string]*node{}}, nil
}

// Close ends all connections; later calls fail.
func (b *Brokers) Close() {
	b.mu.Lock()
	nodes := b.nodes
	b.nodes, b.closed = nil, true
	b.mu.Unlock()
	for _, n := range nodes {
		n.close()
	}
}

// API asks the one broker at host and port what it is.
func (b *Brokers) API(ctx context.Context, host string, port int) (API, error) {
	n, err := b.node(net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return API{}, err
	}
	return n.api(ctx)
}

func (b *Brokers) node(addr string) (*node, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, fmt.Errorf("ask %s: closed", addr)
	}
	if n, ok := b.nodes[addr]; ok {
		return n, nil
	}
	n, err := dial(addr, b.settings, false)
	if err != nil {
		return nil, err
	}
	b.nodes[addr] = n
	return n, nil
}

// candidates lists the addresses to try: the one that answered last, the
// seeds, then the others that are known.
func (b *Brokers) candidates() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, addr := range slices.Concat([]string{b.good}, b.seeds, b.known) {
		if addr != "" && !slices.Contains(out, addr) {
			out = append(out, addr)
		}
	}
	return out
}

func (b *Brokers) answered(addr string) {
	b.mu.Lock()
	b.good = addr
	b.mu.Unlock()
}

// learn notes the addresses that Metadata named. Clients stay open for those
// it names no more: a broker that restarts is gone from Metadata for a while.
func (b *Brokers) learn(addrs []string) {
	b.mu.Lock()
	b.known = addrs
	b.mu.Unlock()
}

// callLimit bounds a call whose context has no deadline.
const callLimit = 10 * time.Second

// first asks one broker after the other until one gives an answer, sharing the
// time left among those not asked yet, so that one dead broker cannot use it up.
// An answer with an error is the question's own to return.
func first[T any](ctx context.Context, b *Brokers, question func(context.Context, *node) (T, error)) (T, error) {
	var zero T
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	candidates := b.candidates()
	var problems []error
	for i, addr := range candidates {
		n, err := b.node(addr)
		if err != nil {
			return zero, err
		}
		answer, err := one(ctx, n, len(candidates)-i, question)
		if err == nil {
			b.answered(addr)
			return answer, nil
		}
		problems = append(problems, err)
		if ctx.Err() != nil {
			break
		}
	}
	return zero, errors.Join(problems...)
}

func one[T any](ctx context.Context, n *node, left int, question func(context.Context, *node) (T, error)) (T, error) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
	}
	return question(ctx, n)
}
