package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// WriteFile follows symbolic links, so that a linked file stays a link. The
// file's folder must exist.
func (l *Local) WriteFile(ctx context.Context, path string, data []byte, options WriteOptions) error {
	if options.Expect.Absent == (options.Expect.SHA256 != "") {
		return fmt.Errorf("write %s: say either that it must be absent or which content it must have", path)
	}
	if len(data) > MaxFile {
		return fmt.Errorf("write %s: %d bytes: %w", path, len(data), ErrTooLarge)
	}
	_, err := within(ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, writeFile(ctx, path, data, options)
	})
	var changed *ChangedError
	switch {
	case err == nil, errors.As(err, &changed):
		return err
	case errors.Is(err, errLeft):
		return fmt.Errorf("write %s: %w: %w", path, ErrInDoubt, err)
	default:
		return fmt.Errorf("write %s: %w", path, err)
	}
}

func writeFile(ctx context.Context, path string, data []byte, options WriteOptions) error {
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		target, err = path, nil
	}
	if err != nil {
		return err
	}
	present, err := inspect(target)
	if err != nil {
		return err
	}
	if err := present.meets(path, options.Expect); err != nil {
		return err
	}
	if present.exists {
		if err := keep(target, present); err != nil {
			return fmt.Errorf("back up: %w", err)
		}
	}
	aside, err := writeAside(target, data, present.look(options.Mode))
	if err != nil {
		return err
	}
	if err := swap(ctx, path, target, aside, options); err != nil {
		return dropAside(aside, err)
	}
	return verify(target, data)
}

// swap looks once more just before the rename: an edit in between must not be lost.
func swap(ctx context.Context, path, target, aside string, options WriteOptions) error {
	again, err := inspect(target)
	if err != nil {
		return err
	}
	if err := again.meets(path, options.Expect); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.Rename(aside, target); err != nil {
		return err
	}
	return syncDir(filepath.Dir(target))
}

// original is the file before the write.
type original struct {
	exists bool
	data   []byte
	mode   fs.FileMode
	uid    int
	gid    int
}

func inspect(target string) (original, error) {
	f, info, err := openRegular(target)
	if errors.Is(err, fs.ErrNotExist) {
		return original{}, nil
	}
	if err != nil {
		return original{}, err
	}
	if err := f.Close(); err != nil {
		return original{}, err
	}
	data, err := readWhole(target)
	if err != nil {
		return original{}, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return original{}, errors.New("its owner cannot be read")
	}
	return original{exists: true, data: data, mode: info.Mode().Perm(), uid: int(stat.Uid), gid: int(stat.Gid)}, nil
}

func (o original) meets(path string, expect Expect) error {
	got := ""
	if o.exists {
		got = Sum(o.data)
	}
	if got != expect.SHA256 {
		return &ChangedError{Path: path, Want: expect.SHA256, Got: got}
	}
	return nil
}

// look is how the written file shall look: like the original, or new.
func (o original) look(newMode fs.FileMode) original {
	if o.exists {
		return o
	}
	if newMode == 0 {
		newMode = 0o640
	}
	return original{mode: newMode.Perm(), uid: os.Getuid(), gid: os.Getgid()}
}

// keep copies the original beside itself, once per content.
func keep(target string, present original) error {
	backup := BackupPath(target, Sum(present.data))
	old, err := readWhole(backup)
	switch {
	case err == nil && Sum(old) == Sum(present.data):
		return nil
	case err == nil:
		return fmt.Errorf("%s holds other content: move it away", backup)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	aside, err := writeAside(backup, present.data, present)
	if err != nil {
		return err
	}
	if err := os.Rename(aside, backup); err != nil {
		return dropAside(aside, err)
	}
	return syncDir(filepath.Dir(backup))
}

// writeAside writes a file in the same folder, because a rename is atomic only there.
func writeAside(target string, data []byte, look original) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+".migrator-*")
	if err != nil {
		return "", err
	}
	err = fill(f, data, look)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return "", dropAside(f.Name(), err)
	}
	return f.Name(), nil
}

// fill sets owner and mode before the content, which may hold secrets.
func fill(f *os.File, data []byte, look original) error {
	if look.uid != os.Geteuid() || look.gid != os.Getegid() {
		if err := f.Chown(look.uid, look.gid); err != nil {
			return fmt.Errorf("keep its owner %d:%d: %w", look.uid, look.gid, bare(err))
		}
	}
	if err := f.Chmod(look.mode); err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Sync()
}

func dropAside(aside string, cause error) error {
	if err := os.Remove(aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(cause, err)
	}
	return cause
}

func verify(target string, data []byte) error {
	got, err := readWhole(target)
	if err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	if Sum(got) != Sum(data) {
		return &ChangedError{Path: target, Want: Sum(data), Got: Sum(got)}
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
