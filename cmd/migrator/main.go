// Command migrator takes Kafka clusters from ZooKeeper to KRaft.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func main() { os.Exit(run()) }

// run is the program without its exit, so that tests can be it.
func run() int {
	root := newRootCommand()
	err := root.ExecuteContext(context.Background())
	if err == nil {
		return 0
	}
	if text := err.Error(); text != "" {
		fmt.Fprintln(os.Stderr, plain("migrator: "+text))
	}
	return exitCode(err)
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "migrator",
		Short: "take Kafka clusters from ZooKeeper to KRaft, one proven step at a time",
		Long: `migrator takes Apache Kafka 3.9 clusters from ZooKeeper to KRaft: it observes the
cluster, judges gates, shows a plan, and does nothing that was not approved.

Exit codes: 0 done; 1 failed; 2 usage or configuration; 3 refused by a gate;
4 waiting for a person; 5 service not reachable.`,
		SilenceErrors: true, SilenceUsage: true,
	}
	root.PersistentFlags().String("log-level", "info", "debug, info, warn or error; logs go to stderr (MIGRATOR_LOG_LEVEL)")
	root.AddGroup(&cobra.Group{ID: "service", Title: "The service:"}, &cobra.Group{ID: "offline", Title: "Without a service, changing nothing:"},
		&cobra.Group{ID: "backup", Title: "Without a service:"},
		&cobra.Group{ID: "migration", Title: "A migration, through the service:"})
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("service", newServeCommand(), newRehearseCommand(), newDemoCommand())
	add("offline", newInitCommand(), newValidateCommand(), newPreflightCommand(), newFindingsCommand(), newPlanCommand(), newPhasesCommand())
	add("backup", newBackupCommand())
	add("migration", newStatusCommand(), newWatchCommand(), newAdvanceCommand(), newPauseCommand(), newResumeCommand(), newRetryCommand(),
		newDrillCommand(), newRevertCommand(), newRehearsalCommand(), newJournalCommand(), newFileCommand(), newEvidenceCommand())
	root.AddCommand(newLabCommand())
	markRan(root)
	return root
}
