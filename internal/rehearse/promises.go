package rehearse

import (
	"fmt"
	"slices"
	"strings"

	"migrator/internal/cluster"
	"migrator/internal/evidence"
	"migrator/internal/plan"
)

// Promise is one thing that must hold at the end, and what was seen.
type Promise struct {
	Text string `json:"text"`
	Kept bool   `json:"kept"`
	Seen string `json:"seen"`
}

// Broken are the promises that do not hold.
func Broken(all []Promise) []Promise {
	return slices.DeleteFunc(slices.Clone(all), func(p Promise) bool { return p.Kept })
}

// Judge judges every promise; what was not seen is not kept.
func Judge(s Seen) []Promise {
	all := []Promise{kraft(s), postMigration(s), alone(s), witness(s), verified(s), drills(s), order(s)}
	if s.Detour != nil {
		return append(all, s.Detour.promise(), everyStart(s))
	}
	return append(all, brokerStarts(s), controllerStarts(s))
}

// everyStart: after a way back the number of restarts depends on where it
// began, so each start is looked for in the journal.
func everyStart(s Seen) Promise {
	want := map[int32]int{}
	for _, st := range s.Pack.Steps {
		for _, a := range st.Actions {
			if a.Kind == plan.Start && a.Node != nil && len(a.Tries) > 0 {
				want[*a.Node]++
			}
		}
	}
	for _, d := range s.Pack.Drill.Runs {
		if d.Kind != baselineKind {
			want[d.Node]++
		}
	}
	for _, n := range s.Nodes {
		if n.Role == cluster.Broker {
			want[n.ID]++ // the lab's own
		}
	}
	wrong := func(n Node) string {
		if n.Starts == want[n.ID] {
			return ""
		}
		return fmt.Sprintf("%d starts, the journal has %d", n.Starts, want[n.ID])
	}
	p := Promise{Text: "no node was started but by a step or a drill"}
	b, c := everyNode(s, cluster.Broker, p.Text, wrong), everyNode(s, cluster.Controller, p.Text, wrong)
	p.Kept, p.Seen = b.Kept && c.Kept, b.Seen+"; "+c.Seen
	return p
}

func kraft(s Seen) Promise {
	return everyNode(s, cluster.Broker, "every broker runs in KRaft mode", func(n Node) string {
		switch {
		case !n.Running:
			return "does not run"
		case !n.KRaft:
			return "its last start was not one in KRaft mode"
		default:
			return ""
		}
	})
}

func postMigration(s Seen) Promise {
	return everyNode(s, cluster.Controller, "every controller is at POST_MIGRATION", func(n Node) string {
		switch {
		case !n.Running:
			return "does not run"
		case n.State != cluster.StatePostMigration:
			return "the last state in its log is " + orText(string(n.State), "none at all")
		default:
			return ""
		}
	})
}

func alone(s Seen) Promise {
	p := Promise{Text: "the cluster serves without ZooKeeper", Kept: s.Alone.Records >= aloneRecords && s.Alone.Writes >= aloneWrites,
		Seen: fmt.Sprintf("after it was stopped %d records and %d metadata writes were accepted", s.Alone.Records, s.Alone.Writes)}
	if s.Alone.Why != "" {
		p.Seen += ", " + s.Alone.Why
	}
	return p
}

func witness(s Seen) Promise {
	v := s.Witness
	p := Promise{Text: "every acknowledged record of the workload was read back", Kept: v.Acked > 0 && v.ReadBack == v.Acked && v.Lost == 0 && v.Expired == 0,
		Seen: figures(v.Acked, v.ReadBack, v.Lost)}
	if v.Expired > 0 {
		p.Seen += fmt.Sprintf(", %d deleted by retention before that", v.Expired)
	}
	if len(v.Missing) > 0 {
		p.Seen += fmt.Sprintf(", such as %v", v.Missing[0])
	}
	return p
}

func verified(s Seen) Promise {
	p := Promise{Text: "every acknowledged record of the canary was read back"}
	acked, readBack, lost, ok := verification(s.Pack)
	if !ok {
		p.Seen = "the journal has no whole verification"
		return p
	}
	p.Kept = acked > 0 && readBack == acked && lost == 0
	p.Seen = figures(acked, readBack, lost)
	return p
}

func figures(acked, readBack, lost uint64) string {
	return fmt.Sprintf("%d acknowledged, %d read back, %d lost", acked, readBack, lost)
}

