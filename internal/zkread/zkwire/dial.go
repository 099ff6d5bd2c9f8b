package zkwire

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// ErrRefused is the kind of error of a member that did not accept our
// credentials. Asking again does not help.
var ErrRefused = errors.New("zookeeper refuses our credentials")

// connect tries each member once, beginning behind the one tried last.
func (c *Client) connect(ctx context.Context) (*conn, error) {
	var failures []error
	for range c.addr.Servers {
		server := c.addr.Servers[int(c.turn.Add(1)-1)%len(c.addr.Servers)]
		limited, cancel := context.WithTimeout(ctx, max(time.Second, c.o.SessionTimeout/time.Duration(len(c.addr.Servers))))
		got, err := c.connectTo(limited, server)
		cancel()
		if err == nil {
			return got, nil
		}
		failures = append(failures, fmt.Errorf("connect to zookeeper member %s: %w", server, err))
		if ctx.Err() != nil || errors.Is(err, ErrRefused) {
			break
		}
	}
	return nil, errors.Join(failures...)
}

func (c *Client) connectTo(ctx context.Context, server string) (*conn, error) {
	raw, err := c.o.Login.Open(ctx, server)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	h := &handshake{net: raw, in: bufio.NewReaderSize(raw, 64<<10)}
	timeout, err := h.session(c.o.SessionTimeout, c.zxid.Load())
	if err == nil {
		err = c.o.Login.prove(ctx, server, h)
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	out := newConn(raw, h.in, timeout, &c.zxid)
	// Any member may lag (KAFKA-16667 bit Kafka itself), so each session begins with a sync.
	if _, err := c.sync(ctx, out); err != nil {
		out.close()
		return nil, err
	}
	return out, nil
}

// handshake is a connection before questions are pipelined on it.
type handshake struct {
	net net.Conn
	in  *bufio.Reader
}

// session asks for a new one. A member behind the state that we have seen
// closes the connection, and the next member is tried.
func (h *handshake) session(timeout time.Duration, seen int64) (time.Duration, error) {
	var e encoder
	e.int32(0)
	e.int64(seen)
	e.int32(int32(timeout.Milliseconds()))
	e.int64(0)
	e.bytes(make([]byte, 16))
	e.bool(false) // no session with a member that has no majority
	body, err := h.exchange(e.b)
	if err != nil {
		return 0, err
	}
	d := &decoder{b: body}
	d.int32()
	granted, id := d.int32(), d.int64()
	if d.err != nil {
		return 0, d.err
	}
	if granted <= 0 || id == 0 {
		return 0, errors.New("it grants no session")
	}
	return time.Duration(granted) * time.Millisecond, nil
}

func (h *handshake) digest(userPassword string) error {
	var e encoder
	e.int32(xidAuth)
	e.int32(opAuth)
	e.int32(0)
	e.string("digest")
	e.string(userPassword)
	_, err := h.answer(e.b)
	return err
}

// token exchanges one SASL token.
func (h *handshake) token(mine []byte) ([]byte, error) {
	var e encoder
	e.int32(0)
	e.int32(opSASL)
	e.bytes(mine)
	body, err := h.answer(e.b)
	if err != nil {
		return nil, err
	}
	d := &decoder{b: body}
	return d.buffer(), d.err
}

func (h *handshake) answer(request []byte) ([]byte, error) {
	body, err := h.exchange(request)
	if err != nil {
		return nil, err
	}
	d := &decoder{b: body}
	d.int32()
	d.int64()
	switch code := d.int32(); {
	case d.err != nil:
		return nil, d.err
	case code == codeAuthFailed:
		return nil, ErrRefused
	case code != 0:
		return nil, &CodeError{code}
	}
	return d.b, nil
}

// exchange writes one frame and reads one.
func (h *handshake) exchange(request []byte) ([]byte, error) {
	if _, err := h.net.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(request))), request...)); err != nil {
		return nil, err
	}
	return h.frame()
}

func (h *handshake) frame() ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(h.in, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > piece {
		return nil, fmt.Errorf("a frame of %d bytes is no answer of zookeeper", n)
	}
	body := make([]byte, n)
	_, err := io.ReadFull(h.in, body)
	return body, err
}
