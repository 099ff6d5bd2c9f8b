package rehearse

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"migrator/internal/canary"
	"migrator/internal/client"
	"migrator/internal/config"
	"migrator/internal/httpapi"
	"migrator/internal/lab"
	"migrator/internal/service"
)

// stage is all that runs during a rehearsal: the cluster, our own client, the
// service with its page, and the client that approves.
type stage struct {
	cluster *lab.Cluster
	witness *canary.Canary // a client the service knows nothing of
	service *service.Service
	server  *httpapi.Server
	client  *client.Client
	cfg     config.Migration

	drain   chan struct{}
	ends    []func() // in order: what stops the service's goroutines
	running chan error
	serving chan error
}

// build starts everything; on an error nothing runs any more.
func build(ctx context.Context, o Options, log *slog.Logger) (_ *stage, err error) {
	fmt.Fprintf(o.Stderr, "starting ZooKeeper and %d brokers of Kafka %s\n", o.Brokers, o.Kafka)
	dir, err := os.MkdirTemp("", "rehearsal-")
	if err != nil {
		return nil, fmt.Errorf("make the cluster's folder: %w", err)
	}
	s := &stage{drain: make(chan struct{})}
	s.cluster, err = lab.Start(ctx, lab.Options{Dir: dir, Version: o.Kafka, Brokers: o.Brokers, BrokersPerRack: o.perRack()})
	if err != nil && ctx.Err() != nil {
		return nil, errors.Join(err, os.RemoveAll(dir)) // we were told to end: nobody looks into it
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = s.takeDown(ctx, o, interrupted(ctx, err))
		}
	}()
	fmt.Fprintf(o.Stderr, "the cluster is up in %s; making the workload's topics\n", s.cluster.Dir())
	if err := s.startWitness(ctx); err != nil {
		return nil, err
	}
	if err := s.openService(o, log); err != nil {
		return nil, err
	}
	return s, s.serve(ctx, log)
}

// The workload: each topic spans every broker and survives one of them.
const (
	workloadTopics     = 6
	workloadPartitions = 4
	topicLimit         = time.Minute
)

func (s *stage) startWitness(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, topicLimit)
	defer cancel()
	var topics []string
	for i := range workloadTopics {
		topic := fmt.Sprintf("rehearsal-%d", i+1)
		if err := canary.CreateTopic(limited, canary.Cluster{Bootstrap: s.cluster.Bootstrap()}, topic, workloadPartitions, 3, 2); err != nil {
			return err
		}
		topics = append(topics, topic)
	}
	var err error
	s.witness, err = canary.Start(limited, canary.Options{Cluster: canary.Cluster{Bootstrap: s.cluster.Bootstrap()}, Topic: topics[0], Topics: topics[1:]})
	return err
}

// openService writes the cluster's migrations.yaml and opens the service on it,
// as an operator's would be.
func (s *stage) openService(o Options, log *slog.Logger) error {
	path := filepath.Join(s.cluster.Dir(), "migrations.yaml")
	text := s.cluster.MigrationsYAML(lab.YAMLOptions{Name: Name, Soak: o.Soak.String(), PollInterval: "500ms", GoodPolls: 2, StepTimeout: "2m", RollBatch: o.Roll})
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write migrations.yaml: %w", err)
	}
	file, err := config.Load(path)
	if err != nil {
		return err
	}
	s.cfg = file.Migrations[0]
	s.service, err = service.Open(service.Options{File: file, DataDir: filepath.Join(s.cluster.Dir(), "service"), Log: log})
	return err
}

// serve lets the service run, and answer on a free port of loopback. Neither
// ends with ctx: an interrupted rehearsal first brings nodes back.
func (s *stage) serve(ctx context.Context, log *slog.Logger) error {
	var err error
	s.server, err = httpapi.New(httpapi.Of(s.service), httpapi.Options{Listen: "127.0.0.1:0", Log: log})
	if err != nil {
		return err
	}
	if err := s.server.Listen(); err != nil {
		return err
	}
	s.client = client.New(s.server.URL(), config.Secret{})
	serving, endServing := context.WithCancel(context.WithoutCancel(ctx))
	running, endRunning := context.WithCancel(context.WithoutCancel(ctx))
	s.ends = []func(){endServing, endRunning}
	s.serving, s.running = make(chan error, 1), make(chan error, 1)
	go func() { s.serving <- s.server.Serve(serving) }()
	go func() { s.running <- s.service.Run(running, s.drain) }()
	return nil
}

// takeDown ends everything and says where the cluster's folder is kept. Every
// failure to end something is a failure of the rehearsal.
func (s *stage) takeDown(ctx context.Context, o Options, cause error) error {
	errs := []error{cause}
	var ended *interruptedError
	early := errors.As(cause, &ended)
	if s.running != nil {
		errs = append(errs, s.endService(ctx, o, early))
	}
	if s.service != nil {
		errs = append(errs, s.service.Close())
	}
	if s.witness != nil {
		// Ended long ago unless the rehearsal broke off: then nobody asks for its figures.
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		stopped := s.witness.Stop(ending)
		cancel()
		if cause == nil {
			errs = append(errs, stopped)
		}
	}
	if cause != nil && !early {
		s.cluster.MarkFailed()
		fmt.Fprintf(o.Stderr, "the cluster's folder is kept: %s\n", s.cluster.Dir())
	}
	return errors.Join(append(errs, s.cluster.Close())...)
}

// endService drains the service: nodes it holds down come back first. early
// leaves the evidence of what was done until then.
func (s *stage) endService(ctx context.Context, o Options, early bool) error {
	close(s.drain)
	endServing, endRunning := s.ends[0], s.ends[1]
	limit := time.NewTimer(teardownLimit)
	defer limit.Stop()
	if ctx.Err() != nil {
		fmt.Fprintln(o.Stderr, "ending: what is open is brought to a safe end (Ctrl-C again ends at once)")
	}
	var errs []error
	select {
	case err := <-s.running:
		errs = append(errs, err)
	case <-limit.C:
		endRunning()
		errs = append(errs, fmt.Errorf("the service did not come to a safe end within %s", teardownLimit), <-s.running)
	}
	endRunning()
	if early {
		errs = append(errs, s.writeSoFar(ctx, o))
	}
	endServing()
	return errors.Join(append(errs, <-s.serving)...)
}
