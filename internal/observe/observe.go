// Package observe runs the readers with deadlines and turns their answers into
// one snapshot. A reader that fails, hangs or cannot connect yields unknown
// facts with the cause, never an error for the whole round.
package observe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"migrator/internal/canary"
	"migrator/internal/config"
	"migrator/internal/facts"
)

// Limits of one reader. A round never waits longer than readLimit for a read, or
// farLimit, however many of them hang: one that hangs is not asked again meanwhile.
const (
	readLimit = 2 * time.Second
	farLimit  = 6 * time.Second  // of a read on another machine
	scanLimit = 30 * time.Second // of a whole reading of the topics in ZooKeeper
	closeWait = 5 * time.Second
)

// Deps is what a round shows but does not read by itself. Nil functions leave
// their facts unknown.
type Deps struct {
	// Canary gives what our own client has seen; false while it does not run.
	Canary func() (canary.Stats, bool)
	// Driver says who holds our driver znode.
	Driver func(context.Context) (facts.Driver, error)
	// Writable tries a write of our own znode.
	Writable func(context.Context) (bool, error)

	Log *slog.Logger     // nil discards
	Now func() time.Time // nil is time.Now
}

// Want says what a round reads beyond what every round reads.
type Want struct {
	Files      bool    // every node's properties file
	Meta       bool    // every node's meta.properties
	Topics     bool    // the last whole reading of the topics in ZooKeeper
	TopicsSoon bool    // as Topics, and a new reading each second instead of every ten
	Quorum     bool    // DescribeQuorum and ApiVersions of each controller
	Log        bool    // the metadata log; implies Quorum. Without it what was read is forgotten: the quorum is gone
	Preflight  bool    // the findings of preflight, at most some minutes old
	MinISR     bool    // effective min.insync.replicas, at most a minute old
	Named      bool    // whom each broker takes for the controller
	Settings   []int32 // brokers that are asked what they run with
	Lines      []int32 // nodes whose logs are followed from their mark on
	Kept       []int32 // nodes whose copies of earlier files are read
	// Machines are the nodes whose machine is looked at again (running command,
	// files); the others keep what an earlier round saw, with its time. Nil: all.
	Machines []int32
}

// Observer reads one cluster. It opens what it needs when it needs it and
// opens it again when that failed. Its methods may be called concurrently.
type Observer struct {
	m        config.Migration
	deps     Deps
	sources  sources
	limit    time.Duration // of one ordinary read
	rounds   chan struct{} // held by the one round that runs
	running  inFlight
	turns    chan struct{} // bounds how many nodes are read at once
	machines sync.Map      // of remote.Node by node id
	book     addressBook
	topics   kept[facts.ZKTopics]
	minISR   kept[map[string]int]
	finding  kept[facts.Preflight]
	logs     map[int32]*nodeLog // one for each node of the inventory
	seen     facts.Snapshot     // machine facts of earlier rounds; belongs to the round whose turn it is
}

// New describes the cluster to read and waits for no connection: a cluster that
// is down is unknown facts. It fails only for addresses that make no sense.
func New(m config.Migration, deps Deps) (*Observer, error) {
	if m.ZooKeeper.Connect == "" || len(m.Kafka.Bootstrap) == 0 {
		return nil, fmt.Errorf("observe %s: zookeeper.connect and kafka.bootstrap are needed", m.Name)
	}
	s, err := open(m)
	if err != nil {
		return nil, fmt.Errorf("observe %s: %w", m.Name, err)
	}
	return newObserver(m, deps, s), nil
}

func newObserver(m config.Migration, deps Deps, s sources) *Observer {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	o := &Observer{
		m: m, deps: deps, sources: s, limit: readLimit,
		rounds: make(chan struct{}, 1), turns: make(chan struct{}, nodesAtOnce),
		logs: make(map[int32]*nodeLog, len(m.Nodes)),
	}
	for _, n := range m.Nodes {
		o.logs[n.ID] = newNodeLog(n)
	}
	return o
}

// Close ends what still runs and closes all connections. A read that does not
// end in closeWait is named in the error.
func (o *Observer) Close() error {
	var hung error
	if names := o.running.stop(closeWait); len(names) > 0 {
		hung = fmt.Errorf("observe %s: still running: %v", o.m.Name, names)
	}
	return errors.Join(hung, o.sources.close())
}

// Round reads everything that want asks for at once and returns when the last
// read has answered or run out of time. Rounds take turns; one that gets none
// before ctx ends knows nothing.
func (o *Observer) Round(ctx context.Context, want Want) facts.Snapshot {
	select {
	case o.rounds <- struct{}{}:
		defer func() { <-o.rounds }()
	case <-ctx.Done():
		return facts.Snapshot{Begun: o.deps.Now()}
	}
	want.Quorum = want.Quorum || want.Log
	want.Topics = want.Topics || want.TopicsSoon
	if !want.Log {
		o.sources.controllers.forget()
	}
	s := facts.Snapshot{Begun: o.deps.Now()}
	r := newRound(len(o.m.Inventory().Controllers))

	o.collect(ctx, &s, slices.Concat(
		o.zookeeperReads(want),
		o.brokerReads(r),
		o.apiReads(r, want),
		o.quorumReads(r, want),
		o.nodeReads(want),
		o.keptCopyReads(want),
		o.lineReads(want),
		o.keptReads(ctx, want),
	))
	o.keepMachines(&s, want)
	o.canary(&s)
	o.learnTopics(s)
	o.preflight(ctx, &s, want)
	if want.Log {
		s.Log = logOfLeader(s, o.m.Inventory().Controllers)
	}
	return s
}

// canary copies what our own client has seen; that needs no waiting.
func (o *Observer) canary(s *facts.Snapshot) {
	const source = "canary"
	if o.deps.Canary == nil {
		s.CanaryStats = facts.Unknown[facts.Canary]("no canary runs", source, s.Begun)
		return
	}
	begun := o.deps.Now()
	stats, ok := o.deps.Canary()
	if !ok {
		s.CanaryStats = facts.Unknown[facts.Canary]("the canary does not run yet", source, begun)
		return
	}
	s.CanaryStats = facts.Known(canaryFact(stats), source, begun)
}
