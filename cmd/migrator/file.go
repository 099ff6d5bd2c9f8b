package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"migrator/internal/plan"
	"migrator/internal/status"
)

func newFileCommand() *cobra.Command {
	var node int32
	var out string
	cmd := &cobra.Command{
		Use:   "file NAME --node ID",
		Short: "fetch the planned file that a person is to put on a node",
		Long: `Fetch the planned file that a person is to put on a node of access kind manual
in the step that is open, whole and byte for byte. It may hold secrets: it goes to
standard output or into a new file that only you can read.`,
		Example: "  migrator file payments --node 2 --out server.properties\n  migrator file payments --node 2 | ssh b2 'cat > /etc/kafka/server.properties'",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			s, err := c.Status(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			i := slices.IndexFunc(s.Manual, func(e status.Errand) bool { return e.Node == node && e.Action == plan.Write })
			if i < 0 {
				return &answered{code: exitRefused, text: fmt.Sprintf("no file is to be written on node %d by hand now: %s", node, s.Headline)}
			}
			data, err := c.File(cmd.Context(), s.Manual[i].File)
			if err != nil {
				return err
			}
			if out == "" {
				_, err = cmd.OutOrStdout().Write(data)
				return err
			}
			if err := writeSecret(out, data); err != nil {
				return fmt.Errorf("write the planned file: %w", err)
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: sha256 %s, for %s on node %d\n", out, s.Manual[i].SHA256, s.Manual[i].Path, node)
			return nil
		},
	}
	serverFlag(cmd)
	cmd.Flags().Int32Var(&node, "node", 0, "the node's id")
	cmd.Flags().StringVar(&out, "out", "", "write into this file instead of standard output")
	return cmd
}

// writeSecret makes or replaces a file that only its owner reads.
func writeSecret(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(f.Chmod(0o600), f.Truncate(0))
	if err == nil {
		_, err = f.Write(data)
	}
	return errors.Join(err, f.Close())
}
