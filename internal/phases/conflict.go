package phases

import (
	"fmt"
	"slices"

	"migrator/internal/config"
	"migrator/internal/plan"
)

// Conflicts lists how the configuration no longer describes what is left of
// the running plan: another command, path, or node. Such a plan is void; only
// the start of nodes we stopped is still done.
func Conflicts(s State, m config.Migration) []string {
	if s.Run == nil {
		return nil
	}
	var out []string
	for _, step := range s.Run.Plan.Steps {
		if !s.Run.Done[step.ID].IsZero() {
			continue
		}
		for _, a := range step.Actions {
			if step.ID == s.Run.Open && s.Run.Actions[a.ID].OK {
				continue
			}
			if why := conflict(a, m); why != "" {
				out = append(out, step.ID+": "+why)
			}
		}
	}
	return out
}

func conflict(a plan.Action, m config.Migration) string {
	if a.Node == nil {
		return ""
	}
	n, ok := m.Node(*a.Node)
	if !ok {
		return fmt.Sprintf("node %d is no longer in migrations.yaml", *a.Node)
	}
	switch a.Kind {
	case plan.Stop:
		return differs(a, n.Commands.Stop)
	case plan.Start:
		return differs(a, n.Commands.Start)
	case plan.Write:
		if a.Path != n.Properties {
			return fmt.Sprintf("the file of node %d was approved as %s and is now %s", *a.Node, a.Path, n.Properties)
		}
	}
	return ""
}

func differs(a plan.Action, now []string) string {
	if slices.Equal(a.Argv, now) {
		return ""
	}
	return fmt.Sprintf("the %s command of node %d was approved as %q and is now %q", a.Kind, *a.Node, a.Argv, now)
}
