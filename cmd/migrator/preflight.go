package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/findings"
	"migrator/internal/gates"
	"migrator/internal/junit"
	"migrator/internal/survey"
)

// Codes of findings that no gate makes.
const (
	codePhase = "MIG001" // where the cluster is
	codePlan  = "MIG002" // whether a plan can be made
)

// Titles of these two.
const (
	titlePhase = "The phase can be told by the facts."
	titlePlan  = "The plan can be made from the files and facts."
)

// finding is a gate's verdict or a judged row of the registry of findings.
type finding struct {
	Code      string  `json:"code"`
	Gate      *string `json:"gate"` // null: no gate
	Severity  string  `json:"severity"`
	Kind      *string `json:"kind"` // safety or availability, of what blocks
	Title     string  `json:"title"`
	Verdict   string  `json:"verdict"` // pass, fail, unknown or skipped
	Evidence  string  `json:"evidence"`
	Why       string  `json:"why"`
	ToDo      string  `json:"to_do"`
	Source    string  `json:"source"`
	Reference string  `json:"reference"`
	Items     []item  `json:"items"`
	Blocks    bool    `json:"blocks"`
	Waived    *string `json:"waived"` // the reason in migrations.yaml
}

// item is one place where a finding was seen.
type item struct {
	Where string `json:"where"`
	Seen  string `json:"seen"`
	Fix   string `json:"fix"`
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
	var path, report string
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:   "preflight NAME --config FILE",
		Short: "look at the whole cluster, and say what would make the migration stall, fail or lose data",
		Long: `preflight reads the cluster, changes nothing, and judges the gates before the next
plan and every finding of the registry (migrator findings lists them). It exits 3
when something blocks, or when something that could block cannot be seen. Whether
another service drives the cluster is left to the service.`,
		Example: "  migrator preflight payments --config migrations.yaml\n  migrator preflight payments --config migrations.yaml --json\n  migrator preflight payments --config migrations.yaml --junit preflight.xml",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := loadToRender(cmd.Context(), path, args[0])
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
			meter := newMeter(cmd.ErrOrStderr(), "znodes seen so far")
			meter.every = time.Second
			sv, err := survey.Read(cmd.Context(), m, s.snap, meter.tell)
			meter.end()
			if err != nil {
				return err
			}
			doc.add(findings.Judge(sv, doc.Phase))
			if report != "" {
				if err := junit.Write(report, junitSuite(doc)); err != nil {
					return err
				}
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), doc)
			} else {
				err = printFindings(cmd.OutOrStdout(), doc, all)
			}
			if err != nil || doc.Passed {
				return err
			}
			return &answered{code: exitRefused}
		},
	}
	configFlag(cmd, &path)
	jsonFlag(cmd, &asJSON)
	cmd.Flags().StringVar(&report, "junit", "", "write the checks as JUnit XML to this file too")
	cmd.Flags().BoolVar(&all, "all", false, "show also what is clear")
	return cmd
}

// findings are the verdicts of the gates with their codes, and where the cluster is.
func (s *seen) findings(m config.Migration) preflightDoc {
	doc := preflightDoc{Name: m.Name, Plan: s.offered, Passed: true}
	doc.put(s.whereabouts())
	if s.clusterID != "" {
		doc.ClusterID = &s.clusterID
	}
	if s.located.OK {
		doc.Phase = &s.located.Phase
	}
	for _, v := range s.judgement.Verdicts {
		doc.put(judgedGate(v))
	}
	for _, v := range s.holding {
		if !slices.ContainsFunc(s.judgement.Verdicts, func(shown gates.Judged) bool { return shown.Gate == v.Gate }) {
			doc.put(judgedGate(v))
		}
	}
	if s.located.OK {
		doc.put(s.plannable(m))
	}
	return doc
}

func judgedGate(v gates.Judged) finding {
	info, _ := gates.Describe(v.Gate)
	f := safety(info.Code, info.Title)
	f.Gate, f.Kind, f.Source = &info.Name, kindOf(v.Kind), v.Source
	f.Verdict, f.Evidence, f.ToDo, f.Blocks = v.Result.String(), v.Evidence, v.ToDo, v.Result != gates.Pass
	return f
}

func (d *preflightDoc) put(f finding) {
	d.Findings = append(d.Findings, f)
	d.Passed = d.Passed && !f.Blocks
}

// add puts the registry's findings in. One that is there takes the place of
// the gate that watches the same fault: one cause, one code.
func (d *preflightDoc) add(list []findings.Finding) {
	for _, f := range list {
		if f.Verdict != findings.Found {
			continue
		}
		d.Findings = slices.DeleteFunc(d.Findings, func(other finding) bool {
			same := other.Gate != nil && *other.Gate == f.Gate || f.Plan && other.Code == codePlan
			return same && other.Verdict != "pass"
		})
	}
	for _, f := range list {
		d.put(judgedRow(f))
	}
}

