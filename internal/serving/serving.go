// Package serving is the life of the service's process: its loops and its HTTP
// side beside each other, and an end that brings open batches back first.
package serving

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"migrator/internal/config"
	"migrator/internal/httpapi"
	"migrator/internal/service"
	"migrator/internal/status"
)

// Options are how the service is reached.
type Options struct {
	Listen    string // host:port
	Token     config.Secret
	Log       *slog.Logger
	Listening func(url string) // called once the API can be asked
}

// ErrCutShort ends the process while nodes may be down by our hand.
var ErrCutShort = errors.New("ended at once by a second signal: what was under way is in doubt and is looked at first at the next start")

// Run serves until the loops end, the HTTP side fails, or signals ask for an
// end: the first lets open batches come back, a second one cuts short. It
// closes the service.
func Run(ctx context.Context, svc *service.Service, o Options) error {
	server, err := httpapi.New(httpapi.Of(svc), httpapi.Options{Listen: o.Listen, Token: o.Token, Log: o.Log})
	if err == nil {
		err = server.Listen()
	}
	if err != nil {
		return errors.Join(err, svc.Close())
	}
	o.Listening(server.URL())
	return newServing(ctx, svc, server, o.Log).wait()
}

// serving is a service under way with its two goroutines.
type serving struct {
	svc    *service.Service
	log    *slog.Logger
	drain  chan struct{}
	cancel context.CancelFunc // of both, at once
	loops  chan error
	http   chan error
	quit   context.CancelFunc // of the HTTP side
}

func newServing(ctx context.Context, svc *service.Service, server *httpapi.Server, log *slog.Logger) *serving {
	ctx, cancel := context.WithCancel(ctx)
	answering, quit := context.WithCancel(ctx)
	s := &serving{svc: svc, log: log, drain: make(chan struct{}), cancel: cancel, loops: make(chan error, 1), http: make(chan error, 1), quit: quit}
	go func() { s.loops <- svc.Run(ctx, s.drain) }()
	go func() { s.http <- server.Serve(answering) }()
	return s
}

// wait ends with the loops, with a failed HTTP side, or by signals.
func (s *serving) wait() error {
	defer s.cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(signals)
	told := time.NewTicker(2 * time.Second)
	defer told.Stop()
	draining := false
	for {
		select {
		case err := <-s.loops:
			s.quit()
			return errors.Join(err, <-s.http, s.svc.Close())
		case err := <-s.http:
			s.cancel()
			return errors.Join(err, <-s.loops, s.svc.Close())
		case sig := <-signals:
			if draining {
				return ErrCutShort
			}
			draining = true
			close(s.drain)
			s.log.Info("stopping: bringing the open batch's nodes back first; a second signal ends at once", "signal", sig.String())
		case <-told.C:
			if draining {
				s.sayWaiting()
			}
		}
	}
}

// sayWaiting names what still holds the end up.
func (s *serving) sayWaiting() {
	for _, name := range s.svc.Names() {
		m, ok := s.svc.Machine(name)
		if !ok {
			continue
		}
		if st := m.Status(); st.RunStatus == status.Executing && st.Step != nil {
			s.log.Info("stopping: waiting", "cluster", name, "step", st.Step.ID, "for", st.Headline)
		}
	}
}
