package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// Local is this machine. The zero Local is ready to use.
type Local struct {
	// Dir holds the output of commands while something still writes to it;
	// empty means a folder of this user's own in the system's temporary folder.
	Dir string
	// Redact replaces secrets in output and in the argv of errors; nil keeps all.
	Redact func(string) string
}

// NewLocal returns this machine as a node.
func NewLocal() *Local { return &Local{} }

var _ Node = (*Local)(nil)

// ReadFile returns a whole regular file.
func (l *Local) ReadFile(ctx context.Context, path string) ([]byte, error) {
	data, err := within(ctx, func(context.Context) ([]byte, error) { return readWhole(path) })
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, bare(err))
	}
	return data, nil
}

// Stat describes a path.
func (l *Local) Stat(ctx context.Context, path string) (Info, error) {
	info, err := within(ctx, func(context.Context) (fs.FileInfo, error) { return os.Stat(path) })
	if errors.Is(err, fs.ErrNotExist) {
		return Info{}, nil
	}
	if err != nil {
		return Info{}, fmt.Errorf("stat %s: %w", path, bare(err))
	}
	return Info{Exists: true, Dir: info.IsDir(), Size: info.Size(), Mode: info.Mode(), ModTime: info.ModTime()}, nil
}

// readWhole opens without blocking, so that a named pipe in a file's place
// cannot hold the reader.
func readWhole(path string) ([]byte, error) {
	f, info, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > MaxFile {
		return nil, fmt.Errorf("%d bytes: %w", info.Size(), ErrTooLarge)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxFile {
		return nil, ErrTooLarge
	}
	return data, nil
}

func openRegular(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// within gives work on files a deadline. A read from a dead network mount
// cannot be interrupted by any means, so the caller leaves and the goroutine
// ends whenever the kernel lets it.
func within[T any](ctx context.Context, work func(context.Context) (T, error)) (T, error) {
	ctx, cancel := limited(ctx, fileLimit)
	defer cancel()
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		v, err := work(ctx)
		done <- answer{v, err}
	}()
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
		return none, fmt.Errorf("%w: %w", errLeft, ctx.Err())
	}
}

// errLeft marks an operation that was abandoned while it ran.
var errLeft = errors.New("no answer in time")

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
