package phases

import (
	"fmt"
	"slices"

	"migrator/internal/config"
	"migrator/internal/facts"
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
	var n config.Node
	if a.Node != nil {
		var ok bool
		if n, ok = m.Node(*a.Node); !ok {
			return fmt.Sprintf("node %d is no longer in migrations.yaml", *a.Node)
		}
	}
	if a.Kind.Hook() {
		if now := hookNow(a, m, n); !slices.Equal(a.Argv, now) {
			return fmt.Sprintf("the hook %s was approved as %q and is now %q", a.ID, a.Argv, now)
		}
		return ""
	}
	if byHand := n.Access.Kind == manualAccess; a.Manual != byHand {
		return fmt.Sprintf("how node %d is reached changed: %s was approved to be done by %s and is now done by %s", *a.Node, a.ID, doer(a.Manual), doer(byHand))
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

// Rerendered lists nodes whose pending file would come out differently now
// than the running plan has it: migrations.yaml or the program changed. A file
// that is not as the plan found it is another gate's matter. sure is false
// while a file cannot be read or is not as we know it (every broker's file goes
// into every rendering): that says nothing about the configuration, and the
// comparison must be made again.
func Rerendered(s State, m config.Migration, snap facts.Snapshot, k *Memo) (out []string, sure bool) {
	if s.Run == nil || s.Run.Plan.Revert {
		return nil, true // the way back puts kept files in place, it renders nothing
	}
	if !asKnown(s, m, snap) {
		return nil, false
	}
	b := builder{in: Inputs{Migration: m, Snapshot: snap, ClusterID: s.ClusterID, Phase: s.Run.Plan.Phase, Memo: k}, contents: map[string][]byte{}}
	for _, step := range s.Run.Plan.Steps {
		if !s.Run.Done[step.ID].IsZero() {
			continue
		}
		for _, a := range step.Actions {
			if a.Kind != plan.Write || a.Node == nil || step.ID == s.Run.Open && s.Run.Actions[a.ID].OK {
				continue
			}
			n, ok := m.Node(*a.Node)
			file, known := snap.Files[*a.Node].Get()
			if !ok || !known || file.Exists != (a.Before != "") || file.Exists && file.SHA256 != a.Before {
				continue
			}
			_, after, _, err := b.render(n, step.Mode)
			switch {
			case err != nil:
				out = append(out, fmt.Sprintf("%s: %v", step.ID, err))
			case after != a.After:
				out = append(out, fmt.Sprintf("%s: %s of node %d would now be written differently than approved", step.ID, a.Path, n.ID))
			}
		}
	}
	return out, true
}

// asKnown: every file can be read and has the content we know of, if any.
func asKnown(s State, m config.Migration, snap facts.Snapshot) bool {
	return !slices.ContainsFunc(m.Nodes, func(n config.Node) bool {
		file, read := snap.Files[n.ID].Get()
		want, known := s.Files[n.ID]
		return !read || known && file.SHA256 != want
	})
}
