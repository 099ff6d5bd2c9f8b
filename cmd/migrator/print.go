package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"migrator/internal/status"
)

func printStatuses(w io.Writer, all []status.Status) error {
	var b strings.Builder
	for i, s := range all {
		if i > 0 {
			b.WriteString("\n")
		}
		writeStatus(&b, s)
	}
	if len(all) == 0 {
		b.WriteString("this service has no migration\n")
	}
	_, err := io.WriteString(w, plain(b.String()))
	return err
}

func writeStatus(b *strings.Builder, s status.Status) {
	complete := ""
	if s.PhaseComplete {
		complete = " (complete)"
	}
	fmt.Fprintf(b, "%s: phase %s%s, %s\n  %s\n  next: %s\n", s.Name, phaseName(s), complete, s.RunStatus, s.Headline, s.Next)
	if s.ETASeconds != nil {
		fmt.Fprintf(b, "  time left: about %s\n", seconds(*s.ETASeconds))
	}
	if s.ObservedAt != nil {
		fmt.Fprintf(b, "  seen: %s\n", utc(*s.ObservedAt))
	}
	if s.Blocked != nil {
		fmt.Fprintf(b, "  blocked since %s: %s\n    what to do: %s\n", utc(s.Blocked.At), s.Blocked.What, s.Blocked.ToDo)
	}
	if s.Window != nil {
		fmt.Fprintf(b, "  controllerless window since %s: %s\n", utc(s.Window.Begun), s.Window.Text)
	}
	writeErrands(b, s)
	writeGates(b, s.Gates)
	writeNodes(b, s.Nodes)
	if s.Soak != nil {
		fmt.Fprintf(b, "  soak: %s of %s in %s", seconds(s.Soak.ElapsedSeconds), seconds(s.Soak.RequiredSeconds), s.Soak.Phase)
		writeReason(b, "; stands: ", s.Soak.PausedBecause)
		writeReason(b, "; began anew: ", s.Soak.RestartedBecause)
		b.WriteString("\n")
	}
	if s.Drill != nil {
		fmt.Fprintf(b, "  drill: %s, %d run(s)\n", s.Drill.Verdict, len(s.Drill.Runs))
	}
	if s.Canary != nil {
		fmt.Fprintf(b, "  our own client: %d sent, %d acknowledged, %d lost%s, longest stall %.0f ms\n", s.Canary.Sent, s.Canary.Acked, s.Canary.Lost, unchecked(*s.Canary), s.Canary.LongestStallMS)
	}
	if s.Epochs != nil && s.Epochs.Margin != nil {
		fmt.Fprintf(b, "  epoch margin: %d\n", *s.Epochs.Margin)
	}
	fmt.Fprintf(b, "  way back: %s\n", wayBack(s.Revert))
	if s.Plan != nil {
		running := "offered"
		if s.Plan.Running {
			running = "running"
		}
		fmt.Fprintf(b, "  plan: %s (%s), %d steps, digest %s\n", s.Plan.Phase, running, len(s.Plan.Steps), s.Plan.Digest)
	}
}

func unchecked(c status.Canary) string {
	if c.Unchecked == 0 {
		return ""
	}
	return fmt.Sprintf(", %d no longer checked", c.Unchecked)
}

func writeReason(b *strings.Builder, lead string, why *string) {
	if why != nil {
		b.WriteString(lead + *why)
	}
}

func wayBack(r status.Revert) string {
	if !r.Possible {
		return "none; " + r.Why
	}
	return "route " + strings.Join(r.Routes, ", ") + "; " + r.Why
}

// writeGates prints those that do not pass with all they say, and counts the rest.
func writeGates(b *strings.Builder, gates []status.Gate) {
	passing := 0
	for _, g := range gates {
		if g.Verdict == "pass" {
			passing++
			continue
		}
		fmt.Fprintf(b, "  gate %s: %s: %s\n", g.Name, strings.ToUpper(g.Verdict), g.Evidence)
		if g.ToDo != "" {
			fmt.Fprintf(b, "    what to do: %s\n", g.ToDo)
		}
		if len(g.Blocks) > 0 {
			fmt.Fprintf(b, "    blocks: %s\n", strings.Join(g.Blocks, ", "))
		}
	}
	fmt.Fprintf(b, "  gates: %d of %d pass\n", passing, len(gates))
}

func writeNodes(b *strings.Builder, nodes []status.Node) {
	for _, n := range nodes {
		mode := "mode unknown: " + n.Unknown
		if n.Mode != nil {
			mode = string(*n.Mode)
		}
		if n.WantedMode != nil && (n.Mode == nil || *n.WantedMode != *n.Mode) {
			mode += ", wanted " + string(*n.WantedMode)
		}
		if n.Lost {
			mode += ", accepted as lost"
		}
		leads := ""
		if n.Leader {
			leads = ", leads"
		}
		fmt.Fprintf(b, "  %s %d at %s: %s%s\n", n.Role, n.ID, n.Host, mode, leads)
	}
}

func phaseName(s status.Status) string {
	if s.Phase == nil {
		return "unknown"
	}
	return string(*s.Phase)
}

func utc(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

func seconds(v float64) string {
	return time.Duration(v * float64(time.Second)).Round(100 * time.Millisecond).String()
}

// plain shows what a terminal might obey as text: evidence holds what nodes and
// logs said.
func plain(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, `\x%02x`, r)
	}
	return b.String()
}
