package main

import (
	"github.com/spf13/cobra"

	"migrator/internal/client"
)

func newDrillCommand() *cobra.Command {
	var kind string
	cmd := &cobra.Command{
		Use:     "drill NAME [--kind clean|crash]",
		Short:   "stop or kill the active controller now, and time the failover",
		Long:    "drill runs one controller failover while the cluster rests in dual-write, and starts the controller again in any case.",
		Example: "  migrator drill payments\n  migrator drill payments --kind crash",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if kind != "clean" && kind != "crash" {
				return usagef("--kind %q: say clean or crash", kind)
			}
			return give(cmd, args[0], (*client.Client).Drill, client.Command{Kind: kind})
		},
	}
	serverFlag(cmd)
	cmd.Flags().StringVar(&kind, "kind", "clean", "clean stops the controller, crash kills it")
	return cmd
}
