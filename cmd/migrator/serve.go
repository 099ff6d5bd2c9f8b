package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"migrator/internal/config"
	"migrator/internal/httpapi"
	"migrator/internal/service"
	"migrator/internal/status"
)

func newServeCommand() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "serve --config FILE --data DIR [--listen HOST:PORT]",
		Short: "run the service: API, page, and one loop per migration",
		Long: `serve observes every cluster of migrations.yaml and carries out approved plans.

SIGTERM or Ctrl-C finishes bringing the open batch's nodes back and then ends; a
second one ends at once. Killed at any instant, it goes on correctly when it is
started again with the same data folder.`,
		Example: `  migrator serve --config migrations.yaml --data /var/lib/migrator
  MIGRATOR_TOKEN=... migrator serve --config migrations.yaml --data ./data --listen 0.0.0.0:8420`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := process(cmd)
			if err != nil {
				return err
			}
			if p.DataDir == "" {
				return usagef("serve needs --data DIR (or MIGRATOR_DATA)")
			}
			file, err := loadFile(path)
			if err != nil {
				return err
			}
			return serve(cmd.Context(), p, file, newLog(cmd, p.LogLevel))
		},
	}
	configFlag(cmd, &path)
	cmd.Flags().String("data", "", "the data folder: journal and file contents (MIGRATOR_DATA)")
	cmd.Flags().String("listen", "127.0.0.1:8420", "address of the API and the page; others than loopback need MIGRATOR_TOKEN (MIGRATOR_LISTEN)")
	return cmd
}

// errCutShort ends the process while nodes may be down by our hand.
var errCutShort = errors.New("ended at once by a second signal: what was under way is in doubt and is looked at first at the next start")

func serve(ctx context.Context, p config.Process, file config.File, log *slog.Logger) error {
	svc, err := service.Open(service.Options{File: file, DataDir: p.DataDir, Log: log})
	if err != nil {
		return err
	}
	server, err := httpapi.New(httpapi.Of(svc), httpapi.Options{Listen: p.Listen, Token: p.Token, Log: log})
	if err == nil {
		err = server.Listen()
	}
	if err != nil {
		return errors.Join(err, svc.Close())
	}
	log.Info("serving", "url", server.URL(), "data", p.DataDir, "migrations", len(svc.Names()))
	return newServing(ctx, svc, server, log).wait()
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
				return errCutShort
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
