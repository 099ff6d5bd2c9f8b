// Package execute performs actions and looks whether one was done. Each action
// checks its own precondition at the moment of effect. Only this package
// (through remote and znode.go) and canary change anything outside.
package execute

import (
	"context"
	"fmt"
	"time"

	"migrator/internal/canary"
	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/connect"
	"migrator/internal/facts"
	"migrator/internal/kafkaread"
	"migrator/internal/phases"
	"migrator/internal/plan"
	"migrator/internal/remote"
	"migrator/internal/zkread"
)

// Probed is what a look at an action in doubt found.
type Probed string

const (
	ProbedUnknown Probed = ""
	ProbedDone    Probed = "done"
	ProbedNotDone Probed = "not-done"
)

// Task is one action with what its effect needs to know.
type Task struct {
	Step      plan.Step
	Action    plan.Action
	ClusterID string
	Try       int
	Restore   bool // a start that brings a node back after another action failed
	// Snapshot is the newest one: who leads, who holds /controller, how many partitions.
	Snapshot     facts.Snapshot
	NotPreferred []string // "topic-partition" the roll leaves alone
	// Cursors are where the logs of the step's nodes ended as it began, as observe
	// marked them; only for an action that was in doubt.
	Cursors map[int32]string
}

// Result is what an action did.
type Result struct {
	Detail  string
	Unclean bool             // a stop without proof of a clean shutdown
	Blob    string           // SHA-256 of saved content
	Drill   *phases.DrillRun // a drill's figures, or the ZooKeeper controller's own failover
}

// Blobs keeps contents by SHA-256.
type Blobs interface {
	Put(data []byte) (string, error)
	Get(sha string) ([]byte, error)
}

// Executor acts on one cluster.
type Executor struct {
	m           config.Migration
	nodes       map[int32]remote.Node
	service     remote.Node // this machine, where hooks run
	blobs       Blobs
	zk          *zkread.Reader
	controllers *kafkaread.Controllers
	cluster     canary.Cluster
	writer      *canary.MetadataWriter
	Client      Client // may be nil: no canary runs
	ZNodes      func() (*ZNodes, error)
	Progress    func(text string) // may be nil: what a long action is doing
	// Ask tells what a person is to do within an action of ours, nil when that is
	// over; may be nil.
	Ask func(*plan.Action)
}

// Client is our own client as the last step ends it.
type Client interface {
	// Finish stops producing and reads every acknowledged record back.
	Finish(ctx context.Context) (canary.Verification, error)
}

// New opens the ways to the nodes; nothing is contacted yet.
func New(m config.Migration, blobs Blobs) (*Executor, error) {
	e := &Executor{m: m, cluster: connect.Canary(m.Kafka), nodes: map[int32]remote.Node{}, blobs: blobs}
	var err error
	if e.service, err = remote.Open(config.Access{Kind: "local"}); err != nil {
		return nil, fmt.Errorf("the service's machine, where hooks run: %w", err)
	}
	for _, n := range m.Nodes {
		node, err := remote.Open(n.Access)
		if err != nil {
			return nil, fmt.Errorf("node %d: %w", n.ID, err)
		}
		e.nodes[n.ID] = node
	}
	if e.zk, err = connect.Reader(m.ZooKeeper, 10*time.Second); err != nil {
		return nil, err
	}
	if e.controllers, err = connect.Controllers(m); err != nil {
		e.zk.Close()
		return nil, err
	}
	e.writer = canary.NewMetadataWriter(e.cluster, m.Canary.Topic)
	return e, nil
}

// Close lets go of connections.
func (e *Executor) Close() {
	e.writer.Close()
	e.controllers.Close()
	e.zk.Close()
}

// Do performs the action. An error means it did not happen, or not whole.
func (e *Executor) Do(ctx context.Context, t Task) (Result, error) {
	switch t.Action.Kind {
	case plan.Stop:
		return e.stop(ctx, t)
	case plan.Write:
		return e.write(ctx, t)
	case plan.FormatDirs:
		return e.format(ctx, t)
	case plan.Start:
		return e.start(ctx, t)
	case plan.CreateTopic:
		return e.createTopic(ctx, t)
	case plan.DeleteTopic:
		return e.deleteTopic(ctx, t)
	case plan.VerifyCanary:
		return e.verifyCanary(ctx)
	case plan.SaveZnodes:
		return e.saveZnodes(ctx, t)
	case plan.ElectPreferred:
		return e.elect(ctx, t)
	case plan.RunDrill:
		return e.drill(ctx, t)
	case plan.SaveImage:
		return e.saveImage(t)
	case plan.Archive:
		return e.archive(ctx, t)
	case plan.Disable:
		return e.disable(ctx, t)
	case plan.RevertZnodes:
		return e.revertZnodes(ctx)
	case plan.MetadataWrite:
		return e.writeMetadata(ctx)
	case plan.FreezeHook, plan.ThawHook, plan.BeforeNode, plan.AfterNode:
		return e.hook(ctx, t)
	default:
		return Result{}, fmt.Errorf("no such action %q", t.Action.Kind)
	}
}

// Probe looks whether the action was done, by reading the node, never by
// doing. Actions that are safe to repeat answer not done.
func (e *Executor) Probe(ctx context.Context, t Task) (Probed, string, error) {
	switch t.Action.Kind {
	case plan.Stop:
		return e.probeStop(ctx, t)
	case plan.Start:
		return e.probeStart(ctx, t)
	case plan.Write:
		return e.probeWrite(ctx, t)
	case plan.FormatDirs:
		return e.probeFormatting(ctx, t)
	case plan.RevertZnodes:
		return e.probeZnodes(ctx)
	case plan.RunDrill:
		return ProbedNotDone, "the service ended while the drill ran: the node is brought back, the drill is measured anew", nil
	case plan.CreateTopic, plan.DeleteTopic, plan.SaveZnodes, plan.ElectPreferred, plan.VerifyCanary,
		plan.SaveImage, plan.Archive, plan.Disable, plan.MetadataWrite,
		plan.FreezeHook, plan.ThawHook, plan.BeforeNode, plan.AfterNode:
		return ProbedNotDone, "safe to repeat", nil
	default:
		return ProbedUnknown, "", fmt.Errorf("no such action %q", t.Action.Kind)
	}
}

// node finds the configuration of the action's node and the way to it.
func (e *Executor) node(t Task) (config.Node, remote.Node, error) {
	if t.Action.Node == nil {
		return config.Node{}, nil, fmt.Errorf("action %s names no node", t.Action.ID)
	}
	n, ok := e.m.Node(*t.Action.Node)
	if !ok {
		return config.Node{}, nil, fmt.Errorf("node %d is not in migrations.yaml", *t.Action.Node)
	}
	return n, e.nodes[n.ID], nil
}

// label names a node in an error.
func label(n config.Node) string {
	if n.Role == cluster.Controller {
		return fmt.Sprintf("controller %d on %s", n.ID, n.Host)
	}
	return fmt.Sprintf("broker %d on %s", n.ID, n.Host)
}
