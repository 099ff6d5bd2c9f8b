// Package remote is the only place that runs commands or moves files on nodes.
// A Node offers five operations, each with a deadline and bounded output;
// whatever it brings back is hostile text.
package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"time"
)

// Bounds of what one operation brings back, in bytes.
const (
	MaxOutput = 64 << 10 // of each of stdout and stderr; the tail is kept
	MaxFile   = 16 << 20 // of a file read whole
	MaxTail   = 1 << 20  // of one Tail call
)

// Limits for a context that brings no deadline of its own.
const (
	runLimit   = 10 * time.Minute
	fileLimit  = 30 * time.Second
	writeLimit = 2 * time.Minute // some twenty commands where only commands lead to the node
)

// Node is one machine to run commands and move files on.
type Node interface {
	// Run starts argv and waits for its end. When ctx ends first the command is
	// left alone and the error is a *StillRunningError; a command that never
	// started is a *NotStartedError. An exit code other than 0 is no error.
	Run(ctx context.Context, argv []string) (Result, error)
	// ReadFile returns a whole file of at most MaxFile bytes. A missing file is
	// fs.ErrNotExist.
	ReadFile(ctx context.Context, path string) ([]byte, error)
	// WriteFile replaces or creates a file in one rename, after keeping a copy
	// of what was there at BackupPath. A file that is not what options expect is
	// a *ChangedError and stays as it is.
	WriteFile(ctx context.Context, path string, data []byte, options WriteOptions) error
	// Tail returns the whole lines after a cursor, at most MaxTail bytes of them.
	// A missing file is no error.
	Tail(ctx context.Context, path string, from Cursor) (Tailed, error)
	// Stat describes a path; a missing one is Info{Exists: false} without error.
	Stat(ctx context.Context, path string) (Info, error)
}

// Result is a command that ended. Exit is its code, or 128 + the signal's
// number as shells count when a signal ended it.
type Result struct {
	Exit      int
	Signal    string // empty unless a signal ended it
	Stdout    string // the last MaxOutput bytes
	Stderr    string
	Truncated bool // an earlier part of the output is missing
}

// Running reads the end of a node's `running` command: exit 0 is yes, 1 to 4 is
// no (3 is what systemctl is-active answers); all else is no answer.
func (r Result) Running() (yes, known bool) {
	return r.Exit == 0, r.Signal == "" && r.Exit >= 0 && r.Exit <= 4
}

// Expect says what must be at the path before a write. The zero Expect says
// nothing and is refused: a write without a precondition cannot be retried safely.
type Expect struct {
	Absent bool   // no file may be there
	SHA256 string // hex hash of the present content
}

// WriteOptions say what a write expects and how a new file looks. An existing
// file keeps its own mode and owner.
type WriteOptions struct {
	Expect Expect
	Mode   fs.FileMode // of a new file; 0 means 0640
}

// Info describes a path, after following symbolic links.
type Info struct {
	Exists  bool
	Dir     bool
	Size    int64
	Mode    fs.FileMode
	ModTime time.Time
}

// Cursor is a place in a log file that survives rename and truncation. The
// zero Cursor is the beginning of whatever file is or will be there.
type Cursor struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	Offset int64  `json:"offset"`
	// Mark is a hash of the bytes before Offset. It tells a file that was
	// truncated and grew again, or one that got a freed inode, from the old one.
	Mark string `json:"mark,omitempty"`
	// MidLine says that Offset is inside a line too long to bring back whole;
	// its rest is skipped, so that it can never pass for a line of its own.
	MidLine bool `json:"mid_line,omitempty"`
	// FromEnd asks for the present end of the file instead of a place; Tail
	// answers with no data and the cursor of the last whole line's end.
	FromEnd bool `json:"from_end,omitempty"`
}

// Tailed is what one Tail call brought.
type Tailed struct {
	Data []byte // whole lines
	Next Cursor
	More bool // there may be more to read at once

	Missing   bool // no file at the path
	Rotated   bool // went on from a renamed file to its successor
	Truncated bool // the file was cut or replaced in place: read again from 0
	Lost      bool // the old file is gone, so lines may be missing before Data
	Cut       bool // a line longer than MaxTail was brought only in part
}

// Sum is the hex SHA-256 that Expect and ChangedError use.
func Sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// BackupPath is where WriteFile keeps the content with that hash before it
// replaces it.
func BackupPath(path, sha256Hex string) string {
	return path + ".migrator-" + sha256Hex[:min(12, len(sha256Hex))] + ".bak"
}
