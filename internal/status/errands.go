package status

import (
	"fmt"
	"time"

	"migrator/internal/config"
	"migrator/internal/phases"
	"migrator/internal/plan"
)

// Errand is one action that a person does by hand. The service waits until it
// can be seen.
type Errand struct {
	Node   int32           `json:"node"`
	Step   string          `json:"step"`
	Action plan.ActionKind `json:"action"` // stop | kill | write | format | start | archive | disable
	Argv   []string        `json:"argv"`   // as migrations.yaml has it; empty: however that node does it
	Path   string          `json:"path"`   // on the node
	File   string          `json:"file"`   // write: where the service offers the planned file
	SHA256 string          `json:"sha256"` // write: of the planned file
	Folder string          `json:"folder"` // where the node's files are looked for
	Now    bool            `json:"now"`    // false: once what stands before it is done
	Since  *time.Time      `json:"since"`
	Do     string          `json:"do"`
	Seen   string          `json:"seen"` // what is observed so far
}

func manualOf(in Input) []Errand {
	out := []Errand{}
	for _, e := range phases.Errands(in.State, in.Snapshot, in.inventory, in.Planned) {
		one := errandOf(in, e.Step, e.Action)
		one.Now, one.Since, one.Seen = e.Now, stamp(e.Since), e.Saw
		out = append(out, one)
	}
	if step, ok := in.State.OpenStep(); ok && in.Asked != nil {
		one := errandOf(in, step, *in.Asked)
		one.Now, one.Since = true, stamp(in.State.Run.OpenedAt)
		out = append(out, one)
	}
	return out
}

func errandOf(in Input, step plan.Step, a plan.Action) Errand {
	n, _ := in.Config.Node(*a.Node)
	out := Errand{Node: n.ID, Step: step.ID, Action: a.Kind, Argv: list(a.Argv), Path: a.Path, SHA256: a.After, Folder: n.Access.Files, Do: errandInWords(a, n)}
	if a.Kind == plan.Write {
		out.File = fmt.Sprintf("/api/v1/migrations/%s/files/%s", in.Name, a.After)
	}
	return out
}

func errandInWords(a plan.Action, n config.Node) string {
	who := fmt.Sprintf("%s %d on %s", n.Role, n.ID, n.Host)
	switch a.Kind {
	case plan.Stop:
		return "stop " + who + " cleanly, and wait until its process is gone; never kill it"
	case plan.Write:
		return fmt.Sprintf("put the planned file in place of %s on %s, with the owner and mode of the old one, and a copy of it into the node's folder", a.Path, n.Host)
	case plan.FormatDirs:
		return "format the folders of " + who + ", and copy its meta.properties into the node's folder; a folder that is formatted already stays as it is"
	case plan.Start:
		return "start " + who
	case plan.Archive:
		return fmt.Sprintf("move the folder %s of %s aside, and the copy of its meta.properties with it", a.Path, who)
	case plan.Kill:
		return "kill " + who + " now, as a crash would: the drill measures from the moment it is seen gone"
	case plan.Disable:
		return "keep " + who + " from starting again"
	default:
		return string(a.Kind) + " " + who
	}
}
