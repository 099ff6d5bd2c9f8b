package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/phases"
	"migrator/internal/remote"
	"migrator/internal/runbook"
)

// book is what `plan` is asked for beside the next plan.
type book struct {
	runbook bool
	revert  string
	out     string
}

func (b *book) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&b.runbook, "runbook", false, "print a procedure to follow by hand")
	cmd.Flags().StringVar(&b.revert, "revert", "", "the way back instead: load or initial")
	cmd.Flags().StringVar(&b.out, "out", "", "with --runbook: an empty or new folder for the whole new files")
}

func (b *book) check(phase string, asJSON bool) error {
	switch {
	case b.revert != "" && b.revert != "load" && b.revert != "initial":
		return usagef("--revert is load or initial, not %q", b.revert)
	case b.revert != "" && phase != "":
		return usagef("--phase is of plans forward: say --phase or --revert")
	case b.runbook && asJSON:
		return usagef("a runbook is for people: say --runbook or --json")
	case b.out != "" && !b.runbook:
		return usagef("--out goes with --runbook")
	default:
		return nil
	}
}

// kept are the brokers whose earlier files a way back needs.
func (b *book) kept(m config.Migration) []int32 {
	if b.revert == "" {
		return nil
	}
	return cluster.IDs(m.Inventory().Brokers)
}

func (b *book) build(s seen, m config.Migration) (phases.Built, error) {
	if b.revert != "" {
		return s.buildBack(m, cluster.Phase(b.revert))
	}
	return s.build(m)
}

// print prints the runbook, its files written first: what it names is there.
func (b *book) print(w io.Writer, built phases.Built, s seen, m config.Migration) error {
	in := runbook.Input{Plan: built.Plan, Migration: m, Snapshot: s.snap, Made: time.Now(), Backup: remote.BackupPath}
	if b.out != "" {
		folder, err := filepath.Abs(b.out)
		if err != nil {
			return fmt.Errorf("--out %s: %w", b.out, err)
		}
		if err := writeFiles(folder, built); err != nil {
			return fmt.Errorf("write the files of the runbook: %w", err)
		}
		in.Folder = folder
	}
	_, err := io.WriteString(w, plain(runbook.Render(in)))
	return err
}

// writeFiles writes whole files, which may hold secrets, for their owner only,
// and over nothing that is there.
func writeFiles(folder string, built phases.Built) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	present, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	if len(present) > 0 {
		return fmt.Errorf("%s is not empty: files of another plan must not lie among these", folder)
	}
	for _, f := range runbook.Files(built.Plan) {
		data, ok := built.Contents[f.SHA]
		if !ok {
			return fmt.Errorf("the content %s of %s is not known", f.SHA, f.Name)
		}
		if err := writeNew(filepath.Join(folder, f.Name), data); err != nil {
			return err
		}
	}
	return nil
}

func writeNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
