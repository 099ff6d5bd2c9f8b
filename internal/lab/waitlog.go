package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// pollEvery is how often the lab looks again at a file or a port.
const pollEvery = 50 * time.Millisecond

func literal(text string) *regexp.Regexp { return regexp.MustCompile(regexp.QuoteMeta(text)) }

// WaitLog returns the first line of a node's log file ("server.log",
// "controller.log", "state-change.log") that matches and was written since the
// node's last start. It waits until ctx is done.
func (c *Cluster) WaitLog(ctx context.Context, id int32, file string, line *regexp.Regexp) (string, error) {
	return c.waitLog(ctx, strconv.Itoa(int(id)), file, line, nil)
}

// waitLog gives up early when check, asked after each look without success,
// returns an error.
func (c *Cluster) waitLog(ctx context.Context, name, file string, line *regexp.Regexp, check func(context.Context, string) error) (string, error) {
	starts, err := c.startsOf(name)
	if err != nil {
		return "", err
	}
	var from int64
	if len(starts) > 0 {
		from = starts[len(starts)-1].Logs[file]
	}
	path := filepath.Join(logsDir(c.dir, name), file)
	if check == nil {
		return waitFile(ctx, path, from, line)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { // ends with this call
		tick := time.NewTicker(10 * pollEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if err := check(ctx, name); err != nil {
					cancel(err)
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return waitFile(ctx, path, from, line)
}

// mustRun is an error when the node's process does not exist.
func (c *Cluster) mustRun(ctx context.Context, name string) error {
	runs, err := c.Running(ctx, name)
	if err == nil && !runs {
		return fmt.Errorf("node %s has ended", name)
	}
	return err
}

// waitFile returns the first whole line at or after the offset that matches.
func waitFile(ctx context.Context, path string, from int64, line *regexp.Regexp) (string, error) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		found, next, err := scan(path, from, line)
		if err != nil {
			return "", err
		}
		if found != "" {
			return found, nil
		}
		from = next
		select {
		case <-tick.C:
		case <-ctx.Done():
			return "", fmt.Errorf("%s has no line like %q: %w", path, line, context.Cause(ctx))
		}
	}
}

// scan reads whole lines from an offset and returns the first that matches, or
// "" and the offset to go on from.
func scan(path string, from int64, line *regexp.Regexp) (found string, next int64, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", from, nil
	}
	if err != nil {
		return "", from, err
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return "", from, err
	}
	lines := bufio.NewReader(f)
	for {
		text, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) { // half a line is read again
			return "", from, nil
		}
		if err != nil {
			return "", from, fmt.Errorf("read %s: %w", path, err)
		}
		from += int64(len(text))
		if line.MatchString(text) {
			return text[:len(text)-1], from, nil
		}
	}
}

// startsOf reads the starts of one node from starts.log, oldest first.
func (c *Cluster) startsOf(name string) ([]start, error) {
	f, err := os.Open(startsPath(c.dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var starts []start
	for d := json.NewDecoder(f); ; {
		var s start
		err := d.Decode(&s)
		if errors.Is(err, io.EOF) {
			return starts, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", startsPath(c.dir), err)
		}
		if s.Node == name {
			starts = append(starts, s)
		}
	}
}
