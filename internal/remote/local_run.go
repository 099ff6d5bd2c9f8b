package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Run starts argv in a session of its own with its output in files. A pipe
// would end a node that outlives the service, and would hold Run as long as a
// daemon keeps the descriptor.
func (l *Local) Run(ctx context.Context, argv []string) (Result, error) {
	ctx, cancel := limited(ctx, runLimit)
	defer cancel()
	if err := startable(ctx, argv); err != nil {
		return Result{}, &NotStartedError{Argv: l.redacted(argv), Err: err}
	}
	out, err := newOutput(l.Dir)
	if err != nil {
		return Result{}, &NotStartedError{Argv: l.redacted(argv), Err: err}
	}
	defer out.close()

	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = out.stdout.file, out.stderr.file
	cmd.Env = childEnv(os.Environ())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return Result{}, &NotStartedError{Argv: l.redacted(argv), Err: err}
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // reaps the child even when nobody waits any more

	waitErr, left := out.follow(ctx, ended)
	result, outErr := out.result(l.Redact)
	if left != nil {
		return result, &StillRunningError{Argv: l.redacted(argv), PID: cmd.Process.Pid, Result: result, Err: left}
	}
	if err := setExit(&result, cmd.ProcessState, waitErr); err != nil {
		return result, fmt.Errorf("run %s: %w", strings.Join(l.redacted(argv), " "), err)
	}
	if outErr != nil {
		return result, fmt.Errorf("run %s: read its output: %w", strings.Join(l.redacted(argv), " "), outErr)
	}
	return result, nil
}

func startable(ctx context.Context, argv []string) error {
	if len(argv) == 0 || argv[0] == "" {
		return errors.New("empty argv")
	}
	return ctx.Err()
}

// follow waits for the command or for ctx, and keeps the output bounded meanwhile.
func (o *output) follow(ctx context.Context, ended <-chan error) (waitErr, left error) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return err, nil
		default:
		}
		select {
		case err := <-ended:
			return err, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
			o.stdout.shrink()
			o.stderr.shrink()
		}
	}
}

func setExit(r *Result, state *os.ProcessState, waitErr error) error {
	var exit *exec.ExitError
	if waitErr != nil && !errors.As(waitErr, &exit) {
		return waitErr
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		r.Signal, r.Exit = status.Signal().String(), 128+int(status.Signal())
		return nil
	}
	r.Exit = state.ExitCode()
	return nil
}

// childEnv keeps the service's own settings, its token among them, from nodes.
func childEnv(env []string) []string {
	kept := make([]string, 0, len(env))
	for _, e := range env {
		if !strings.HasPrefix(e, "MIGRATOR_") {
			kept = append(kept, e)
		}
	}
	return kept
}

func (l *Local) redacted(argv []string) []string { return redactedArgv(argv, l.Redact) }

// redactedArgv is argv as errors may show it.
func redactedArgv(argv []string, redact func(string) string) []string {
	out := make([]string, len(argv))
	for i, a := range argv {
		out[i] = a
		if redact != nil {
			out[i] = redact(a)
		}
	}
	return out
}
