package rehearse

import (
	"fmt"
	"slices"
	"strings"

	"migrator/internal/cluster"
	"migrator/internal/evidence"
	"migrator/internal/plan"
)

// Outcome judges the evidence of a rehearsal on an existing cluster that was to
// end in a phase and then, with reverted, in plain ZooKeeper mode. What the
// pack does not show is not kept.
func Outcome(p evidence.Pack, to cluster.Phase, reverted bool) []Promise {
	all := []Promise{entry(p), plansDone(p, to)}
	if to.Index() >= cluster.DualWrite.Index() {
		all = append(all, soaked(p), drilled(p))
	}
	if to == cluster.Finalize {
		all = append(all, finished(p), order(Seen{Pack: p}))
	}
	if hasCanary(p) {
		all = append(all, nothingLost(p))
		if to == cluster.Finalize {
			all = append(all, verified(Seen{Pack: p}))
		}
	}
	if reverted {
		all = append(all, wentBack(p))
	}
	return all
}

// Whole judges a pack as a rehearsal of the whole procedure: to the end, or to
// the end of dual-write and back.
func Whole(p evidence.Pack) []Promise {
	if n := len(p.Plans); n > 0 && p.Plans[n-1].Revert {
		return Outcome(p, cluster.DualWrite, true)
	}
	return Outcome(p, cluster.Finalize, false)
}

func entry(p evidence.Pack) Promise {
	out := Promise{Text: "the cluster is one to rehearse on", Kept: p.Rehearsal, Seen: "rehearsal: true stands in migrations.yaml"}
	if !p.Rehearsal {
		out.Seen = "the entry of " + p.Name + " in migrations.yaml does not say rehearsal: true"
	}
	return out
}

func plansDone(p evidence.Pack, to cluster.Phase) Promise {
	out := Promise{Text: "every plan up to " + string(to) + " was done"}
	var done, missing []string
	for _, phase := range cluster.Phases() {
		if phase.Index() > to.Index() {
			break
		}
		if slices.ContainsFunc(p.Plans, func(pl evidence.Plan) bool {
			return pl.Phase == phase && !pl.Revert && pl.Ended != nil && pl.Void == ""
		}) {
			done = append(done, string(phase))
		} else {
			missing = append(missing, string(phase))
		}
	}
	out.Kept, out.Seen = len(missing) == 0, strings.Join(done, ", ")
	if !out.Kept {
		out.Seen = "not done: " + strings.Join(missing, ", ")
	}
	return out
}

func soaked(p evidence.Pack) Promise {
	out := Promise{Text: "the soak in dual-write was whole", Seen: "its end is not in the journal"}
	for _, st := range p.Steps {
		if st.Kind == plan.SoakEnd && st.Plan == cluster.DualWrite && st.Done != nil {
			out.Kept, out.Seen = true, st.Sentence
		}
	}
	return out
}

// drilled: each drill that was planned in dual-write, and at least one.
func drilled(p evidence.Pack) Promise {
	passed := map[string]bool{}
	why := map[string]string{}
	for _, d := range p.Drill.Runs {
		if d.Kind != baselineKind {
			passed[d.Kind] = d.Passed
			why[d.Kind] = d.Why
		}
	}
	var good, bad []string
	for _, st := range p.Steps {
		if st.Kind != plan.DrillStep || st.Plan != cluster.DualWrite {
			continue
		}
		kind := strings.TrimPrefix(st.ID, "drill-")
		if passed[kind] {
			good = append(good, kind)
		} else {
			bad = append(bad, kind+": "+orText(why[kind], "no run is in the journal"))
		}
	}
	out := Promise{Text: "the failover drill passed", Kept: len(bad) == 0 && len(good) > 0, Seen: orText(strings.Join(good, ", "), "no drill ran")}
	if len(bad) > 0 {
		out.Seen = strings.Join(bad, "; ")
	}
	return out
}

func finished(p evidence.Pack) Promise {
	out := Promise{Text: "the migration is finalized", Kept: p.Finished != nil, Seen: "the journal does not say so"}
	if p.Finished != nil {
		out.Seen = "at " + p.Finished.UTC().Format("2006-01-02 15:04:05") + " UTC"
	}
	return out
}

func hasCanary(p evidence.Pack) bool {
	return slices.ContainsFunc(p.Steps, func(st evidence.Step) bool { return st.Kind == plan.CanaryTopic })
}

func nothingLost(p evidence.Pack) Promise {
	c := p.Canary
	return Promise{Text: "no acknowledged record was lost", Kept: c.Acked > 0 && c.Lost == 0,
		Seen: fmt.Sprintf("%d acknowledged, %d lost", c.Acked, c.Lost)}
}

// wentBack: a file that was there before us is as it was; the controllers' were not.
func wentBack(p evidence.Pack) Promise {
	out := Promise{Text: "the way back ended in ZooKeeper mode with every broker's file byte for byte", Seen: "the way back was not done"}
	if n := len(p.Plans); n == 0 || !p.Plans[n-1].Revert || p.Plans[n-1].Phase != cluster.Initial || p.Plans[n-1].Ended == nil || p.Plans[n-1].Void != "" {
		return out
	}
	files := 0
	var changed []string
	for _, f := range p.Files {
		switch {
		case f.Before == "":
		case f.Before == f.After:
			files++
		default:
			changed = append(changed, fmt.Sprintf("%s of node %d", f.Path, f.Node))
		}
	}
	out.Kept, out.Seen = len(changed) == 0, fmt.Sprintf("%d files", files)
	if !out.Kept {
		out.Seen = "changed: " + strings.Join(changed, ", ")
	}
	return out
}
