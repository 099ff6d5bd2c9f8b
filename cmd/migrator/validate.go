package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func newValidateCommand() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:     "validate --config FILE",
		Short:   "judge a migrations.yaml: all problems at once, with their places",
		Example: "  migrator validate --config migrations.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := loadFile(path)
			if err != nil {
				return err
			}
			var names []string
			for _, m := range f.Migrations {
				inv := m.Inventory()
				names = append(names, fmt.Sprintf("%s (%d brokers, %d controllers)", m.Name, len(inv.Brokers), len(inv.Controllers)))
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is valid: %s\n", path, strings.Join(names, ", "))
			return err
		},
	}
	configFlag(cmd, &path)
	return cmd
}
