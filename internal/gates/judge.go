package gates

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Judge answers every gate that a set names, once, and says of each set how
// often in a row it passed. It is a fold: the memory it returns goes into the
// next call; after a restart of the service the zero Memory does.
func Judge(prev Memory, v View, sets []Set) (Judgement, Memory) {
	shared := &round{}
	next := prev.observe(&v, shared)
	v.Memory = next
	verdicts := judgeAll(&v, named(sets), shared)
	next.rememberResults(verdicts, v.Now)

	out := Judgement{At: v.Now, Sets: make(map[string]SetState, len(sets)), Verdicts: make([]Judged, 0, len(verdicts))}
	passing := make(map[string]bool, len(verdicts))
	for _, verdict := range verdicts {
		passing[verdict.Gate] = verdict.Result == Pass
		judged := Judged{Verdict: verdict, Since: next.since[verdict.Gate].at, Sets: setsWith(verdict.Gate, sets)}
		if verdict.Result != Pass {
			judged.Blocks = blockedBy(verdict.Gate, sets)
		}
		out.Verdicts = append(out.Verdicts, judged)
	}
	slices.SortFunc(out.Verdicts, func(a, b Judged) int {
		return cmp.Or(boolOrder(a.Result == Pass, b.Result == Pass), cmp.Compare(a.Gate, b.Gate))
	})
	for _, set := range sets {
		passes := !slices.ContainsFunc(set.Gates, func(g string) bool { return !passing[g] })
		out.Sets[set.Key] = prev.sets[set.Key].count(set.Need, passes, v.Snapshot.Begun, v.Settings.PollInterval)
	}
	next.sets = cloneSets(out.Sets)
	return out, next
}

// setsWith are the keys of the sets that hold a gate.
func setsWith(gate string, sets []Set) []string {
	var keys []string
	for _, set := range sets {
		if slices.Contains(set.Gates, gate) {
			keys = append(keys, set.Key)
		}
	}
	return keys
}

// named are the gates of all sets, each once, sorted.
func named(sets []Set) []string {
	var names []string
	for _, set := range sets {
		names = append(names, set.Gates...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// judgeAll judges each gate by the facts, then lets one cause light one lamp:
// a gate that depends on a failing one reads unknown and names it.
func judgeAll(v *View, names []string, shared *round) []Verdict {
	out := make([]Verdict, len(names))
	for i, name := range names {
		out[i] = judgeOne(v, name, shared)
	}
	own := slices.Clone(out)
	for i, name := range names {
		g, _ := find(name)
		for _, dep := range g.DependsOn {
			if at, ok := slices.BinarySearch(names, dep); ok && own[at].Result == Fail {
				out[i] = waitsFor(own[i], own[at])
				break
			}
		}
	}
	return out
}

func judgeOne(v *View, name string, shared *round) Verdict {
	g, ok := find(name)
	if !ok {
		return Verdict{Gate: name, Kind: Safety, Evidence: "no such gate",
			ToDo: "This version of migrator does not know the gate and can never pass it. Use the version that made the plan."}
	}
	l := &look{v: v, round: shared}
	g.judge(l)
	return l.verdict(g.Info)
}

func waitsFor(v, cause Verdict) Verdict {
	v.Result, v.Accepted, v.Subjects = Unknown, false, nil
	v.Evidence = fmt.Sprintf("waits for gate %s, which fails: %s", cause.Gate, cause.Evidence)
	v.ToDo = "See gate " + cause.Gate + "."
	return v
}

func blockedBy(gate string, sets []Set) []string {
	var out []string
	for _, set := range sets {
		if slices.Contains(set.Gates, gate) && set.Blocks != "" && !slices.Contains(out, set.Blocks) {
			out = append(out, set.Blocks)
		}
	}
	return out
}

func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// count adds one judged snapshot to a set's passes in a row. The first pass
// counts; then only snapshots begun at least a poll interval after the last
// that counted do, so a snapshot judged twice counts once.
func (s SetState) count(need int, passes bool, begun time.Time, interval time.Duration) SetState {
	if !passes {
		return SetState{Need: need}
	}
	s.Need = need
	if !s.Passing {
		return SetState{Passing: true, Good: 1, Counted: begun, Since: begun, Need: need}
	}
	if begun.After(s.Counted) && begun.Sub(s.Counted) >= interval {
		s.Good++
		s.Counted = begun
	}
	return s
}
