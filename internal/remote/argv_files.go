package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

const (
	readBlock  = 4096  // bytes of dd's block: its skip and count are in blocks
	writeBlock = 65536 // bytes
	maxNames   = 4 << 20
)

// argvFiles are the files of a node that only commands reach, with tools that
// the smallest image has: those of busybox and of coreutils. Never a shell, and
// never a judgement by what a tool complains: that is in any language, and what
// stands between us and the node (docker, kubectl, sudo) fails with exit codes
// of its own. After a command that failed the files are looked at.
type argvFiles struct {
	on     runner
	redact func(string) string // of what errors show; nil keeps all
}

func (a argvFiles) look(ctx context.Context, paths ...string) ([]entry, error) {
	return a.lookAll(ctx, paths)
}

func (a argvFiles) resolve(ctx context.Context, at string) (string, error) {
	r, err := a.run(ctx, nil, 2*maxPath, "readlink", "-f", at)
	if err != nil {
		return "", err
	}
	target, whole := strings.CutSuffix(string(r.stdout), "\n")
	if r.exit != 0 {
		if e, err := lookAt(ctx, a, at); err == nil && !e.exists {
			return "", fs.ErrNotExist
		}
	}
	if r.exit != 0 || !whole || !path.IsAbs(target) || strings.ContainsRune(target, '\n') {
		return "", fmt.Errorf("its links cannot be followed: %w", failure("readlink", r))
	}
	return target, nil
}

func (a argvFiles) section(ctx context.Context, at string, offset, n int64) ([]byte, error) {
	skip := offset / readBlock
	inside := offset - skip*readBlock
	count := (inside + n + readBlock - 1) / readBlock
	r, err := a.run(ctx, nil, count*readBlock, "dd", "if="+at, "bs="+itoa(readBlock), "skip="+itoa(skip), "count="+itoa(count))
	if err != nil {
		return nil, err
	}
	if r.exit != 0 {
		return nil, a.whyUnread(ctx, at, offset, r)
	}
	data := r.stdout[min(inside, int64(len(r.stdout))):]
	return data[:min(n, int64(len(data)))], nil
}

func (a argvFiles) list(ctx context.Context, dir string) ([]string, error) {
	r, err := a.run(ctx, nil, maxNames, "ls", "-a", dir)
	if err != nil {
		return nil, err
	}
	if r.exit != 0 {
		return nil, a.whyUnread(ctx, dir, 0, r)
	}
	names, whole := strings.CutSuffix(string(r.stdout), "\n")
	if !whole {
		return nil, errShort
	}
	return strings.Split(names, "\n"), nil
}

// create reads back what it wrote: a way to the node that loses standard input
// half-way gives dd the end of a file, and dd is content with that.
func (a argvFiles) create(ctx context.Context, at string, data []byte, as entry) error {
	if err := a.do(ctx, at, nil, "dd", "of="+at); err != nil {
		return err
	}
	if as.exists {
		// A change to the same owner is allowed to everybody.
		owner := strconv.Itoa(as.uid) + ":" + strconv.Itoa(as.gid)
		if err := a.do(ctx, at, nil, "chown", owner, at); err != nil {
			return fmt.Errorf("keep its owner %s: %w", owner, err)
		}
	}
	if err := a.do(ctx, at, nil, "chmod", fmt.Sprintf("%04o", as.mode.Perm()), at); err != nil {
		return err
	}
	if err := a.do(ctx, at, data, "dd", "of="+at, "bs="+itoa(writeBlock), "conv=fsync"); err != nil {
		return err
	}
	got, err := a.section(ctx, at, 0, int64(len(data))+1)
	if err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	if !bytes.Equal(got, data) {
		return fmt.Errorf("%d bytes were sent and %d are there: %w", len(data), len(got), errNotPassed)
	}
	return nil
}

// errNotPassed is content that did not arrive as it was sent.
var errNotPassed = errors.New("the way to the node does not pass standard input on whole (docker and kubectl need exec -i, without -t)")

// rename believes no exit code but 0: a connection that breaks after the rename
// ends kubectl and docker with an error too. It was done if the first name is
// gone and the second there; then the caller reads back.
func (a argvFiles) rename(ctx context.Context, from, to string) error {
	r, err := a.run(ctx, nil, maxPath, "mv", "-f", from, to)
	var notStarted *NotStartedError
	switch {
	case errors.As(err, &notStarted):
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", ErrInDoubt, err)
	case r.exit != 0:
		seen, err := a.look(ctx, from, to)
		if err != nil {
			return fmt.Errorf("%w: %w: %w", ErrInDoubt, failure("mv", r), err)
		}
		if seen[0].exists || !seen[1].exists {
			return a.whyUnwritten(ctx, to, 0, failure("mv", r))
		}
	}
	// Older tools take no operand here, or write back all file systems. What is
	// lost with the power is the new name, and the old file is whole then.
	_, _ = a.run(ctx, nil, maxPath, "sync", path.Dir(to))
	return nil
}

func (a argvFiles) remove(ctx context.Context, paths ...string) error {
	r, err := a.run(ctx, nil, maxPath, append([]string{"rm", "-f"}, paths...)...)
	if err == nil && r.exit != 0 {
		err = failure("rm", r)
	}
	return err
}

// do runs a command that changes something at a path, and must exit 0.
func (a argvFiles) do(ctx context.Context, at string, stdin []byte, argv ...string) error {
	r, err := a.run(ctx, stdin, maxPath, argv...)
	if err == nil && r.exit != 0 {
		err = a.whyUnwritten(ctx, at, len(stdin), failure(argv[0], r))
	}
	return err
}

func (a argvFiles) run(ctx context.Context, stdin []byte, limit int64, argv ...string) (execResult, error) {
	r, err := a.on.run(ctx, argv, stdin, limit)
	if err != nil {
		return execResult{}, &wayError{err: err, text: a.shown(err.Error())}
	}
	r.stderr = a.shown(r.stderr)
	return r, nil
}

func (a argvFiles) shown(text string) string {
	if a.redact == nil {
		return text
	}
	return a.redact(text)
}

// wayError is a way to the node that failed. It is never a missing or closed
// file of the node, though a missing kubectl or key file is one of this machine.
type wayError struct {
	err  error
	text string
}

func (e *wayError) Error() string { return e.text }

// Is lets through what concerns the way.
func (e *wayError) Is(target error) bool {
	return target != fs.ErrNotExist && target != fs.ErrPermission && errors.Is(e.err, target)
}

// As finds kinds of errors of the way.
func (e *wayError) As(target any) bool { return errors.As(e.err, target) }

// whyUnread says why a file or folder that was there could not be read.
func (a argvFiles) whyUnread(ctx context.Context, at string, offset int64, r execResult) error {
	e, err := lookAt(ctx, a, at)
	switch {
	case err != nil:
		return err
	case !e.exists:
		return fs.ErrNotExist
	case offset > e.size:
		return fmt.Errorf("it was cut to %d bytes while it was read", e.size)
	}
	if a.may(ctx, "-r", at) {
		return failure("reading", r)
	}
	return fmt.Errorf("%w: %w", fs.ErrPermission, failure("reading", r))
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
