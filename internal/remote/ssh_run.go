package remote

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"

	"migrator/internal/remote/sshlink"
)

// overSSH runs commands on a host.
type overSSH struct {
	pool   *sshlink.Pool
	way    sshlink.Way
	become []string
}

func (o overSSH) run(ctx context.Context, argv []string, stdin []byte, limit int64) (execResult, error) {
	if err := sendable(ctx, argv); err != nil {
		return execResult{}, &NotStartedError{Argv: argv, Err: err}
	}
	out := &head{limit: limit, full: func() {}}
	complaint := &rear{limit: maxComplaint}
	mark := rand.Text()
	stdout := newMarked(mark, out, nil)
	stderr := newMarked(mark, complaint, nil)
	ended, err := o.pool.Exec(ctx, o.way, sshlink.Command{Line: shellLine(o.become, plainScript, mark, argv), Stdin: stdin, Stdout: stdout, Stderr: stderr})
	if err = errors.Join(err, stdout.close(), stderr.close()); err != nil {
		return execResult{}, o.why(argv, err)
	}
	if !stderr.began {
		return execResult{}, &NotStartedError{Argv: argv, Err: o.refusal(argv[0], ended, stderr)}
	}
	return execResult{exit: exitOf(ended), stdout: out.data, stderr: string(complaint.data)}, nil
}

// why tells a command that was never sent from one whose end is unknown.
func (o overSSH) why(argv []string, err error) error {
	var notRun *sshlink.NotRunError
	if errors.As(err, &notRun) {
		return &NotStartedError{Argv: argv, Err: notRun.Err}
	}
	return err
}

// sendable also refuses what no argv can hold; a line end is quoted well by
// every POSIX shell.
func sendable(ctx context.Context, argv []string) error {
	if err := startable(ctx, argv); err != nil {
		return err
	}
	if strings.HasPrefix(argv[0], "-") {
		return fmt.Errorf("%q is no program", argv[0])
	}
	for _, a := range argv {
		if strings.ContainsRune(a, 0) {
			return errors.New("an argument holds a NUL byte")
		}
	}
	return nil
}

// refusal says why the host did not start a command that it was given.
func (o overSSH) refusal(program string, ended sshlink.Ended, stderr *markedStream) error {
	said := plain(string(stderr.noise.data))
	where := "on " + o.way.Host
	switch {
	case said == "" && ended.Exit == 127:
		return fmt.Errorf("%s %s: %w", program, where, exec.ErrNotFound)
	case len(o.become) > 0 && ended.Exit != 127:
		user := o.way.User
		if user == "" {
			user = "the login user"
		}
		return fmt.Errorf("%s %s refuses: %q. Let %s use it without a password and without a terminal, in a file of /etc/sudoers.d there: %s ALL=(ALL) NOPASSWD: ALL",
			o.become[0], where, said, user, strings.ReplaceAll(user, "the login user", "USER"))
	case said == "":
		return fmt.Errorf("the login shell %s ran nothing and exited %d", where, ended.Exit)
	}
	return fmt.Errorf("the login shell %s ran nothing and exited %d: %q", where, ended.Exit, said)
}

// Run starts argv on the host. It outlives the connection; see relayScript. A
// *StillRunningError names a process of the host.
func (s *SSH) Run(ctx context.Context, argv []string) (Result, error) {
	ctx, cancel := limited(ctx, runLimit)
	defer cancel()
	if err := sendable(ctx, argv); err != nil {
		return Result{}, &NotStartedError{Argv: s.redacted(argv), Err: err}
	}
	c := newCommand()
	ended, err := s.way.pool.Exec(ctx, s.way.way, sshlink.Command{
		Line: shellLine(s.way.become, relayScript, c.mark, argv), Stdout: c.stdout, Stderr: c.stderr, Ended: c.ended})
	result := c.result(s.Redact)
	var notRun *sshlink.NotRunError
	switch {
	case c.exit != nil: // it ended, whatever became of the connection afterwards
		return result, nil
	case errors.As(err, &notRun):
		return Result{}, &NotStartedError{Argv: s.redacted(argv), Err: notRun.Err}
	case err != nil && ctx.Err() != nil:
		return result, &StillRunningError{Argv: s.redacted(argv), PID: c.pid, Result: result, Err: ctx.Err()}
	case err != nil:
		return result, fmt.Errorf("run %s: %w", strings.Join(s.redacted(argv), " "), err)
	case !c.stderr.began:
		return Result{}, &NotStartedError{Argv: s.redacted(argv), Err: s.way.refusal(argv[0], ended, c.stderr)}
	}
	return result, fmt.Errorf("run %s: the shell on %s ended (exit %d) before it told how the command did", strings.Join(s.redacted(argv), " "), s.way.way.Host, ended.Exit)
}

func (s *SSH) redacted(argv []string) []string { return redactedArgv(argv, s.Redact) }

// exitOf is the exit code of a command that the host told of.
func exitOf(e sshlink.Ended) int {
	if e.Signal == "" {
		return e.Exit
	}
	return 128 + signals[e.Signal]
}

// signals that end a command which did nothing wrong; of others 0 is enough.
var signals = map[string]int{"HUP": 1, "INT": 2, "QUIT": 3, "KILL": 9, "SEGV": 11, "PIPE": 13, "TERM": 15}

// signalOf names the signal that a shell's exit code stands for. A program
// that exits so by itself, as Java does after SIGTERM, looks the same.
func signalOf(exit int) string {
	if exit <= 128 || exit > 128+31 {
		return ""
	}
	return syscall.Signal(exit - 128).String()
}
