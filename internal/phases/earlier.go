package phases

import (
	"bytes"
	"fmt"
	"strings"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/configgen"
	"migrator/internal/facts"
)

// earlier is a broker's file as it was in another mode, and who knows that.
type earlier struct {
	sha    string
	data   []byte
	source string
}

// recorded is the file that the journal names, from the store or, where that
// lost it, from the node. A cluster that was adopted half-way has a
// migration-mode file where the journal has the original: it does not count.
func (b *backBuilder) recorded(n config.Node, mode cluster.Mode) (earlier, bool, error) {
	sha := b.in.State.Migrating[n.ID]
	if mode == cluster.ZK {
		sha = b.in.State.Originals[n.ID]
	}
	if sha == "" {
		return earlier{}, false, nil
	}
	data, err := b.in.Content(sha)
	if err != nil {
		all, _ := b.in.Snapshot.Kept[n.ID].Get()
		for _, c := range all {
			if c.SHA256 == sha && c.Mode == mode {
				return earlier{sha, c.Content, "kept on the node as " + c.Path}, true, nil
			}
		}
		return earlier{}, false, fmt.Errorf("the kept file of broker %d: %w", n.ID, err)
	}
	if is, err := configgen.Mode(data, n.Role); err != nil || is != mode {
		return earlier{}, false, nil
	}
	return earlier{sha, data, "kept when the plan forward was approved"}, true, nil
}

// copied is the file among the copies beside the present one. Of several that
// could be meant none is taken: a wrong file would be worse than a question.
func (b *backBuilder) copied(n config.Node, mode cluster.Mode, now []byte) (earlier, bool, error) {
	f := b.in.Snapshot.Kept[n.ID]
	all, ok := f.Get()
	if !ok {
		return earlier{}, false, fmt.Errorf("the journal does not know the file that broker %d had in %s mode, and whether a copy lies beside %s is unknown: %s", n.ID, mode, n.Properties, f.Cause())
	}
	meant := inFileMode(all, mode)
	if became := b.became(n, meant, now); len(meant) > 1 && len(became) == 1 {
		meant = became
	}
	switch len(meant) {
	case 0:
		return earlier{}, false, nil
	case 1:
		return earlier{meant[0].SHA256, meant[0].Content, "kept on the node as " + meant[0].Path}, true, nil
	default:
		return earlier{}, false, fmt.Errorf("the journal does not know the file that broker %d had in %s mode, and %d copies on its node could be it (%s): leave only the right one under its name, rename the others, and give the command again",
			n.ID, mode, len(meant), paths(meant))
	}
}

// became are the copies that, rendered as a plan forward would, give exactly
// the present file. Copies of an earlier attempt do not, if anything changed.
func (b *backBuilder) became(n config.Node, copies []facts.KeptFile, now []byte) []facts.KeptFile {
	mode, err := configgen.Mode(now, n.Role)
	if err != nil {
		return nil
	}
	var out []facts.KeptFile
	for _, c := range copies {
		if forward, err := b.renderFrom(n, mode, c.SHA256, c.Content); err == nil && bytes.Equal(forward.file, now) {
			out = append(out, c)
		}
	}
	return out
}

func inFileMode(copies []facts.KeptFile, mode cluster.Mode) []facts.KeptFile {
	var out []facts.KeptFile
	for _, c := range copies {
		if c.Mode == mode {
			out = append(out, c)
		}
	}
	return out
}

func paths(copies []facts.KeptFile) string {
	var out []string
	for _, c := range copies {
		out = append(out, c.Path)
	}
	return strings.Join(out, ", ")
}
