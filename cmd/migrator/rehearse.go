package main

import (
	"github.com/spf13/cobra"

	"migrator/internal/rehearse"
)

// newRehearseCommand migrates a throwaway cluster on this machine whole.
func newRehearseCommand() *cobra.Command {
	o := rehearse.Defaults()
	cmd := &cobra.Command{
		Use:   "rehearse",
		Short: "start a real cluster on this machine, migrate it whole, leave evidence",
		Long: `Starts ZooKeeper and brokers from Kafka's own jars (got through Maven once; Java
17 or later is needed), takes them through every phase with a workload running,
and checks from outside that every promise held. Nothing else is touched.

Exit 0: all promises held. 1: one did not, or the rehearsal was interrupted.
2: an option makes no sense. 3: a gate blocked the migration.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := untilInterrupted(cmd) // at a second signal the kernel ends the cluster
			defer stop()
			o.Stdout, o.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return rehearse.Run(ctx, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.Keep, "keep", false, "leave the cluster and its page up until Ctrl-C")
	f.IntVar(&o.Brokers, "brokers", o.Brokers, "how many brokers")
	f.StringVar(&o.Out, "out", "", "folder for the evidence (default ./rehearsal-<time>)")
	f.DurationVar(&o.Soak, "soak", o.Soak, "required healthy time in dual-write")
	f.StringVar(&o.Roll, "roll", o.Roll, "what is restarted at once: node or rack")
	f.StringVar(&o.Kafka, "kafka", o.Kafka, "Kafka version, 3.9.x")
	f.StringVar((*string)(&o.RevertFrom), "revert-from", "", "go back to plain ZooKeeper once from load, hybrid or dual-write, then migrate again")
	f.BoolVar(&o.Verbose, "verbose", false, "every change in the timeline, and the service's log on stderr")
	return cmd
}
