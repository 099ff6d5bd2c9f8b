package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// start makes the node's process from what is on disk now.
func (s *supervisor) start(ctx context.Context, p *process) reply {
	pid, started, err := p.start(ctx, func() (forked, error) { return s.fork(p.spec) })
	if err != nil {
		return reply{Exit: 1, Error: err.Error()}
	}
	if !started {
		return reply{Out: fmt.Sprintf("already running, pid %d\n", pid)}
	}
	return reply{Out: fmt.Sprintf("started, pid %d\n", pid)}
}

func (s *supervisor) fork(n nodeSpec) (forked, error) {
	config := filepath.Join(nodeDir(s.dir, n.Name), n.Config)
	if _, err := os.Stat(config); err != nil {
		return forked{}, fmt.Errorf("start node %s: %w", n.Name, err)
	}
	logs, err := logSizes(logsDir(s.dir, n.Name))
	if err != nil {
		return forked{}, fmt.Errorf("start node %s: %w", n.Name, err)
	}
	out, err := openBounded(stdoutPath(s.dir, n.Name))
	if err != nil {
		return forked{}, fmt.Errorf("start node %s: %w", n.Name, err)
	}
	cmd := s.spec.jvm(s.dir, n.Name, n.main(), config)
	cmd.Stdout, cmd.Stderr = out, out
	if err := s.spawner.spawn(cmd); err != nil {
		return forked{}, errors.Join(fmt.Errorf("start node %s: %w", n.Name, err), out.Close())
	}
	line := start{Time: time.Now().UTC().Format(time.RFC3339Nano), Node: n.Name, PID: cmd.Process.Pid, Logs: logs}
	if err := s.record(line); err != nil {
		s.log.Error("record a start", "node", n.Name, "error", err)
	}
	return forked{cmd: cmd, out: out}, nil
}

func (s *supervisor) record(line start) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	s.startsMu.Lock()
	defer s.startsMu.Unlock()
	f, err := os.OpenFile(startsPath(s.dir), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	return errors.Join(err, f.Close())
}

// logSizes is the size in bytes of each file of a node's log folder.
func logSizes(dir string) (map[string]int64, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		sizes[e.Name()] = info.Size()
	}
	return sizes, nil
}

// format runs Kafka's storage tool for the node with the arguments given, and
// answers what it printed.
func (s *supervisor) format(ctx context.Context, p *process, args []string) reply {
	if p.spec.Kind == zookeeperKind {
		return reply{Exit: ExitUsage, Error: fmt.Sprintf("node %s is ZooKeeper, it has nothing to format", p.spec.Name)}
	}
	if _, runs := p.pid(); runs {
		return reply{Exit: 1, Error: fmt.Sprintf("format node %s: it is running", p.spec.Name)}
	}
	out := &capped{limit: 64 << 10}
	cmd := s.spec.jvm(s.dir, p.spec.Name, "kafka.tools.StorageTool", append([]string{"format"}, args...)...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := s.spawner.spawn(cmd); err != nil {
		return reply{Exit: 1, Error: fmt.Sprintf("format node %s: %s", p.spec.Name, err)}
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return formatReply(p.spec.Name, out.String(), err)
	case <-ctx.Done():
		err := errors.Join(context.Cause(ctx), cmd.Process.Kill())
		<-ended
		return reply{Exit: 1, Out: out.String(), Error: fmt.Sprintf("format node %s: %s", p.spec.Name, err)}
	}
}

func formatReply(name, out string, err error) reply {
	if err == nil {
		return reply{Out: out}
	}
	exit := 1
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() > 0 {
		exit = ended.ExitCode()
	}
	return reply{Exit: exit, Out: out, Error: fmt.Sprintf("format node %s: the storage tool: %s", name, err)}
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

// stdoutLimit bounds what a node's stdout.log takes; the log files beside it
// say the same.
const stdoutLimit = 8 << 20

// boundedFile appends until the limit is reached and drops the rest.
type boundedFile struct {
	file *os.File
	left int64
}

// openBounded opens path for appending; a full file makes way first.
func openBounded(path string) (*boundedFile, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Size() >= stdoutLimit/2:
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	size, err := f.Seek(0, 2)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &boundedFile{file: f, left: stdoutLimit - size}, nil
}

func (b *boundedFile) Write(p []byte) (int, error) {
	part := p[:min(int64(len(p)), b.left)]
	n, err := b.file.Write(part)
	b.left -= int64(n)
	if err != nil {
		return n, err
	}
	return len(p), nil
}

func (b *boundedFile) Close() error { return b.file.Close() }
