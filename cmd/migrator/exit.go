package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"migrator/internal/client"
	"migrator/internal/config"
	"migrator/internal/httpapi"
)

// Exit codes; scripts rely on them.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitRefused     = 3
	exitWaiting     = 4
	exitUnreachable = 5
)

// usageError is a command line that makes no sense.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// answered ends with a code although the command did its work; what is so was
// printed already when text is empty.
type answered struct {
	code int
	text string
}

func (e *answered) Error() string { return e.text }

// ran marks errors of a command that was entered. Everything before that, such
// as an unknown flag, is a fault of the command line.
type ran struct{ error }

func (e ran) Unwrap() error { return e.error }

func markRan(c *cobra.Command) {
	if inner := c.RunE; inner != nil {
		c.RunE = func(cmd *cobra.Command, args []string) error {
			if err := inner(cmd, args); err != nil {
				return ran{err}
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		markRan(sub)
	}
}

// exitCode is the only place that maps errors to exit codes.
func exitCode(err error) int {
	var (
		coded       interface{ ExitCode() int }
		usage       *usageError
		problems    *config.Problems
		exposed     *httpapi.ExposedError
		done        *answered
		refusal     *client.Refusal
		unreachable *client.UnreachableError
		entered     ran
	)
	switch {
	case errors.As(err, &coded):
		return coded.ExitCode()
	case errors.As(err, &usage), errors.As(err, &problems), errors.As(err, &exposed):
		return exitUsage
	case errors.As(err, &done):
		return done.code
	case errors.As(err, &refusal):
		return refusal.Exit
	case errors.As(err, &unreachable):
		return exitUnreachable
	case errors.As(err, &entered):
		return exitFailed
	default:
		return exitUsage
	}
}
