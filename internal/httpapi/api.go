// Package httpapi serves the JSON API, the event stream, the page and the
// metrics. It shows the read model of package status and computes no answer of
// its own; every command goes to the machine that decides.
package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"migrator/internal/config"
	"migrator/internal/facts"
	"migrator/internal/journal"
	"migrator/internal/orchestrate"
	"migrator/internal/status"
	"migrator/web"
)

// Machine is one migration under way.
type Machine interface {
	Shown
	Do(ctx context.Context, c orchestrate.Command) error
	Subscribe() (box <-chan status.Status, giveBack func())
}

// Shown is what of a migration can be read at any time.
type Shown interface {
	Status() status.Status
	Facts() facts.Snapshot
	// PlannedFile is a file that a person is to write in the open step, by its SHA-256.
	PlannedFile(sha string) ([]byte, bool)
}

// Service is what is served.
type Service interface {
	// Names lists the migrations in the order they are shown.
	Names() []string
	Machine(name string) (Machine, bool)
	Journal(name string, after uint64) ([]journal.Entry, error)
	// Evidence writes the evidence pack of a migration as a tar stream.
	Evidence(name string, w io.Writer) error
}

// Options are what a server is started with.
type Options struct {
	Listen string        // host:port; port 0 takes a free one
	Token  config.Secret // empty: none is asked for, and only loopback is listened on
	Log    *slog.Logger
	Now    func() time.Time // nil is time.Now
}

// ExposedError is a listen address that others could reach without a token.
type ExposedError struct{ Listen string }

func (e *ExposedError) Error() string {
	return fmt.Sprintf("listen on %s: anybody who reaches it could drive the migration; set MIGRATOR_TOKEN, or listen on 127.0.0.1", e.Listen)
}

const (
	headerLimit   = 10 * time.Second // to read a request's header
	shutdownLimit = 5 * time.Second  // for requests under way at the end
)

// Server is the HTTP side of the service.
type Server struct {
	service Service
	opts    Options
	local   bool // listens on loopback only
	page    *web.Page
	echo    *echo.Echo
	started time.Time
	stop    chan struct{} // closed when streams must end
	socket  net.Listener
}

// New makes a server; nothing is listened on yet. Errors: *ExposedError, a
// listen address that makes no sense.
func New(s Service, o Options) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	host, _, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen address %q: %w", o.Listen, err)
	}
	local := loopback(host)
	if !local && o.Token.Empty() {
		return nil, &ExposedError{o.Listen}
	}
	page, err := web.New()
	if err != nil {
		return nil, err
	}
	srv := &Server{service: s, opts: o, local: local, page: page, started: o.Now(), stop: make(chan struct{})}
	srv.echo = srv.routes()
	return srv, nil
}

// Handler answers requests; for tests without a socket.
func (s *Server) Handler() http.Handler { return s.echo }

// Listen binds the address, so that Addr is known and a used port is an error
// before anything runs.
func (s *Server) Listen() error {
	socket, err := net.Listen("tcp", s.opts.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", s.opts.Listen, err)
	}
	s.socket = socket
	return nil
}

// URL is where the server answers, once it listens.
func (s *Server) URL() string {
	if s.socket == nil {
		return ""
	}
	return "http://" + s.socket.Addr().String()
}

// Serve answers until ctx ends; then streams end and requests under way get a
// short time. Call it once, after Listen.
func (s *Server) Serve(ctx context.Context) error {
	if s.socket == nil {
		return errors.New("serve: nothing is listened on")
	}
	server := &http.Server{Handler: s.echo, ReadHeaderTimeout: headerLimit, ErrorLog: slog.NewLogLogger(s.opts.Log.Handler(), slog.LevelDebug)}
	server.RegisterOnShutdown(func() { close(s.stop) })
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(s.socket) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve %s: %w", s.opts.Listen, err)
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownLimit)
	defer cancel()
	err := server.Shutdown(closing)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	<-ended
	return err
}
