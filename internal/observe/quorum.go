package observe

import (
	"context"
	"fmt"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/facts"
)

const logSource = "metadata log"

// quorumReads ask each controller by itself, and the one that says it leads
// for the metadata log.
func (o *Observer) quorumReads(r *round, want Want) []read {
	if !want.Quorum {
		return nil
	}
	quorum := func(s *facts.Snapshot) *map[int32]facts.Fact[facts.Quorum] { return &s.Quorum }
	var reads []read
	controllers := o.m.Inventory().Controllers
	for _, n := range controllers {
		source := fmt.Sprintf("DescribeQuorum at controller %d at %s", n.ID, hostPort(n.Host, n.Port))
		reads = append(reads, question(o, source, byID(quorum, n.ID), func(ctx context.Context) (facts.Quorum, error) {
			q, err := o.sources.controllers.quorum(ctx, n.ID)
			r.leaders <- leaderClaim{id: n.ID, quorum: q, err: err} // has room for every controller
			return q, err
		}))
	}
	if want.Log {
		reads = append(reads, o.logRead(r, len(controllers)))
	}
	return reads
}

// logRead polls the log at the controller that says it leads. The first
// poll may have a whole snapshot to fetch, so it may go on while rounds pass.
func (o *Observer) logRead(r *round, controllers int) read {
	set := func(s *facts.Snapshot, f facts.Fact[facts.Log]) { s.Log = f }
	q := located(o, logSource, set, func(ctx context.Context) (facts.Log, string, error) {
		leader, err := r.leader(ctx, controllers, o.limit)
		if err != nil {
			return facts.Log{}, logSource, err
		}
		l, err := o.sources.controllers.log(ctx, leader.id, leader.quorum)
		return l, fmt.Sprintf("metadata log via controller %d", leader.id), err
	})
	q.limit = scanLimit
	return q
}

// leader waits for the first controller that says it leads, and no longer for
// the others: a dead one would keep the log from being read.
func (r *round) leader(ctx context.Context, controllers int, limit time.Duration) (leaderClaim, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var last error
	for range controllers {
		select {
		case c := <-r.leaders:
			if c.err == nil && c.quorum.IsLeader {
				return c, nil
			}
			if c.err != nil {
				last = c.err
			}
		case <-ctx.Done():
			return leaderClaim{}, fmt.Errorf("wait for a controller that says it leads: %w", ctx.Err())
		}
	}
	if last != nil {
		return leaderClaim{}, fmt.Errorf("no controller says it leads; last failure: %w", last)
	}
	return leaderClaim{}, fmt.Errorf("no controller says it leads")
}

// logOfLeader drops the log when the round as a whole does not know one leader,
// or another than the one that was read: what a deposed controller serves may
// be behind or never committed (KAFKA-15489).
func logOfLeader(s facts.Snapshot, controllers []cluster.Node) facts.Fact[facts.Log] {
	l, ok := s.Log.Get()
	if !ok {
		return s.Log
	}
	f := s.Leader(controllers)
	leader, ok := f.Get()
	switch {
	case !ok:
		return facts.Unknown[facts.Log](f.Cause(), s.Log.Source(), s.Log.Begun())
	case leader.ID != l.Leader:
		return facts.Unknown[facts.Log](fmt.Sprintf("read from controller %d, but controller %d leads", l.Leader, leader.ID), s.Log.Source(), s.Log.Begun())
	default:
		return s.Log
	}
}
