package remote

import "context"

// Bounds of what one command of ours (stat, dd, mv) may bring back beside its data.
const maxComplaint = 4 << 10 // bytes of stderr that are kept, for people

// runner runs argv on a node to its end. Files on another machine or in a
// container are reached with nothing else: see argvFiles. It is used for short
// commands of ours that read their standard input to its end; what a node's own
// commands need beyond that (left alone at a deadline, output to a file) is
// Node.Run's.
type runner interface {
	// run feeds stdin to argv and brings back its stdout. Output of more than
	// limit bytes is ErrTooLarge. A command that never started is a
	// *NotStartedError; any other error says that its end is unknown. An exit code
	// other than 0 is no error. When ctx ends, run answers at once and no longer
	// needs what it started.
	run(ctx context.Context, argv []string, stdin []byte, limit int64) (execResult, error)
}

// execResult is a command that ended.
type execResult struct {
	exit   int // 128 + the signal's number when one ended it
	stdout []byte
	stderr string // the last maxComplaint bytes; hostile, and in any language
}
