package web

import (
	"fmt"
	"strings"
	"time"

	"migrator/internal/status"
)

const none = "—"

func node(n status.Node, now time.Time) Node {
	out := Node{Node: n, Role: string(n.Role), Mode: none, Wanted: none, Registered: yesNo(n.Registered), Running: yesNo(n.Running),
		Lag: none, ISR: yesNo(n.ISRFull), Restarted: ago(n.LastRestart, now)}
	if n.Leader {
		out.Role += ", leads"
	}
	if n.Lost {
		out.Role += ", accepted as lost"
	}
	if n.Mode != nil {
		out.Mode = string(*n.Mode)
	} else {
		out.Mode = "? unknown: " + n.Unknown
	}
	if n.WantedMode != nil {
		out.Wanted = string(*n.WantedMode)
	}
	if n.Lag != nil {
		out.Lag = fmt.Sprint(*n.Lag)
	}
	return out
}

func yesNo(v *bool) string {
	switch {
	case v == nil:
		return "? unknown"
	case *v:
		return "yes"
	default:
		return "no"
	}
}

func soak(s *status.Soak) string {
	if s == nil {
		return ""
	}
	line := fmt.Sprintf("%s of %s counted in %s", span(s.ElapsedSeconds), span(s.RequiredSeconds), s.Phase)
	if s.PausedBecause != nil {
		line += "; the clock stands: " + *s.PausedBecause
	}
	if s.RestartedBecause != nil {
		line += "; it began anew: " + *s.RestartedBecause
	}
	return line
}

func drill(d status.DrillRun) Drill {
	out := Drill{DrillRun: d, Verdict: "✗ fail", Unavailable: millis(d.UnavailableMS), Leader: millis(d.LeaderMS), DualWrite: millis(d.DualWriteMS), Epochs: none}
	if d.Passed {
		out.Verdict = "✓ pass"
	}
	if d.EpochBefore != nil && d.EpochAfter != nil {
		out.Epochs = fmt.Sprintf("%d to %d", *d.EpochBefore, *d.EpochAfter)
	}
	return out
}

func millis(v *int64) string {
	if v == nil {
		return none
	}
	return fmt.Sprintf("%d ms", *v)
}

func step(s status.StepView, now time.Time) Step {
	out := Step{StepView: s, Icon: icon(s.State), Opened: ago(s.Opened, now)}
	if s.Expected != nil {
		out.Expected = "about " + span(*s.Expected)
	}
	if s.Opened != nil && s.Finished != nil {
		out.Took = span(s.Finished.Sub(*s.Opened).Seconds())
	}
	var ids []string
	for _, id := range s.Batch {
		ids = append(ids, fmt.Sprint(id))
	}
	out.Nodes = strings.Join(ids, ", ")
	return out
}

func eta(seconds *float64) string {
	if seconds == nil {
		return "not known"
	}
	return span(*seconds)
}

func span(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d >= time.Minute {
		d = d.Round(time.Second)
	} else {
		d = d.Round(100 * time.Millisecond)
	}
	return d.String()
}

// ago is a moment in UTC with its age.
func ago(t *time.Time, now time.Time) string {
	if t == nil {
		return none
	}
	age := now.Sub(*t).Round(time.Second)
	return fmt.Sprintf("%s UTC (%s ago)", t.UTC().Format("2006-01-02 15:04:05"), max(age, 0))
}
