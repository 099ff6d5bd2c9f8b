package noderead

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"

	"migrator/internal/config"
	"migrator/internal/configgen"
	"migrator/internal/remote"
)

// ErrNoLogs is a node whose configuration says logs: none. Two other signals
// must then agree wherever a log line is asked for.
var ErrNoLogs = errors.New("the node has no readable logs")

// ErrLogsByCommand is a node whose logs come from a command.
var ErrLogsByCommand = errors.New("logs given as a command are not supported yet")

// maxRounds bounds how much one Poll reads of each file, in calls of remote.MaxTail bytes.
const maxRounds = 16

// FileCursor is a place in one log file; a list of them is the baseline of a step.
type FileCursor struct {
	Path   string        `json:"path"`
	Cursor remote.Cursor `json:"cursor"`
}

// Tailer is what a Follower needs of a node.
type Tailer interface {
	Tail(ctx context.Context, path string, from remote.Cursor) (remote.Tailed, error)
}

// Follower reads the log files of one node from cursors on. It is not safe
// for use by two goroutines at once.
type Follower struct {
	node    Tailer
	cursors []FileCursor
}

// Polled is what one Poll brought, in the order of the files and of their lines.
type Polled struct {
	Events []Event
	More   bool // not all was read yet
	// Gaps name files of which lines may have been missed: rotated away, cut or
	// replaced before they were read. Silence then proves nothing.
	Gaps []string
}

// NewFollower follows the log files of a node from the given cursors, which
// come from AtEnd or the journal. A file without cursor starts at its beginning.
func NewFollower(node Tailer, logs config.Logs, from []FileCursor) (*Follower, error) {
	switch {
	case logs.None:
		return nil, ErrNoLogs
	case len(logs.Argv) > 0:
		return nil, ErrLogsByCommand
	case len(logs.Files) == 0:
		return nil, fmt.Errorf("follow logs: %w: no file is named", ErrNoLogs)
	}
	f := &Follower{node: node}
	for _, path := range logs.Files {
		c := FileCursor{Path: path}
		for _, given := range from {
			if given.Path == path {
				c.Cursor = given.Cursor
			}
		}
		f.cursors = append(f.cursors, c)
	}
	return f, nil
}

// Cursors are the places read up to, for the journal.
func (f *Follower) Cursors() []FileCursor {
	return append([]FileCursor(nil), f.cursors...)
}

// Poll reads what is new. When one file cannot be read, the events of the
// others come together with the error, and no line is lost.
func (f *Follower) Poll(ctx context.Context) (Polled, error) {
	var out Polled
	var failed []error
	for i := range f.cursors {
		if err := f.pollFile(ctx, &f.cursors[i], &out); err != nil {
			failed = append(failed, err)
		}
	}
	return out, errors.Join(failed...)
}

func (f *Follower) pollFile(ctx context.Context, at *FileCursor, out *Polled) error {
	for range maxRounds {
		tailed, err := f.node.Tail(ctx, at.Path, at.Cursor)
		if err != nil {
			return err
		}
		at.Cursor = tailed.Next
		out.Events = append(out.Events, parseAll(tailed.Data, at.Path)...)
		if tailed.Lost || tailed.Truncated || tailed.Cut {
			out.Gaps = append(out.Gaps, at.Path)
		}
		if !tailed.More {
			return nil
		}
	}
	out.More = true
	return nil
}

// AtEnd moves all cursors to the present end of their files and returns them:
// the baseline before a node is touched. On error the cursors stay.
func (f *Follower) AtEnd(ctx context.Context) ([]FileCursor, error) {
	moved := make([]FileCursor, 0, len(f.cursors))
	for _, c := range f.cursors {
		tailed, err := f.node.Tail(ctx, c.Path, remote.Cursor{FromEnd: true})
		if err != nil {
			return nil, err
		}
		moved = append(moved, FileCursor{Path: c.Path, Cursor: tailed.Next})
	}
	f.cursors = moved
	return f.Cursors(), nil
}

// exception is the line after a message that says what it was about.
var exception = regexp.MustCompile(`^(?:[a-z_$][\w$]*\.)+[\w$]*(?:Exception|Error)\b`)

// parseAll reads whole lines. A fatal line mostly says only that it is one
// ("Exiting Kafka due to fatal exception during startup."): the exception's own
// line, if it is there, is put beside it.
func parseAll(data []byte, file string) []Event {
	var events []Event
	fatal := false // the line before
	for line := range bytes.Lines(data) {
		if text := clean(line); fatal && exception.MatchString(text) {
			last := &events[len(events)-1]
			last.Text = cut(last.Text+" "+configgen.RedactText(text), maxText)
		}
		e, ok := Parse(line)
		fatal = ok && e.Severity == Fatal
		if ok {
			e.File = file
			events = append(events, e)
		}
	}
	return events
}
