package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// startSupervisor starts the process that owns the nodes and returns when it
// listens.
func (c *Cluster) startSupervisor(ctx context.Context) error {
	errFile := filepath.Join(c.dir, "supervisor.err")
	out, err := os.OpenFile(errFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	// Not bound to ctx: its life is the cluster's, which Close ends.
	cmd := exec.Command(c.options.Binary, "lab", "supervise", "--dir", c.dir)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	c.supervisor, c.pipe, c.ended = cmd, pipe, make(chan struct{})
	go func() { // ends with the supervisor, which Close waits for
		defer close(c.ended)
		c.endedErr = cmd.Wait()
	}()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	go func() { // a supervisor that ends will never listen
		select {
		case <-c.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	if _, err := waitFile(ctx, supervisorLog(c.dir), 0, literal(listeningMessage)); err != nil {
		said, _ := os.ReadFile(errFile)
		return fmt.Errorf("start the supervisor: %w: %s", err, bounded(said))
	}
	return nil
}

// Close ends the cluster: every process of it is gone when it returns. The
// folder goes too, unless Keep was set or MarkFailed called. A second call
// does nothing more.
func (c *Cluster) Close() error {
	var err error
	c.closing.Do(func() { err = c.close() })
	return err
}

func (c *Cluster) close() error {
	var errs []error
	if c.supervisor != nil {
		errs = append(errs, ignoreClosed(c.pipe.Close()))
		select {
		case <-c.ended:
		case <-time.After(20 * time.Second):
			// The kernel then kills the nodes with it.
			errs = append(errs, errors.New("the supervisor did not end by itself"), c.supervisor.Process.Kill())
			<-c.ended
		}
		if c.endedErr != nil {
			errs = append(errs, fmt.Errorf("the supervisor ended: %w (see %s)", c.endedErr, c.dir))
			c.MarkFailed()
		}
	}
	if !c.options.Keep && !c.failed.Load() {
		errs = append(errs, os.RemoveAll(c.dir))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close the cluster in %s: %w", c.dir, err)
	}
	return nil
}

// MarkFailed makes Close keep the folder.
func (c *Cluster) MarkFailed() { c.failed.Store(true) }

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
