package execute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/configgen"
	"migrator/internal/noderead"
	"migrator/internal/remote"
)

const (
	lookEvery  = 200 * time.Millisecond
	lookLimit  = 5 * time.Second
	startLimit = 30 * time.Second // for the process to exist; that it serves is the gates' matter
	doubtLimit = 10 * time.Second // a start in doubt is repeated only after "not running" for so long
	// formatLimit is how long a format command cut off from a killed service may still take.
	formatLimit = 20 * time.Second
)

// stop gives the stop command and waits until the process is gone. Never
// SIGKILL: a stop that takes longer than the step's limit ends as an error,
// and the node may still be stopping.
func (e *Executor) stop(ctx context.Context, t Task) (Result, error) {
	n, node, err := e.node(t)
	if err != nil {
		return Result{}, err
	}
	limited, cancel := context.WithTimeout(ctx, e.m.Gates.StepTimeout)
	defer cancel()
	if downAlready(limited, n, node) {
		return Result{Detail: "did not run: nothing was stopped"}, nil
	}
	logs := e.shutdownLines(limited, t, n, node)
	baseline := e.watchFailover(limited, t, n)
	if err := command(limited, node, n, "stop", t.Action.Argv); isFailure(err) {
		return Result{}, err
	}
	if err := e.await(limited, n, node, false); err != nil {
		return Result{}, fmt.Errorf("%s does not stop within %s (it is not killed): %w", label(n), e.m.Gates.StepTimeout, err)
	}
	res := Result{Detail: "stopped", Drill: baseline()}
	clean, how := logs(ctx)
	if !clean {
		clean, how = e.cleanFile(ctx, n, node)
	}
	res.Unclean, res.Detail = !clean, "stopped; "+how
	return res, nil
}

// downAlready: somebody stopped the controller before us, as the alarms ask for.
// How it ended is not ours to prove, and a controller loses nothing by it.
func downAlready(ctx context.Context, n config.Node, node remote.Node) bool {
	if n.Role != cluster.Controller {
		return false
	}
	running, err := isRunning(ctx, n, node)
	return err == nil && !running
}

// since is where the log of the node ended as the step began; a stop that was
// begun before the service was killed has its lines after that.
func (e *Executor) since(ctx context.Context, t Task, n config.Node, node remote.Node) ([]noderead.FileCursor, error) {
	if text, ok := t.Cursors[n.ID]; ok {
		var cursors []noderead.FileCursor
		if err := json.Unmarshal([]byte(text), &cursors); err != nil {
			return nil, fmt.Errorf("log cursors of %s: %w", label(n), err)
		}
		return cursors, nil
	}
	f, err := noderead.NewFollower(node, n.Logs, nil)
	if err != nil {
		return nil, err
	}
	return f.AtEnd(ctx)
}

// shutdownLines answers later whether a clean shutdown line came after the
// step began.
func (e *Executor) shutdownLines(ctx context.Context, t Task, n config.Node, node remote.Node) func(context.Context) (bool, string) {
	unseen := func(context.Context) (bool, string) { return false, "its log cannot be read" }
	if n.Logs.None {
		return unseen
	}
	cursors, err := e.since(ctx, t, n, node)
	if err != nil {
		return unseen
	}
	f, err := noderead.NewFollower(node, n.Logs, cursors)
	if err != nil {
		return unseen
	}
	return func(ctx context.Context) (bool, string) {
		for {
			got, err := f.Poll(ctx)
			if err != nil {
				return false, "its log cannot be read: " + err.Error()
			}
			for _, ev := range got.Events {
				if ev.Kind == noderead.ShutDown {
					return true, "clean: " + ev.Text
				}
			}
			if !got.More {
				return false, "no shutdown line"
			}
		}
	}
}

func (e *Executor) cleanFile(ctx context.Context, n config.Node, node remote.Node) (bool, string) {
	limited, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	content, err := node.ReadFile(limited, n.Properties)
	if err != nil {
		return false, "no shutdown line, and " + n.Properties + " cannot be read"
	}
	dirs, err := configgen.LogDirs(content)
	if err != nil {
		return false, "no shutdown line, and its log folders are unknown: " + err.Error()
	}
	clean, known, err := noderead.CleanShutdown(limited, node, dirs)
	switch {
	case err != nil || !known:
		return false, "no shutdown line, and whether .kafka_cleanshutdown exists is unknown"
	case clean:
		return true, "clean: .kafka_cleanshutdown"
	default:
		return false, "no shutdown line and no .kafka_cleanshutdown"
	}
}

