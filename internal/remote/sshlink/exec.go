package sshlink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// After a command ended its last output is waited for until nothing comes for
// quiet, and no longer than last: a daemon that it started may hold the output
// open for ever and write to it.
const (
	quiet = 200 * time.Millisecond
	last  = time.Second
)

// Command is one command line for the user's login shell on a host.
type Command struct {
	Line  string
	Stdin []byte
	// Stdout and Stderr get what comes, never both at once and nothing more when
	// Exec has returned; the first error of one ends the waiting and is returned.
	Stdout, Stderr io.Writer
	// Ended may tell before the host does that the command ended, as somebody
	// else may hold the shell; nil when only the host tells.
	Ended <-chan struct{}
}

// Ended is what the host told of the command line's end.
type Ended struct {
	Exit   int
	Signal string // such as TERM; empty unless a signal ended it
	Told   bool   // false when Command.Ended came first
}

// NotRunError is a command line that the host was certainly not given.
type NotRunError struct{ Err error }

func (e *NotRunError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *NotRunError) Unwrap() error { return e.Err }

// opens is how often a session is tried anew because its link turned out dead.
const opens = 3

// Exec runs a command line to its end or until ctx ends; then the error wraps
// ctx's, and the command is not touched, but its output has no reader any more.
func (p *Pool) Exec(ctx context.Context, w Way, c Command) (Ended, error) {
	h := p.host(w, nil)
	l, o, err := h.open(ctx)
	if err != nil {
		return Ended{}, &NotRunError{err}
	}
	defer h.giveBack(l, &l.sessions)
	ended, err := l.run(ctx, o, c)
	if err != nil {
		return ended, fmt.Errorf("ssh %s: %w", h.way.Host, err)
	}
	return ended, nil
}

// open takes a place and opens a session in it.
func (h *host) open(ctx context.Context) (*link, opened, error) {
	for tries := 1; ; tries++ {
		l, err := h.session(ctx)
		if err != nil {
			return nil, opened{}, err
		}
		o, err := l.open(ctx)
		if err == nil {
			return l, o, nil
		}
		var refused *ssh.OpenChannelError
		switch {
		case errors.As(err, &refused):
			if h.refused(l) {
				tries-- // there is a place once another session ends
			}
		case ctx.Err() == nil:
			h.forget(l)
		}
		h.giveBack(l, &l.sessions)
		if tries >= opens || ctx.Err() != nil {
			return nil, opened{}, fmt.Errorf("ssh %s: %w", h.way.Host, err)
		}
		// A session that ended a moment ago may still count on the host.
		if err := pause(ctx, time.Duration(tries)*quiet/4); err != nil {
			return nil, opened{}, fmt.Errorf("ssh %s: %w", h.way.Host, err)
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run gives the line to the session's shell and collects what comes of it.
func (l *link) run(ctx context.Context, o opened, c Command) (Ended, error) {
	defer func() { go o.channel.Close() }() // on a link that hangs even this may take long
	status := make(chan Ended, 1)
	go follow(o.requests, status)
	started := make(chan error, 1)
	go func() {
		ok, err := o.channel.SendRequest("exec", true, ssh.Marshal(struct{ Line string }{c.Line}))
		if err == nil && !ok {
			err = &NotRunError{errors.New("the host refuses to run commands in this session")}
		}
		started <- err
	}()
	select {
	case err := <-started:
		if err != nil {
			return Ended{}, lost(err)
		}
	case <-ctx.Done():
		return Ended{}, fmt.Errorf("the host did not say whether it started the command: %w", ctx.Err())
	}
	go feed(o.channel, c.Stdin)
	return collect(ctx, o, c, status)
}

// lost is the error of a command whose connection went away, unless it tells more.
func lost(err error) error {
	if cut(err) {
		return ErrLost
	}
	return err
}

func feed(to ssh.Channel, data []byte) {
	_, _ = to.Write(data) // who does not read its input to the end says so with its exit code
	_ = to.CloseWrite()
}

// follow reads how the command ended; the channel closes with the session.
func follow(requests <-chan *ssh.Request, status chan<- Ended) {
	defer close(status)
	for r := range requests {
		var exit struct{ Status uint32 }
		var signal struct {
			Name   string
			Core   bool
			Text   string
			Locale string
		}
		switch {
		case r.Type == "exit-status" && ssh.Unmarshal(r.Payload, &exit) == nil:
			status <- Ended{Exit: int(exit.Status), Told: true}
			go ssh.DiscardRequests(requests)
			return
		case r.Type == "exit-signal" && ssh.Unmarshal(r.Payload, &signal) == nil:
			status <- Ended{Signal: signal.Name, Told: true}
			go ssh.DiscardRequests(requests)
			return
		case r.WantReply:
			_ = r.Reply(false, nil)
		}
	}
}

// collect copies the output until the command ended and nothing more comes.
func collect(ctx context.Context, o opened, c Command, status <-chan Ended) (Ended, error) {
	in := &intake{moved: make(chan struct{}, 1)}
	defer in.close()
	copied := make(chan error, 2)
	for _, s := range []struct {
		from io.Reader
		to   io.Writer
	}{{o.channel, c.Stdout}, {o.channel.Stderr(), c.Stderr}} {
		go func() {
			_, err := io.Copy(taken{in, s.to}, s.from)
			copied <- err
		}()
	}
	var ended Ended
	var result error
	known, streams, byMark := false, 2, c.Ended
	var still, enough <-chan time.Time // end the wait for output
	for !known || streams > 0 {
		select {
		case got, told := <-status:
			status = nil
			if !told && !known {
				result = ErrLost
			} else if told {
				ended = got
			}
			known, still, enough = true, time.After(quiet), time.After(last)
		case <-byMark:
			byMark, known = nil, true
			still, enough = time.After(quiet), time.After(last)
		case err := <-copied:
			streams--
			if err != nil {
				return ended, lost(err)
			}
		case <-in.moved:
			if known {
				still = time.After(quiet)
			}
		case <-still:
			return ended, result
		case <-enough:
			return ended, result
		case <-ctx.Done():
			return Ended{}, ctx.Err()
		}
	}
	return ended, result
}

// intake passes output on, one piece at a time and until it is closed, and
// tells that some came.
type intake struct {
	moved  chan struct{}
	mu     sync.Mutex
	closed bool
}

func (i *intake) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
}

// taken is one stream of an intake.
type taken struct {
	*intake
	to io.Writer
}

func (t taken) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return 0, io.ErrClosedPipe
	}
	select {
	case t.moved <- struct{}{}:
	default:
	}
	return t.to.Write(p)
}
