package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"migrator/internal/config"
	"migrator/internal/execute"
	"migrator/internal/journal"
	"migrator/internal/orchestrate"
	"migrator/internal/service"
	"migrator/internal/serving"
	"migrator/internal/simcluster"
)

// demoName is what the page shows as the migration's name.
const demoName = "demo-simulated"

func newDemoCommand() *cobra.Command {
	var speed float64
	cmd := &cobra.Command{
		Use:   "demo [--listen HOST:PORT] [--speed N]",
		Short: "a first look: the service and its page on a simulated cluster",
		Long: `Runs the real service and page on a cluster that exists only in this process's
memory: three brokers, three controllers, a few topics, and restarts that take as
long as they did on a small real cluster. No Java and no Kafka are needed, and
nothing outside is touched; the journal goes into a temporary folder that is
removed at the end. It shows how a migration is driven, and proves nothing about
Kafka: for that there is rehearse.`,
		Example: `  migrator demo
  migrator advance ` + demoName + `      in a second terminal
  migrator demo --speed 5`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := process(cmd)
			if err != nil {
				return err
			}
			if speed < 0.1 || speed > 100 {
				return usagef("--speed %g: between 0.1 and 100", speed)
			}
			return demo(cmd, p, speed)
		},
	}
	cmd.Flags().String("listen", "127.0.0.1:8420", "address of the API and the page; others than loopback need MIGRATOR_TOKEN (MIGRATOR_LISTEN)")
	cmd.Flags().Float64Var(&speed, "speed", 1, "how many times faster the simulated nodes are")
	return cmd
}

func demo(cmd *cobra.Command, p config.Process, speed float64) (err error) {
	folder, err := os.MkdirTemp("", "migrator-demo-")
	if err != nil {
		return fmt.Errorf("a folder for the demo's journal: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	log := newLog(cmd, p.LogLevel)
	sim := simcluster.New(simcluster.Options{Name: demoName, Soak: 30 * time.Second, Seed: uint64(time.Now().UnixNano()), Speed: speed})
	svc, err := service.OpenWith(service.Options{File: config.File{Migrations: []config.Migration{sim.Migration()}}, DataDir: folder, Log: log},
		func(_ config.Migration, record func() ([]journal.Entry, error), blobs execute.Blobs) orchestrate.Deps {
			life := sim.Live(simcluster.RecordFunc(record), blobs)
			return orchestrate.Deps{Observer: life, Executor: life, Canary: life}
		})
	if err != nil {
		return err
	}
	return serving.Run(cmd.Context(), svc, serving.Options{Listen: p.Listen, Token: p.Token, Log: log,
		Listening: func(url string) { welcome(cmd.OutOrStdout(), url) }})
}

// welcome says that nothing of what follows is real.
func welcome(w io.Writer, url string) {
	fmt.Fprintf(w, `SIMULATED: no Kafka and no ZooKeeper run; the cluster is in this process's memory.

  page      %s
  drive it  migrator advance %s --server %s
  the end   Ctrl-C; nothing is left behind

The service, its gates, plans, journal and page are the real ones. Each plan waits
for you; the last one, finalize, asks for the name %s. For a real cluster on this
machine, with Java: migrator rehearse.
`, url, demoName, url, demoName)
}
