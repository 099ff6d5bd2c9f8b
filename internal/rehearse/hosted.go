package rehearse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"migrator/internal/client"
	"migrator/internal/config"
	"migrator/internal/httpapi"
	"migrator/internal/service"
)

// hosted is the service within this process, with its page on a free port of
// loopback and a client that asks it as anybody would.
type hosted struct {
	service *service.Service
	server  *httpapi.Server
	client  *client.Client

	drain      chan struct{}
	endServing context.CancelFunc
	endRunning context.CancelFunc
	running    chan error
	serving    chan error
}

// host lets the service run and answer. Neither ends with ctx: an interrupted
// rehearsal first brings nodes back. On an error the service is closed.
func host(ctx context.Context, svc *service.Service, log *slog.Logger) (*hosted, error) {
	server, err := httpapi.New(httpapi.Of(svc), httpapi.Options{Listen: "127.0.0.1:0", Log: log})
	if err == nil {
		err = server.Listen()
	}
	if err != nil {
		return nil, errors.Join(err, svc.Close())
	}
	h := &hosted{service: svc, server: server, client: client.New(server.URL(), config.Secret{}),
		drain: make(chan struct{}), serving: make(chan error, 1), running: make(chan error, 1)}
	lasting := context.WithoutCancel(ctx)
	serving, endServing := context.WithCancel(lasting)
	running, endRunning := context.WithCancel(lasting)
	h.endServing, h.endRunning = endServing, endRunning
	go func() { h.serving <- server.Serve(serving) }()
	go func() { h.running <- svc.Run(running, h.drain) }()
	return h, nil
}

// end drains the service, since nodes it holds down come back first, then asks
// it what last wants, and closes it. limit bounds the draining; 0: nothing but
// a second signal does, since somebody's nodes are not left down.
func (h *hosted) end(ctx context.Context, stderr io.Writer, limit time.Duration, last func() error) error {
	close(h.drain)
	var late <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		late = timer.C
	}
	if ctx.Err() != nil {
		fmt.Fprintln(stderr, "ending: what is open is brought to a safe end (Ctrl-C again ends at once)")
	}
	var errs []error
	select {
	case err := <-h.running:
		errs = append(errs, err)
	case <-late:
		h.endRunning()
		errs = append(errs, fmt.Errorf("the service did not come to a safe end within %s", limit), <-h.running)
	}
	h.endRunning()
	errs = append(errs, last())
	h.endServing()
	return errors.Join(append(errs, <-h.serving, h.service.Close())...)
}
