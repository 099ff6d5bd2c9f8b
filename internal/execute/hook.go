package execute

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"migrator/internal/remote"
)

// hook runs a command of the operator's own on the service's machine. One that
// outlives the step's limit is left alone, as any command is; a retry runs it
// again, perhaps beside it.
func (e *Executor) hook(ctx context.Context, t Task) (Result, error) {
	limited, cancel := context.WithTimeout(ctx, e.m.Gates.StepTimeout)
	defer cancel()
	res, err := e.service.Run(limited, t.Action.Argv)
	var running *remote.StillRunningError
	switch {
	case errors.As(err, &running):
		return Result{}, fmt.Errorf("the hook %s has not ended within %s and is left alone; `migrator retry` runs it again: %w", t.Action.ID, e.m.Gates.StepTimeout, err)
	case err != nil:
		return Result{}, fmt.Errorf("the hook %s: %w", t.Action.ID, err)
	case res.Exit != 0:
		return Result{}, fmt.Errorf("the hook %s: %s exited %d: %s", t.Action.ID, t.Action.Argv[0], res.Exit, said(res))
	default:
		return Result{Detail: "exited 0: " + said(res)}, nil
	}
}

// said is the end of what a command printed, its complaints first.
func said(res remote.Result) string {
	for _, text := range []string{res.Stderr, res.Stdout} {
		if text = strings.TrimSpace(text); text != "" {
			return lastLines(text, 5)
		}
	}
	return "it printed nothing"
}
