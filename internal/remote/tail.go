package remote

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"
)

const (
	markBytes = 128      // hashed before the offset
	endWindow = 64 << 10 // searched for the last line's end
	maxHop    = 16       // renamed files gone through in one call
)

// tailing is one Tail. Real is where the path leads after following links,
// known only once it was asked for: renamed files lie beside the file, not
// beside its link.
type tailing struct {
	on   files
	path string
	real string
	out  Tailed
}

func tail(ctx context.Context, on files, path string, from Cursor) (Tailed, error) {
	t := tailing{on: on, path: path, out: Tailed{Next: from}}
	if from.FromEnd {
		return t.atEnd(ctx)
	}
	for range maxHop {
		where, err := t.locate(ctx)
		if err != nil || where.path == "" {
			return t.out, err
		}
		ended, err := t.readOn(ctx, where)
		if err != nil || ended {
			return t.out, err
		}
	}
	t.out.More = true
	return t.out, nil
}

// locate finds the cursor's file: at the path, or renamed in the same folder.
// No path means nothing to read now.
func (t *tailing) locate(ctx context.Context) (sibling, error) {
	here, err := lookAt(ctx, t.on, t.path)
	if err != nil {
		return sibling{}, err
	}
	t.out.Missing = !here.exists
	itself := sibling{path: t.path, entry: here, last: true}
	switch {
	case t.out.Next.Inode == 0 && here.exists:
		t.out.Next = here.start()
		return itself, nil
	case t.out.Next.Inode == 0:
		return sibling{}, nil
	case here.exists && here.inode == t.out.Next.Inode:
		return itself, nil
	}
	family, err := t.siblings(ctx)
	if err != nil {
		return sibling{}, err
	}
	for _, s := range family {
		if s.inode != t.out.Next.Inode {
			continue
		}
		if same, err := t.unchanged(ctx, s); same || err != nil {
			return s, err
		}
	}
	if !here.exists {
		return sibling{}, nil
	}
	t.out.Lost = true
	t.out.Next = here.start()
	return itself, nil
}

// readOn takes whole lines at the cursor. It is done unless an old file was
// finished and its successor is next.
func (t *tailing) readOn(ctx context.Context, where sibling) (ended bool, err error) {
	if !where.mode.IsRegular() {
		return true, ErrNotRegular
	}
	before, chunk, err := t.around(ctx, where)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errMoved) {
		return true, nil // renamed this instant: the next call finds it
	}
	if err != nil {
		return true, err
	}
	if where.size < t.out.Next.Offset || !t.out.Next.follows(before) {
		if found, err := t.copied(ctx); found || err != nil {
			t.out.Truncated = err == nil
			return err != nil, err
		}
		t.out.Truncated = true
		t.out.Next = where.start()
		if before, chunk, err = t.around(ctx, where); err != nil {
			return true, err
		}
	}
	t.out.Next.Device = where.device
	more := t.take(before, chunk, where)
	if more || where.last {
		t.out.More = more
		return true, nil
	}
	return !t.advance(ctx), nil
}

// around reads the bytes before the cursor, which the mark is of, and those
// after it that there is room for. Without a mark another file that took the
// path since the last look could not be told: a second look does. It also tells
// a file that was cut from an answer that lost its end on the way: read again
// from 0, lines of long ago would count as new.
func (t *tailing) around(ctx context.Context, where sibling) (before, chunk []byte, err error) {
	at := t.out.Next.Offset
	start := max(0, at-markBytes)
	wanted := max(0, min(int64(MaxTail-len(t.out.Data)), where.size-at))
	if at-start+wanted == 0 {
		return nil, nil, nil
	}
	data, err := t.on.section(ctx, where.path, start, at-start+wanted)
	if err != nil {
		return nil, nil, err
	}
	short := int64(len(data)) < at-start
	if short || t.out.Next.Mark == "" {
		again, err := lookAt(ctx, t.on, where.path)
		switch {
		case err != nil:
			return nil, nil, err
		case !again.exists || again.inode != where.inode:
			return nil, nil, errMoved
		case short && again.size >= at:
			return nil, nil, errShort
		}
	}
	split := min(at-start, int64(len(data)))
	return data[:split], data[split:], nil
}

// errShort is an answer whose end was lost on the way.
var errShort = errors.New("less of the file came than it has")

// errMoved is a file that another one took the path of while it was read.
var errMoved = errors.New("the file was renamed while it was read")

// take appends whole lines from the cursor to Data. In a renamed file the last
// line is whole even without its newline: nobody writes there any more.
func (t *tailing) take(before, chunk []byte, where sibling) (more bool) {
	out := &t.out
	if len(out.Data) >= MaxTail {
		return true
	}
	reached := out.Next.Offset+int64(len(chunk)) >= where.size
	lines, used, midLine := wholeLines(chunk, out.Next.MidLine)
	if rest := chunk[used:]; len(rest) > 0 && !midLine {
		switch {
		case reached && !where.last:
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
	out.Next.Mark = mark(append(slices.Clone(before), chunk[:used]...))
	return !reached
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

// copied finds a copy that still holds what was before the cursor, and moves
// the cursor there: log rotation by copying and truncating keeps the unread
// rest only there.
func (t *tailing) copied(ctx context.Context) (bool, error) {
	if t.out.Next.Mark == "" {
		return false, nil
	}
	family, err := t.siblings(ctx)
	if err != nil {
		return false, err
	}
	for _, s := range family {
		if s.last || s.inode == t.out.Next.Inode {
			continue
		}
		same, err := t.unchanged(ctx, s)
		if err != nil && !errors.Is(err, fs.ErrPermission) { // a stranger's file may be closed to us
			return false, err
		}
		if same {
			t.out.Next.Device, t.out.Next.Inode = s.device, s.inode
			return true, nil
		}
	}
	return false, nil
}

// advance moves the cursor from a finished renamed file to the file written after it.
func (t *tailing) advance(ctx context.Context) bool {
	family, err := t.siblings(ctx)
	if err != nil {
		return false // the next call tries again from the same place
	}
	at := slices.IndexFunc(family, func(s sibling) bool { return s.inode == t.out.Next.Inode })
	if at < 0 || at+1 >= len(family) {
		return false // the successor does not exist yet
	}
	t.out.Next = family[at+1].start()
	t.out.Rotated = true
	return true
}

// atEnd is the cursor of the last whole line's end. When the file is renamed
// meanwhile its successor's end is asked for.
func (t *tailing) atEnd(ctx context.Context) (Tailed, error) {
	for range maxHop {
		e, err := lookAt(ctx, t.on, t.path)
		if err != nil {
			return Tailed{}, err
		}
		if !e.exists {
			return Tailed{Missing: true}, nil
		}
		if !e.mode.IsRegular() {
			return Tailed{}, ErrNotRegular
		}
		t.out.Next = Cursor{Offset: max(0, e.size-endWindow)}
		before, window, err := t.around(ctx, sibling{path: t.path, entry: e})
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errMoved) {
			continue
		}
		if err != nil {
			return Tailed{}, err
		}
		return Tailed{Next: lastLine(e, t.out.Next.Offset, before, window)}, nil
	}
	return Tailed{}, errMoved
}

// lastLine is the cursor after the last whole line of a window that begins at
// start; of a line longer than the window, the window's end.
func lastLine(e entry, start int64, before, window []byte) Cursor {
	c := e.start()
	end := bytes.LastIndexByte(window, '\n') + 1
	if end == 0 && start > 0 {
		end, c.MidLine = len(window), true
	}
	c.Offset = start + int64(end)
	c.Mark = mark(append(slices.Clone(before), window[:end]...))
	return c
}
