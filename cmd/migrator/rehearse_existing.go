package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"migrator/internal/rehearse"
)

func (e *existing) rehearse(ctx context.Context, cmd *cobra.Command, out string, verbose bool) error {
	o, err := e.options(cmd, out, verbose)
	if err != nil {
		return err
	}
	report, err := o.Rehearse(ctx)
	if report.Result == "" {
		return err // it never began
	}
	if e.json {
		return errors.Join(err, printJSON(cmd.OutOrStdout(), report))
	}
	return errors.Join(err, printReport(cmd.OutOrStdout(), report))
}

// again is the command that goes on, for people to paste.
func (e *existing) again(out string) string {
	words := []string{"migrator", "rehearse", "--config", e.config, "--name", e.name}
	for _, f := range []struct{ flag, value string }{{"--out", out}, {"--data", e.data}, {"--junit", e.junit}, {"--to", e.to}} {
		if f.value != "" {
			words = append(words, f.flag, f.value)
		}
	}
	if e.revert {
		words = append(words, "--then-revert")
	}
	return strings.Join(words, " ")
}

// printReport tells people what the files in --out hold at length.
func printReport(w io.Writer, r rehearse.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", r.Name, strings.ToUpper(string(r.Result)))
	if len(r.Promises) > 0 {
		b.WriteString("\nPromises\n" + rehearse.Promises(r.Promises))
	}
	b.WriteString("\n")
	if r.Folder != "" {
		fmt.Fprintf(&b, "Evidence: %s (SHA-256 of its SHA256SUMS: %s)\n", r.Folder, r.SHA256)
	}
	fmt.Fprintf(&b, "JUnit:    %s\n", r.JUnit)
	_, err := io.WriteString(w, plain(b.String()))
	return err
}
