package remote

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// ErrTooLarge is a file above the bound of a whole read.
var ErrTooLarge = errors.New("file is larger than may be read whole")

// ErrNotRegular is a path that is no regular file.
var ErrNotRegular = errors.New("not a regular file")

// ErrInDoubt is a write whose end was not seen: read the file to know.
var ErrInDoubt = errors.New("the write may or may not have happened")

// NotStartedError is a command that certainly had no effect.
type NotStartedError struct {
	Argv []string // redacted
	Err  error
}

func (e *NotStartedError) Error() string {
	return fmt.Sprintf("start %s: %v", strings.Join(e.Argv, " "), e.Err)
}

// Unwrap gives the cause, such as exec.ErrNotFound.
func (e *NotStartedError) Unwrap() error { return e.Err }

// NoProgram says that the node was reached and has no such program.
func (e *NotStartedError) NoProgram() bool { return errors.Is(e.Err, exec.ErrNotFound) }

// StillRunningError is a command that outlived its deadline. It was not
// touched: it may still end well, and killing it could tear a node.
type StillRunningError struct {
	Argv   []string // redacted
	PID    int      // also the id of its process group; 0: the node did not say that it began
	Result Result   // output so far
	Err    error    // why we stopped waiting
}

func (e *StillRunningError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("run %s: it may still run: %v", strings.Join(e.Argv, " "), e.Err)
	}
	return fmt.Sprintf("run %s: still running as process %d: %v", strings.Join(e.Argv, " "), e.PID, e.Err)
}

// Unwrap gives the context's error.
func (e *StillRunningError) Unwrap() error { return e.Err }

// ChangedError is a file that is not what the writer expected. Want and Got
// are hashes; empty means no file.
type ChangedError struct {
	Path string
	Want string
	Got  string
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("write %s: expected %s, found %s; somebody else changed it", e.Path, named(e.Want), named(e.Got))
}

func named(hash string) string {
	if hash == "" {
		return "no file"
	}
	return "content " + hash[:min(12, len(hash))]
}
