// Command migrator takes Kafka clusters from ZooKeeper to KRaft.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	root := &cobra.Command{Use: "migrator", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(newLabCommand())
	err := root.ExecuteContext(context.Background())
	if err == nil {
		return
	}
	if text := err.Error(); text != "" {
		fmt.Fprintln(os.Stderr, "migrator:", text)
	}
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		os.Exit(coded.ExitCode())
	}
	os.Exit(1)
}
