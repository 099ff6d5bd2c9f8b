package main

import (
	"fmt"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"migrator/internal/client"
	"migrator/internal/status"
)

// quietFor keeps a headline whose evidence changes each round from scrolling.
const quietFor = 5 * time.Second

// follow shows progress on stderr until a person is needed, or it is finished
// or blocked.
func follow(cmd *cobra.Command, c *client.Client, name string) (status.Status, error) {
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	var last status.Status
	var p progress
	err := c.Watch(ctx, name, func(s status.Status) bool {
		last = s
		if line, ok := p.line(s, time.Now()); ok {
			fmt.Fprintln(cmd.ErrOrStderr(), line)
		}
		switch s.RunStatus {
		case status.NeedsApproval, status.Finished, status.Blocked, status.Paused:
			return true
		default:
			return false
		}
	})
	return last, err
}

// progress tells which statuses are worth a line.
type progress struct {
	key      string
	headline string
	said     time.Time
}

func (p *progress) line(s status.Status, now time.Time) (string, bool) {
	key := fmt.Sprintf("%s %s %s", phaseName(s), s.RunStatus, stepOf(s))
	fresh := key != p.key || s.Headline != p.headline && now.Sub(p.said) >= quietFor
	if !fresh {
		return "", false
	}
	p.key, p.headline, p.said = key, s.Headline, now
	return oneLine(s, now), true
}

func oneLine(s status.Status, now time.Time) string {
	line := fmt.Sprintf("%s %s: %s, %s", now.UTC().Format("15:04:05"), s.Name, phaseName(s), s.RunStatus)
	if step := stepOf(s); step != "" {
		line += ", " + step
	}
	line += ": " + s.Headline
	if s.ETASeconds != nil && s.RunStatus == status.Executing {
		line += " (about " + seconds(*s.ETASeconds) + " left)"
	}
	return plain(line)
}

// stepOf is "step 3 of 7" while a plan runs.
func stepOf(s status.Status) string {
	if s.Plan == nil || !s.Plan.Running {
		return ""
	}
	done := 0
	for i, st := range s.Plan.Steps {
		if s.Step != nil && st.ID == s.Step.ID {
			return fmt.Sprintf("step %d of %d", i+1, len(s.Plan.Steps))
		}
		if st.State == "done" {
			done++
		}
	}
	return fmt.Sprintf("%d of %d steps done", done, len(s.Plan.Steps))
}
