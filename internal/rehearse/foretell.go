package rehearse

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/findings"
	"migrator/internal/observe"
	"migrator/internal/survey"
)

// foretell is what preflight says before the first plan, but for what is clear.
func foretell(ctx context.Context, cfg config.Migration, log *slog.Logger) (_ []findings.Finding, err error) {
	o, err := observe.New(cfg, observe.Deps{Log: log})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	snap := o.Round(ctx, observe.Want{Files: true, Meta: true, MinISR: true, Topics: true})
	s, err := survey.Read(ctx, cfg, snap, nil)
	if err != nil {
		return nil, fmt.Errorf("preflight: %w", err)
	}
	before := cluster.Initial
	var out []findings.Finding
	for _, f := range findings.Judge(s, &before) {
		if f.Verdict != findings.Clear && f.Verdict != findings.Skipped {
			out = append(out, f)
		}
	}
	return out, nil
}

// foretold is a line for each finding, with the first place where it was seen.
func foretold(list []findings.Finding) string {
	var b strings.Builder
	b.WriteString("Preflight said\n")
	if len(list) == 0 {
		b.WriteString("  nothing: all is clear\n")
	}
	for _, f := range list {
		word := string(f.Severity)
		if f.Blocks() {
			word = "BLOCKS"
		}
		fmt.Fprintf(&b, "  %s %-6s %s %s\n", f.Code, word, f.Title, where(f))
	}
	return b.String()
}

func where(f findings.Finding) string {
	switch {
	case len(f.Items) > 1:
		return fmt.Sprintf("(%d places, such as %s: %s)", len(f.Items), f.Items[0].Where, f.Items[0].Seen)
	case len(f.Items) == 1:
		return fmt.Sprintf("(%s: %s)", f.Items[0].Where, f.Items[0].Seen)
	case len(f.Missing) > 0:
		return "(cannot be seen: " + f.Missing[0].Cause + ")"
	default:
		return ""
	}
}
