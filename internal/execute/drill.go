package execute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/drill"
	"migrator/internal/kafkaread"
	"migrator/internal/phases"
	"migrator/internal/plan"
)

const (
	returnLimit  = 2 * time.Minute  // a stopped controller is back, the quorum full
	settleLimit  = 2 * time.Minute  // before a repeated drill the quorum must be full
	startAgain   = 10 * time.Second // between two starts of one controller
	baselineTime = 15 * time.Second // the ZooKeeper controller's own failover
	voterLag     = 100              // records a voter may be behind and still count as caught up
)

// drill takes the active controller away and brings it back. After a restart
// of the service in its middle the node may still be down: it is started and
// the quorum must be full before anything is measured anew.
func (e *Executor) drill(ctx context.Context, t Task) (Result, error) {
	if t.Try > 1 {
		if err := e.bringControllersBack(ctx); err != nil {
			return Result{}, err
		}
	}
	leader, _, err := e.leader(ctx, drill.AskAll)
	if err != nil {
		return Result{}, fmt.Errorf("%s drill: who leads is unknown: %w", t.Action.Drill, err)
	}
	n, ok := e.m.Node(leader)
	if !ok {
		return Result{}, fmt.Errorf("%s drill: the active controller %d is not in migrations.yaml", t.Action.Drill, leader)
	}
	take := n.Commands.Stop
	if t.Action.Drill == "crash" {
		take = n.Commands.Kill
	}
	node := e.nodes[n.ID]
	commands := drill.Commands{
		Take:   func(ctx context.Context) error { return command(ctx, node, n, t.Action.Drill+" drill", take) },
		Return: func(ctx context.Context) error { return command(ctx, node, n, "start", n.Commands.Start) },
	}
	limits := drill.Limits{MaxUnavailable: e.m.Drill.MaxUnavailable, Return: returnLimit}
	if n.Access.Kind == "manual" {
		commands, limits.Return = e.byHand(n, t.Action.Drill, take), personLimit
	}
	partitions := 0
	if m, ok := t.Snapshot.Metadata.Get(); ok {
		partitions = len(m.Partitions)
	}
	limits.DualWrite = drill.DualWriteLimit(partitions)
	r, err := drill.Run(ctx, t.Action.Drill, n.ID, e.probes(), commands, limits, nil)
	run := &phases.DrillRun{Kind: t.Action.Drill, Node: n.ID, NewLeader: r.NewLeader, LeaderMS: r.LeaderMS, MetadataMS: r.MetadataWriteMS, DualWriteMS: r.DualWriteMS,
		UnavailableMS: r.UnavailableMS, EpochBefore: r.EpochBefore, EpochAfter: r.EpochAfter, ZKEpochBefore: r.ZKEpochBefore, ZKEpochAfter: r.ZKEpochAfter,
		Passed: r.Passed, Why: r.Why}
	if err != nil {
		return Result{Drill: run}, err
	}
	if !r.Passed {
		return Result{Drill: run}, fmt.Errorf("the %s drill did not pass: %s", t.Action.Drill, r.Why)
	}
	return Result{Drill: run, Detail: "passed"}, nil
}

// bringControllersBack starts every controller that does not run and waits for
// a full quorum.
func (e *Executor) bringControllersBack(ctx context.Context) error {
	return e.startUntil(ctx, e.quorumFull)
}

