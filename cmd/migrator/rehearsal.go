package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"migrator/internal/client"
	"migrator/internal/evidence"
	"migrator/internal/gates"
	"migrator/internal/phases"
	"migrator/internal/rehearse"
)

func newRehearsalCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rehearsal",
		Short: "register a green rehearsal, for require_rehearsal, and list those registered",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRehearsalAddCommand(), newRehearsalListCommand())
	return cmd
}

func newRehearsalAddCommand() *cobra.Command {
	return withServer(&cobra.Command{
		Use:   "add PACK [NAME...]",
		Short: "register the evidence pack of a green rehearsal with a migration",
		Long: `add checks the pack (the folder "evidence" that migrator rehearse --config left) against
its checksums, judges it anew, and registers it with the named migrations, without a
name with all of the service. What was altered, is not green, is too old or of another
shape is refused (exit 3) with the reason. Of the same shape is what has the Kafka
version, what is restarted at once, roles, their changes of mode, and the keys that
change for them; ids, hosts, numbers of nodes and values may differ.`,
		Example: "  migrator rehearsal add rehearsal/evidence payments",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := rehearse.Registration(args[0])
			if err != nil {
				return err
			}
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			return register(cmd, c, r, args[1:])
		},
	})
}

func withServer(cmd *cobra.Command) *cobra.Command {
	serverFlag(cmd)
	return cmd
}

func register(cmd *cobra.Command, c *client.Client, r gates.Rehearsal, names []string) error {
	if len(names) == 0 {
		all, err := c.List(cmd.Context())
		if err != nil {
			return err
		}
		for _, s := range all {
			names = append(names, s.Name)
		}
	}
	var errs []error
	for _, name := range names {
		err := c.Rehearsal(cmd.Context(), name, client.Command{Actor: whoAmI(), Rehearsal: &r})
		if err == nil {
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: registered the rehearsal on %s (pack %.12s)\n", name, r.Name, r.Pack)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// rehearsedFor is one line of `rehearsal list`.
type rehearsedFor struct {
	Migration string `json:"migration"`
	evidence.Rehearsed
}

func newRehearsalListCommand() *cobra.Command {
	var asJSON bool
	cmd := withServer(&cobra.Command{
		Use:     "list [NAME]",
		Short:   "list the registered rehearsals; whether one counts says the gate `rehearsed`",
		Example: "  migrator rehearsal list payments",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			list, err := listRehearsals(cmd.Context(), c, args)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), map[string][]rehearsedFor{"rehearsals": list})
			}
			return printRehearsals(cmd.OutOrStdout(), list)
		},
	})
	jsonFlag(cmd, &asJSON)
	return cmd
}

func listRehearsals(ctx context.Context, c *client.Client, names []string) ([]rehearsedFor, error) {
	if len(names) == 0 {
		all, err := c.List(ctx)
		if err != nil {
			return nil, err
		}
		for _, s := range all {
			names = append(names, s.Name)
		}
	}
	list := []rehearsedFor{}
	for _, name := range names {
		entries, err := c.Journal(ctx, name, 0)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.Kind != string(phases.KindRehearsed) {
				continue
			}
			var body phases.Body
			if err := json.Unmarshal(e.Body, &body); err != nil || body.Rehearsed == nil {
				return nil, fmt.Errorf("journal entry %d (%s) cannot be read: %v", e.Seq, e.Kind, err)
			}
			list = append(list, rehearsedFor{name, evidence.Rehearsed{At: e.Time, By: e.Actor, Rehearsal: *body.Rehearsed}})
		}
	}
	return list, nil
}

func printRehearsals(w io.Writer, list []rehearsedFor) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "no rehearsal is registered")
		return err
	}
	var b strings.Builder
	for _, r := range list {
		fmt.Fprintf(&b, "%s: rehearsed on %s (cluster %s, Kafka %s), ended %s; pack %.12s, registered %s by %s\n", r.Migration, r.Name, r.ClusterID, r.Shape.KafkaVersion,
			r.Ended.UTC().Format(time.RFC3339), r.Pack, r.At.UTC().Format(time.RFC3339), r.By)
	}
	_, err := io.WriteString(w, plain(b.String()))
	return err
}
