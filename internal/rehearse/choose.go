package rehearse

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/service"
)

// Names within the folder of a rehearsal.
const (
	packFolder = "evidence"
	dataFolder = "data" // journal and file contents, which may hold secrets
	reportFile = "rehearsal.json"
)

// complete fills in defaults and refuses what makes no sense or may not be.
func (o *Existing) complete() error {
	i := slices.IndexFunc(o.File.Migrations, func(m config.Migration) bool { return m.Name == o.Name })
	if i < 0 {
		return usage("no migration %q in %s", o.Name, o.File.Path)
	}
	o.cfg = o.File.Migrations[i]
	if at := o.cfg.RehearsalAt; !o.cfg.Rehearsal {
		return usage("%s:%d: %s: %s is not a cluster to rehearse on: this command approves every plan by itself, finalize too. If it may be migrated and rebuilt at will, write `rehearsal: true` into its entry", o.File.Path, at.Line, at.Path, o.Name)
	}
	if o.To == "" {
		o.To = cluster.Finalize
		if o.Revert {
			o.To = cluster.DualWrite
		}
	}
	switch {
	case !slices.Contains([]cluster.Phase{cluster.Initial, cluster.Load, cluster.DualWrite, cluster.Finalize}, o.To):
		return usage("--to %q: want initial, load, dual-write or finalize: a cluster does not rest elsewhere", o.To)
	case o.Revert && o.To == cluster.Finalize:
		return usage("--then-revert: there is no way back from finalize; leave --to away, or name an earlier phase")
	case o.Patience < 0:
		return usage("--patience %s is negative", o.Patience)
	}
	o.Patience = or(o.Patience, o.cfg.Gates.StepTimeout)
	if o.Open == nil {
		o.Open = service.Open
	}
	return o.folders()
}

// folders makes the folder of the rehearsal, or goes on in that of an earlier
// run that did not come to its end.
func (o *Existing) folders() error {
	out, err := filepath.Abs(or(o.Out, "rehearsal-"+o.Name))
	if err != nil {
		return usage("--out %q: %v", o.Out, err)
	}
	o.Out = out
	if o.Data == "" {
		o.Data = filepath.Join(out, dataFolder)
	}
	if o.JUnit == "" {
		o.JUnit = filepath.Join(out, "junit.xml")
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return usage("--out: %v", err)
	}
	before, err := readReport(filepath.Join(out, reportFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return o.onlyOurs()
	case err != nil:
		return usage("--out %s: %v", out, err)
	case before.Name != o.Name:
		return usage("--out %s is the folder of a rehearsal of %s", out, before.Name)
	case before.Result == Green || before.Result == Unkept:
		return usage("--out %s holds a rehearsal that came to its end (%s): name another folder for a new one", out, before.Result)
	default:
		return nil
	}
}

// onlyOurs: without a report the folder is empty or holds what a killed run left.
func (o *Existing) onlyOurs() error {
	entries, err := os.ReadDir(o.Out)
	if err != nil {
		return usage("--out: %v", err)
	}
	ours := []string{dataFolder, "service.log", packFolder, packFolder + ".new", filepath.Base(o.JUnit)}
	for _, e := range entries {
		if !slices.Contains(ours, e.Name()) {
			return usage("--out %s: the folder is not empty", o.Out)
		}
	}
	return nil
}

func readReport(path string) (Report, error) {
	var r Report
	data, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}
