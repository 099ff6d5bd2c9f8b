package remote

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
)

// cleanLimit bounds the removal of a file left aside, also after the caller's
// own time is over.
const cleanLimit = 5 * time.Second

// writing is one WriteFile. The path is the caller's; the target is where it
// leads after following links.
type writing struct {
	on      files
	path    string
	target  string
	data    []byte
	options WriteOptions
}

func writeFile(ctx context.Context, on files, path string, data []byte, options WriteOptions) error {
	if options.Expect.Absent == (options.Expect.SHA256 != "") {
		return fmt.Errorf("write %s: say either that it must be absent or which content it must have", path)
	}
	if len(data) > MaxFile {
		return fmt.Errorf("write %s: %d bytes: %w", path, len(data), ErrTooLarge)
	}
	w := writing{on: on, path: path, target: path, data: data, options: options}
	err := w.run(ctx)
	var changed *ChangedError
	if err == nil || errors.As(err, &changed) {
		return err
	}
	return fmt.Errorf("write %s: %w", path, bare(err))
}

func (w *writing) run(ctx context.Context) error {
	found, err := lookAt(ctx, w.on, w.path)
	if err != nil {
		return err
	}
	if found.exists {
		if w.target, err = w.on.resolve(ctx, w.path); err != nil {
			return err
		}
	}
	present, err := w.meets(ctx, found)
	if err != nil {
		return err
	}
	w.tidy(ctx)
	if found.exists {
		if err := w.keep(ctx, present, found); err != nil {
			return fmt.Errorf("back up: %w", err)
		}
	}
	aside, err := w.aside(ctx, w.target, w.data, w.look(found))
	if err != nil {
		return err
	}
	if err := w.swap(ctx, aside); err != nil {
		return w.drop(ctx, aside, err)
	}
	return w.verify(ctx)
}

// meets reads the target that was just looked at and compares it with what
// is expected.
func (w *writing) meets(ctx context.Context, found entry) (present []byte, err error) {
	got := ""
	if found.exists {
		if present, err = readWhole(ctx, w.on, w.target, found); err != nil {
			return nil, err
		}
		got = Sum(present)
	}
	if got != w.options.Expect.SHA256 {
		return nil, &ChangedError{Path: w.path, Want: w.options.Expect.SHA256, Got: got}
	}
	return present, nil
}

// look is how the written file shall look: like the original, or new.
func (w *writing) look(found entry) entry {
	if found.exists {
		return found
	}
	if w.options.Mode == 0 {
		return entry{mode: 0o640}
	}
	return entry{mode: w.options.Mode}
}

// tidy removes what earlier writes of this file left aside when they were cut
// off. It is a fence too: a rename of theirs that is still on its way finds
// nothing any more. Where a folder may be entered but not listed, or nothing
// removed, the write itself says what is wrong.
func (w *writing) tidy(ctx context.Context) {
	dir, base := filepath.Split(w.target)
	names, err := w.on.list(ctx, dir)
	if err != nil {
		return
	}
	var left []string
	for _, name := range names {
		if strings.HasPrefix(name, asidePrefix(base)) {
			left = append(left, dir+name)
		}
	}
	if len(left) > 0 {
		_ = w.on.remove(ctx, left...)
	}
}

func asidePrefix(base string) string { return "." + base + ".migrator-" }

// keep copies the original beside itself, once per content.
func (w *writing) keep(ctx context.Context, present []byte, as entry) error {
	backup := BackupPath(w.target, Sum(present))
	old, err := lookAt(ctx, w.on, backup)
	if err != nil {
		return err
	}
	if old.exists {
		kept, err := readWhole(ctx, w.on, backup, old)
		if err == nil && Sum(kept) != Sum(present) {
			err = fmt.Errorf("%s holds other content: move it away", backup)
		}
		return err
	}
	aside, err := w.aside(ctx, backup, present, as)
	if err != nil {
		return err
	}
	if err := w.on.rename(ctx, aside, backup); err != nil {
		return w.drop(ctx, aside, err)
	}
	return nil
}

// aside writes a file in the same folder, because a rename is atomic only there.
func (w *writing) aside(ctx context.Context, path string, data []byte, as entry) (string, error) {
	dir, base := filepath.Split(path)
	aside := dir + asidePrefix(base) + rand.Text()
	if err := w.on.create(ctx, aside, data, as); err != nil {
		return "", w.drop(ctx, aside, err)
	}
	return aside, nil
}

// swap looks once more just before the rename: an edit in between must not be lost.
func (w *writing) swap(ctx context.Context, aside string) error {
	again, err := lookAt(ctx, w.on, w.target)
	if err != nil {
		return err
	}
	if _, err := w.meets(ctx, again); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return w.on.rename(ctx, aside, w.target)
}

// drop removes a file left aside. Nothing is said of one that was never made.
func (w *writing) drop(ctx context.Context, aside string, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanLimit)
	defer cancel()
	if err := w.on.remove(ctx, aside); err != nil {
		return errors.Join(cause, fmt.Errorf("remove %s: %w", aside, bare(err)))
	}
	return cause
}

// verify reads back. What cannot be read may have been written.
func (w *writing) verify(ctx context.Context) error {
	now, err := lookAt(ctx, w.on, w.target)
	var got []byte
	if err == nil && !now.exists {
		err = fs.ErrNotExist
	}
	if err == nil {
		got, err = readWhole(ctx, w.on, w.target, now)
	}
	if err != nil {
		return fmt.Errorf("read back: %w: %w", ErrInDoubt, err)
	}
	if Sum(got) != Sum(w.data) {
		return &ChangedError{Path: w.target, Want: Sum(w.data), Got: Sum(got)}
	}
	return nil
}
