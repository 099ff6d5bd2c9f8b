package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"migrator/internal/cluster"
	"migrator/internal/status"
)

func newPlanCommand() *cobra.Command {
	var path, phase string
	var asJSON bool
	var b book
	cmd := &cobra.Command{
		Use:   "plan NAME --config FILE [--phase PHASE | --revert load|initial] [--runbook [--out DIR]]",
		Short: "show the next plan: steps, changes of every file, expected time, digest",
		Long: `plan looks at the cluster, changes nothing, and prints the plan that comes next by
the facts alone. The digest is that of the service for the same facts and
configuration; what only the service knows (a soak or drill that passed before)
can make its plan another one.

--revert prints the way back. Which files the brokers had at first the service's journal
knows best: without it the copies kept beside each broker's file are taken, or, where
there is none, the file is rendered. Its digest can be another one.

--runbook prints the same plan as a procedure to follow by hand, with the service
dead; --out writes the whole new files beside it. They may hold secrets, which the
runbook itself does not show.`,
		Example: `  migrator plan payments --config migrations.yaml
  migrator plan payments --config migrations.yaml --phase hybrid --json
  migrator plan payments --config migrations.yaml --revert initial --runbook --out back > back.md`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := loadToRender(cmd.Context(), path, args[0])
			if err != nil {
				return err
			}
			want := cluster.Phase(phase)
			if phase != "" && want.Index() < 0 {
				return usagef("--phase %q: say one of %v", phase, cluster.Phases())
			}
			if err := b.check(phase, asJSON); err != nil {
				return err
			}
			p, err := process(cmd)
			if err != nil {
				return err
			}
			s, err := lookAt(cmd.Context(), m, want, b.kept(m), newLog(cmd, p.LogLevel))
			if err != nil {
				return err
			}
			built, err := b.build(s, m)
			if err != nil {
				return &answered{code: exitRefused, text: fmt.Sprintf("no plan for %s: %v", m.Name, err)}
			}
			if b.runbook {
				return b.print(cmd.OutOrStdout(), built, s, m)
			}
			shown := status.Planned(built.Plan, m.NeedsApproval(built.Plan.Phase))
			if asJSON {
				return printJSON(cmd.OutOrStdout(), planDoc{shown})
			}
			return printPlan(cmd.OutOrStdout(), m.Name, shown)
		},
	}
	configFlag(cmd, &path)
	jsonFlag(cmd, &asJSON)
	cmd.Flags().StringVar(&phase, "phase", "", "whose plan, instead of the next one")
	b.flags(cmd)
	return cmd
}
