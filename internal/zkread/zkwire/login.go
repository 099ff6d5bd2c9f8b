package zkwire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"time"
)

// Login says how a connection is made and who we are on it. The zero Login is
// plaintext and nobody.
type Login struct {
	// Dial opens a connection to a member, host:port; nil = plain TCP.
	Dial func(ctx context.Context, server string) (net.Conn, error)
	// Digest gives user:password of the digest scheme; nil = none.
	Digest func(context.Context) (string, error)
	// SASL logs in by exchanging tokens with the member; nil = none.
	SASL func(ctx context.Context, server string, exchange func(token []byte) ([]byte, error)) error
}

// Open dials a member; nothing was said on the connection yet.
func (l Login) Open(ctx context.Context, server string) (net.Conn, error) {
	if l.Dial != nil {
		return l.Dial(ctx, server)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", server)
}

// prove does what the credentials ask for, between the session's begin and the
// first question.
func (l Login) prove(ctx context.Context, server string, h *handshake) error {
	if l.SASL != nil {
		if err := l.SASL(ctx, server, h.token); err != nil {
			return err
		}
	}
	if l.Digest == nil {
		return nil
	}
	credentials, err := l.Digest(ctx)
	if err != nil {
		return err
	}
	return h.digest(credentials)
}

// Dialer gives connections to a client that knows neither TLS nor our
// credentials: it begins its session by itself, and before it sees the answer
// the credentials are proven. told hears each failure, which the library drops.
func (l Login) Dialer(told func(error)) func(network, server string, timeout time.Duration) (net.Conn, error) {
	return func(_, server string, timeout time.Duration) (net.Conn, error) {
		limit := max(timeout, time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		conn, err := l.Open(ctx, server)
		if err != nil {
			told(err)
			return nil, err
		}
		if l.SASL == nil && l.Digest == nil {
			return conn, nil
		}
		return &proving{Conn: conn, login: l, server: server, limit: limit, failed: told}, nil
	}
}

// proving is a connection whose first read is the answer to the session's
// begin: the credentials go over the wire before it is handed on.
type proving struct {
	net.Conn
	login  Login
	server string
	limit  time.Duration
	failed func(error)

	once  sync.Once
	in    *bufio.Reader
	begun *bytes.Reader
	err   error
}

// Read proves the credentials first.
func (p *proving) Read(into []byte) (int, error) {
	p.once.Do(p.prove)
	if p.err != nil {
		return 0, p.err
	}
	if p.begun.Len() > 0 {
		return p.begun.Read(into)
	}
	return p.in.Read(into)
}

func (p *proving) prove() {
	ctx, cancel := context.WithTimeout(context.Background(), p.limit)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { p.Conn.Close() })
	defer stop()
	p.in = bufio.NewReaderSize(p.Conn, 64<<10)
	h := &handshake{net: p.Conn, in: p.in}
	body, err := h.frame()
	if err == nil {
		p.begun = bytes.NewReader(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
		err = p.login.prove(ctx, p.server, h)
	}
	if err != nil {
		p.err = errors.Join(err, p.Conn.Close())
		p.failed(err)
	}
}
