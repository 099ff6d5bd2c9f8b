package remote

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const maxEntries = 10_000 // of a log folder looked at

// sibling is one file of a log's family: the log itself or what it was renamed to.
type sibling struct {
	entry
	path  string
	index int  // of path.N; a higher one is older
	last  bool // the log itself, which is still written to
}

// siblings lists the family in the order it was written: by time, then by
// index, the log itself last.
func (t *tailing) siblings(ctx context.Context) ([]sibling, error) {
	if t.real == "" {
		real, err := t.on.resolve(ctx, t.path)
		if errors.Is(err, fs.ErrNotExist) {
			real, err = t.path, nil // it was renamed, or is not there yet
		}
		if err != nil {
			return nil, err
		}
		t.real = real
	}
	dir, base := filepath.Split(t.real)
	names, err := t.on.list(ctx, dir)
	if err != nil {
		return nil, err
	}
	var family []sibling
	var paths []string
	for _, name := range names {
		if index, ok := kin(base, name); ok {
			family = append(family, sibling{path: dir + name, index: index, last: name == base})
			paths = append(paths, dir+name)
		}
	}
	seen, err := t.on.look(ctx, paths...)
	if err != nil {
		return nil, err
	}
	for i, e := range seen {
		family[i].entry = e
	}
	family = slices.DeleteFunc(family, func(s sibling) bool { return !s.exists || !s.mode.IsRegular() })
	slices.SortFunc(family, func(a, b sibling) int {
		return cmp.Or(
			compareBool(a.last, b.last),
			a.mtime.Compare(b.mtime),
			cmp.Compare(b.index, a.index),
			cmp.Compare(a.path, b.path))
	})
	return family, nil
}

// kin says whether a name is the log's own or one that it was renamed to.
func kin(base, name string) (index int, ok bool) {
	suffix, related := strings.CutPrefix(name, base)
	if !related || (suffix != "" && suffix[0] != '.' && suffix[0] != '-') {
		return 0, false
	}
	if slices.Contains([]string{".gz", ".bz2", ".xz", ".zst", ".zip"}, filepath.Ext(name)) {
		return 0, false
	}
	index, _ = strconv.Atoi(strings.TrimPrefix(suffix, ".")) // 0 when it is no number
	return index, true
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

// start is the beginning of a file.
func (e entry) start() Cursor { return Cursor{Device: e.device, Inode: e.inode} }

// unchanged says whether a file still has before the cursor what was there. A
// file that cannot be read is no no: who goes on elsewhere loses lines.
func (t *tailing) unchanged(ctx context.Context, s sibling) (bool, error) {
	if s.size < t.out.Next.Offset {
		return false, nil
	}
	start := max(0, t.out.Next.Offset-markBytes)
	if t.out.Next.Mark == "" || start == t.out.Next.Offset {
		return true, nil
	}
	before, err := t.on.section(ctx, s.path, start, t.out.Next.Offset-start)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err == nil && int64(len(before)) < t.out.Next.Offset-start:
		return false, errShort
	}
	return err == nil && t.out.Next.follows(before), err
}

// follows says whether the bytes before the cursor are still the ones it saw.
func (c Cursor) follows(before []byte) bool {
	return c.Mark == "" || c.Mark == mark(before)
}

// mark is a hash of the last bytes before a cursor.
func mark(before []byte) string {
	if len(before) == 0 {
		return ""
	}
	return Sum(before[max(0, len(before)-markBytes):])[:16]
}
