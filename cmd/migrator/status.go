package main

import (
	"github.com/spf13/cobra"

	"migrator/internal/status"
)

func newStatusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "status [NAME]",
		Short:   "say where a migration is, why it waits and what comes next",
		Example: "  migrator status\n  migrator status payments --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			var all []status.Status
			if len(args) == 1 {
				one, err := c.Status(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				all = []status.Status{one}
			} else if all, err = c.List(cmd.Context()); err != nil {
				return err
			}
			if asJSON && len(all) == 1 {
				return printJSON(cmd.OutOrStdout(), all[0])
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), map[string]any{"migrations": all})
			}
			return printStatuses(cmd.OutOrStdout(), all)
		},
	}
	serverFlag(cmd)
	jsonFlag(cmd, &asJSON)
	return cmd
}
