package main

import (
	"context"

	"github.com/spf13/cobra"

	"migrator/internal/client"
)

// give sends one order and says what the migration does now.
func give(cmd *cobra.Command, name string, send func(*client.Client, context.Context, string, client.Command) error, order client.Command) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	order.Actor = whoAmI()
	if err := send(c, cmd.Context(), name, order); err != nil {
		return err
	}
	s, err := c.Status(cmd.Context(), name)
	if err != nil {
		return err
	}
	return sayResult(cmd, s, false)
}
