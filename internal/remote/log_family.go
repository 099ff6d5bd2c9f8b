package remote

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

const maxEntries = 10_000 // of a log folder looked at

// sibling is one file of a log's family: the log itself or what it was renamed to.
type sibling struct {
	path  string
	id    Cursor
	mtime int64
	index int // of path.N; a higher one is older
}

// siblings lists the family in the order it was written: by time, then by
// index, the log itself last.
func siblings(path string) ([]sibling, error) {
	dir, base := filepath.Split(path)
	d, err := os.Open(filepath.Clean(cmp.Or(dir, ".")))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(maxEntries)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var family []sibling
	for _, name := range names {
		if s, ok := kin(dir, base, name); ok {
			family = append(family, s)
		}
	}
	slices.SortFunc(family, func(a, b sibling) int {
		return cmp.Or(
			compareBool(a.path == path, b.path == path),
			cmp.Compare(a.mtime, b.mtime),
			cmp.Compare(b.index, a.index),
			cmp.Compare(a.path, b.path))
	})
	return family, nil
}

func kin(dir, base, name string) (sibling, bool) {
	suffix, related := strings.CutPrefix(name, base)
	if !related || (suffix != "" && suffix[0] != '.' && suffix[0] != '-') {
		return sibling{}, false
	}
	if slices.Contains([]string{".gz", ".bz2", ".xz", ".zst", ".zip"}, filepath.Ext(name)) {
		return sibling{}, false
	}
	info, err := os.Stat(dir + name)
	if err != nil || !info.Mode().IsRegular() {
		return sibling{}, false
	}
	id, ok := identity(info)
	if !ok {
		return sibling{}, false
	}
	index, _ := strconv.Atoi(strings.TrimPrefix(suffix, ".")) // 0 when it is no number
	return sibling{path: dir + name, id: id, mtime: info.ModTime().UnixNano(), index: index}, true
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

func identify(path string) (Cursor, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Cursor{}, err
	}
	id, ok := identity(info)
	if !ok {
		return Cursor{}, errors.New("the file has no identity")
	}
	return id, nil
}

func identity(info fs.FileInfo) (Cursor, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Cursor{}, false
	}
	return Cursor{Device: uint64(stat.Dev), Inode: stat.Ino}, true
}

func unchanged(path string, c Cursor) bool {
	f, info, err := openRegular(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return info.Size() >= c.Offset && marked(f, c)
}

// marked says whether the bytes before the cursor are still the ones it saw.
func marked(f *os.File, c Cursor) bool {
	if c.Mark == "" {
		return true
	}
	mark, err := markAt(f, c.Offset)
	return err == nil && mark == c.Mark
}

func markAt(f *os.File, offset int64) (string, error) {
	if offset == 0 {
		return "", nil
	}
	start := max(0, offset-markBytes)
	before, err := io.ReadAll(io.NewSectionReader(f, start, offset-start))
	if err != nil {
		return "", err
	}
	return Sum(before)[:16], nil
}
