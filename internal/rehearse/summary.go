package rehearse

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"migrator/internal/evidence"
	"migrator/internal/phases"
	"migrator/internal/plan"
)

// Summary is the end of a rehearsal for people: times, failovers, records,
// promises and where the evidence is. Pure.
func Summary(s Seen, promises []Promise, out string) string {
	var b strings.Builder
	broken := Broken(promises)
	fmt.Fprintf(&b, "%s: Kafka %s, cluster %s, in %s\n\n", verdict(broken), s.Pack.KafkaVersion, s.Pack.ClusterID, clock(s.Took))
	if s.Double != nil {
		b.WriteString(doubled(*s.Double) + "\n" + foretold(s.Found) + "\n")
	}
	times(&b, s)
	failovers(&b, s.Pack)
	records(&b, s)
	b.WriteString("Promises\n" + Promises(promises))
	fmt.Fprintf(&b, "\nEvidence: %s\n", out)
	return b.String()
}

// Promises is a line for each.
func Promises(list []Promise) string {
	var b strings.Builder
	for _, p := range list {
		word := "kept   "
		if !p.Kept {
			word = "BROKEN "
		}
		fmt.Fprintf(&b, "  %s %s (%s)\n", word, p.Text, p.Seen)
	}
	return b.String()
}

func verdict(broken []Promise) string {
	if len(broken) == 0 {
		return "All promises held"
	}
	if len(broken) == 1 {
		return "One promise did NOT hold"
	}
	return fmt.Sprintf("%d promises did NOT hold", len(broken))
}

// times is a line for each plan and one for each step that takes time.
func times(b *strings.Builder, s Seen) {
	p := s.Pack
	b.WriteString("Time                                               took   stop  start  gates\n")
	for _, pl := range p.Plans {
		name := string(pl.Phase)
		if row, ok := phases.RowOf(pl.Phase); ok {
			// The table says "name of the plan: what it does".
			if work, _, _ := strings.Cut(row.Work, ":"); work != name {
				name += ", " + work
			}
		}
		fmt.Fprintf(b, "  %-46s %6s\n", name, between(pl.ApprovedAt, pl.Ended))
		for _, st := range p.Steps {
			if st.Digest != pl.Digest {
				continue
			}
			fmt.Fprintf(b, "    %-44s %6s%s\n", s.stepName(st), between(st.Opened, st.Done), parts(st))
		}
	}
	b.WriteString("\n")
}

func (s Seen) stepName(st evidence.Step) string {
	switch st.Kind {
	case plan.Roll:
		role := "node"
		if i := slices.IndexFunc(s.Nodes, func(n Node) bool { return slices.Contains(st.Batch, n.ID) }); i >= 0 {
			role = string(s.Nodes[i].Role)
		}
		if len(st.Batch) > 1 {
			role += "s"
		}
		return role + " " + ids(st.Batch)
	case plan.Provision:
		return "controllers " + ids(st.Batch)
	case plan.CanaryTopic:
		return "canary topic"
	case plan.Backup:
		return "backup"
	case plan.Copy:
		return "copy of the metadata"
	case plan.Elect:
		return "preferred leaders"
	case plan.SoakBegin:
		return "soak gates pass"
	case plan.DrillStep:
		return strings.TrimPrefix(st.ID, "drill-") + " drill"
	case plan.SoakEnd:
		return "soak"
	case plan.Freeze, plan.Thaw:
		return "hook " + st.ID
	case plan.CanaryRemove:
		return "records read back, canary topic deleted"
	default:
		return string(st.Kind)
	}
}

func ids(list []int32) string {
	var out []string
	for _, id := range list {
		out = append(out, fmt.Sprint(id))
	}
	return strings.Join(out, ", ")
}

// parts splits a restart into what the stop, the start and the gates took;
// other steps have none.
func parts(st evidence.Step) string {
	if st.Kind != plan.Roll {
		return ""
	}
	var stop, start time.Duration
	var ended time.Time
	for _, a := range st.Actions {
		for _, t := range a.Tries {
			if t.Outcome == nil {
				continue
			}
			took := t.Outcome.Sub(t.Intent)
			switch a.Kind {
			case plan.Stop:
				stop = max(stop, took)
			case plan.Start:
				start = max(start, took)
			default:
			}
			if t.Outcome.After(ended) {
				ended = *t.Outcome
			}
		}
	}
	if ended.IsZero() {
		return ""
	}
	return fmt.Sprintf(" %6s %6s %6s", seconds(stop), seconds(start), between(ended, st.Done))
}

func between(from time.Time, to *time.Time) string {
	if to == nil {
		return "not done"
	}
	return seconds(to.Sub(from))
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }

// failovers sets the drills beside the failover of the ZooKeeper controller.
func failovers(b *strings.Builder, p evidence.Pack) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "Controller failover\tnew leader\tmetadata writes\tdual write\tresult")
	baseline := false
	for _, d := range p.Drill.Runs {
		name, dual := d.Kind+" drill of controller "+fmt.Sprint(d.Node), millis(d.DualWriteMS)
		if d.Kind == baselineKind {
			name, dual, baseline = fmt.Sprintf("before: ZooKeeper controller, broker %d", d.Node), "-", true
		}
		result := "passed"
		if d.Kind == baselineKind {
			result = "measured"
		}
		if !d.Passed {
			result = d.Why
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\n", name, millis(d.LeaderMS), millis(d.UnavailableMS), dual, result)
	}
	if !baseline {
		fmt.Fprintln(w, "  before: ZooKeeper controller\tnot measured\t\t\t")
	}
	_ = w.Flush() // a strings.Builder takes everything
	b.WriteString("\n")
}

func millis(ms *int64) string {
	if ms == nil {
		return "not seen"
	}
	return fmt.Sprintf("%.2fs", float64(*ms)/1000)
}

// records joins what our own client and the service's canary felt.
func records(b *strings.Builder, s Seen) {
	acked, readBack, lost, ok := verification(s.Pack)
	fmt.Fprintf(b, "Records: %s", figures(acked+s.Witness.Acked, readBack+s.Witness.ReadBack, lost+s.Witness.Lost))
	if !ok {
		b.WriteString(" (the canary's not counted: they were not verified)")
	}
	c := s.Pack.Canary
	produce := max(s.Stats.LongestProduceStall, time.Duration(c.LongestStallMS*float64(time.Millisecond)))
	metadata := max(s.Stats.LongestMetadataStall, time.Duration(c.LongestMetadataStallMS*float64(time.Millisecond)))
	fmt.Fprintf(b, "; %d failed to be sent\nLongest stall a client felt: produce %s, metadata write %s\n\n", s.Stats.Failed, seconds(produce), seconds(metadata))
}