// write puts the approved content in place of exactly the file the plan was
// made from. A file that already has the content is left alone.
func (e *Executor) write(ctx context.Context, t Task) (Result, error) {
	n, node, err := e.node(t)
	if err != nil {
		return Result{}, err
	}
	if found, _, err := e.probeWrite(ctx, t); err == nil && found == ProbedDone {
		return Result{Detail: "already in place"}, nil
	}
	data, err := e.blobs.Get(t.Action.After)
	if err != nil {
		return Result{}, fmt.Errorf("content for %s on %s: %w", t.Action.Path, label(n), err)
	}
	expect := remote.Expect{SHA256: t.Action.Before}
	if t.Action.Before == "" {
		expect = remote.Expect{Absent: true}
	}
	err = node.WriteFile(ctx, t.Action.Path, data, remote.WriteOptions{Expect: expect})
	var changed *remote.ChangedError
	if errors.As(err, &changed) {
		return Result{}, fmt.Errorf("%s on %s changed since the plan was made; put the approved content back, or revert: %w", t.Action.Path, label(n), err)
	}
	if err != nil {
		return Result{}, fmt.Errorf("write %s on %s: %w", t.Action.Path, label(n), err)
	}
	return Result{Detail: "written, read back and compared"}, nil
}

// format gives a controller's folders the cluster's id and the brokers'
// metadata version. A folder that is already so formatted is left alone; one
// of another cluster or node is refused: it is never formatted over.
func (e *Executor) format(ctx context.Context, t Task) (Result, error) {
	n, node, err := e.node(t)
	if err != nil {
		return Result{}, err
	}
	found, how, err := e.probeFormat(ctx, t)
	if err != nil {
		return Result{}, err
	}
	if found == ProbedDone {
		return Result{Detail: how}, nil
	}
	failed := command(ctx, node, n, "format", t.Action.Argv)
	look := e.probeFormat
	if errors.Is(failed, remote.ErrLost) {
		look = e.probeFormatting // where it was begun it goes on
	}
	found, how, err = look(ctx, t)
	switch {
	case err != nil:
		return Result{}, errors.Join(failed, err)
	case found == ProbedDone && failed != nil:
		// An earlier command of ours, cut off from a killed service, was faster; or
		// this one went on after its connection was lost.
		return Result{Detail: "formatted for this cluster and node, although this command failed: " + failed.Error()}, nil
	case failed != nil:
		return Result{}, failed
	case found != ProbedDone:
		return Result{}, fmt.Errorf("%s: the format command succeeded, but %s", label(n), how)
	}
	return Result{Detail: "formatted"}, nil
}

// probeFormatting: a format command begun before the service was killed, or its
// connection was lost, may still be running, so "not formatted" counts only when it lasts.
func (e *Executor) probeFormatting(ctx context.Context, t Task) (Probed, string, error) {
	limited, cancel := context.WithTimeout(ctx, formatLimit)
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		found, how, err := e.probeFormat(ctx, t)
		if err != nil || found == ProbedDone {
			return found, how, err
		}
		select {
		case <-ctx.Done():
			return ProbedUnknown, "", ctx.Err()
		case <-limited.Done():
			return found, how, nil
		case <-tick.C:
		}
	}
}

// start gives the start command and waits until the process exists.
func (e *Executor) start(ctx context.Context, t Task) (Result, error) {
	n, node, err := e.node(t)
	if err != nil {
		return Result{}, err
	}
	if err := command(ctx, node, n, "start", t.Action.Argv); isFailure(err) {
		return Result{}, err
	}
	limited, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := e.await(limited, n, node, true); err != nil {
		return Result{}, fmt.Errorf("%s does not run %s after its start command: %w", label(n), startLimit, err)
	}
	return Result{Detail: "started"}, nil
}

// command runs one of the node's commands and makes a failure readable.
func command(ctx context.Context, node remote.Node, n config.Node, what string, argv []string) error {
	res, err := node.Run(ctx, argv)
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, label(n), err)
	}
	if res.Exit == 0 {
		return nil
	}
	return fmt.Errorf("%s %s: %s exited %d: %s", what, label(n), argv[0], res.Exit, said(res))
}

// isFailure is false for a command whose connection was lost: it goes on where it
// was begun, and whether the process exists is looked at next in any case.
func isFailure(err error) bool { return err != nil && !errors.Is(err, remote.ErrLost) }

func lastLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], " | ")
}

// await waits until the process exists, or not.
func (e *Executor) await(ctx context.Context, n config.Node, node remote.Node, want bool) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	why := ""
	for {
		running, err := isRunning(ctx, n, node)
		switch {
		case err != nil:
			why = err.Error()
		case running == want:
			return nil
		default:
			why = fmt.Sprintf("`running` says %v", running)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", why, ctx.Err())
		case <-tick.C:
		}
	}
}

