package rehearse

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// UsageError is an option that makes no sense.
type UsageError struct{ Message string }

func (e *UsageError) Error() string { return e.Message }

// ExitCode is that of a usage error.
func (e *UsageError) ExitCode() int { return 2 }

func usage(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

// BlockedError is a migration that a gate or a failed action stopped.
type BlockedError struct {
	What  string
	ToDo  string
	Gates []string // name, verdict and evidence of each that did not pass
}

func (e *BlockedError) Error() string {
	text := "the migration is blocked: " + e.What
	if e.ToDo != "" {
		text += "; what to do: " + e.ToDo
	}
	for _, g := range e.Gates {
		text += "\n  " + g
	}
	return text
}

// ExitCode is that of a refusal by a gate.
func (e *BlockedError) ExitCode() int { return 3 }

// BrokenError names the promises that did not hold.
type BrokenError struct{ Promises []Promise }

func (e *BrokenError) Error() string {
	var list []string
	for _, p := range e.Promises {
		list = append(list, p.Text+" ("+p.Seen+")")
	}
	return "not every promise held: " + strings.Join(list, "; ")
}

// ExitCode is that of a failure.
func (e *BrokenError) ExitCode() int { return 1 }

// interruptedError is a rehearsal that was ended before its end.
type interruptedError struct {
	cause error
	text  string // empty: that of a throwaway cluster
}

func (e *interruptedError) Error() string {
	text := "interrupted: " + orText(e.text, "the open step was brought to a safe end, and every process was ended")
	if e.cause != nil && !errors.Is(e.cause, context.Canceled) {
		text += ": " + e.cause.Error()
	}
	return text
}

func (e *interruptedError) Unwrap() error { return e.cause }

// ExitCode is that of a failure.
func (e *interruptedError) ExitCode() int { return 1 }

// interrupted tells our own end from a failure.
func interrupted(ctx context.Context, err error) error {
	var already *interruptedError
	if err == nil || ctx.Err() == nil || errors.As(err, &already) {
		return err
	}
	return &interruptedError{cause: err}
}

// failedError gives every other failure the exit code of one, whatever code its
// cause, such as a refusal of the service, has for who asked for just that.
type failedError struct{ error }

func (e *failedError) Unwrap() error { return e.error }

// ExitCode is that of a failure.
func (e *failedError) ExitCode() int { return 1 }

func coded(err error) error {
	var known interface{ ExitCode() int }
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &failedError{err}
}
