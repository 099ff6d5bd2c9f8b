package execute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"migrator/internal/cluster"
	"migrator/internal/zkread"
)

// saveImage keeps what the metadata log holds of topics: the comparison with
// all controllers down has nothing else to compare ZooKeeper with.
func (e *Executor) saveImage(t Task) (Result, error) {
	l, ok := t.Snapshot.Log.Get()
	if !ok {
		return Result{}, fmt.Errorf("keep what the metadata log holds: %s", t.Snapshot.Log.Cause())
	}
	raw, err := json.Marshal(l.Image.Topics)
	if err != nil {
		return Result{}, fmt.Errorf("keep what the metadata log holds: %w", err)
	}
	sha, err := e.blobs.Put(raw)
	if err != nil {
		return Result{}, fmt.Errorf("keep what the metadata log holds: %w", err)
	}
	return Result{Blob: sha, Detail: fmt.Sprintf("%d topics at offset %d", len(l.Image.Topics), l.Image.Offset)}, nil
}

// archive moves a controller's folder aside: one that ever joined is never
// formatted again under the same directory.
func (e *Executor) archive(ctx context.Context, t Task) (Result, error) {
	n, node, err := e.node(t)
	if err != nil {
		return Result{}, err
	}
	running, err := isRunning(ctx, n, node)
	switch {
	case err != nil:
		return Result{}, err
	case running:
		return Result{}, fmt.Errorf("%s still runs: its folder %s is not moved", label(n), t.Action.Path)
	}
	if info, err := node.Stat(ctx, t.Action.Path); err != nil {
		return Result{}, fmt.Errorf("%s on %s: %w", t.Action.Path, label(n), err)
	} else if !info.Exists {
		return Result{Detail: "there is no folder to move"}, nil
	}
	if err := command(ctx, node, n, "archive", t.Action.Argv); err != nil {
		return Result{}, err
	}
	return Result{Detail: "moved to " + t.Action.Argv[len(t.Action.Argv)-1]}, nil
}

func (e *Executor) disable(ctx context.Context, t Task) (Result, error) {
	n, node, err := e.node(t)
	if err != nil {
		return Result{}, err
	}
	return Result{Detail: "disabled"}, command(ctx, node, n, "disable", t.Action.Argv)
}

// way is what ZooKeeper holds as the znodes are about to go.
type way struct {
	epoch      zkread.Epoch
	controller zkread.Controller
	migration  zkread.Migration
	largest    int32 // controller epoch in any partition state, or of the KRaft controller
}

// revertZnodes gives /controller back in one multi. The new ZooKeeper
// controller takes /controller_epoch + 1, and its elections are refused where a
// state carries a larger epoch (KAFKA-20488), so the epoch is raised first
// where it must be. Every condition is checked again here, at the effect.
func (e *Executor) revertZnodes(ctx context.Context) (Result, error) {
	for _, n := range e.m.Nodes {
		if n.Role != cluster.Controller {
			continue
		}
		running, err := e.isUp(ctx, n)
		if err != nil {
			return Result{}, err
		}
		if running {
			return Result{}, fmt.Errorf("%s runs: nothing is deleted while a controller could claim /controller again", label(n))
		}
	}
	w, err := e.readWay(ctx)
	if err != nil {
		return Result{}, err
	}
	saved, err := json.Marshal(map[string]string{"/controller_epoch": string(w.epoch.Raw), "/controller": string(w.controller.Raw), "/migration": string(w.migration.Raw)})
	if err != nil {
		return Result{}, err
	}
	sha, err := e.blobs.Put(saved)
	if err != nil {
		return Result{}, fmt.Errorf("save the znodes: %w", err)
	}
	change := ZnodesBack{EpochVersion: w.epoch.ZnodeVersion}
	detail := fmt.Sprintf("/controller_epoch %d (largest epoch in use %d)", w.epoch.Value, w.largest)
	if w.epoch.Value+1 < w.largest {
		change.RaiseTo = &w.largest
		detail += fmt.Sprintf(" raised to %d", w.largest)
	}
	if w.controller.Present && w.controller.HeldByKRaft() {
		change.Controller = &w.controller.ZnodeVersion
		detail += "; /controller deleted"
	}
	if w.migration.Present {
		change.Migration = &w.migration.ZnodeVersion
		detail += "; /migration deleted"
	}
	z, err := e.ZNodes()
	if err != nil {
		return Result{}, err
	}
	if err := z.Back(ctx, change); err != nil {
		return Result{}, err
	}
	return Result{Blob: sha, Detail: detail + "; their contents are in blob " + sha}, nil
}

func (e *Executor) readWay(ctx context.Context) (way, error) {
	var w way
	var err error
	if w.epoch, err = e.zk.ControllerEpoch(ctx); err != nil {
		return w, err
	}
	if !w.epoch.Present {
		return w, errors.New("/controller_epoch does not exist: a new ZooKeeper controller would begin at an epoch that brokers refuse")
	}
	if w.controller, err = e.zk.Controller(ctx); err != nil {
		return w, err
	}
	if w.migration, err = e.zk.Migration(ctx); err != nil {
		return w, err
	}
	if w.controller.KRaftEpoch != nil {
		w.largest = max(w.largest, *w.controller.KRaftEpoch)
	}
	if w.migration.Present && !w.migration.Null {
		w.largest = max(w.largest, w.migration.ControllerEpoch)
	}
	topics, err := e.zk.Topics(ctx, nil)
	if err != nil {
		return w, err
	}
	states, err := e.zk.PartitionStates(ctx, topics)
	if err != nil {
		return w, err
	}
	for _, partitions := range states {
		for _, s := range partitions {
			w.largest = max(w.largest, s.ControllerEpoch)
		}
	}
	return w, nil
}

// probeZnodes: done when nothing of the migration is left in ZooKeeper.
func (e *Executor) probeZnodes(ctx context.Context) (Probed, string, error) {
	w, err := e.readWay(ctx)
	if err != nil {
		return ProbedUnknown, "", err
	}
	if !w.migration.Present && !(w.controller.Present && w.controller.HeldByKRaft()) {
		return ProbedDone, "/migration is gone and no KRaft controller holds /controller", nil
	}
	return ProbedNotDone, "/migration or a KRaft controller's /controller is still there", nil
}
