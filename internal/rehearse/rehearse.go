// Package rehearse migrates a throwaway cluster of real processes on this
// machine whole, as an operator would: through the service and its HTTP
// client. It believes nothing of what the service says about the result but
// looks for itself, with a client of its own that runs all the time.
package rehearse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/lab"
)

// Name is the migration's name in a rehearsal.
const Name = "rehearsal"

// actor is who the journal names for every approval.
const actor = "rehearsal"

// Options are what a person chooses; the zero values of Brokers, Soak, Roll
// and Kafka take the defaults of Defaults.
type Options struct {
	Brokers int
	Soak    time.Duration
	Roll    string // node | rack
	Kafka   string // 3.9.x
	Out     string // folder of the evidence: absent or empty; "" = a new one in the working directory
	// RevertFrom is a phase to go back from once, to plain ZooKeeper, before the
	// migration is done whole; empty: straight forward.
	RevertFrom cluster.Phase
	// FromBackup is a file of `migrator backup`: the cluster is a double of that one.
	FromBackup string
	Identity   string // the age identity that decrypts it
	Keep       bool   // leave cluster and page up until ctx ends
	Verbose    bool   // the service's log also on stderr, every headline in the timeline

	Stdout, Stderr io.Writer
}

// Defaults are three brokers rolled one at a time, and a short soak.
func Defaults() Options {
	return Options{Brokers: 3, Soak: 20 * time.Second, Roll: "node", Kafka: lab.DefaultVersion}
}

// teardownLimit bounds how long an interrupted rehearsal waits for nodes that
// the service brings back; a broker needs 10 s on two busy cores.
const teardownLimit = time.Minute

// Run rehearses. Errors: *UsageError; *BlockedError when a gate did not let the
// migration go on; *BrokenError when it finished and a promise did not hold;
// all others are failures, the end of ctx before that of the migration too. Each
// has an ExitCode. No process outlives Run. The cluster's folder is kept, and
// named, when the rehearsal failed by itself.
func Run(ctx context.Context, o Options) error { return coded(run(ctx, o)) }

func run(ctx context.Context, o Options) (err error) {
	if err := o.complete(time.Now()); err != nil {
		return err
	}
	log, closeLog, err := openLog(o.Out, o.Verbose, o.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLog()) }()
	begun := time.Now()
	if _, err := lab.EnsureJars(ctx, o.Kafka, o.Stderr); err != nil {
		return interrupted(ctx, err)
	}
	d, err := readDouble(ctx, o)
	if err != nil {
		return interrupted(ctx, err)
	}
	s, err := build(ctx, o, d, log)
	if err != nil {
		return interrupted(ctx, err)
	}
	defer func() { err = s.takeDown(ctx, o, err) }()
	fmt.Fprintf(o.Stdout, "The page of this migration: %s\n\n", s.server.URL())
	err = s.migrate(ctx, o, begun)
	if o.Keep && ctx.Err() == nil {
		fmt.Fprintf(o.Stdout, "\nThe cluster (%s) and the page (%s) stay up until Ctrl-C.\n", s.cluster.Dir(), s.server.URL())
		<-ctx.Done()
		return err
	}
	return interrupted(ctx, err)
}

// migrate drives the migration to its end and judges the promises.
func (s *stage) migrate(ctx context.Context, o Options, begun time.Time) error {
	back, err := newDetour(o.RevertFrom, s.cluster.BrokerIDs(), s.cluster.PropertiesPath)
	if err != nil {
		return err
	}
	f := follower{client: s.client, name: Name, out: o.Stdout, timeline: newTimeline(begun, o.Verbose), course: back, began: begun}
	if s.double != nil {
		f.patience = doublePatience
	}
	if err := f.follow(ctx, s.limit()+2*o.Soak); err != nil {
		return s.withEvidence(ctx, o, err)
	}
	fmt.Fprintln(o.Stdout, "\nStopping ZooKeeper, and reading every record of the workload back ...")
	seen, err := s.look(ctx, o.Keep)
	if err != nil {
		return s.withEvidence(ctx, o, fmt.Errorf("look at the result: %w", err))
	}
	seen.Took, seen.Detour, seen.Double, seen.Found = time.Since(begun), back, s.double, s.found
	if err := s.client.Evidence(ctx, Name, o.Out); err != nil {
		return fmt.Errorf("write the evidence: %w", err)
	}
	return conclude(o, seen)
}

// withEvidence leaves what there is of a migration that did not get to its end.
// When we were told to end, that is done after nodes were brought back.
func (s *stage) withEvidence(ctx context.Context, o Options, cause error) error {
	if ctx.Err() != nil {
		return cause
	}
	return errors.Join(cause, s.writeSoFar(ctx, o))
}

// evidenceLimit bounds writing the pack while everything ends.
const evidenceLimit = 10 * time.Second

func (s *stage) writeSoFar(ctx context.Context, o Options) error {
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), evidenceLimit)
	defer cancel()
	if err := s.client.Evidence(writing, Name, o.Out); err != nil {
		return fmt.Errorf("write the evidence: %w", err)
	}
	fmt.Fprintf(o.Stdout, "\nEvidence of what was done so far: %s\n", o.Out)
	return nil
}

// conclude prints the summary and leaves it beside the evidence.
func conclude(o Options, seen Seen) error {
	promises := Judge(seen)
	text := Summary(seen, promises, o.Out)
	if _, err := io.WriteString(o.Stdout, "\n"+text); err != nil {
		return fmt.Errorf("print the summary: %w", err)
	}
	if err := os.WriteFile(filepath.Join(o.Out, "summary.txt"), []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	if broken := Broken(promises); len(broken) > 0 {
		return &BrokenError{broken}
	}
	return nil
}
