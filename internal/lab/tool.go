package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
)

// format runs Kafka's storage tool for the node with the arguments given, and
// answers what it printed.
func (s *supervisor) format(ctx context.Context, p *process, args []string) reply {
	if p.spec.Kind == zookeeperKind {
		return reply{Exit: ExitUsage, Error: fmt.Sprintf("node %s is ZooKeeper, it has nothing to format", p.spec.Name)}
	}
	if _, runs := p.pid(); runs {
		return reply{Exit: 1, Error: fmt.Sprintf("node %s is running", p.spec.Name)}
	}
	return s.tool(ctx, p, "kafka.tools.StorageTool", append([]string{"format"}, args...))
}

// tool runs a class to its end with the node's software; the exit code is the
// tool's own.
func (s *supervisor) tool(ctx context.Context, p *process, class string, args []string) reply {
	out := &capped{limit: 64 << 10}
	cmd := s.spec.jvm(s.dir, p.spec, toolLogging, class, args...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := s.spawner.spawn(cmd); err != nil {
		return reply{Exit: 1, Error: fmt.Sprintf("run %s: %s", class, err)}
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return toolReply(class, out.String(), err)
	case <-ctx.Done():
		err := errors.Join(context.Cause(ctx), cmd.Process.Kill())
		<-ended
		return reply{Exit: 1, Out: out.String(), Error: fmt.Sprintf("run %s: %s", class, err)}
	}
}

func toolReply(class, out string, err error) reply {
	if err == nil {
		return reply{Out: out}
	}
	exit := 1
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() > 0 {
		exit = ended.ExitCode()
	}
	return reply{Exit: exit, Out: out, Error: fmt.Sprintf("%s: %s; it said: %s", class, err, bounded([]byte(out)))}
}

// capped keeps the first limit bytes written to it.
type capped struct {
	limit int
	mu    sync.Mutex
	kept  bytes.Buffer
}

func (c *capped) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept.Write(p[:min(len(p), c.limit-c.kept.Len())])
	return len(p), nil
}

func (c *capped) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept.String()
}
