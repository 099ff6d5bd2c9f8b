package plan

import (
	"fmt"
	"slices"
	"strings"

	"migrator/internal/cluster"
)

// Shape is what makes a rehearsal speak for another migration: which roles come
// into which mode in which plan, and which keys of their files change for that.
// Ids, hosts, counts and values may differ.
type Shape struct {
	KafkaVersion string `json:"kafka_version"`
	Batch        string `json:"batch"` // what is restarted at once: node | rack
	Turns        []Turn `json:"turns"`
}

// Turn is one role's change into a mode.
type Turn struct {
	Plan cluster.Phase `json:"plan"`
	Role cluster.Role  `json:"role"`
	Mode cluster.Mode  `json:"mode"`
	Keys []string      `json:"keys"` // of all its nodes, such as "set node.id"; sorted
}

// Turns are the changes of mode that a forward plan makes; none for others.
func (p Plan) Turns() []Turn {
	var out []Turn
	if p.Revert || p.AdHoc {
		return out
	}
	for _, s := range p.Steps {
		if s.Mode == "" || s.Kind != Provision && s.Kind != Roll {
			continue
		}
		t := Turn{Plan: p.Phase, Role: cluster.Broker, Mode: s.Mode}
		if s.Kind == Provision || s.Rule == ActiveCtlLast {
			t.Role = cluster.Controller
		}
		for _, d := range s.Diffs {
			for _, r := range d.Reasons {
				t.Keys = append(t.Keys, r.Op+" "+r.Key)
			}
		}
		out = Join(out, []Turn{t})
	}
	return out
}

// Join adds turns to others: what is left of a voided plan is approved once
// more, and changes the rest of the nodes.
func Join(list, more []Turn) []Turn {
	out := slices.Clone(list)
	for _, t := range more {
		i := slices.IndexFunc(out, t.same)
		if i < 0 {
			out = append(out, Turn{Plan: t.Plan, Role: t.Role, Mode: t.Mode})
			i = len(out) - 1
		}
		keys := slices.Concat(out[i].Keys, t.Keys)
		slices.Sort(keys)
		out[i].Keys = slices.Compact(keys)
	}
	return out
}

func (t Turn) same(other Turn) bool {
	return t.Plan == other.Plan && t.Role == other.Role && t.Mode == other.Mode
}

// Differences says how a rehearsal of this shape does not speak for a migration
// of another; turns that the other does not have yet are not missed.
func (s Shape) Differences(of Shape) []string {
	var out []string
	if s.KafkaVersion != of.KafkaVersion {
		out = append(out, fmt.Sprintf("Kafka %s here, %s in the rehearsal", of.KafkaVersion, s.KafkaVersion))
	}
	if s.Batch != of.Batch {
		out = append(out, fmt.Sprintf("brokers are restarted by %s here, by %s in the rehearsal", of.Batch, s.Batch))
	}
	for _, want := range of.Turns {
		what := fmt.Sprintf("plan %s, %ss into mode %s", want.Plan, want.Role, want.Mode)
		i := slices.IndexFunc(s.Turns, want.same)
		if i < 0 {
			out = append(out, what+": not rehearsed")
			continue
		}
		if only := missing(want.Keys, s.Turns[i].Keys); only != "" {
			out = append(out, what+": only here: "+only)
		}
		if only := missing(s.Turns[i].Keys, want.Keys); only != "" {
			out = append(out, what+": only in the rehearsal: "+only)
		}
	}
	return out
}

// missing are the keys that the others lack.
func missing(keys, others []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return slices.Contains(others, k) }), ", ")
}
