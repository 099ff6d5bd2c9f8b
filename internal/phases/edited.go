package phases

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"migrator/internal/configgen"
	"migrator/internal/plan"
)

// maxLines of an edit are named in a warning; the diff has them all.
const maxLines = 10

// warn puts what a person must read before the word is given at the first step
// that writes the node's file. A file that somebody changed since we knew it is
// no reason against a way back: the plan is made from the file as found, shows
// what of the change is lost, and from its approval on expects that file.
func (b *backBuilder) warn() {
	expected := b.in.State.Expected()
	for _, id := range slices.Sorted(maps.Keys(expected)) {
		file, ok := b.in.Snapshot.Files[id].Get()
		if n, has := b.in.Migration.Node(id); ok && has && file.SHA256 != expected[id] && !b.writing(id, file.SHA256) {
			b.edited(n.ID, fmt.Sprintf("%s %d's file %s", n.Role, id, n.Properties), expected[id], file.Content)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(b.reducedTo)) {
		if i := b.firstWrite(id); i >= 0 {
			b.steps[i].Warnings = append(b.steps[i].Warnings, b.reducedTo[id])
		}
	}
}

// writing: a write of the open step, its outcome not recorded, left this content.
func (b *backBuilder) writing(id int32, sha string) bool {
	step, ok := b.in.State.OpenStep()
	return ok && slices.ContainsFunc(step.Actions, func(a plan.Action) bool {
		return a.Kind == plan.Write && a.Node != nil && *a.Node == id && a.After == sha
	})
}

func (b *backBuilder) firstWrite(id int32) int {
	return slices.IndexFunc(b.steps, func(s plan.Step) bool { return writes(s, id) != "" })
}

// writes is the hash of what a step leaves in a node's file.
func writes(s plan.Step, id int32) string {
	for _, a := range s.Actions {
		if a.Kind == plan.Write && a.Node != nil && *a.Node == id {
			return a.After
		}
	}
	return ""
}

func (b *backBuilder) edited(id int32, name, want string, found []byte) {
	if len(b.steps) == 0 {
		return
	}
	first, after := b.firstWrite(id), ""
	for _, s := range b.steps {
		if sha := writes(s, id); sha != "" {
			after = sha
		}
	}
	text := name + " was changed by somebody since " + b.knownBy(id) + "; this plan leaves it as it is."
	if first >= 0 {
		text = name + " was changed by somebody since " + b.knownBy(id) + ", and this plan replaces it. " + b.lost(want, found, after) + " The file as found stays on the node as a copy beside it."
	}
	b.steps[max(first, 0)].Warnings = append(b.steps[max(first, 0)].Warnings, text)
}

func (b *backBuilder) knownBy(id int32) string {
	if b.in.State.Wrote[id] {
		return "migrator wrote it"
	}
	return "the plan under way was approved"
}

func (b *backBuilder) lost(want string, found []byte, after string) string {
	was, err := b.in.Content(want)
	if err != nil {
		return "What it was before is not in the store: everything marked - in the change below goes with it."
	}
	added, back, err := configgen.LostEdit(was, found, b.contents[after])
	switch {
	case err != nil:
		return "Its lines cannot be read (" + err.Error() + "): all of that change is lost."
	case len(added)+len(back) == 0:
		return "No setting of that change is lost with it."
	case len(back) == 0:
		return "Lost with it: " + quotedLines(added) + "."
	case len(added) == 0:
		return "Taken out by that change, back with this plan: " + quotedLines(back) + "."
	default:
		return "Lost with it: " + quotedLines(added) + "; back again: " + quotedLines(back) + "."
	}
}

func quotedLines(lines []string) string {
	var out []string
	for _, l := range lines[:min(len(lines), maxLines)] {
		out = append(out, fmt.Sprintf("%q", l))
	}
	if more := len(lines) - maxLines; more > 0 {
		out = append(out, fmt.Sprintf("and %d more lines, see the change below", more))
	}
	return strings.Join(out, ", ")
}
