package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"migrator/internal/journal"
	"migrator/internal/phases"
)

func newJournalCommand() *cobra.Command {
	var asJSON bool
	var after uint64
	cmd := &cobra.Command{
		Use:     "journal NAME",
		Short:   "print what was recorded, oldest first",
		Example: "  migrator journal payments\n  migrator journal payments --after 120 --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			entries, err := c.Journal(cmd.Context(), args[0], after)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), map[string]any{"name": args[0], "entries": entries})
			}
			return printJournal(cmd.OutOrStdout(), entries)
		},
	}
	serverFlag(cmd)
	jsonFlag(cmd, &asJSON)
	cmd.Flags().Uint64Var(&after, "after", 0, "only entries after this one")
	return cmd
}

func printJournal(w io.Writer, entries []journal.Entry) error {
	var b strings.Builder
	for _, e := range entries {
		var body phases.Body
		text := ""
		if err := json.Unmarshal(e.Body, &body); err == nil {
			text = summary(body)
		}
		fmt.Fprintf(&b, "%6d  %s  %-10s %-12s %s\n", e.Seq, utc(e.Time), e.Kind, e.Actor, text)
	}
	_, err := io.WriteString(w, plain(b.String()))
	return err
}

// summary is the entry's body in one line.
func summary(b phases.Body) string {
	switch {
	case b.Bound != nil:
		return "cluster id " + b.Bound.ClusterID
	case b.Moved != nil:
		return fmt.Sprintf("to %s: %s", b.Moved.To, b.Moved.Why)
	case b.Approved != nil:
		return fmt.Sprintf("plan %s, digest %s", b.Approved.Plan.Phase, b.Approved.Plan.Digest)
	case b.Opened != nil:
		return "step " + b.Opened.Step
	case b.Intent != nil:
		return fmt.Sprintf("step %s, %s, try %d", b.Intent.Step, b.Intent.Action, b.Intent.Try)
	case b.Outcome != nil:
		return fmt.Sprintf("step %s, %s: %s %s", b.Outcome.Step, b.Outcome.Action, okWord(b.Outcome.OK), b.Outcome.Detail)
	case b.StepDone != nil:
		return fmt.Sprintf("step %s, %d gates pass", b.StepDone.Step, len(b.StepDone.Verdicts))
	case b.Plan != nil:
		return strings.TrimSpace(fmt.Sprintf("plan %s %s", b.Plan.Phase, b.Plan.Why))
	case b.Blocked != nil:
		return b.Blocked.What
	case b.Accepted != nil:
		return fmt.Sprintf("gate %s for %s: %s", b.Accepted.Gate, strings.Join(b.Accepted.Subjects, ", "), b.Accepted.Reason)
	case b.Soak != nil:
		return fmt.Sprintf("%s of %s", b.Soak.Elapsed, b.Soak.Required)
	case b.Drill != nil:
		return fmt.Sprintf("%s at controller %d: %s %s", b.Drill.Kind, b.Drill.Node, okWord(b.Drill.Passed), b.Drill.Why)
	case b.Canary != nil:
		return fmt.Sprintf("%d sent, %d acknowledged, %d lost", b.Canary.Sent, b.Canary.Acked, b.Canary.Lost)
	default:
		return ""
	}
}

func okWord(ok bool) string {
	if ok {
		return "done"
	}
	return "FAILED"
}
