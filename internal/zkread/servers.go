package zkread

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// ServerState is what is known of one ZooKeeper member.
type ServerState string

const (
	// Serving: it says so itself.
	Serving ServerState = "serving"
	// Down: nothing accepts a connection at its address.
	Down ServerState = "down"
	// NotServing: it runs, but has no majority to serve with.
	NotServing ServerState = "not-serving"
	// Unanswered: it accepts connections and does not tell, mostly since
	// 4lw.commands.whitelist has no srvr. It is neither up nor down.
	Unanswered ServerState = "unknown"
)

// Server is one member of the connect string.
type Server struct {
	Addr     string
	State    ServerState
	Mode     string // leader, follower, observer, standalone; "" when it did not tell
	Version  string // "" when it did not tell
	ReadOnly *bool  // nil when it did not tell
	Err      error  // why the state is not Serving
}

// OK says that the member is known to serve. Not OK is not down: see State.
func (s Server) OK() bool { return s.State == Serving }

// Servers asks each member by a four-letter word, at the same time, each for at
// most five seconds. The error is that of the context only; a member's own
// fault is in its Server.
func (r *Reader) Servers(ctx context.Context) ([]Server, error) {
	out := make([]Server, len(r.addr.Servers))
	var wait sync.WaitGroup
	for i, addr := range r.addr.Servers {
		wait.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			out[i] = askServer(ctx, r.login, addr)
		})
	}
	wait.Wait()
	return out, ctx.Err()
}

// The library's own four-letter words cannot read servers of today (it wants a
// date of another shape), hence these.
func askServer(ctx context.Context, login Login, addr string) Server {
	s := Server{Addr: addr}
	text, err := fourLetters(ctx, login, addr, "srvr")
	var opErr *net.OpError
	switch {
	case errors.As(err, &opErr) && opErr.Op == "dial":
		s.State, s.Err = Down, fmt.Errorf("connect to zookeeper member %s: %w", addr, err)
		return s
	case err != nil:
		s.State, s.Err = Unanswered, fmt.Errorf("ask zookeeper member %s for srvr: %w", addr, err)
		return s
	case strings.Contains(text, "not currently serving requests"):
		s.State, s.Err = NotServing, fmt.Errorf("zookeeper member %s runs but serves nobody: it has no majority", addr)
		return s
	}
	s.Mode, s.Version = parseSrvr(text)
	if s.Mode == "" {
		s.State = Unanswered
		s.Err = fmt.Errorf("zookeeper member %s accepts connections but does not answer srvr: put srvr into its 4lw.commands.whitelist", addr)
		return s
	}
	s.State = Serving
	s.ReadOnly = readOnly(ctx, login, addr, s.Mode)
	return s
}

func readOnly(ctx context.Context, login Login, addr, mode string) *bool {
	yes, no := true, false
	if mode == "read-only" {
		return &yes
	}
	text, err := fourLetters(ctx, login, addr, "isro")
	if err != nil {
		return nil
	}
	switch strings.TrimSpace(text) {
	case "ro":
		return &yes
	case "rw":
		return &no
	}
	return nil
}

func parseSrvr(text string) (mode, version string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if v, ok := strings.CutPrefix(line, "Mode: "); ok {
			mode = bounded(v)
		}
		if v, ok := strings.CutPrefix(line, "Zookeeper version: "); ok {
			v, _, _ = strings.Cut(v, ",")
			v, _, _ = strings.Cut(v, "-")
			version = bounded(v)
		}
	}
	return mode, version
}

// fourLetters sends one word and reads the answer to its end, at most 64 KiB.
func fourLetters(ctx context.Context, login Login, addr, word string) (string, error) {
	conn, err := login.Open(ctx, addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if _, err := conn.Write([]byte(word)); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(conn, 64<<10))
	if len(text) > 0 {
		// A member may reset the connection right after its answer.
		return string(text), nil
	}
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return "", err
}
