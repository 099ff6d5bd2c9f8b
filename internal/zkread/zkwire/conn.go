package zkwire

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// ErrLost is the kind of error of a question whose connection went away.
var ErrLost = errors.New("the connection was lost")

// tooLargeError is an answer over the limit. It was taken off the wire and
// thrown away, so the connection is still good.
type tooLargeError struct{ size int }

func (e *tooLargeError) Error() string { return fmt.Sprintf("an answer of %d bytes", e.size) }

const (
	xidPing  = -2
	xidAuth  = -4
	replyLen = 16      // xid, zxid, code
	maxFrame = 1 << 30 // above it the bytes are no answer of ZooKeeper
	piece    = 1 << 20 // how far a length is believed before its bytes are there
)

// conn is one session's connection. Questions are written in turn by one
// goroutine and matched with their answers by xid by another.
type conn struct {
	net     net.Conn
	in      *bufio.Reader
	timeout time.Duration
	zxid    *atomic.Int64 // the newest state any answer was given from

	out  chan []byte
	done chan struct{}
	both sync.WaitGroup

	mu      sync.Mutex
	last    int32
	waiting map[int32]*call
	err     error
}

type call struct {
	limit  int // of its answer's body, in bytes
	answer chan reply
}

type reply struct {
	zxid int64
	code int32
	body []byte
	err  error
}

func newConn(c net.Conn, in *bufio.Reader, timeout time.Duration, zxid *atomic.Int64) *conn {
	out := &conn{net: c, in: in, timeout: timeout, zxid: zxid, out: make(chan []byte, 64), done: make(chan struct{}), waiting: map[int32]*call{}}
	out.both.Go(out.write)
	out.both.Go(out.read)
	return out
}

// ask sends a question and does not wait for the answer, which wait gives.
func (c *conn) ask(ctx context.Context, op int32, body func(*encoder), limit int) (*call, error) {
	asked := &call{limit: limit, answer: make(chan reply, 1)}
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return nil, c.err
	}
	c.last = max(1, c.last+1) // an overflow begins again; xids below 1 have meanings of their own
	xid := c.last
	c.waiting[xid] = asked
	c.mu.Unlock()
	frame := encoder{b: make([]byte, 4, 64)}
	frame.int32(xid)
	frame.int32(op)
	body(&frame)
	binary.BigEndian.PutUint32(frame.b, uint32(len(frame.b)-4))
	select {
	case c.out <- frame.b:
		return asked, nil
	case <-c.done:
		return nil, c.lost()
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, xid)
		return nil, ctx.Err()
	}
}

func (c *conn) wait(ctx context.Context, asked *call) (reply, error) {
	select {
	case r := <-asked.answer:
		return r, r.err
	case <-ctx.Done():
		return reply{}, ctx.Err()
	}
}

// write ends with the connection. It pings while nobody asks, and joins
// questions that wait for each other into one packet.
func (c *conn) write() {
	w := bufio.NewWriterSize(c.net, 64<<10)
	idle := time.NewTicker(c.timeout / 3)
	defer idle.Stop()
	ping := encoder{b: []byte{0, 0, 0, 8}}
	ping.int32(xidPing)
	ping.int32(opPing)
	for {
		var frame []byte
		select {
		case frame = <-c.out:
		case <-idle.C:
			frame = ping.b
		case <-c.done:
			return
		}
		err := c.net.SetWriteDeadline(time.Now().Add(c.timeout * 2 / 3))
		if err == nil {
			_, err = w.Write(frame)
		}
		if err == nil && len(c.out) == 0 {
			err = w.Flush()
		}
		if err != nil {
			c.fail(err)
			return
		}
	}
}

func (c *conn) read() {
	for {
		// A ping is answered each third of the timeout, so two thirds of silence are an end.
		err := c.net.SetReadDeadline(time.Now().Add(c.timeout * 2 / 3))
		if err == nil {
			err = c.readOne()
		}
		if err != nil {
			c.fail(err)
			return
		}
	}
}

func (c *conn) readOne() error {
	var head [4 + replyLen]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return err
	}
	size := int(int32(binary.BigEndian.Uint32(head[:]))) - replyLen
	if size < 0 || size > maxFrame {
		return fmt.Errorf("a frame of %d bytes is no answer of zookeeper", size+replyLen)
	}
	d := decoder{b: head[4:]}
	xid, r := d.int32(), reply{zxid: d.int64(), code: d.int32()}
	c.mu.Lock()
	asked := c.waiting[xid]
	delete(c.waiting, xid)
	c.mu.Unlock()
	if xid == xidPing || asked == nil && xid < 0 {
		return c.discard(size)
	}
	if asked == nil {
		return fmt.Errorf("an answer with number %d, which nobody asked", xid)
	}
	if r.zxid > c.zxid.Load() {
		c.zxid.Store(r.zxid)
	}
	var err error
	if size > asked.limit {
		r.err, err = &tooLargeError{size}, c.discard(size)
	} else {
		r.body, err = c.body(size)
	}
	if err != nil {
		r.err = fmt.Errorf("%w: %w", ErrLost, err)
	}
	asked.answer <- r
	return err
}

// body believes a length only as far as bytes follow.
func (c *conn) body(size int) ([]byte, error) {
	out := make([]byte, 0, min(size, piece))
	for len(out) < size {
		from := len(out)
		if from == cap(out) {
			grown := make([]byte, from, min(size, 2*from))
			copy(grown, out)
			out = grown
		}
		out = out[:cap(out)]
		n, err := io.ReadFull(c.in, out[from:])
		if err != nil {
			return nil, err
		}
		out = out[:from+n]
	}
	return out, nil
}

func (c *conn) discard(size int) error {
	_, err := io.CopyN(io.Discard, c.in, int64(size))
	return err
}

func (c *conn) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting) == 0
}

func (c *conn) fail(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = fmt.Errorf("%w: %w", ErrLost, cause)
	for _, asked := range c.waiting {
		asked.answer <- reply{err: c.err}
	}
	c.waiting = nil
	close(c.done)
	_ = c.net.Close() // it is given up either way
}

func (c *conn) lost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// close ends the session, so that the server forgets it at once, and the goroutines.
func (c *conn) close() {
	ctx, cancel := context.WithTimeout(context.Background(), min(time.Second, c.timeout/3))
	defer cancel()
	if asked, err := c.ask(ctx, opClose, func(*encoder) {}, 0); err == nil {
		// The server may close without an answer; either is an end.
		_, _ = c.wait(ctx, asked)
	}
	c.fail(errors.New("closed"))
	c.both.Wait()
}