// startUntil starts controllers that do not run until the quorum is full. One
// that a killed service took away may still be on its way down at the first
// look, so it looks on.
func (e *Executor) startUntil(ctx context.Context, full func(context.Context) (bool, string, error)) error {
	limit := settleLimit
	if e.drivenByHand() {
		limit = personLimit
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer e.ask(nil)
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	started := map[int32]time.Time{}
	for {
		if err := e.startControllers(ctx, started); err != nil {
			return err
		}
		ok, lacks, err := full(limited)
		if err == nil && ok {
			return nil
		}
		select {
		case <-limited.Done():
			return fmt.Errorf("the quorum is not full after an interrupted drill: %s: %w", lacks, errors.Join(err, limited.Err()))
		case <-tick.C:
		}
	}
}

// startControllers starts those that do not run and were not just started.
func (e *Executor) startControllers(ctx context.Context, started map[int32]time.Time) error {
	for _, n := range e.m.Nodes {
		if n.Role != cluster.Controller || time.Since(started[n.ID]) < startAgain {
			continue
		}
		running, err := e.isUp(ctx, n)
		if err != nil {
			return err
		}
		if running {
			continue
		}
		started[n.ID] = time.Now()
		if n.Access.Kind == "manual" {
			e.ask(personal(plan.Start, n, n.Commands.Start))
			continue
		}
		if err := command(ctx, e.nodes[n.ID], n, "start", n.Commands.Start); err != nil {
			return err
		}
	}
	return nil
}

// probes are the reads the sampler makes.
func (e *Executor) probes() drill.Probes {
	return drill.Probes{
		Leader: e.leader,
		WriteMetadata: func(ctx context.Context) error {
			_, err := e.writer.Write(ctx)
			return err
		},
		Holder: func(ctx context.Context) (drill.ControllerView, error) {
			h, err := e.zk.Controller(ctx)
			if err != nil {
				return drill.ControllerView{}, err
			}
			if !h.Present {
				return drill.ControllerView{}, errors.New("/controller does not exist")
			}
			return drill.ControllerView{BrokerID: h.BrokerID, KRaftEpoch: h.KRaftEpoch}, nil
		},
		ZKEpoch: func(ctx context.Context) (int, error) {
			z, err := e.zk.ControllerEpoch(ctx)
			if err == nil && !z.Present {
				err = errors.New("/controller_epoch does not exist")
			}
			return int(z.Value), err
		},
		Migration: func(ctx context.Context) (drill.MigrationView, error) {
			z, err := e.zk.Migration(ctx)
			if err == nil && (!z.Present || z.Null) {
				err = errors.New("/migration does not exist or is empty")
			}
			return drill.MigrationView{ControllerID: z.ControllerID, ControllerEpoch: z.ControllerEpoch, Offset: z.Offset, Version: z.ZnodeVersion}, err
		},
		QuorumFull: e.quorumFull,
	}
}

// leader asks the controllers at once who leads; only the leader says so.
func (e *Executor) leader(ctx context.Context, excluding int32) (id, epoch int32, err error) {
	type answer struct {
		id int32
		q  kafkaread.Quorum
		e  error
	}
	inv := e.m.Inventory().Controllers
	answers := make(chan answer, len(inv))
	asked := 0
	for _, c := range inv {
		if c.ID == excluding {
			continue
		}
		asked++
		go func() {
			q, err := e.controllers.Quorum(ctx, c.ID)
			answers <- answer{c.ID, q, err}
		}()
	}
	var errs []error
	for range asked {
		select {
		case a := <-answers:
			if a.e == nil && a.q.IsLeader {
				return a.id, a.q.Epoch, nil
			}
			errs = append(errs, a.e)
		case <-ctx.Done():
			return 0, 0, ctx.Err()
		}
	}
	return 0, 0, errors.Join(append(errs, errors.New("no controller says it leads"))...)
}

// quorumFull: every controller of the inventory is a voter that keeps up.
func (e *Executor) quorumFull(ctx context.Context) (bool, string, error) {
	id, _, err := e.leader(ctx, drill.AskAll)
	if err != nil {
		return false, "no leader", err
	}
	q, err := e.controllers.Quorum(ctx, id)
	if err != nil {
		return false, "", err
	}
	for _, c := range e.m.Inventory().Controllers {
		i := slices.IndexFunc(q.Voters, func(r kafkaread.Replica) bool { return r.ID == c.ID })
		if i < 0 {
			return false, fmt.Sprintf("controller %d is no voter", c.ID), nil
		}
		if behind := q.HighWatermark - q.Voters[i].LogEndOffset; behind > voterLag {
			return false, fmt.Sprintf("controller %d is %d records behind", c.ID, behind), nil
		}
		if _, err := e.controllers.Quorum(ctx, c.ID); err != nil {
			return false, fmt.Sprintf("controller %d does not answer", c.ID), nil
		}
	}
	return true, "", nil
}

// watchFailover measures the ZooKeeper controller's own failover while its
// broker is stopped: the baseline that drills are compared with. It answers
// nothing for any other stop, and never makes a stop fail.
func (e *Executor) watchFailover(ctx context.Context, t Task, n config.Node) func() *phases.DrillRun {
	h, ok := t.Snapshot.Holder.Get()
	if !ok || !h.Present || h.KRaft() || h.ID != n.ID || n.Role != cluster.Broker || t.Step.Rule != plan.ZooKeeperCtlLast || e.m.Canary.Off {
		return func() *phases.DrillRun { return nil }
	}
	watching, cancel := context.WithTimeout(ctx, baselineTime)
	done := make(chan drill.Baseline, 1)
	go func() {
		defer cancel()
		b, err := drill.WatchFailover(watching, e.probes(), n.ID, time.Now())
		if err != nil {
			b.MetadataWriteMS = nil
		}
		done <- b
	}()
	return func() *phases.DrillRun {
		b := <-done
		run := &phases.DrillRun{Kind: "clean", Baseline: true, Node: n.ID, NewLeader: b.NewHolder, LeaderMS: b.HolderMS, MetadataMS: b.MetadataWriteMS,
			UnavailableMS: b.MetadataWriteMS, Passed: b.MetadataWriteMS != nil}
		if !run.Passed {
			run.Why = "not measured: no other holder of /controller accepted a write within " + baselineTime.String()
		}
		return run
	}
}
