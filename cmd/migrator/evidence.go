package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

func newEvidenceCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "evidence NAME --out DIR",
		Short:   "write the evidence pack: what was done, when, on whose word, and what was seen",
		Example: "  migrator evidence payments --out evidence-payments",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if found, err := os.ReadDir(dir); err == nil && len(found) > 0 {
				return usagef("--out %s is not empty: a pack is one folder of its own", dir)
			}
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			if err := c.Evidence(cmd.Context(), args[0], dir); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n%s\n", filepath.Join(dir, "evidence.json"), filepath.Join(dir, "report.html"))
			return err
		},
	}
	serverFlag(cmd)
	cmd.Flags().StringVar(&dir, "out", "", "the folder to write, absent or empty")
	// Only an unknown flag's name makes this fail.
	_ = cmd.MarkFlagRequired("out")
	return cmd
}