// judgedRow is a judged row as preflight shows it. Titles of rows are true when
// the finding is there, those of gates when it is not.
func judgedRow(f findings.Finding) finding {
	out := finding{Code: f.Code, Severity: string(f.Severity), Kind: kindOf(f.Kind), Title: f.Title, Why: f.Why, Reference: f.Reference, Items: []item{}, Blocks: f.Blocks()}
	switch f.Verdict {
	case findings.Clear:
		out.Verdict, out.Evidence = "pass", "not seen"
	case findings.Skipped:
		out.Verdict, out.Evidence = "skipped", "says nothing of a cluster in this phase"
		if f.Behind != "" {
			out.Evidence = "not judged here: see " + f.Behind
		}
	case findings.Found:
		out.Verdict, out.Evidence = "fail", fmt.Sprintf("%s: %s", f.Items[0].Where, f.Items[0].Seen)
		out.ToDo = f.Items[0].Fix
		if more := len(f.Items) - 1; more > 0 {
			out.Evidence += fmt.Sprintf("; and %d more", more)
		}
	default:
		out.Verdict = "unknown"
	}
	for _, i := range f.Items {
		out.Items = append(out.Items, item(i))
	}
	for n, g := range f.Missing {
		if n == 0 && out.Verdict == "unknown" {
			out.Evidence, out.ToDo = "not known: "+g.Cause, g.How
			continue
		}
		out.Evidence += "; not known: " + g.Cause
	}
	if f.Waived != "" {
		out.Waived = &f.Waived
	}
	return out
}

func kindOf(k gates.Kind) *string {
	if k == "" {
		return nil
	}
	text := string(k)
	return &text
}

// safety is a finding that no row of the registry describes and that passed.
func safety(code, title string) finding {
	return finding{Code: code, Severity: string(findings.Block), Kind: kindOf(gates.Safety), Title: title, Verdict: "pass", Items: []item{}}
}

func (s *seen) whereabouts() finding {
	f := safety(codePhase, titlePhase)
	f.Evidence, f.Source = s.located.Why, "all brokers"
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
	f := safety(codePlan, titlePlan)
	f.Source = "every node's properties file"
	built, err := s.build(m)
	if err != nil {
		f.Verdict, f.Evidence, f.Blocks = "fail", err.Error(), true
		f.ToDo = "Correct the named file or migrations.yaml."
		return f
	}
	f.Evidence = fmt.Sprintf("plan %s has %d steps and digest %s", built.Plan.Phase, len(built.Plan.Steps), built.Plan.Digest)
	return f
}

// rank puts what blocks first, then warnings, then the rest.
func (f finding) rank() int {
	switch {
	case f.Blocks:
		return 0
	case f.waived():
		return 2
	case f.Verdict == "fail" && f.Severity == string(findings.Warn):
		return 1
	case f.Verdict == "fail":
		return 2
	case f.Verdict == "unknown":
		return 3
	default:
		return 4
	}
}

const shownItems = 10

func printFindings(w io.Writer, doc preflightDoc, all bool) error {
	list := slices.Clone(doc.Findings)
	slices.SortStableFunc(list, func(a, b finding) int { return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Code, b.Code)) })
	var b strings.Builder
	blocking, warnings, clear := 0, 0, 0
	for _, f := range list {
		switch f.rank() {
		case 0:
			blocking++
		case 1:
			warnings++
		case 4:
			clear++
			if !all {
				continue
			}
		}
		f.print(&b)
	}
	if !all {
		fmt.Fprintf(&b, "%d of %d checks are clear (--all shows them)\n", clear, len(list))
	}
	if blocking == 0 {
		fmt.Fprintf(&b, "\n%s: nothing is in the way of the plan %s", doc.Name, doc.Plan)
	} else {
		fmt.Fprintf(&b, "\n%s: %d of %d checks are in the way of the plan %s", doc.Name, blocking, len(list), doc.Plan)
	}
	if warnings > 0 {
		fmt.Fprintf(&b, "; warnings: %d", warnings)
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, plain(b.String()))
	return err
}

// word is how a finding is marked: what a person has to do about it.
func (f finding) word() string {
	switch {
	case f.waived():
		return "WAIVED"
	case f.Verdict == "fail" && f.Gate == nil && f.Severity != string(findings.Block):
		return strings.ToUpper(f.Severity)
	case f.Verdict == "fail" && f.Blocks:
		return "BLOCK"
	default:
		return strings.ToUpper(f.Verdict)
	}
}

func (f finding) print(b *strings.Builder) {
	fmt.Fprintf(b, "%s %-7s %s\n", f.Code, f.word(), f.Title)
	switch {
	case f.Verdict == "pass" || f.Verdict == "skipped" || len(f.Items) == 0:
		fmt.Fprintf(b, "       %s\n", f.Evidence)
		if f.ToDo != "" && f.Verdict != "pass" {
			fmt.Fprintf(b, "       what to do: %s\n", f.ToDo)
		}
	default:
		f.printItems(b)
	}
	if f.Waived != nil {
		fmt.Fprintf(b, "       waived: %s\n", *f.Waived)
	}
	if f.Why != "" && (f.Verdict == "fail" || f.Verdict == "unknown") {
		fmt.Fprintf(b, "       why: %s (%s)\n", f.Why, f.Reference)
	}
}

// printItems names the places, and each remedy once.
func (f finding) printItems(b *strings.Builder) {
	fix := ""
	for n, i := range f.Items {
		if n == shownItems {
			fmt.Fprintf(b, "       and %d more (--json lists all)\n", len(f.Items)-n)
			break
		}
		if fix != "" && i.Fix != fix {
			fmt.Fprintf(b, "       what to do: %s\n", fix)
		}
		fmt.Fprintf(b, "       %s: %s\n", i.Where, i.Seen)
		fix = i.Fix
	}
	fmt.Fprintf(b, "       what to do: %s\n", fix)
}