// isRunning asks the node's running command: exit 0 yes, 1 to 4 no, else unknown.
func isRunning(ctx context.Context, n config.Node, node remote.Node) (bool, error) {
	limited, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	res, err := node.Run(limited, n.Commands.Running)
	if err != nil {
		return false, fmt.Errorf("running command of %s: %w", label(n), err)
	}
	running, known := res.Running()
	if !known {
		return false, fmt.Errorf("running command of %s exited %d, which means neither yes nor no", label(n), res.Exit)
	}
	return running, nil
}

func (e *Executor) probeRunning(ctx context.Context, t Task, want bool) (Probed, string, error) {
	n, node, err := e.node(t)
	if err != nil {
		return ProbedUnknown, "", err
	}
	running, err := isRunning(ctx, n, node)
	if err != nil {
		return ProbedUnknown, "", err
	}
	how := fmt.Sprintf("`running` says %v", running)
	if running == want {
		return ProbedDone, how, nil
	}
	return ProbedNotDone, how, nil
}

// probeStop: a node that does not run is stopped, but not known to be stopped
// cleanly. The stop command is safe to repeat, and tells that from the log.
func (e *Executor) probeStop(ctx context.Context, t Task) (Probed, string, error) {
	found, how, err := e.probeRunning(ctx, t, false)
	if err == nil && found == ProbedDone {
		return ProbedNotDone, how + "; whether it ended cleanly is looked up with the stop", nil
	}
	return found, how, err
}

// probeStart: a start command begun before the service was killed may still
// bring the process up, so "not running" counts only when it lasts.
func (e *Executor) probeStart(ctx context.Context, t Task) (Probed, string, error) {
	n, node, err := e.node(t)
	if err != nil {
		return ProbedUnknown, "", err
	}
	limited, cancel := context.WithTimeout(ctx, doubtLimit)
	defer cancel()
	if err := e.await(limited, n, node, true); err == nil {
		return ProbedDone, "the process exists", nil
	}
	if ctx.Err() != nil {
		return ProbedUnknown, "", ctx.Err()
	}
	return e.probeRunning(ctx, t, true)
}

func (e *Executor) probeWrite(ctx context.Context, t Task) (Probed, string, error) {
	n, node, err := e.node(t)
	if err != nil {
		return ProbedUnknown, "", err
	}
	limited, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	info, err := node.Stat(limited, t.Action.Path)
	if err != nil {
		return ProbedUnknown, "", fmt.Errorf("%s on %s: %w", t.Action.Path, label(n), err)
	}
	if !info.Exists {
		return ProbedNotDone, "the file does not exist", nil
	}
	data, err := node.ReadFile(limited, t.Action.Path)
	if err != nil {
		return ProbedUnknown, "", fmt.Errorf("%s on %s: %w", t.Action.Path, label(n), err)
	}
	if remote.Sum(data) == t.Action.After {
		return ProbedDone, "the file has the wanted content", nil
	}
	return ProbedNotDone, "the file has other content", nil
}

func (e *Executor) probeFormat(ctx context.Context, t Task) (Probed, string, error) {
	n, node, err := e.node(t)
	if err != nil {
		return ProbedUnknown, "", err
	}
	limited, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	metas, err := noderead.MetaProperties(limited, node, n.LogDirs)
	if err != nil {
		return ProbedUnknown, "", fmt.Errorf("meta.properties of %s: %w", label(n), err)
	}
	missing := 0
	for _, m := range metas {
		if !m.Exists {
			missing++
			continue
		}
		if err := sameCluster(m, t.ClusterID, n.ID); err != nil {
			return ProbedUnknown, "", fmt.Errorf("%s: %s %w: never formatted over; move the folder away if it is not needed", label(n), m.Dir, err)
		}
	}
	if missing > 0 || len(metas) == 0 {
		return ProbedNotDone, fmt.Sprintf("%d of %d folders have no meta.properties", missing, len(metas)), nil
	}
	return ProbedDone, "its folders are already formatted for this cluster", nil
}

func sameCluster(m noderead.Meta, clusterID string, id int32) error {
	if m.ClusterID == nil || *m.ClusterID != clusterID {
		return fmt.Errorf("holds the meta.properties of cluster %s, this is %s", optional(m.ClusterID), clusterID)
	}
	if m.NodeID == nil || *m.NodeID != id {
		return fmt.Errorf("belongs to node %s, this is %d", optional(m.NodeID), id)
	}
	return nil
}

func optional[T any](v *T) string {
	if v == nil {
		return "(none)"
	}
	return fmt.Sprint(*v)
}
