package rehearse

import (
	"fmt"
	"strings"
	"time"

	"migrator/internal/status"
)

// quietFor is how long the timeline may say nothing: then the present headline
// comes again, with what it waits for.
const quietFor = 10 * time.Second

// timeline turns statuses into lines: one for each change that a person cares
// about, and one now and then while nothing changes.
type timeline struct {
	begun   time.Time
	verbose bool
	last    moment
	said    time.Time
	drills  int // so many were told
}

// moment is what makes a new line.
type moment struct {
	phase string
	run   status.RunStatus
	step  string
	words string // verbose only
}

func newTimeline(begun time.Time, verbose bool) *timeline {
	return &timeline{begun: begun, verbose: verbose, said: begun}
}

// next is the lines that this status adds.
func (t *timeline) next(s status.Status, now time.Time) []string {
	m, before := t.moment(s), t.last
	t.last = m
	var lines []string
	if m.phase != before.phase {
		lines = append(lines, t.say(now, s, "phase "+m.phase))
	}
	before.phase = m.phase
	lines = append(lines, t.drilled(now, s)...)
	switch {
	case m != before && (t.verbose || worthALine(s)):
		lines = append(lines, t.say(now, s, headline(s)))
	case now.Sub(t.said) >= quietFor:
		lines = append(lines, t.say(now, s, still(s)))
	}
	return lines
}

// drilled tells the figures of each new drill.
func (t *timeline) drilled(now time.Time, s status.Status) []string {
	if s.Drill == nil {
		return nil
	}
	var lines []string
	for ; t.drills < len(s.Drill.Runs); t.drills++ {
		d := s.Drill.Runs[t.drills]
		name := fmt.Sprintf("%s drill of controller %d", d.Kind, d.Node)
		if d.Kind == baselineKind {
			name = fmt.Sprintf("failover of the ZooKeeper controller, broker %d", d.Node)
		}
		text := fmt.Sprintf("%s: new leader after %s, metadata writes after %s", name, millis(d.LeaderMS), millis(d.UnavailableMS))
		if d.DualWriteMS != nil {
			text += ", dual write after " + millis(d.DualWriteMS)
		}
		if !d.Passed {
			text += "; " + d.Why
		}
		lines = append(lines, t.say(now, s, text))
	}
	return lines
}

func (t *timeline) moment(s status.Status) moment {
	m := moment{run: s.RunStatus}
	if s.Phase != nil {
		m.phase = string(*s.Phase)
	}
	if s.Step != nil {
		m.step = s.Step.ID
	}
	if t.verbose {
		m.words = s.Headline
	}
	return m
}

// worthALine: what lies between two steps or plans takes a second or two, and
// an offered plan is approved at once, which has a line of its own.
func worthALine(s status.Status) bool {
	switch s.RunStatus {
	case status.Executing:
		return s.Step != nil
	case status.Observing, status.Waiting, status.NeedsApproval:
		return false
	default:
		return true
	}
}

// maxText bounds a line's text unless all was asked for: what a gate waits for
// may quote an error of every node.
const maxText = 160

// say lays a line out: time since the start, phase, what, what is left.
func (t *timeline) say(now time.Time, s status.Status, text string) string {
	t.said = now
	phase := "-"
	if s.Phase != nil {
		phase = string(*s.Phase)
	}
	if runes := []rune(text); len(runes) > maxText && !t.verbose {
		text = string(runes[:maxText]) + "..."
	}
	return fmt.Sprintf("%s  %-10s  %s%s", clock(now.Sub(t.begun)), phase, text, left(s))
}

// headline is the open step's sentence, else the status' own words.
func headline(s status.Status) string {
	if s.RunStatus == status.Executing && s.Step != nil {
		return s.Step.Sentence
	}
	return s.Headline
}

// still is what the present headline adds to the line that was said before.
func still(s status.Status) string {
	if s.RunStatus == status.Executing && s.Step != nil && s.Step.Sentence != "" {
		if _, more, ok := strings.Cut(s.Headline, s.Step.Sentence); ok {
			return "still" + more
		}
	}
	return "still: " + strings.TrimSuffix(s.Headline, ": ")
}

// left is the estimate for the rest of the plan.
func left(s status.Status) string {
	if s.RunStatus != status.Executing || s.ETASeconds == nil || *s.ETASeconds < 1 {
		return ""
	}
	return fmt.Sprintf("  (about %s left of this plan)", clock(time.Duration(*s.ETASeconds*float64(time.Second))))
}

// clock is minutes and seconds.
func clock(d time.Duration) string {
	sec := int(max(0, d).Round(time.Second) / time.Second)
	return fmt.Sprintf("%02d:%02d", sec/60, sec%60)
}
