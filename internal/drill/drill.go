// Package drill performs the failover drill: it takes the active controller
// away, measures what clients and dual write feel, and brings the node back.
// The same sampler measures the ZooKeeper controller's failover for comparison.
package drill

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ControllerView is what /controller says. KRaftEpoch is nil where the holder is no KRaft controller.
type ControllerView struct {
	BrokerID   int32
	KRaftEpoch *int32
}

// MigrationView is what /migration says; Version is the znode's.
type MigrationView struct {
	ControllerID, ControllerEpoch int32
	Offset                        int64
	Version                       int32
}

// AskAll as the node to exclude excludes none.
const AskAll int32 = -1

// Probes are the reads and the write that the sampler makes. Each must end
// with its context, and is called from several goroutines at once.
type Probes struct {
	// Leader asks the controllers other than excluding who leads the quorum.
	// Only the leader itself can say (others answer NOT_LEADER_OR_FOLLOWER).
	Leader        func(ctx context.Context, excluding int32) (id, epoch int32, err error)
	WriteMetadata func(ctx context.Context) error
	Holder        func(ctx context.Context) (ControllerView, error)
	ZKEpoch       func(ctx context.Context) (int, error)
	Migration     func(ctx context.Context) (MigrationView, error)
	// QuorumFull says whether every voter is there and caught up, and if not, what lacks.
	QuorumFull func(ctx context.Context) (full bool, lacks string, err error)
}

// Commands act on the node. Both must be safe to repeat: a start of a running
// node does nothing.
type Commands struct {
	Take   func(ctx context.Context) error // the stop or kill command
	Return func(ctx context.Context) error // the start command
	// TakenAt is set where Take and Return wait for what a person does: when the
	// node was first seen to go. The clock begins there, not when the person was asked.
	TakenAt func() time.Time
}

// Limits of a drill; all must be positive.
type Limits struct {
	MaxUnavailable time.Duration // from the command to an accepted metadata write
	DualWrite      time.Duration // from the new leader to dual write moving; see DualWriteLimit
	Return         time.Duration // from the start command to a full quorum, and from there to dual write moving
}

// DualWriteLimit is the time dual write may need to resume under a new leader,
// which first compares all of ZooKeeper with its own state (SYNC_KRAFT_TO_ZK).
// On Kafka 3.9.2, two cores and loopback, that took under 1 s at 303 partitions
// and 4.8 s at 4,500: about 1.1 ms each. The limit allows four times that and 10 s.
func DualWriteLimit(partitions int) time.Duration {
	return 10*time.Second + time.Duration(max(0, partitions))*4*time.Millisecond
}

// Result of a drill. Spans are milliseconds from just before the command; nil
// means not seen, so with the epochs.
type Result struct {
	Kind            string
	Node            int32
	NewLeader       *int32
	LeaderMS        *int64
	MetadataWriteMS *int64
	DualWriteMS     *int64
	UnavailableMS   *int64 // equal to MetadataWriteMS, the only one that MaxUnavailable judges
	EpochBefore     *int32
	EpochAfter      *int32
	ZKEpochBefore   *int
	ZKEpochAfter    *int
	Passed          bool
	Why             string // what did not pass, and what that means for the node
	Returned        bool   // the start command succeeded
	Started, Ended  time.Time
}

// ErrNotTaken is wrapped when the drill was refused before it touched the node.
var ErrNotTaken = errors.New("the drill did not begin")

// Run takes node, the active controller, away and brings it back. A drill that
// did not pass is a Result with Why and no error. An error means: refused
// before anything was done (ErrNotTaken), ended by ctx, or the node could not
// be started again. The start command is given in every case but the first.
// progress may be nil; it is called from Run's goroutine.
func Run(ctx context.Context, kind string, node int32, p Probes, c Commands, l Limits, progress func(Sample)) (Result, error) {
	r := Result{Kind: kind, Node: node, Started: time.Now()}
	if err := before(ctx, &r, p, l); err != nil {
		r.Why, r.Ended = bounded(err.Error()), time.Now()
		return r, fmt.Errorf("%s drill of controller %d: %w: %w", kind, node, ErrNotTaken, err)
	}
	if progress == nil {
		progress = func(Sample) {}
	}
	d := run{p: p, c: c, l: l, progress: progress, seen: failover{from: node, epochBefore: *r.EpochBefore, begun: time.Now()}}
	d.why, d.err = d.away(ctx)
	backWhy, returnErr := d.bringBack(ctx)
	if returnErr == nil && backWhy == "" && d.err == nil {
		if backWhy = d.settle(ctx); backWhy != "" {
			d.err = ctx.Err()
		}
	}
	d.why = joinWhy(d.why, backWhy)
	d.sampler.stop()
	d.fill(&r)
	r.Returned = returnErr == nil
	r.Ended = time.Now()
	if err := errors.Join(d.err, returnErr); err != nil {
		r.Why = joinWhy(bounded(err.Error()), d.why)
		return r, fmt.Errorf("%s drill of controller %d: %w", kind, node, err)
	}
	r.Why, r.Passed = d.why, d.why == ""
	return r, nil
}

// before reads the values to compare with, and refuses a drill that would
// take the wrong node or an already wounded quorum.
func before(ctx context.Context, r *Result, p Probes, l Limits) error {
	if l.MaxUnavailable <= 0 || l.DualWrite <= 0 || l.Return <= 0 {
		return fmt.Errorf("a limit is missing: %+v", l)
	}
	ctx, cancel := context.WithTimeout(ctx, beforeDeadline)
	defer cancel()
	full, lacks, err := p.QuorumFull(ctx)
	if err != nil {
		return fmt.Errorf("read the quorum: %w", err)
	}
	if !full {
		return fmt.Errorf("the quorum is not full: %s", bounded(lacks))
	}
	id, epoch, err := p.Leader(ctx, AskAll)
	if err != nil {
		return fmt.Errorf("ask the controllers who leads: %w", err)
	}
	if id != r.Node {
		return fmt.Errorf("the active controller is %d", id)
	}
	holder, err := p.Holder(ctx)
	if err != nil {
		return fmt.Errorf("read /controller: %w", err)
	}
	if holder.BrokerID != r.Node || holder.KRaftEpoch == nil {
		return fmt.Errorf("/controller is held by %d, not by KRaft controller %d", holder.BrokerID, r.Node)
	}
	zkEpoch, err := p.ZKEpoch(ctx)
	if err != nil {
		return fmt.Errorf("read /controller_epoch: %w", err)
	}
	r.EpochBefore, r.ZKEpochBefore = &epoch, &zkEpoch
	return nil
}

func (d *run) fill(r *Result) {
	f := &d.seen
	r.LeaderMS = f.since(f.leaderAt)
	r.MetadataWriteMS = f.since(f.writeAt)
	r.UnavailableMS = r.MetadataWriteMS
	r.DualWriteMS = f.since(f.dualAt)
	if !f.leaderAt.IsZero() {
		r.NewLeader, r.EpochAfter = &f.leader, &f.epoch
		r.ZKEpochAfter = f.zkEpoch
	}
}

func joinWhy(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}
