package execute

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"syscall"
	"time"

	"migrator/internal/config"
	"migrator/internal/drill"
	"migrator/internal/plan"
)

// personLimit is how long a drill waits for a person to bring a controller back.
const personLimit = time.Hour

// watchEvery is how often the port of a node is looked at that a person takes
// away: what a drill measures begins within it.
const watchEvery = 50 * time.Millisecond

func (e *Executor) drivenByHand() bool {
	return slices.ContainsFunc(e.m.Nodes, func(n config.Node) bool { return n.Access.Kind == "manual" })
}

func (e *Executor) ask(a *plan.Action) {
	if e.Ask != nil {
		e.Ask(a)
	}
}

func personal(kind plan.ActionKind, n config.Node, argv []string) *plan.Action {
	return &plan.Action{ID: fmt.Sprintf("%s-%d", kind, n.ID), Kind: kind, Node: &n.ID, Argv: argv, Manual: true}
}

// byHand lets a person take the active controller away and bring it back, and
// looks at its port.
func (e *Executor) byHand(n config.Node, kind string, take []string) drill.Commands {
	away := plan.Stop
	if kind == "crash" {
		away = plan.Kill
	}
	var gone time.Time
	return drill.Commands{
		TakenAt: func() time.Time { return gone },
		Take: func(ctx context.Context) (err error) {
			e.ask(personal(away, n, take))
			defer e.ask(nil)
			gone, err = e.untilGone(ctx, n)
			return err
		},
		Return: func(ctx context.Context) error {
			e.ask(personal(plan.Start, n, n.Commands.Start))
			defer e.ask(nil)
			return e.untilUp(ctx, n, true)
		}}
}

const (
	leaderEvery = 500 * time.Millisecond // how often it is asked who leads while a person is awaited
	goesWithin  = 15 * time.Second       // a controller that no longer leads closes its port, if it is being stopped
)

// untilGone waits for a person to take the active controller away and answers
// when that was first seen: a clean stop hands the lead over before it closes the
// port. One that loses the lead and stays up was not taken away by anybody.
func (e *Executor) untilGone(ctx context.Context, n config.Node) (gone time.Time, err error) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	asked := time.Now()
	for {
		up, err := e.isUp(ctx, n)
		switch {
		case err == nil && !up && gone.IsZero():
			return time.Now(), nil
		case err == nil && !up:
			return gone, nil
		case !gone.IsZero() && time.Since(gone) > goesWithin:
			return gone, fmt.Errorf("%s no longer leads and was not stopped: nothing was measured; `migrator retry` begins anew with the one that leads now", label(n))
		}
		if gone.IsZero() && time.Since(asked) >= leaderEvery {
			asked = time.Now()
			limited, cancel := context.WithTimeout(ctx, leaderEvery)
			if leader, _, err := e.leader(limited, drill.AskAll); err == nil && leader != n.ID {
				gone = time.Now()
			}
			cancel()
		}
		select {
		case <-ctx.Done():
			return gone, fmt.Errorf("wait for a person at %s: %w", label(n), ctx.Err())
		case <-tick.C:
		}
	}
}

func (e *Executor) untilUp(ctx context.Context, n config.Node, want bool) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		if up, err := e.isUp(ctx, n); err == nil && up == want {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for a person at %s: %w", label(n), ctx.Err())
		case <-tick.C:
		}
	}
}

// isUp says whether a node runs: by its command, or by the port of a controller
// that a person drives.
func (e *Executor) isUp(ctx context.Context, n config.Node) (bool, error) {
	if n.Access.Kind != "manual" {
		return isRunning(ctx, n, e.nodes[n.ID])
	}
	limited, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(limited, "tcp", net.JoinHostPort(n.Host, strconv.Itoa(n.Port)))
	switch {
	case err == nil:
		return true, conn.Close()
	case errors.Is(err, syscall.ECONNREFUSED):
		return false, nil
	}
	return false, fmt.Errorf("port of %s: %w", label(n), err)
}
