package remote

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	maxStored  = 8 << 20 // bytes of one output file before it is emptied
	sweepEvery = 250 * time.Millisecond
)

// output is where one command writes.
type output struct {
	stdout, stderr *stream
}

func newOutput(dir string) (*output, error) {
	dir, err := outputDir(dir)
	if err != nil {
		return nil, err
	}
	if err := sweep(dir); err != nil {
		return nil, err
	}
	stdout, err := newStream(dir)
	if err != nil {
		return nil, err
	}
	stderr, err := newStream(dir)
	if err != nil {
		stdout.close()
		return nil, err
	}
	return &output{stdout: stdout, stderr: stderr}, nil
}

// result reads what was written, redacted.
func (o *output) result(redact func(string) string) (Result, error) {
	stdout, cutOut, err1 := o.stdout.text()
	stderr, cutErr, err2 := o.stderr.text()
	if redact != nil {
		stdout, stderr = redact(stdout), redact(stderr)
	}
	return Result{Stdout: stdout, Stderr: stderr, Truncated: cutOut || cutErr}, errors.Join(err1, err2)
}

func (o *output) close() {
	o.stdout.close()
	o.stderr.close()
}

// stream is one output file. It is opened for appending, so that emptying it
// never leaves a hole, and locked: the lock belongs to the open file, which a
// daemon inherits, so it tells for how long anybody still writes (flock(2)).
type stream struct {
	file    *os.File
	path    string
	earlier []byte // tail of what was emptied
	cut     bool
}

func newStream(dir string) (*stream, error) {
	// Not named output- before it is locked: a sweep beside us would remove it.
	name := rand.Text()
	fresh, path := filepath.Join(dir, "new-"+name), filepath.Join(dir, "output-"+name)
	f, err := os.OpenFile(fresh, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make an output file: %w", err)
	}
	if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make an output file: %w", err), f.Close(), os.Remove(fresh))
	}
	return &stream{file: f, path: path}, nil
}

// shrink empties a file that grew past its bound and remembers its tail.
func (s *stream) shrink() {
	info, err := s.file.Stat()
	if err != nil || info.Size() <= maxStored {
		return
	}
	tail, _, err := s.text()
	if err == nil && s.file.Truncate(0) == nil {
		s.earlier, s.cut = []byte(tail), true
	}
}

// text is the tail of everything written, and whether something before it is missing.
func (s *stream) text() (string, bool, error) {
	info, err := s.file.Stat()
	if err != nil {
		return "", s.cut, err
	}
	start := max(0, info.Size()-MaxOutput)
	data, err := io.ReadAll(io.NewSectionReader(s.file, start, MaxOutput))
	if err != nil {
		return "", s.cut, err
	}
	all := append(append([]byte(nil), s.earlier...), data...)
	cut := s.cut || start > 0 || len(all) > MaxOutput
	if len(all) > MaxOutput {
		all = all[len(all)-MaxOutput:]
	}
	if cut {
		// Half a line could be half a secret, which no redaction would know.
		_, all = splitLine(all)
	}
	return strings.ToValidUTF8(string(all), "\uFFFD"), cut, nil
}

// splitLine cuts after the first line; a text of one line stays whole.
func splitLine(text []byte) (first, rest []byte) {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return text[:i+1], text[i+1:]
	}
	return nil, text
}

// close removes the file unless a daemon still writes to it. Then it stays in
// the folder, where the next sweep finds it, instead of growing unseen.
func (s *stream) close() {
	_ = s.file.Close()    // nothing of ours is unwritten
	_ = sweepFile(s.path) // a file left over is found by the next sweep
}

// sweep removes output files nobody writes to and empties those that grew too large.
func sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list output files: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "output-") {
			continue
		}
		if err := sweepFile(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("sweep output file %s: %w", e.Name(), err)
		}
	}
	return nil
}

func sweepFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return os.Remove(path)
	}
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return err
	}
	info, err := f.Stat()
	if err != nil || info.Size() <= maxStored {
		return err
	}
	return f.Truncate(0)
}

// outputDir makes the folder and refuses one that another user could have
// planted in the shared temporary folder.
func outputDir(dir string) (string, error) {
	if dir == "" {
		dir = filepath.Join(os.TempDir(), "migrator-output-"+strconv.Itoa(os.Getuid()))
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("make the folder of outputs: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("make the folder of outputs: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(stat.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("folder of outputs %s: must be a folder of this user with mode 0700", dir)
	}
	return dir, nil
}
