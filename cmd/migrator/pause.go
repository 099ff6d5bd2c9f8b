package main

import (
	"github.com/spf13/cobra"

	"migrator/internal/client"
)

func newPauseCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "pause NAME",
		Short:   "pause after the current step",
		Example: "  migrator pause payments",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return give(cmd, args[0], (*client.Client).Pause, client.Command{})
		},
	}
	serverFlag(cmd)
	return cmd
}
