// Package zkwire reads many znodes of a ZooKeeper at once: one request asks for
// hundreds of them (multi-read, ZooKeeper 3.6 and later), several requests are
// on their way at a time. It is read-only by its type: it knows no request that
// changes a znode. It keeps no cache and sets no watch.
package zkwire

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"migrator/internal/zkread/zkconnect"
)

const (
	multiConns = 2 // one carries nearly all that a server gives; the second hides its pauses
	// singleConns is where single requests stop getting faster for the price: a
	// server reads one packet per connection and turn.
	singleConns = 8
)

// Options may be zero.
type Options struct {
	SessionTimeout time.Duration // 0 = 10 s; bounds how long a silent member is waited for
	Login          Login
	// MaxAnswer bounds the answer of one question in bytes, 0 = 64 MiB: the
	// children of a very full znode come in one.
	MaxAnswer int
}

// Client reads one tree. Its methods may be called at the same time.
type Client struct {
	addr zkconnect.Address
	o    Options

	turn   atomic.Int64 // which member is tried next
	zxid   atomic.Int64 // the newest state seen, so that no reconnect goes back in time
	single atomic.Bool  // the server knows no multi-read

	slots  [singleConns]slot
	closed chan struct{}
	ending sync.Once
}

// slot holds one connection or none. Its turn is a channel, since it is held
// while a connection is made.
type slot struct {
	turn chan struct{} // holds one
	conn *conn
}

// New contacts nobody; the first question connects, within its context.
func New(addr zkconnect.Address, o Options) *Client {
	if o.SessionTimeout <= 0 {
		o.SessionTimeout = 10 * time.Second
	}
	if o.MaxAnswer <= 0 {
		o.MaxAnswer = 64 << 20
	}
	c := &Client{addr: addr, o: o, closed: make(chan struct{})}
	for i := range c.slots {
		c.slots[i].turn = make(chan struct{}, 1)
		c.slots[i].turn <- struct{}{}
	}
	return c
}

// Close ends the sessions. Questions in flight answer with an error.
func (c *Client) Close() {
	c.ending.Do(func() { close(c.closed) })
	var wait sync.WaitGroup
	for i := range c.slots {
		wait.Go(func() {
			s := &c.slots[i]
			<-s.turn
			defer func() { s.turn <- struct{}{} }()
			if s.conn != nil {
				s.conn.close()
				s.conn = nil
			}
		})
	}
	wait.Wait()
}

// trim ends the sessions that only single requests need, so that a reader which
// is kept open holds few of a member's connections.
func (c *Client) trim() {
	for i := multiConns; i < len(c.slots); i++ {
		s := &c.slots[i]
		select {
		case <-s.turn:
		default:
			continue // somebody is connecting
		}
		if s.conn != nil && s.conn.idle() {
			s.conn.close()
			s.conn = nil
		}
		s.turn <- struct{}{}
	}
}

var errClosed = errors.New("the reader is closed")

// at is the connection of a slot, made anew where there is none.
func (c *Client) at(ctx context.Context, i int) (*conn, error) {
	s := &c.slots[i%len(c.slots)]
	select {
	case <-s.turn:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { s.turn <- struct{}{} }()
	select {
	case <-c.closed:
		return nil, errClosed
	default:
	}
	if s.conn != nil && s.conn.lost() == nil {
		return s.conn, nil
	}
	if s.conn != nil {
		s.conn.both.Wait()
		s.conn = nil
	}
	var err error
	s.conn, err = c.connect(ctx)
	return s.conn, err
}

// Sync makes what is read from now on no older than this moment, whichever
// member answers. It returns the zxid of the state that is then seen at least.
func (c *Client) Sync(ctx context.Context) (int64, error) {
	var oldest int64
	for try := 1; ; try++ {
		var err error
		for i := range c.slots {
			// The first is opened where it must be; the others sync when they are opened.
			if i > 0 && !c.open(ctx, i) {
				continue
			}
			var got *conn
			var zxid int64
			if got, err = c.at(ctx, i); err == nil {
				zxid, err = c.sync(ctx, got)
			}
			if err != nil {
				break
			}
			if i == 0 || zxid < oldest {
				oldest = zxid
			}
		}
		if err == nil || try == tries || !errors.Is(err, ErrLost) || ctx.Err() != nil {
			return oldest, err
		}
	}
}

// open says whether a slot has a connection; one that is being made syncs by itself.
func (c *Client) open(ctx context.Context, i int) bool {
	s := &c.slots[i]
	select {
	case <-s.turn:
	case <-ctx.Done():
		return false
	}
	defer func() { s.turn <- struct{}{} }()
	return s.conn != nil && s.conn.lost() == nil
}

func (c *Client) sync(ctx context.Context, on *conn) (int64, error) {
	asked, err := on.ask(ctx, opSync, func(e *encoder) { e.string(full(c.addr.Chroot, "/")) }, piece)
	if err != nil {
		return 0, err
	}
	r, err := on.wait(ctx, asked)
	if err != nil {
		return 0, err
	}
	if r.code != 0 {
		return 0, fmt.Errorf("sync: %w", &CodeError{r.code})
	}
	return r.zxid, nil
}
