package remote

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// leaveAfter is how long a process that was killed may hold our end of its
// output, through a child of its own.
const leaveAfter = time.Second

// process runs commands of ours as processes of this machine, behind a prefix.
// It kills them when their time is over: none of them is a node.
type process struct{ prefix []string }

func (p process) run(ctx context.Context, argv []string, stdin []byte, limit int64) (execResult, error) {
	argv = behind(p.prefix, argv)
	if err := startable(ctx, argv); err != nil {
		return execResult{}, &NotStartedError{Argv: argv, Err: err}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stdout := &head{limit: limit, full: cancel}
	stderr := &rear{limit: maxComplaint}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if len(stdin) > 0 {
		cmd.Stdin = bytes.NewReader(stdin)
	}
	cmd.Env = childEnv(os.Environ())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = leaveAfter
	if err := cmd.Start(); err != nil {
		return execResult{}, &NotStartedError{Argv: argv, Err: err}
	}
	err := cmd.Wait()
	var r Result
	switch {
	case stdout.over:
		return execResult{}, ErrTooLarge
	case err != nil && ctx.Err() != nil:
		return execResult{}, ctx.Err()
	}
	if err := setExit(&r, cmd.ProcessState, err); err != nil {
		return execResult{}, err
	}
	return execResult{exit: r.Exit, stdout: stdout.data, stderr: string(stderr.data)}, nil
}

// head keeps what is written up to a limit, and says when there is more.
type head struct {
	data  []byte
	limit int64
	over  bool
	full  func()
}

func (h *head) Write(p []byte) (int, error) {
	if int64(len(h.data)+len(p)) > h.limit {
		h.over = true
		h.full()
		return 0, ErrTooLarge
	}
	h.data = append(h.data, p...)
	return len(p), nil
}

// rear keeps the last bytes of what is written.
type rear struct {
	data  []byte
	limit int
}

func (r *rear) Write(p []byte) (int, error) {
	r.data = append(r.data, p...)
	r.data = r.data[max(0, len(r.data)-r.limit):]
	return len(p), nil
}
