package main

import (
	"context"
	"fmt"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"migrator/internal/lab"
)

// newLabCommand is hidden: it is how a cluster on this machine owns its nodes,
// and the commands that its migrations.yaml names.
func newLabCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:    "lab",
		Short:  "own and drive the processes of a cluster on this machine",
		Hidden: true,
		Args:   cobra.NoArgs,
	}
	cmd.AddCommand(newLabSuperviseCommand(), newLabCtlCommand())
	return cmd
}

func newLabSuperviseCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "supervise --dir DIR",
		Short: "own a cluster's processes until standard input ends",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return lab.Supervise(cmd.Context(), dir, cmd.InOrStdin())
		},
	}
	requireDir(cmd, &dir)
	return cmd
}

func newLabCtlCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "ctl --dir DIR VERB [NODE] [-- ARGUMENT...]",
		Short: "start|stop|running|kill|pause|resume|format a node, or list them",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			node := ""
			if len(args) > 1 {
				node = args[1]
			}
			return labControl(ctx, cmd, dir, args[0], node, args[min(2, len(args)):])
		},
	}
	requireDir(cmd, &dir)
	return cmd
}

func labControl(ctx context.Context, cmd *cobra.Command, dir, verb, node string, args []string) error {
	exit, out, err := lab.Control(ctx, dir, verb, node, args...)
	if _, err := fmt.Fprint(cmd.OutOrStdout(), out); err != nil {
		return err
	}
	if exit == 0 {
		return nil
	}
	return labExit{code: exit, cause: err}
}

func requireDir(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "dir", "", "the cluster's folder")
	// Only an unknown flag's name makes this fail.
	_ = cmd.MarkFlagRequired("dir")
}

// labExit carries the exit code of `lab ctl` to main; its message is empty
// when the answer on stdout says it all.
type labExit struct {
	code  int
	cause error
}

func (e labExit) Error() string {
	if e.cause == nil {
		return ""
	}
	return e.cause.Error()
}

func (e labExit) Unwrap() error { return e.cause }

// ExitCode is what main exits with.
func (e labExit) ExitCode() int { return e.code }
