package rehearse

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"migrator/internal/canary"
	"migrator/internal/cluster"
	"migrator/internal/double"
	"migrator/internal/evidence"
	"migrator/internal/findings"
	"migrator/internal/noderead"
)

// Seen is what is there after the migration, looked at from outside.
type Seen struct {
	Took    time.Duration // the whole rehearsal, cluster start included
	Pack    evidence.Pack // what the journal says
	Nodes   []Node        // brokers, then controllers
	Alone   Alone
	Witness canary.Verification // of our own client, which ran from before the first step until after the last
	Stats   canary.Stats        // of the same
	Detour  *detour             // nil: straight forward
	Double  *double.Double      // nil: of no other cluster
	Found   []findings.Finding  // by preflight, of a double
}

// Node is one node as the lab and its own logs show it.
type Node struct {
	ID      int32
	Role    cluster.Role
	Starts  int                    // processes made for it, the first included
	Running bool                   //
	KRaft   bool                   // its last "started" line is that of a KRaft node
	State   cluster.MigrationState // the last one a controller logged; empty: none
}

// Alone is what our own client got through after ZooKeeper was stopped.
type Alone struct {
	Records, Writes uint64 // acknowledged records, accepted metadata writes
	Why             string // what kept it from more
}

const (
	aloneLimit   = 30 * time.Second
	aloneRecords = 50 // about a second of the workload: every topic and partition
	aloneWrites  = 2
	verifyLimit  = 2 * time.Minute
)

// look gathers what the promises are judged by. ZooKeeper is stopped on the
// way: what a cluster without it serves needs no further proof. keep starts it
// again, for who goes on looking at the page.
func (s *stage) look(ctx context.Context, keep bool) (Seen, error) {
	var seen Seen
	entries, err := s.client.Journal(ctx, Name, 0)
	if err != nil {
		return seen, err
	}
	if seen.Pack, err = evidence.Build(entries, s.cfg); err != nil {
		return seen, err
	}
	for _, id := range s.cluster.BrokerIDs() {
		seen.Nodes = append(seen.Nodes, Node{ID: id, Role: cluster.Broker})
	}
	for _, id := range s.cluster.ControllerIDs() {
		seen.Nodes = append(seen.Nodes, Node{ID: id, Role: cluster.Controller})
	}
	if seen.Alone, err = s.withoutZooKeeper(ctx, keep); err != nil {
		return seen, err
	}
	for i := range seen.Nodes {
		if err := s.lookAt(ctx, &seen.Nodes[i]); err != nil {
			return seen, err
		}
	}
	limited, cancel := context.WithTimeout(ctx, verifyLimit)
	defer cancel()
	if err := s.witness.Stop(limited); err != nil {
		return seen, err
	}
	seen.Stats = s.witness.Stats()
	seen.Witness, err = s.witness.Verify(limited)
	return seen, err
}

// withoutZooKeeper stops every ZooKeeper server and lets the workload go on for
// a while.
func (s *stage) withoutZooKeeper(ctx context.Context, keep bool) (Alone, error) {
	for _, name := range s.cluster.ZooKeeperNames() {
		if err := s.cluster.Stop(ctx, name); err != nil {
			return Alone{}, err
		}
	}
	alone := s.watchAlone(ctx)
	if !keep {
		return alone, ctx.Err()
	}
	for _, name := range s.cluster.ZooKeeperNames() {
		if err := s.cluster.Start(ctx, name); err != nil {
			return alone, err
		}
	}
	return alone, ctx.Err()
}

func (s *stage) watchAlone(ctx context.Context) Alone {
	before := s.witness.Stats()
	limit := time.NewTimer(aloneLimit)
	defer limit.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		now := s.witness.Stats()
		a := Alone{Records: now.Acked - before.Acked, Writes: now.MetadataAccepted - before.MetadataAccepted}
		if a.Records >= aloneRecords && a.Writes >= aloneWrites {
			return a
		}
		select {
		case <-tick.C:
		case <-limit.C:
			a.Why = fmt.Sprintf("no more than that within %s; last error: %s", aloneLimit, orText(now.LastError, "none"))
			return a
		case <-ctx.Done():
			a.Why = ctx.Err().Error()
			return a
		}
	}
}

// lookAt asks the lab, not the service, what became of a node.
func (s *stage) lookAt(ctx context.Context, n *Node) error {
	var err error
	if n.Starts, err = s.cluster.Starts(n.ID); err != nil {
		return err
	}
	if n.Running, err = s.cluster.Running(ctx, strconv.Itoa(int(n.ID))); err != nil {
		return err
	}
	if err := readLog(s.cluster.LogPath(n.ID, "server.log"), n.see); err != nil {
		return err
	}
	if n.Role == cluster.Broker {
		return nil
	}
	return readLog(s.cluster.LogPath(n.ID, "controller.log"), n.see)
}

// see takes one log line; the last of each kind counts, since a node that
// starts again repeats old changes of state while it replays its log.
func (n *Node) see(line []byte) {
	e, ok := noderead.Parse(line)
	if !ok {
		return
	}
	switch e.Kind {
	case noderead.StartedKRaft:
		n.KRaft = true
	case noderead.StartedZK:
		n.KRaft = false
	case noderead.StateChanged:
		n.State = cluster.MigrationState(e.Fields["to"])
	default:
	}
}

func readLog(path string, see func([]byte)) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read a node's log: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		see(lines.Bytes())
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
