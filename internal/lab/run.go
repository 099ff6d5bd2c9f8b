package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
	cmd := s.spec.jvm(s.dir, n, nodeLogging, n.main(), config)
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
