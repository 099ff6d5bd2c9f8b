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
	"migrator/internal/config"
	"migrator/internal/double"
	"migrator/internal/findings"
	"migrator/internal/lab"
	"migrator/internal/service"
)

// stage is all that runs during a rehearsal: the cluster, our own client, and
// the service with its page and the client that approves.
type stage struct {
	*hosted // nil until the service runs
	cluster *lab.Cluster
	witness *canary.Canary // a client the service knows nothing of
	cfg     config.Migration
	double  *double.Double     // what ZooKeeper was filled with; nil: nothing
	found   []findings.Finding // what preflight said of the double
}

// build starts everything; on an error nothing runs any more.
func build(ctx context.Context, o Options, d *double.Double, log *slog.Logger) (_ *stage, err error) {
	fmt.Fprintf(o.Stderr, "starting ZooKeeper and %d brokers of Kafka %s\n", o.Brokers, o.Kafka)
	dir, err := os.MkdirTemp("", "rehearsal-")
	if err != nil {
		return nil, fmt.Errorf("make the cluster's folder: %w", err)
	}
	s := &stage{double: d}
	s.cluster, err = lab.Start(ctx, s.labOptions(o, dir))
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
	svc, err := s.openService(o, log)
	if err != nil {
		return nil, err
	}
	if d != nil {
		if s.found, err = foretell(ctx, s.cfg, log); err != nil {
			return nil, errors.Join(err, svc.Close())
		}
		fmt.Fprint(o.Stderr, foretold(s.found))
	}
	s.hosted, err = host(ctx, svc, log)
	return s, err
}

// The workload: each topic spans every broker and survives one of them.
const (
	workloadTopics     = 6
	workloadPartitions = 4
	topicLimit         = time.Minute
)

// createTopic makes a topic of the workload. The first controller of a double
// has a tree to read before it knows every broker: meanwhile it refuses.
func (s *stage) createTopic(ctx context.Context, topic string) error {
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for {
		err := canary.CreateTopic(ctx, canary.Cluster{Bootstrap: s.cluster.Bootstrap()}, topic, workloadPartitions, 3, 2)
		if err == nil || s.double == nil {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return err
		}
	}
}

func (s *stage) startWitness(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, topicLimit)
	defer cancel()
	var topics []string
	for i := range workloadTopics {
		topic := fmt.Sprintf("rehearsal-%d", i+1)
		if err := s.createTopic(limited, topic); err != nil {
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
func (s *stage) openService(o Options, log *slog.Logger) (*service.Service, error) {
	path := filepath.Join(s.cluster.Dir(), "migrations.yaml")
	text := s.cluster.MigrationsYAML(lab.YAMLOptions{Name: Name, Soak: o.Soak.String(), PollInterval: "500ms", GoodPolls: 2, StepTimeout: s.stepTimeout(), RollBatch: o.Roll})
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("write migrations.yaml: %w", err)
	}
	file, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	s.cfg = file.Migrations[0]
	return service.Open(service.Options{File: file, DataDir: filepath.Join(s.cluster.Dir(), "service"), Log: log})
}

// takeDown ends everything and says where the cluster's folder is kept. Every
// failure to end something is a failure of the rehearsal.
func (s *stage) takeDown(ctx context.Context, o Options, cause error) error {
	errs := []error{cause}
	var ended *interruptedError
	early := errors.As(cause, &ended)
	if s.hosted != nil {
		errs = append(errs, s.end(ctx, o.Stderr, teardownLimit, func() error {
			if !early {
				return nil
			}
			return s.writeSoFar(ctx, o)
		}))
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
