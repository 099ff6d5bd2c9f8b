package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// files are the primitives that the four operations on files are made of. One
// logic stands over them, so that a file is written or followed in the same
// manner on this machine, over ssh and in a container.
type files interface {
	// look describes paths in their order, after following links. A missing path
	// is an entry that does not exist; one that cannot be looked at carries its
	// error. The error beside the entries says that nothing at all was seen.
	look(ctx context.Context, paths ...string) ([]entry, error)
	// resolve follows the links of a path; one that leads nowhere is fs.ErrNotExist
	// or its last name.
	resolve(ctx context.Context, path string) (string, error)
	// section reads at most n bytes of a regular file from an offset. Since the
	// last look another file may have taken the path: the caller must tell.
	section(ctx context.Context, path string, offset, n int64) ([]byte, error)
	// list names what is in a folder, hidden files too.
	list(ctx context.Context, dir string) ([]string, error)
	// create makes a file with the mode and, if `as` exists, the owner of `as`,
	// before the content, which may hold secrets, comes in. Without error the
	// content is on disk. After an error a part may be there.
	create(ctx context.Context, path string, data []byte, as entry) error
	// rename puts a file in the place of another of the same folder. An error
	// that is not ErrInDoubt says that it did not.
	rename(ctx context.Context, from, to string) error
	// remove removes files; a missing one is no error.
	remove(ctx context.Context, paths ...string) error
}

// entry is a path as look saw it.
type entry struct {
	exists        bool
	err           error
	mode          fs.FileMode
	size          int64
	mtime         time.Time
	device, inode uint64
	uid, gid      int
}

// operations are the four of Node that concern files.
type operations[F files] struct{ on F }

// Stat describes a path.
func (o operations[F]) Stat(ctx context.Context, path string) (Info, error) {
	ctx, cancel := limited(ctx, fileLimit)
	defer cancel()
	e, err := lookAt(ctx, o.on, path)
	if err != nil {
		return Info{}, fmt.Errorf("stat %s: %w", path, bare(err))
	}
	if !e.exists {
		return Info{}, nil
	}
	return Info{Exists: true, Dir: e.mode.IsDir(), Size: e.size, Mode: e.mode, ModTime: e.mtime}, nil
}

// ReadFile returns a whole regular file.
func (o operations[F]) ReadFile(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := limited(ctx, fileLimit)
	defer cancel()
	e, err := lookAt(ctx, o.on, path)
	if err == nil && !e.exists {
		err = fs.ErrNotExist
	}
	var data []byte
	if err == nil {
		data, err = readWhole(ctx, o.on, path, e)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, bare(err))
	}
	return data, nil
}

// WriteFile follows symbolic links, so that a linked file stays a link. The
// file's folder must exist.
func (o operations[F]) WriteFile(ctx context.Context, path string, data []byte, options WriteOptions) error {
	ctx, cancel := limited(ctx, writeLimit)
	defer cancel()
	return writeFile(ctx, o.on, path, data, options)
}

// Tail reads on from a cursor. After a rename it finishes the old file first
// and then goes through its successors in the order they were written.
func (o operations[F]) Tail(ctx context.Context, path string, from Cursor) (Tailed, error) {
	ctx, cancel := limited(ctx, fileLimit)
	defer cancel()
	t, err := tail(ctx, o.on, path, from)
	if err != nil {
		return Tailed{Next: from}, fmt.Errorf("tail %s: %w", path, bare(err))
	}
	return t, nil
}

// lookAt looks at one path.
func lookAt(ctx context.Context, on files, path string) (entry, error) {
	seen, err := on.look(ctx, path)
	if err != nil {
		return entry{}, err
	}
	return seen[0], seen[0].err
}

// readWhole reads the file that a look just saw.
func readWhole(ctx context.Context, on files, path string, e entry) ([]byte, error) {
	switch {
	case !e.mode.IsRegular():
		return nil, ErrNotRegular
	case e.size > MaxFile:
		return nil, fmt.Errorf("%d bytes: %w", e.size, ErrTooLarge)
	}
	data, err := on.section(ctx, path, 0, MaxFile+1)
	switch {
	case err != nil:
		return nil, err
	case len(data) > MaxFile:
		return nil, ErrTooLarge
	case int64(len(data)) < e.size:
		return nil, fmt.Errorf("%d bytes of %d: %w", len(data), e.size, errShort)
	}
	return data, nil
}

func limited(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}

// bare drops the path and verb that the caller's message already names.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) && error(p) == err {
		return p.Err
	}
	return err
}
