package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// osFiles are the files of this machine.
type osFiles struct{}

func (osFiles) look(ctx context.Context, paths ...string) ([]entry, error) {
	return within(ctx, func() ([]entry, error) {
		seen := make([]entry, 0, len(paths))
		for _, path := range paths {
			info, err := os.Stat(path)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				seen = append(seen, entry{})
			case err != nil:
				seen = append(seen, entry{err: err})
			default:
				seen = append(seen, entryOf(info))
			}
		}
		return seen, nil
	})
}

func entryOf(info fs.FileInfo) entry {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return entry{err: errors.New("the file has no identity")}
	}
	return entry{exists: true, mode: info.Mode(), size: info.Size(), mtime: info.ModTime(),
		device: uint64(stat.Dev), inode: stat.Ino, uid: int(stat.Uid), gid: int(stat.Gid)}
}

func (osFiles) resolve(ctx context.Context, path string) (string, error) {
	return within(ctx, func() (string, error) { return filepath.EvalSymlinks(path) })
}

// section opens without blocking, so that a named pipe in a file's place
// cannot hold the reader.
func (osFiles) section(ctx context.Context, path string, offset, n int64) ([]byte, error) {
	return within(ctx, func() ([]byte, error) {
		f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, ErrNotRegular
		}
		return io.ReadAll(io.NewSectionReader(f, offset, n))
	})
}

func (osFiles) list(ctx context.Context, dir string) ([]string, error) {
	return within(ctx, func() ([]string, error) {
		d, err := os.Open(cmp.Or(dir, "."))
		if err != nil {
			return nil, err
		}
		defer d.Close()
		names, err := d.Readdirnames(maxEntries)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return names, err
	})
}

func (osFiles) create(ctx context.Context, path string, data []byte, as entry) error {
	return done(ctx, func() error {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		return errors.Join(fill(f, data, as), f.Close())
	})
}

func fill(f *os.File, data []byte, as entry) error {
	if as.exists {
		if err := f.Chown(as.uid, as.gid); err != nil {
			return fmt.Errorf("keep its owner %d:%d: %w", as.uid, as.gid, bare(err))
		}
	}
	if err := f.Chmod(as.mode.Perm()); err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Sync()
}

// rename makes the new name durable too. A rename that was left behind in a
// hanging file system may still come.
func (osFiles) rename(ctx context.Context, from, to string) error {
	err := done(ctx, func() error {
		if err := os.Rename(from, to); err != nil {
			return err
		}
		if err := syncDir(filepath.Dir(to)); err != nil {
			return fmt.Errorf("%w: %w", ErrInDoubt, err)
		}
		return nil
	})
	if errors.Is(err, errLeft) {
		return fmt.Errorf("%w: %w", ErrInDoubt, err)
	}
	return err
}

func (osFiles) remove(ctx context.Context, paths ...string) error {
	return done(ctx, func() error {
		var failed []error
		for _, path := range paths {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				failed = append(failed, err)
			}
		}
		return errors.Join(failed...)
	})
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// within lets a caller leave at its deadline. A read from a dead network mount
// cannot be interrupted by any means, so the goroutine ends whenever the kernel
// lets it.
func within[T any](ctx context.Context, work func() (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	type answer struct {
		value T
		err   error
	}
	ended := make(chan answer, 1)
	go func() {
		v, err := work()
		ended <- answer{v, err}
	}()
	select {
	case a := <-ended:
		return a.value, a.err
	case <-ctx.Done():
		return none, fmt.Errorf("%w: %w", errLeft, ctx.Err())
	}
}

func done(ctx context.Context, work func() error) error {
	_, err := within(ctx, func() (struct{}, error) { return struct{}{}, work() })
	return err
}

// errLeft marks work that was left behind while it ran.
var errLeft = errors.New("no answer in time")
