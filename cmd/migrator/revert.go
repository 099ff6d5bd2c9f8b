package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"migrator/internal/client"
)

func newRevertCommand() *cobra.Command {
	var f advanceFlags
	cmd := &cobra.Command{
		Use:   "revert NAME --to load|initial",
		Short: "go back to ZooKeeper mode, from wherever the cluster stands",
		Long: `revert shows the way back that the facts leave open, and starts it when its digest
and the migration's name are given. --to load takes KRaft brokers back into migration
mode while dual write goes on; --to initial ends with no controllers left and every
broker's original file in place, byte for byte. It lifts a pause or a block.

At a terminal it prints the plan and asks; elsewhere, without --digest, it prints plan
and digest and exits 4.`,
		Example: `  migrator revert payments --to load
  migrator revert payments --to initial --digest 5d1c... --confirm payments --wait`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return goBack(cmd, args[0], f) },
	}
	serverFlag(cmd)
	jsonFlag(cmd, &f.json)
	cmd.Flags().StringVar(&f.order.To, "to", "", "load or initial")
	cmd.Flags().StringVar(&f.order.Digest, "digest", "", "digest of the plan that was read")
	cmd.Flags().StringVar(&f.order.Confirm, "confirm", "", "the migration's name")
	cmd.Flags().BoolVar(&f.wait, "wait", false, "follow until a person is needed again (exit 0), or blocked (exit 3)")
	return cmd
}

func goBack(cmd *cobra.Command, name string, f advanceFlags) error {
	if f.order.To != "load" && f.order.To != "initial" {
		return usagef("--to is load or initial, not %q", f.order.To)
	}
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	f.order.Actor = whoAmI()
	err = c.Revert(cmd.Context(), name, f.order)
	var refusal *client.Refusal
	if errors.As(err, &refusal) && refusal.Code == "no-digest" && refusal.Plan != nil {
		if f.order, err = chooseBack(cmd, name, f, refusal); err == nil {
			err = c.Revert(cmd.Context(), name, f.order)
		}
	}
	if err != nil {
		return err
	}
	now, err := c.Status(cmd.Context(), name)
	if err != nil || !f.wait {
		return errors.Join(err, sayResult(cmd, now, f.json))
	}
	last, err := follow(cmd, c, name)
	if err != nil {
		return err
	}
	return errors.Join(sayResult(cmd, last, f.json), endOf(last))
}

// chooseBack shows the way back; a person at a terminal may type the name.
func chooseBack(cmd *cobra.Command, name string, f advanceFlags, r *client.Refusal) (client.Command, error) {
	if f.json {
		return f.order, errors.Join(printJSON(cmd.OutOrStdout(), planDoc{r.Plan}), &answered{code: exitWaiting})
	}
	if err := printPlan(cmd.OutOrStdout(), name, r.Plan); err != nil {
		return f.order, err
	}
	if !isTerminal(cmd.InOrStdin()) || !isTerminal(cmd.OutOrStdout()) {
		return f.order, &answered{code: exitWaiting, text: fmt.Sprintf("not started: go back with --to %s --digest %s --confirm %s", f.order.To, r.Plan.Digest, name)}
	}
	if err := askFor(cmd, name, "This restarts brokers and deletes znodes. Type the migration's name to start it: "); err != nil {
		return f.order, err
	}
	f.order.Digest, f.order.Confirm = r.Plan.Digest, name
	return f.order, nil
}
