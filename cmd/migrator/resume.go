package main

import (
	"github.com/spf13/cobra"

	"migrator/internal/client"
)

func newResumeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "resume NAME",
		Short:   "go on after a pause",
		Example: "  migrator resume payments",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return give(cmd, args[0], (*client.Client).Resume, client.Command{})
		},
	}
	serverFlag(cmd)
	return cmd
}
