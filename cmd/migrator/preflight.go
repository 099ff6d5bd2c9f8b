package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/gates"
)

// Codes of findings that no gate makes.
const (
	codePhase = "MIG001" // where the cluster is
	codePlan  = "MIG002" // whether a plan can be made
)

type finding struct {
	Code     string `json:"code"`
	Gate     string `json:"gate"`
	Kind     string `json:"kind"`
	Title    string `json:"title"`
	Verdict  string `json:"verdict"`
	Evidence string `json:"evidence"`
	ToDo     string `json:"to_do"`
	Source   string `json:"source"`
	Blocks   bool   `json:"blocks"`
}

type preflightDoc struct {
	Name      string         `json:"name"`
	ClusterID *string        `json:"cluster_id"`
	Phase     *cluster.Phase `json:"phase"`
	Plan      cluster.Phase  `json:"plan"` // whose gates were judged
	Passed    bool           `json:"passed"`
	Findings  []finding      `json:"findings"`
}

func newPreflightCommand() *cobra.Command {
	var path string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "preflight NAME --config FILE",
		Short: "look whether the next plan could start, and say what is in its way",
		Long: `preflight reads the cluster, changes nothing, and judges the gates before the next
plan. It exits 3 when one of them fails or cannot be answered. Whether another
service drives the cluster is left to the service.`,
		Example: "  migrator preflight payments --config migrations.yaml\n  migrator preflight payments --config migrations.yaml --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := loadMigration(path, args[0])
			if err != nil {
				return err
			}
			p, err := process(cmd)
			if err != nil {
				return err
			}
			s, err := lookAt(cmd.Context(), m, "", nil, newLog(cmd, p.LogLevel))
			if err != nil {
				return err
			}
			doc := s.findings(m)
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), doc)
			} else {
				err = printFindings(cmd.OutOrStdout(), doc)
			}
			if err != nil || doc.Passed {
				return err
			}
			return &answered{code: exitRefused}
		},
	}
	configFlag(cmd, &path)
	jsonFlag(cmd, &asJSON)
	return cmd
}

// findings are the verdicts with their codes, and what no gate says.
func (s *seen) findings(m config.Migration) preflightDoc {
	doc := preflightDoc{Name: m.Name, Plan: s.offered, Passed: true, Findings: []finding{s.whereabouts()}}
	if s.clusterID != "" {
		doc.ClusterID = &s.clusterID
	}
	if s.located.OK {
		doc.Phase = &s.located.Phase
	}
	for _, v := range s.judgement.Verdicts {
		info, _ := gates.Describe(v.Gate)
		doc.Findings = append(doc.Findings, finding{Code: info.Code, Gate: v.Gate, Kind: string(v.Kind), Title: info.Title, Verdict: v.Result.String(),
			Evidence: v.Evidence, ToDo: v.ToDo, Source: v.Source, Blocks: v.Result != gates.Pass})
	}
	if s.located.OK {
		doc.Findings = append(doc.Findings, s.plannable(m))
	}
	for _, f := range doc.Findings {
		doc.Passed = doc.Passed && !f.Blocks
	}
	return doc
}

func (s *seen) whereabouts() finding {
	f := finding{Code: codePhase, Kind: string(gates.Safety), Title: "The phase can be told by the facts.", Verdict: "pass", Evidence: s.located.Why, Source: "all brokers"}
	switch {
	case s.located.Emergency != "":
		f.Verdict, f.Evidence, f.Blocks = "fail", s.located.Emergency, true
		f.ToDo = "Nothing may be done to this cluster by a program. Look at the named nodes."
	case !s.located.OK:
		f.Verdict, f.Blocks = "unknown", true
		f.ToDo = "Make every broker of migrations.yaml answer; the phase is told by their modes."
	case s.located.Refused != "":
		f.Verdict, f.Evidence, f.Blocks = "fail", s.located.Refused, true
		f.ToDo = "Go back to ZooKeeper mode first; going on would push an old copy over ZooKeeper."
	}
	return f
}

func (s *seen) plannable(m config.Migration) finding {
	f := finding{Code: codePlan, Kind: string(gates.Safety), Title: "The plan can be made from the files and facts.", Verdict: "pass", Source: "every node's properties file"}
	built, err := s.build(m)
	if err != nil {
		f.Verdict, f.Evidence, f.Blocks = "fail", err.Error(), true
		f.ToDo = "Correct the named file or migrations.yaml."
		return f
	}
	f.Evidence = fmt.Sprintf("plan %s has %d steps and digest %s", built.Plan.Phase, len(built.Plan.Steps), built.Plan.Digest)
	return f
}

func printFindings(w io.Writer, doc preflightDoc) error {
	var b strings.Builder
	blocking := 0
	for _, f := range doc.Findings {
		fmt.Fprintf(&b, "%s %-7s %s\n", f.Code, strings.ToUpper(f.Verdict), f.Title)
		fmt.Fprintf(&b, "       %s\n", f.Evidence)
		if f.Blocks {
			blocking++
			fmt.Fprintf(&b, "       what to do: %s\n", f.ToDo)
		}
	}
	if blocking == 0 {
		fmt.Fprintf(&b, "\n%s: nothing is in the way of the plan %s\n", doc.Name, doc.Plan)
	} else {
		fmt.Fprintf(&b, "\n%s: %d of %d findings are in the way of the plan %s\n", doc.Name, blocking, len(doc.Findings), doc.Plan)
	}
	_, err := io.WriteString(w, plain(b.String()))
	return err
}