// verification reads the outcome of the verify-canary action; ok only when it
// succeeded and says all three figures.
func verification(p evidence.Pack) (acked, readBack, lost uint64, ok bool) {
	for _, step := range p.Steps {
		for _, a := range step.Actions {
			if a.Kind != plan.VerifyCanary || len(a.Tries) == 0 {
				continue
			}
			last := a.Tries[len(a.Tries)-1]
			if last.OK == nil || !*last.OK {
				continue
			}
			n, err := fmt.Sscanf(last.Detail, "%d acknowledged, %d read back, %d lost", &acked, &readBack, &lost)
			ok = err == nil && n == 3
		}
	}
	return acked, readBack, lost, ok
}

// brokerStarts: the first start is the lab's; one roll each to migration mode
// and to KRaft mode.
func brokerStarts(s Seen) Promise {
	return everyNode(s, cluster.Broker, "each broker was restarted exactly twice", func(n Node) string {
		if n.Starts == 3 {
			return ""
		}
		return fmt.Sprintf("%d restarts", n.Starts-1)
	})
}

// controllerStarts: provisioned, rolled once without the flag, and brought back
// after each drill that took it away.
func controllerStarts(s Seen) Promise {
	taken := map[int32]int{}
	for _, d := range s.Pack.Drill.Runs {
		if d.Kind != baselineKind {
			taken[d.Node]++
		}
	}
	return everyNode(s, cluster.Controller, "each controller was restarted once, and once for each drill on it", func(n Node) string {
		if n.Starts == 2+taken[n.ID] {
			return ""
		}
		return fmt.Sprintf("%d restarts with %d drills", n.Starts-1, taken[n.ID])
	})
}

// baselineKind is how evidence names the ZooKeeper controller's own failover.
const baselineKind = "baseline"

func drills(s Seen) Promise {
	p := Promise{Text: "a clean and a crash failover drill passed"}
	passed := map[string]bool{}
	var said []string
	for _, d := range s.Pack.Drill.Runs {
		if d.Kind == baselineKind {
			continue
		}
		passed[d.Kind] = d.Passed
		word := "passed"
		if !d.Passed {
			word = "did not pass: " + d.Why
		}
		said = append(said, fmt.Sprintf("%s drill of controller %d %s", d.Kind, d.Node, word))
	}
	p.Kept = passed["clean"] && passed["crash"]
	p.Seen = orText(strings.Join(said, "; "), "no drill ran")
	return p
}

// order: nothing of finalize before the soak was whole, and only with the name.
func order(s Seen) Promise {
	p := Promise{Text: "finalize began only after a whole soak, and with the name typed"}
	soak := s.Pack.Soak
	if soak == nil || soak.ElapsedSeconds < soak.RequiredSeconds {
		p.Seen = "no whole soak is in the journal"
		return p
	}
	i := slices.IndexFunc(s.Pack.Plans, func(pl evidence.Plan) bool { return pl.Phase == cluster.Finalize })
	j := slices.IndexFunc(s.Pack.Steps, func(st evidence.Step) bool { return st.Kind == plan.SoakEnd && st.Plan == cluster.DualWrite })
	switch {
	case i < 0:
		p.Seen = "no approval of finalize is in the journal"
	case j < 0 || s.Pack.Steps[j].Done == nil || s.Pack.Steps[j].Done.After(s.Pack.Plans[i].ApprovedAt):
		p.Seen = "the soak was not done when finalize was approved"
	case s.Pack.Plans[i].Confirmed != s.Pack.Name || s.Pack.Name == "":
		p.Seen = fmt.Sprintf("the name typed was %q", s.Pack.Plans[i].Confirmed)
	default:
		p.Kept = true
		p.Seen = fmt.Sprintf("soaked %.0fs of %.0fs, then %q was typed", soak.ElapsedSeconds, soak.RequiredSeconds, s.Pack.Plans[i].Confirmed)
	}
	return p
}

// everyNode is kept when there are nodes of the role and wrong names none.
func everyNode(s Seen, role cluster.Role, text string, wrong func(Node) string) Promise {
	var good []string
	var bad []string
	for _, n := range s.Nodes {
		if n.Role != role {
			continue
		}
		if why := wrong(n); why != "" {
			bad = append(bad, fmt.Sprintf("%s %d: %s", n.Role, n.ID, why))
			continue
		}
		good = append(good, fmt.Sprint(n.ID))
	}
	if len(bad) > 0 || len(good) == 0 {
		return Promise{Text: text, Seen: orText(strings.Join(bad, "; "), "there is none")}
	}
	return Promise{Text: text, Kept: true, Seen: strings.Join(good, ", ")}
}
