package web

import (
	"fmt"
	"strings"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/status"
)

// View is all that the templates see.
type View struct {
	Title   string
	All     []Link // every migration of the service
	Several bool
	Notice  *Notice
	M       *Migration // nil: the service has no migration
}

// Notice is the answer to a form that was refused.
type Notice struct {
	Title string
	Text  string
	Code  string
}

// Link is one migration in the list of all.
type Link struct {
	Name, Phase, RunStatus, Headline string
	Shown                            bool
}

// Migration is one status, put into words.
type Migration struct {
	status.Status
	PhaseName string
	Ribbon    []Stop
	Since     string
	Observed  string
	Stale     bool
	ETA       string
	Open      []Gate // not passing
	Passing   []Gate
	Nodes     []Node
	SoakLine  string
	DrillRuns []Drill
	Steps     []Step
	Commands  Commands
}

// Commands are the command lines equal to the buttons.
type Commands struct {
	Advance, Pause, Resume, Retry, Drill                     string
	CanAdvance, CanPause, CanResume, CanRetry, CanDrill, Ask bool // Ask: the name must be typed
	Why                                                      string
}

// Stop is one phase of the ribbon.
type Stop struct {
	Name string
	Mark string // done | here | ahead
	Wall bool   // the point of no return lies before it
}

// Gate is one verdict with ages.
type Gate struct {
	status.Gate
	Icon, Since, Observed, Blocks, Accept string
}

// Node is one row.
type Node struct {
	status.Node
	Role, Mode, Wanted, Registered, Running, Lag, ISR, Restarted string
}

// Drill is one run in words.
type Drill struct {
	status.DrillRun
	Verdict, Unavailable, Leader, DualWrite, Epochs string
}

// Step is one step with its actions in words.
type Step struct {
	status.StepView
	Icon, Opened, Took, Expected, Nodes string
}

const staleAfter = 30 * time.Second

// NewView puts a status into words as of now; shown may be nil.
func NewView(shown *status.Status, all []status.Status, notice *Notice, now time.Time) View {
	v := View{Title: "migrator", Notice: notice, Several: len(all) > 1}
	for _, s := range all {
		v.All = append(v.All, Link{Name: s.Name, Phase: phaseOf(s), RunStatus: string(s.RunStatus), Headline: s.Headline, Shown: shown != nil && s.Name == shown.Name})
	}
	if shown == nil {
		return v
	}
	v.Title = fmt.Sprintf("%s: %s, %s", shown.Name, phaseOf(*shown), shown.RunStatus)
	v.M = migration(*shown, now)
	return v
}

func migration(s status.Status, now time.Time) *Migration {
	m := &Migration{Status: s, PhaseName: phaseOf(s), Ribbon: ribbon(s), Since: ago(s.Since, now), Observed: ago(s.ObservedAt, now), ETA: eta(s.ETASeconds)}
	m.Stale = s.ObservedAt == nil || now.Sub(*s.ObservedAt) > staleAfter
	for _, g := range s.Gates {
		if row := gate(g, s.Name, now); g.Verdict == "pass" {
			m.Passing = append(m.Passing, row)
		} else {
			m.Open = append(m.Open, row)
		}
	}
	for _, n := range s.Nodes {
		m.Nodes = append(m.Nodes, node(n, now))
	}
	m.SoakLine = soak(s.Soak)
	if s.Drill != nil {
		for _, d := range s.Drill.Runs {
			m.DrillRuns = append(m.DrillRuns, drill(d))
		}
	}
	if s.Plan != nil {
		for _, st := range s.Plan.Steps {
			m.Steps = append(m.Steps, step(st, now))
		}
	}
	m.Commands = commands(s)
	return m
}

func phaseOf(s status.Status) string {
	if s.Phase == nil {
		return "phase unknown"
	}
	return string(*s.Phase)
}

func ribbon(s status.Status) []Stop {
	at := -1
	if s.Phase != nil {
		at = s.Phase.Index()
	}
	var out []Stop
	for i, p := range cluster.Phases() {
		mark := "ahead"
		switch {
		case i < at || i == at && s.RunStatus == status.Finished:
			mark = "done"
		case i == at:
			mark = "here"
		}
		out = append(out, Stop{Name: string(p), Mark: mark, Wall: p == cluster.Finalize})
	}
	return out
}

// commands: the one possible action, or why there is none.
func commands(s status.Status) Commands {
	c := Commands{Pause: "migrator pause " + s.Name, Resume: "migrator resume " + s.Name, Retry: "migrator retry " + s.Name,
		Drill: "migrator drill " + s.Name + " --kind clean"}
	c.CanPause = s.RunStatus == status.Executing || s.RunStatus == status.Waiting || s.RunStatus == status.NeedsApproval
	c.CanResume = s.RunStatus == status.Paused
	c.CanRetry = s.RunStatus == status.Blocked
	resting := s.RunStatus == status.Waiting || s.RunStatus == status.NeedsApproval
	c.CanDrill = resting && s.Phase != nil && *s.Phase == cluster.DualWrite && (s.Plan == nil || !s.Plan.Running)
	if s.RunStatus != status.NeedsApproval || s.Plan == nil {
		c.Why = "No plan waits for approval now; the line above says what it waits for."
		return c
	}
	c.CanAdvance, c.Ask = true, s.Plan.Phase == cluster.Finalize
	c.Advance = fmt.Sprintf("migrator advance %s --digest %s", s.Name, s.Plan.Digest)
	if c.Ask {
		c.Advance += " --confirm " + s.Name
	}
	return c
}

func gate(g status.Gate, name string, now time.Time) Gate {
	out := Gate{Gate: g, Icon: icon(g.Verdict), Since: ago(g.Since, now), Observed: ago(g.ObservedAt, now), Blocks: strings.Join(g.Blocks, ", ")}
	if g.Kind == "availability" && g.Verdict == "fail" && len(g.Subjects) > 0 {
		out.Accept = fmt.Sprintf("migrator advance %s --accept %s --reason TEXT", name, g.Name)
	}
	return out
}

// icon: the shape differs, not only the colour.
func icon(verdict string) string {
	switch verdict {
	case "pass", "done":
		return "✓"
	case "fail", "failed":
		return "✗"
	case "unknown":
		return "?"
	case "running":
		return "▶"
	default:
		return "○"
	}
}
