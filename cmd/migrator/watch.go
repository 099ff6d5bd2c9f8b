package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"migrator/internal/status"
)

func newWatchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "watch NAME",
		Short:   "follow a migration, one line per change, until it is finished",
		Example: "  migrator watch payments",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			if _, err := c.Status(cmd.Context(), args[0]); err != nil {
				return err // at once: only a service that was there is waited for
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			var p progress
			var broken error
			err = c.Watch(ctx, args[0], func(s status.Status) bool {
				if line, ok := p.line(s, time.Now()); ok {
					_, broken = fmt.Fprintln(cmd.OutOrStdout(), line)
				}
				return broken != nil || s.RunStatus == status.Finished
			})
			if errors.Is(err, context.Canceled) {
				return broken // Ctrl-C ends watching; that is no failure
			}
			return errors.Join(err, broken)
		},
	}
	serverFlag(cmd)
	return cmd
}
