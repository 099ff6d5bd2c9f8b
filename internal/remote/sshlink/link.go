package sshlink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
)

const (
	// A link that does not answer for aliveEvery and then aliveLimit is lost:
	// whatever waits on it gets an error after at most 15 s.
	aliveEvery = 5 * time.Second
	aliveLimit = 10 * time.Second
	idleLimit  = time.Minute // an unused link is closed after it
	// sessionLimit is OpenSSH's MaxSessions less one that may still count on the
	// host when it ended here; a host that grants fewer is found out by asking.
	sessionLimit = 9
)

// ErrLost says that the connection ended while something ran on it: what ran
// there may have been done, or half, or not at all.
var ErrLost = errors.New("the connection was lost, so its end is unknown")

// link is one connection. What is mutable is guarded by its host's lock.
type link struct {
	client  *ssh.Client
	release func() // the jump host's link; never nil
	gone    chan struct{}

	sessions int // open now
	limit    int // of sessions
	forwards int // links to other hosts that go through this one
	idle     time.Time
}

// watch ends when the link is lost or given up; an unanswered keepalive closes it.
func (l *link) watch(every, limit time.Duration) {
	defer l.release()
	ended := make(chan struct{})
	go func() {
		_ = l.client.Wait() // why it ended is what each session's own error says
		close(ended)
	}()
	defer close(l.gone)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
			if !l.alive(limit, ended) {
				_ = l.client.Close() // nobody is there to say goodbye to
				<-ended
				return
			}
		}
	}
}

// alive asks the host for any answer; OpenSSH answers that it does not know the
// request, which is one.
func (l *link) alive(limit time.Duration, ended <-chan struct{}) bool {
	answered := make(chan error, 1)
	go func() {
		_, _, err := l.client.SendRequest("keepalive@openssh.com", true, nil)
		answered <- err
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-answered:
		return err == nil
	case <-ended:
		return false
	case <-timer.C:
		return false
	}
}

// opened is a channel that runs one command.
type opened struct {
	channel  ssh.Channel
	requests <-chan *ssh.Request
}

// open starts a session; the answer of a host that hangs is not waited for
// longer than ctx allows.
func (l *link) open(ctx context.Context) (opened, error) {
	type answer struct {
		opened
		err error
	}
	got := make(chan answer, 1)
	go func() {
		c, r, err := l.client.OpenChannel("session", nil)
		got <- answer{opened{c, r}, err}
	}()
	select {
	case a := <-got:
		return a.opened, a.err
	case <-ctx.Done():
		go func() { // hands back what comes too late
			if a := <-got; a.err == nil {
				go ssh.DiscardRequests(a.requests)
				_ = a.channel.Close()
			}
		}()
		return opened{}, fmt.Errorf("the host did not open a session: %w", ctx.Err())
	}
}

// cut says whether an error is that of a connection that went away.
func cut(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
