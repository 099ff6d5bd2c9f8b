package main

import (
	"time"

	"github.com/spf13/cobra"

	"migrator/internal/cluster"
	"migrator/internal/rehearse"
)

// newRehearseCommand migrates a throwaway cluster on this machine whole, or one
// that is there already and may be migrated.
func newRehearseCommand() *cobra.Command {
	o := rehearse.Defaults()
	var e existing
	cmd := &cobra.Command{
		Use:   "rehearse [--config FILE --name NAME]",
		Short: "migrate a whole throwaway or staging cluster, approve every plan, leave evidence",
		Long: `Starts ZooKeeper and brokers from Kafka's own jars (got through Maven once; Java
17 or later is needed), takes them through every phase with a workload running,
and checks from outside that every promise held. Nothing else is touched.

With --from-backup the cluster is a double of the one that was backed up: its topics,
configurations, quotas, users and ACLs on a few local brokers, without records. It
shows whether this metadata copies, how long that takes, and what preflight says.

With --config it drives a cluster that is there already, by the same code as serve:
same gates, plans, soak, drills and journal. Its entry must say rehearsal: true, for
every plan is approved without asking, finalize too; the journal names "rehearsal"
as who did. Report, JUnit file and evidence go into --out. Ctrl-C brings the open
batch's nodes back; the same command goes on, also after a gate held it. Only its
data folder may hold secrets: keep that from being published.

Exit 0: all promises held. 1: one did not, or the rehearsal was interrupted.
2: an option or the configuration makes no sense. 3: a gate or a failed step held it.`,
		Example: `  migrator rehearse
  migrator rehearse --config staging.yaml --name staging --out rehearsal --junit rehearsal.xml
  migrator rehearse --config staging.yaml --name staging --then-revert
  migrator rehearse --from-backup payments.znodes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := e.fits(cmd); err != nil {
				return err
			}
			ctx, stop := untilInterrupted(cmd) // at a second signal the kernel ends the cluster
			defer stop()
			if e.config != "" {
				return e.rehearse(ctx, cmd, o.Out, o.Verbose)
			}
			o.Stdout, o.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return rehearse.Run(ctx, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.Keep, "keep", false, "leave the cluster and its page up until Ctrl-C")
	f.IntVar(&o.Brokers, "brokers", o.Brokers, "how many brokers")
	f.StringVar(&o.Out, "out", "", "folder for the evidence (default ./rehearsal-<time>, with --config ./rehearsal-<name>)")
	f.DurationVar(&o.Soak, "soak", o.Soak, "required healthy time in dual-write")
	f.StringVar(&o.Roll, "roll", o.Roll, "what is restarted at once: node or rack")
	f.StringVar(&o.Kafka, "kafka", o.Kafka, "Kafka version, 3.9.x")
	f.StringVar((*string)(&o.RevertFrom), "revert-from", "", "go back to plain ZooKeeper once from load, hybrid or dual-write, then migrate again")
	f.StringVar(&o.FromBackup, "from-backup", "", "fill ZooKeeper with the znodes of a migrator backup, folded onto --brokers, without records")
	f.StringVar(&o.Identity, "identity", "", "file with the age identity of an encrypted --from-backup")
	f.BoolVar(&o.Verbose, "verbose", false, "every change in the timeline, and the service's log on stderr")
	e.flags(cmd)
	return cmd
}

// existing are the flags for a cluster that is there already.
type existing struct {
	config, name, data, junit, to string
	revert, json                  bool
	patience                      time.Duration
}

// Flags that make sense for one kind of rehearsal only.
var (
	throwawayFlags = []string{"keep", "brokers", "soak", "roll", "kafka", "revert-from", "from-backup", "identity"}
	existingFlags  = []string{"name", "data", "junit", "to", "then-revert", "patience", "json"}
)

func (e *existing) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&e.config, "config", "", "migrations.yaml of a cluster that is there already, such as staging")
	f.StringVar(&e.name, "name", "", "the migration in it, where there are several")
	f.StringVar(&e.data, "data", "", "folder for the journal and file contents (default <out>/data)")
	f.StringVar(&e.junit, "junit", "", "JUnit XML with a case for each gate and step (default <out>/junit.xml)")
	f.StringVar(&e.to, "to", "", "end in initial, load or dual-write, complete (default finalize)")
	f.BoolVar(&e.revert, "then-revert", false, "end in dual-write, after soak and drill, and go back to plain ZooKeeper")
	f.DurationVar(&e.patience, "patience", 0, "how long gates may hold it while no plan runs (default: its step_timeout)")
	jsonFlag(cmd, &e.json)
}

func (e *existing) fits(cmd *cobra.Command) error {
	wrong, why := throwawayFlags, "is about a throwaway cluster: with --config the cluster and its entry say that"
	if e.config == "" {
		wrong, why = existingFlags, "belongs to --config"
	}
	for _, name := range wrong {
		if cmd.Flags().Changed(name) {
			return usagef("--%s %s", name, why)
		}
	}
	return nil
}

func (e *existing) options(cmd *cobra.Command, out string, verbose bool) (rehearse.Existing, error) {
	file, err := loadFileToRender(cmd.Context(), e.config)
	if err != nil {
		return rehearse.Existing{}, err
	}
	if e.name == "" {
		if len(file.Migrations) != 1 {
			return rehearse.Existing{}, usagef("%s has %d migrations: say which with --name", e.config, len(file.Migrations))
		}
		e.name = file.Migrations[0].Name
	}
	return rehearse.Existing{File: file, Name: e.name, Out: out, Data: e.data, JUnit: e.junit, To: cluster.Phase(e.to), Revert: e.revert,
		Patience: e.patience, Again: e.again(out), Verbose: verbose, Stderr: cmd.ErrOrStderr()}, nil
}
