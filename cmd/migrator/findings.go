package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"migrator/internal/findings"
	"migrator/internal/gates"
)

// registered is a line of the registry of codes: a gate or a finding.
type registered struct {
	Code      string  `json:"code"`
	Gate      *string `json:"gate"` // null: no gate
	Severity  string  `json:"severity"`
	Kind      *string `json:"kind"`
	Title     string  `json:"title"` // of a gate: true when it passes; of a finding: true when it is there
	Why       string  `json:"why"`
	Reference string  `json:"reference"`
}

// registry is every code that preflight can show, in order.
func registry() []registered {
	block := string(findings.Block)
	out := []registered{
		{Code: codePhase, Severity: block, Kind: kindOf(gates.Safety), Title: titlePhase},
		{Code: codePlan, Severity: block, Kind: kindOf(gates.Safety), Title: titlePlan},
	}
	for _, g := range gates.All() {
		out = append(out, registered{Code: g.Code, Gate: &g.Name, Severity: block, Kind: kindOf(g.Kind), Title: g.Title})
	}
	for _, r := range findings.All() {
		out = append(out, registered{Code: r.Code, Severity: string(r.Severity), Kind: kindOf(r.Kind), Title: r.Title, Why: r.Why, Reference: r.Reference})
	}
	slices.SortStableFunc(out, func(a, b registered) int { return cmp.Compare(a.Code, b.Code) })
	return out
}

func newFindingsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "findings",
		Short: "print the registry of codes: every gate and every finding of preflight",
		Long: `findings prints every code that preflight and status can show. A gate's title is
true when it passes, a finding's when it is there. What blocks for safety nobody
may override; what blocks for availability a person may accept by name; a warning
can be waived in migrations.yaml with a reason.`,
		Example: "  migrator findings\n  migrator findings --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return printJSON(cmd.OutOrStdout(), map[string]any{"findings": registry()})
			}
			return printRegistry(cmd.OutOrStdout(), registry())
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func printRegistry(w io.Writer, rows []registered) error {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%s %-18s %s\n", r.Code, r.weight(), r.Title)
		if r.Gate != nil {
			fmt.Fprintf(&b, "       gate %s\n", *r.Gate)
		}
		if r.Why != "" {
			fmt.Fprintf(&b, "       %s (%s)\n", r.Why, r.Reference)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// weight is the severity, and of what blocks its kind.
func (r registered) weight() string {
	if r.Kind == nil {
		return r.Severity
	}
	return r.Severity + ", " + *r.Kind
}

// registryPage is docs/findings.md.
func registryPage() string {
	var b strings.Builder
	b.WriteString("# Codes\n\nEvery code of `migrator preflight` and `migrator status`, as `migrator findings` prints them; `make update` rewrites this page.\n\n" +
		"What blocks for safety nobody may override. What blocks for availability a person may accept by name (`--accept GATE --reason TEXT`).\n" +
		"A warning can be waived in migrations.yaml: `waivers: [{code: MIG283, reason: scratch topics}]`; it is shown as waived and stands in the evidence.\n" +
		"What cannot be seen is unknown, never clear: an unknown that could block does block.\n\n" +
		"## Findings: true when it is there\n\n| code | | what | why | reference |\n|---|---|---|---|---|\n")
	for _, r := range registry() {
		if r.Why != "" {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.Code, r.weight(), cell(r.Title), cell(r.Why), cell(r.Reference))
		}
	}
	b.WriteString("\n## Gates: true when it passes\n\n| code | gate | | what |\n|---|---|---|---|\n")
	for _, r := range registry() {
		if r.Why != "" {
			continue
		}
		name := ""
		if r.Gate != nil {
			name = "`" + *r.Gate + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.Code, name, r.weight(), cell(r.Title))
	}
	return b.String()
}

func cell(text string) string { return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(text) }
