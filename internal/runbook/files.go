package runbook

import (
	"path"
	"strings"

	"migrator/internal/plan"
)

// write says how one file is replaced: the change, where the whole new file is,
// and the hashes that prove both.
func (w *writer) write(i int, s plan.Step, a plan.Action) {
	before := a.Before
	earlier, again := w.replaced[a.Path]
	if again {
		before = earlier.sha
	}
	w.replaced[a.Path] = replaced{i, a.After}
	if before == a.After {
		w.para("%s of node %s is already as it has to be: leave it.", a.Path, node(a))
		return
	}
	w.para("Replace `%s` of node %s. The change:", a.Path, node(a))
	w.change(s, a)
	if again {
		w.para("(Shown against the file as it was when this page was made. Step %d has replaced it since: do not edit by this change, put the whole file in place.)", earlier.step+1)
	}
	source := w.whole(i, a)
	var lines []string
	if before != "" {
		lines = append(lines, w.on(a.Node, []string{"sha256sum", a.Path})+"     # "+before)
		if w.in.Backup != nil {
			lines = append(lines, w.on(a.Node, []string{"cp", "-p", "-n", a.Path, w.in.Backup(a.Path, before)}))
		}
	}
	if n, ok := w.in.Migration.Node(*a.Node); ok && source != "" {
		lines = append(lines, place(n, source, a.Path, before == "")...)
	}
	lines = append(lines, w.on(a.Node, []string{"sha256sum", a.Path})+"     # "+a.After)
	w.code(lines...)
}

// change is the redacted diff with its reasons.
func (w *writer) change(s plan.Step, a plan.Action) {
	for _, d := range s.Diffs {
		if a.Node == nil || d.Node != *a.Node || d.Path != a.Path {
			continue
		}
		if d.Unified == "" {
			w.para("(no line differs)")
			continue
		}
		w.code(strings.Split(strings.TrimSuffix(d.Unified, "\n"), "\n")...)
		for _, text := range d.Notes {
			w.code("# look at: " + text)
		}
	}
}

// whole says where the new file is; the answer is its path, when it is known.
func (w *writer) whole(i int, a plan.Action) string {
	if w.in.Folder == "" {
		w.para("Secrets are not shown. The whole file is not on this page: make the page again with `--out FOLDER`, or take it from the service's data folder, `blobs/%s`, if this plan was approved. By hand, edit a copy by the change above; the last hash says whether it came out right.", a.After)
		return ""
	}
	name := path.Join(w.in.Folder, fileName(i, *a.Node))
	w.para("The whole new file is `%s` (it may hold secrets).", name)
	return name
}
