package main

import (
	"github.com/spf13/cobra"

	"migrator/internal/client"
)

func newRetryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "retry NAME",
		Short:   "try a blocked step again after its cause is gone",
		Example: "  migrator retry payments",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return give(cmd, args[0], (*client.Client).Retry, client.Command{})
		},
	}
	serverFlag(cmd)
	return cmd
}
