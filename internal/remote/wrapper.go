package remote

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync/atomic"
)

// Wrapper is a node that a command of this machine leads to, such as
// [kubectl, exec, -i, kafka-0, --] or [docker, exec, -i, kafka-1]: every command
// runs behind that prefix, files are reached with commands too.
//
// The prefix fails with exit codes that look like the command's. docker exits 1
// where the container is gone, kubectl 1 where the connection broke, and 1 is
// also how a `running` command says no. So an exit code other than 0 is believed
// only if a harmless command comes through right after it. A container that was
// gone and is back by then had no process running in between: that no is true.
type Wrapper struct {
	operations[argvFiles]
	local   Local
	prefix  []string
	trusted atomic.Bool // a command has come through once
}

// NewWrapper returns the node behind an argv prefix. Redact replaces secrets in
// output and errors, the prefix's own among them; nil keeps all.
func NewWrapper(prefix []string, redact func(string) string) *Wrapper {
	w := &Wrapper{local: Local{Redact: redact}, prefix: prefix}
	w.on = argvFiles{on: process{prefix: prefix}, redact: redact}
	return w
}

var _ Node = (*Wrapper)(nil)

// Run starts argv behind the prefix. A *StillRunningError names the process of
// this machine. What is started so lives where the prefix leads, and ends with
// the container.
func (w *Wrapper) Run(ctx context.Context, argv []string) (Result, error) {
	ctx, cancel := limited(ctx, runLimit)
	defer cancel()
	if err := w.startable(ctx, argv); err != nil {
		return Result{}, &NotStartedError{Argv: w.local.redacted(argv), Err: err}
	}
	r, err := w.local.Run(ctx, behind(w.prefix, argv))
	if err != nil || r.Exit == 0 {
		return r, err
	}
	if err := w.answers(ctx); err != nil {
		return r, fmt.Errorf("run %s: exit %d, which may be the way's own: %w", strings.Join(w.local.redacted(argv), " "), r.Exit, err)
	}
	if absent(ctx, w.on, argv[0], r.Exit) {
		return Result{}, &NotStartedError{Argv: w.local.redacted(argv), Err: fmt.Errorf("no such program on the node: %s", plain(r.Stderr))}
	}
	return r, nil
}

// startable tries the prefix once before anything is run: one that only prints
// its arguments would make every command succeed, and one that hands them to a
// shell, as [ssh, b1] does, would run others than were meant.
func (w *Wrapper) startable(ctx context.Context, argv []string) error {
	if err := startable(ctx, argv); err != nil {
		return err
	}
	if w.trusted.Load() {
		return nil
	}
	if err := w.answers(ctx); err != nil {
		return err
	}
	w.trusted.Store(true)
	return nil
}

// answers says whether a harmless command comes through.
func (w *Wrapper) answers(ctx context.Context) error {
	token := rand.Text() + ` "a  b" $0` // which a shell changes, and does no harm with
	r, err := w.on.run(ctx, nil, MaxOutput, "echo", token)
	switch {
	case err != nil:
		return err
	case r.exit != 0:
		return fmt.Errorf("no command comes through: %w", failure("echo", r))
	case string(r.stdout) != token+"\n":
		return fmt.Errorf("no command comes through as it is: echo of %q answers %q", token, w.on.shown(plain(string(r.stdout))))
	}
	return nil
}

// absent says that a command certainly had no effect: its exit code is that of
// a missing program, and the program is missing.
func absent(ctx context.Context, on files, program string, exit int) bool {
	if exit != 126 && exit != 127 || !path.IsAbs(program) {
		return false
	}
	e, err := lookAt(ctx, on, program)
	return err == nil && !e.exists
}

func behind(prefix, argv []string) []string {
	return append(append([]string(nil), prefix...), argv...)
}

// errNoPrefix is a wrapper without argv.
var errNoPrefix = errors.New("the access of kind wrapper names no argv")
