package zkwire

import (
	"context"
	"sync"
)

const (
	multiOps   = 500     // questions of one request; more gain nothing
	singleOps  = 64      // requests written in one go where each asks one question
	inFlight   = 4       // requests that wait for an answer at a time
	multiBytes = 8 << 20 // over it a multi-read's answer is thrown away and asked for in halves
	wanted     = 1 << 20 // an answer's size that batches aim at
	guess      = 2 << 10 // an answer's size per question before any was seen
	// questionBytes bounds a request: over jute.maxbuffer (1 MiB unless it was
	// set lower) the server drops the connection.
	questionBytes = 256 << 10
)

// batch is a run of questions of one request, or of one go.
type batch struct {
	from int
	ops  []Op
	done chan struct{}
	got  []Result
	err  error
}

// Read asks all questions and hands each result to take, in order and from the
// caller's goroutine. It holds a few answers of about a megabyte at a time; an
// error of take ends it. It does not sync: see Sync.
func (c *Client) Read(ctx context.Context, ops []Op, take func(i int, r Result) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var wait sync.WaitGroup
	defer wait.Wait()
	defer cancel()
	var window []*batch
	size := guess
	for sent, next := 0, 0; next < len(ops) || len(window) > 0; {
		for next < len(ops) && len(window) < c.window(ops[next]) {
			b := &batch{from: next, ops: ops[next : next+c.fit(ops[next:], size)], done: make(chan struct{})}
			next += len(b.ops)
			at := sent
			sent++
			wait.Go(func() {
				defer close(b.done)
				b.got, b.err = c.read(ctx, at, b.ops)
			})
			window = append(window, b)
		}
		b := window[0]
		window = window[1:]
		<-b.done
		if b.err != nil {
			return b.err
		}
		size = (size + bytesOf(b.got)/len(b.got)) / 2
		for i, r := range b.got {
			if err := take(b.from+i, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Client) alone(op Op) bool { return op.Kind == Access || c.single.Load() }

func (c *Client) window(op Op) int {
	if c.alone(op) {
		return 2 * singleConns
	}
	return inFlight
}

// fit is how many of the questions go together: of one sort, within the
// request's limit, with an answer of about the wanted size.
func (c *Client) fit(ops []Op, size int) int {
	limit := multiOps
	alone := c.alone(ops[0])
	if alone {
		limit = singleOps
	}
	limit = max(1, min(limit, wanted/max(size, 1)))
	bytes := 0
	for i, op := range ops[:min(limit, len(ops))] {
		bytes += len(op.Path) + len(c.addr.Chroot) + 16
		if i > 0 && (bytes > questionBytes || c.alone(op) != alone) {
			return i
		}
	}
	return min(limit, len(ops))
}

func bytesOf(results []Result) int {
	n := 0
	for _, r := range results {
		n += 80 + len(r.Data)
		for _, name := range r.Children {
			n += 4 + len(name)
		}
	}
	return n
}
