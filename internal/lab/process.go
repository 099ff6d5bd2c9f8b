package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// spawner starts processes that die with this one, however it dies: the kernel
// sends them SIGKILL when the *thread* that forked them ends, so one goroutine
// keeps one thread for all forks of the supervisor's life.
type spawner struct {
	requests chan spawnRequest
	ended    chan struct{}
}

type spawnRequest struct {
	cmd   *exec.Cmd
	reply chan error
}

func newSpawner() *spawner {
	s := &spawner{requests: make(chan spawnRequest), ended: make(chan struct{})}
	go s.run()
	return s
}

func (s *spawner) run() {
	runtime.LockOSThread()
	defer close(s.ended)
	for r := range s.requests {
		r.reply <- r.cmd.Start()
	}
}

// spawn starts cmd in a session of its own, without a terminal to be
// interrupted from. Not to be called after close.
func (s *spawner) spawn(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	reply := make(chan error)
	s.requests <- spawnRequest{cmd: cmd, reply: reply}
	return <-reply
}

// close ends the thread; every process it started must be gone.
func (s *spawner) close() {
	close(s.requests)
	<-s.ended
}

// process is one node's JVM, or the place of one that does not run.
type process struct {
	spec nodeSpec

	// mu guards what follows. It is held over a fork, so that two starts at
	// once make one process, and never while waiting for a process to end.
	mu       sync.Mutex
	cmd      *exec.Cmd
	gone     chan struct{} // closed when cmd has ended and was reaped
	stopping bool          // SIGTERM was sent to cmd
}

// pid returns the process id, and whether the process exists.
func (p *process) pid() (int, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.exists() {
		return 0, false
	}
	return p.cmd.Process.Pid, true
}

// exists needs mu.
func (p *process) exists() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

// forked is a started process and the file its output goes to.
type forked struct {
	cmd *exec.Cmd
	out io.Closer
}

// start forks a process unless one exists, and returns its id. While an
// earlier stop is still going on it waits for that: answering "it runs" for a
// process about to end would leave the node down.
func (p *process) start(ctx context.Context, fork func() (forked, error)) (pid int, started bool, err error) {
	for {
		p.mu.Lock()
		if !p.exists() {
			break
		}
		running, gone, stopping := p.cmd.Process.Pid, p.gone, p.stopping
		p.mu.Unlock()
		if !stopping {
			return running, false, nil
		}
		if err := wait(ctx, gone); err != nil {
			return 0, false, fmt.Errorf("start node %s: its earlier process has not ended yet: %w", p.spec.Name, err)
		}
	}
	defer p.mu.Unlock()
	f, err := fork()
	if err != nil {
		return 0, false, err
	}
	gone := make(chan struct{})
	p.cmd, p.gone, p.stopping = f.cmd, gone, false
	go func() { // ends with the process, which killAll waits for
		defer close(gone)
		_ = f.cmd.Wait() // how it ended is in its own log
		_ = f.out.Close()
	}()
	return f.cmd.Process.Pid, true, nil
}

// signal sends sig; a process that does not exist is an error.
func (p *process) signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.exists() {
		return fmt.Errorf("node %s does not run", p.spec.Name)
	}
	return p.cmd.Process.Signal(sig)
}

// end sends sig and waits until the process is gone; nil when none exists.
func (p *process) end(ctx context.Context, sig syscall.Signal) error {
	p.mu.Lock()
	if !p.exists() {
		p.mu.Unlock()
		return nil
	}
	gone := p.gone
	p.stopping = true
	err := p.cmd.Process.Signal(sig)
	p.mu.Unlock()
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %s to node %s: %w", sig, p.spec.Name, err)
	}
	if err := wait(ctx, gone); err != nil {
		return fmt.Errorf("node %s has not ended yet after %s: %w", p.spec.Name, sig, err)
	}
	return nil
}

func wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
