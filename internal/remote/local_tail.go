package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

const (
	markBytes = 128      // hashed before the offset
	endWindow = 64 << 10 // searched for the last line's end
	maxHop    = 16       // renamed files gone through in one call
)

// Tail reads on from a cursor. After a rename it finishes the old file first
// and then goes through its successors in the order they were written.
func (l *Local) Tail(ctx context.Context, path string, from Cursor) (Tailed, error) {
	t, err := within(ctx, func(context.Context) (Tailed, error) { return tail(path, from) })
	if err != nil {
		return Tailed{Next: from}, fmt.Errorf("tail %s: %w", path, bare(err))
	}
	return t, nil
}

func tail(path string, from Cursor) (Tailed, error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // renamed files lie beside the file, not beside its link
	}
	if from.FromEnd {
		return atEnd(path)
	}
	out := Tailed{Next: from}
	for range maxHop {
		where, err := locate(path, &out)
		if err != nil || where == "" {
			return out, err
		}
		done, err := readOn(where, path, &out)
		if err != nil || done {
			return out, err
		}
	}
	out.More = true
	return out, nil
}

// locate finds the cursor's file: at the path, or renamed in the same folder.
// Empty means nothing to read now.
func locate(path string, out *Tailed) (string, error) {
	here, err := identify(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	exists := err == nil
	out.Missing = !exists
	switch {
	case out.Next.Inode == 0 && exists:
		out.Next = Cursor{Device: here.Device, Inode: here.Inode}
		return path, nil
	case out.Next.Inode == 0:
		return "", nil
	case exists && here.Inode == out.Next.Inode:
		return path, nil
	}
	family, err := siblings(path)
	if err != nil {
		return "", err
	}
	for _, s := range family {
		if s.id.Inode == out.Next.Inode && unchanged(s.path, out.Next) {
			return s.path, nil
		}
	}
	if !exists {
		return "", nil
	}
	out.Lost = true
	out.Next = Cursor{Device: here.Device, Inode: here.Inode}
	return path, nil
}

// readOn takes whole lines at the cursor. It is done unless an old file was
// finished and its successor is next.
func readOn(where, path string, out *Tailed) (done bool, err error) {
	f, info, err := openRegular(where)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil // renamed this instant: the next call finds it
	}
	if err != nil {
		return true, err
	}
	defer f.Close()
	id, ok := identity(info)
	if !ok || id.Inode != out.Next.Inode {
		return true, nil
	}
	if info.Size() < out.Next.Offset || !marked(f, out.Next) {
		out.Truncated = true
		if c, found := copied(path, out.Next); found {
			out.Next = c
			return false, nil
		}
		out.Next = Cursor{}
	}
	out.Next.Device, out.Next.Inode = id.Device, id.Inode
	old := where != path
	more, err := take(f, info.Size(), old, out)
	if err != nil || more || !old {
		out.More = more
		return true, err
	}
	return !advance(path, out), nil
}

// take appends whole lines from the cursor to Data. In a renamed file the last
// line is whole even without its newline: nobody writes there any more.
func take(f *os.File, size int64, old bool, out *Tailed) (more bool, err error) {
	room := int64(MaxTail - len(out.Data))
	if room <= 0 {
		return true, nil
	}
	chunk, err := io.ReadAll(io.NewSectionReader(f, out.Next.Offset, min(room, max(0, size-out.Next.Offset))))
	if err != nil {
		return false, err
	}
	reached := out.Next.Offset+int64(len(chunk)) >= size
	lines, used, midLine := wholeLines(chunk, out.Next.MidLine)
	if rest := chunk[used:]; len(rest) > 0 && !midLine {
		switch {
		case reached && old:
			lines, used = append(lines, append(slices.Clone(rest), '\n')...), len(chunk)
		case int64(len(chunk)) == MaxTail && used == 0:
			// One line fills the whole bound: bring its head, skip its rest.
			lines, used, midLine = append(slices.Clone(rest), '\n'), len(chunk), true
			out.Cut = true
		}
	}
	out.Data = append(out.Data, lines...)
	out.Next.Offset += int64(used)
	out.Next.MidLine = midLine
	out.Next.Mark, err = markAt(f, out.Next.Offset)
	return !reached, err
}

// wholeLines gives the lines of a chunk that end in it and the bytes used up,
// without the rest of a line that was too long.
func wholeLines(chunk []byte, midLine bool) (lines []byte, used int, stillMid bool) {
	if midLine {
		i := bytes.IndexByte(chunk, '\n')
		if i < 0 {
			return nil, len(chunk), true
		}
		used = i + 1
	}
	last := bytes.LastIndexByte(chunk, '\n') + 1
	if last < used {
		return nil, used, false
	}
	return slices.Clone(chunk[used:last]), last, false
}

// copied finds a copy that still holds what was before the cursor: log
// rotation by copying and truncating keeps the unread rest only there.
func copied(path string, from Cursor) (Cursor, bool) {
	family, err := siblings(path)
	if err != nil || from.Mark == "" {
		return Cursor{}, false
	}
	for _, s := range family {
		if s.path != path && s.id.Inode != from.Inode && unchanged(s.path, from) {
			from.Device, from.Inode = s.id.Device, s.id.Inode
			return from, true
		}
	}
	return Cursor{}, false
}

// advance moves the cursor from a finished renamed file to the file written after it.
func advance(path string, out *Tailed) bool {
	family, err := siblings(path)
	if err != nil {
		return false // the next call tries again from the same place
	}
	at := slices.IndexFunc(family, func(s sibling) bool { return s.id.Inode == out.Next.Inode })
	if at < 0 || at+1 >= len(family) {
		return false // the successor does not exist yet
	}
	next := family[at+1].id
	out.Next = Cursor{Device: next.Device, Inode: next.Inode}
	out.Rotated = true
	return true
}

func atEnd(path string) (Tailed, error) {
	f, info, err := openRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Tailed{Missing: true}, nil
	}
	if err != nil {
		return Tailed{}, err
	}
	defer f.Close()
	id, ok := identity(info)
	if !ok {
		return Tailed{}, errors.New("the file has no identity")
	}
	start := max(0, info.Size()-endWindow)
	window, err := io.ReadAll(io.NewSectionReader(f, start, info.Size()-start))
	if err != nil {
		return Tailed{}, err
	}
	id.Offset = start + int64(bytes.LastIndexByte(window, '\n')+1)
	if id.Offset == start && start > 0 {
		id.Offset, id.MidLine = info.Size(), true
	}
	id.Mark, err = markAt(f, id.Offset)
	return Tailed{Next: id}, err
}
