package evidence

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"migrator/internal/configgen"
	"migrator/internal/journal"
	"migrator/internal/phases"
	"migrator/internal/plan"
)

// File is one file of the pack; Name uses slashes.
type File struct {
	Name string
	Data []byte
}

// sumsFile is the last file of a pack: a stream without it is not whole.
const sumsFile = "SHA256SUMS"

// packFile is the pack itself.
const packFile = "evidence.json"

const readme = `Evidence of one migration from ZooKeeper to KRaft.

evidence.json   what was done, when, on whose word, and what was seen
report.html     the same for reading and printing
journal.jsonl   every journal entry, one JSON document a line
files/          each node's properties file before and after. Values that may be
                secret are replaced by [redacted]; the originals stay in the
                service's data folder, readable by its owner only.
SHA256SUMS      for sha256sum --check
`

// Files makes every file of the pack. fetch gives a properties file by its
// SHA-256; one that cannot be had is an error.
func Files(p Pack, entries []journal.Entry, fetch func(sha string) ([]byte, error)) ([]File, error) {
	doc, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode evidence.json: %w", err)
	}
	report, err := Report(p)
	if err != nil {
		return nil, err
	}
	lines, err := journalLines(entries)
	if err != nil {
		return nil, err
	}
	out := []File{{"README.txt", []byte(readme)}, {packFile, append(doc, '\n')}, {"report.html", report}, {"journal.jsonl", lines}}
	properties, err := propertiesFiles(entries, fetch)
	if err != nil {
		return nil, err
	}
	out = append(out, properties...)
	return append(out, File{sumsFile, sums(out)}), nil
}

func journalLines(entries []journal.Entry) ([]byte, error) {
	var out bytes.Buffer
	for _, e := range entries {
		line, err := json.Marshal(e)
		if err != nil {
			return nil, fmt.Errorf("encode journal entry %d: %w", e.Seq, err)
		}
		out.Write(append(line, '\n'))
	}
	return out.Bytes(), nil
}

func propertiesFiles(entries []journal.Entry, fetch func(string) ([]byte, error)) ([]File, error) {
	list, err := writes(entries)
	if err != nil {
		return nil, err
	}
	var out []File
	for _, t := range list {
		base := fmt.Sprintf("files/%d-%s", t.Node, path.Base(strings.ReplaceAll(t.Path, `\`, "/")))
		for _, version := range []struct{ suffix, sha string }{{".before", t.Before}, {".after", t.After}} {
			if version.sha == "" {
				continue
			}
			content, err := fetch(version.sha)
			if err != nil {
				return nil, fmt.Errorf("the file %s of node %d%s: %w", t.Path, t.Node, version.suffix, err)
			}
			out = append(out, File{base + version.suffix, redacted(t.Path, content)})
		}
	}
	return out, nil
}

// writes are the files as they were before the first plan that wrote them, and
// as the last finished write left them.
func writes(entries []journal.Entry) ([]FileSums, error) {
	out := []FileSums{}
	var now plan.Plan
	for _, e := range entries {
		var body phases.Body
		if len(e.Body) == 0 {
			continue
		}
		if err := json.Unmarshal(e.Body, &body); err != nil {
			return nil, fmt.Errorf("journal entry %d (%s): %w", e.Seq, e.Kind, err)
		}
		if body.Approved != nil {
			now = body.Approved.Plan
		}
		if body.Outcome == nil || !body.Outcome.OK {
			continue
		}
		step, ok := now.Step(body.Outcome.Step)
		if !ok {
			continue
		}
		for _, a := range step.Actions {
			if a.ID == body.Outcome.Action && a.Kind == plan.Write && a.Node != nil {
				out = written(out, a)
			}
		}
	}
	slices.SortFunc(out, func(a, b FileSums) int { return int(a.Node) - int(b.Node) })
	return out, nil
}

func written(list []FileSums, a plan.Action) []FileSums {
	i := slices.IndexFunc(list, func(t FileSums) bool { return t.Node == *a.Node && t.Path == a.Path })
	if i < 0 {
		return append(list, FileSums{Node: *a.Node, Path: a.Path, Before: a.Before, After: a.After})
	}
	list[i].After = a.After
	return list
}

// redacted is the file with secrets covered: what a diff against nothing adds.
func redacted(name string, content []byte) []byte {
	var out bytes.Buffer
	diff := configgen.Diff(name, nil, content)
	for line := range strings.Lines(diff) {
		if strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "+++ ") {
			out.WriteString(line[1:])
		}
	}
	return out.Bytes()
}

func sums(files []File) []byte {
	var out bytes.Buffer
	for _, f := range files {
		sum := sha256.Sum256(f.Data)
		fmt.Fprintf(&out, "%s  %s\n", hex.EncodeToString(sum[:]), f.Name)
	}
	return out.Bytes()
}
