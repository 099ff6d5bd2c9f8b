package evidence

import (
	"time"

	"migrator/internal/cluster"
	"migrator/internal/plan"
)

// Roll compares a whole roll with the nodes' own restart times. Restart is the
// sum over its batches of the time from the first stop's intent to the moment
// when all gates after the batch had first passed; Ratio is Whole / Restart.
type Roll struct {
	Plan           cluster.Phase `json:"plan"`
	Batches        int           `json:"batches"`
	WholeSeconds   float64       `json:"seconds"`
	RestartSeconds float64       `json:"restart_seconds"`
	Ratio          float64       `json:"ratio"`
}

// rolls sums up each plan's roll; one with an unfinished batch is left out.
func rolls(steps []Step) []Roll {
	out := []Roll{}
	for i := 0; i < len(steps); {
		if steps[i].Kind != plan.Roll {
			i++
			continue
		}
		j := i
		for j < len(steps) && steps[j].Kind == plan.Roll && steps[j].Digest == steps[i].Digest {
			j++
		}
		if r, ok := sumRoll(steps[i:j]); ok {
			out = append(out, r)
		}
		i = j
	}
	return out
}

func sumRoll(steps []Step) (Roll, bool) {
	r := Roll{Plan: steps[0].Plan, Batches: len(steps)}
	var begun, ended time.Time
	for _, s := range steps {
		stop, ok := firstIntent(s)
		passed := firstPassed(s)
		if !ok || s.Done == nil || passed.IsZero() {
			return Roll{}, false
		}
		if begun.IsZero() {
			begun = stop
		}
		ended = *s.Done
		r.RestartSeconds += passed.Sub(stop).Seconds()
	}
	r.WholeSeconds = ended.Sub(begun).Seconds()
	if r.RestartSeconds <= 0 {
		return Roll{}, false
	}
	r.Ratio = r.WholeSeconds / r.RestartSeconds
	return r, true
}

func firstIntent(s Step) (time.Time, bool) {
	var first time.Time
	for _, a := range s.Actions {
		if a.Kind == plan.Stop && len(a.Tries) > 0 && (first.IsZero() || a.Tries[0].Intent.Before(first)) {
			first = a.Tries[0].Intent
		}
	}
	return first, !first.IsZero()
}

// firstPassed is when the last of the gates after the batch began to pass.
func firstPassed(s Step) time.Time {
	var last time.Time
	for _, v := range s.After {
		if v.Since.After(last) {
			last = v.Since
		}
	}
	return last
}
