package rehearse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/evidence"
	"migrator/internal/service"
	"migrator/internal/status"
)

// Existing is a rehearsal on a cluster that is there already, such as a staging
// cluster. Its entry in migrations.yaml says how, by the same rules as anybody's.
type Existing struct {
	File config.File
	Name string // of the migration
	// Out gets report, evidence and, unless Data says otherwise, the data folder.
	// With the same one an interrupted or held rehearsal goes on.
	Out      string
	Data     string
	JUnit    string
	To       cluster.Phase // where it ends; empty: finalize, or dual-write before a way back
	Revert   bool          // then go back to plain ZooKeeper
	Patience time.Duration // how long it may stand while no plan runs; 0: its entry's step_timeout
	Again    string        // the command that goes on, for people
	Verbose  bool          // the service's log also on stderr, every headline in the timeline

	Stderr io.Writer // progress
	// Open opens the service; nil: service.Open.
	Open func(service.Options) (*service.Service, error)

	cfg config.Migration
}

// Rehearse drives the cluster by the code of `migrator serve`, approves what
// its gates let pass, and leaves a report. The report's Result tells how it
// ended; the error has the exit code.
func (o Existing) Rehearse(ctx context.Context) (Report, error) {
	if err := o.complete(); err != nil {
		return Report{}, err
	}
	log, closeLog, err := openLog(o.Out, o.Verbose, o.Stderr)
	if err != nil {
		return Report{}, err
	}
	r, err := o.rehearse(ctx, log)
	return r, coded(errors.Join(err, closeLog()))
}

func (o Existing) rehearse(ctx context.Context, log *slog.Logger) (Report, error) {
	begun := time.Now()
	cfg := o.cfg
	cfg.Approve = cluster.Phases() // what migrations.yaml leaves to the service, the rehearsal approves
	svc, err := o.Open(service.Options{File: config.File{Path: o.File.Path, Migrations: []config.Migration{cfg}}, DataDir: o.Data, Log: log})
	if err != nil {
		return Report{}, err
	}
	entries, err := svc.Journal(o.Name, 0)
	if err != nil {
		return Report{}, errors.Join(err, svc.Close())
	}
	course, err := newGoal(o.To, o.Revert, entries)
	if err != nil {
		return Report{}, errors.Join(err, svc.Close())
	}
	h, err := host(ctx, svc, log)
	if err != nil {
		return Report{}, err
	}
	fmt.Fprintf(o.Stderr, "rehearsing %s up to %s%s; the page: %s\n", o.Name, o.To, andBack(o.Revert), h.server.URL())
	f := follower{client: h.client, name: o.Name, out: o.Stderr, timeline: newTimeline(begun, o.Verbose), course: course, patience: o.Patience, began: begun}
	cause := f.follow(ctx, 0)
	r := Report{Began: begun.UTC(), Status: f.last}
	ended := h.end(ctx, o.Stderr, 0, func() error { return o.keep(ctx, h, cfg, &r) })
	return o.conclude(ctx, r, cause, ended)
}

func andBack(revert bool) string {
	if revert {
		return " and back"
	}
	return ""
}

// keep leaves the evidence pack, whole or as it was, and takes the pack in.
func (o Existing) keep(ctx context.Context, h *hosted, cfg config.Migration, r *Report) error {
	entries, err := h.service.Journal(o.Name, 0)
	if err != nil {
		return err
	}
	if r.Pack, err = evidence.Build(entries, cfg); err != nil {
		return err
	}
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), evidenceLimit)
	defer cancel()
	dir := filepath.Join(o.Out, packFolder)
	aside := dir + ".new"
	err = errors.Join(os.RemoveAll(aside), h.client.Evidence(writing, o.Name, aside))
	if err == nil {
		err = errors.Join(os.RemoveAll(dir), os.Rename(aside, dir))
	}
	if err != nil {
		return fmt.Errorf("write the evidence: %w", err)
	}
	r.Folder = dir
	r.SHA256, err = evidence.Checksum(dir)
	return err
}

// conclude judges how it ended and writes the report's files.
func (o Existing) conclude(ctx context.Context, r Report, cause, ended error) (Report, error) {
	r.Name, r.To, r.Reverted, r.Ended, r.Again = o.Name, o.To, o.Revert, time.Now().UTC(), o.Again
	if r.Folder != "" && cause == nil {
		r.Promises = Outcome(r.Pack, o.To, o.Revert)
	}
	err := r.judge(ctx, cause, ended)
	return r, errors.Join(err, r.write(o.Out, o.JUnit))
}

// openLog makes, or goes on with, the file of the service's log.
func openLog(out string, verbose bool, stderr io.Writer) (*slog.Logger, func() error, error) {
	f, err := os.OpenFile(filepath.Join(out, "service.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, nil, fmt.Errorf("write the service's log: %w", err)
	}
	var to io.Writer = f
	if verbose {
		to = io.MultiWriter(f, stderr)
	}
	return slog.New(slog.NewTextHandler(to, nil)), f.Close, nil
}

// standsStill are the gates that hold something up, for the report.
func standsStill(s status.Status) []status.Gate {
	var out []status.Gate
	for _, g := range s.Gates {
		if g.Verdict != "pass" && len(g.Blocks) > 0 && !g.Accepted {
			out = append(out, g)
		}
	}
	return out
}
