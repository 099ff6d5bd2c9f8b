package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"migrator/internal/cluster"
	"migrator/internal/phases"
)

type phaseRow struct {
	Phase    cluster.Phase `json:"phase"`
	Where    string        `json:"where"`
	Enter    []string      `json:"enter"`
	Work     string        `json:"work"`
	Done     []string      `json:"done"`
	WayBack  string        `json:"way_back"`
	Approval string        `json:"approval"`
	Rest     string        `json:"rest"`
}

func newPhasesCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "phases",
		Short:   "print the phase table: where, what is done, which gates, which way back",
		Example: "  migrator phases\n  migrator phases --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rows := []phaseRow{}
			for _, r := range phases.Table() {
				rows = append(rows, phaseRow(r))
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), map[string]any{"phases": rows})
			}
			return printPhases(cmd.OutOrStdout(), rows)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func printPhases(w io.Writer, rows []phaseRow) error {
	var b strings.Builder
	for i, r := range rows {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s\n", r.Phase)
		for _, line := range [][2]string{{"where", r.Where}, {"plan", r.Work}, {"begins when", strings.Join(r.Enter, ", ")},
			{"complete when", strings.Join(r.Done, ", ")}, {"way back", r.WayBack}, {"approval", r.Approval}, {"rest here", r.Rest}} {
			fmt.Fprintf(&b, "  %-14s %s\n", line[0]+":", line[1])
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
