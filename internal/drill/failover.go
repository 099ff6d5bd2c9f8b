package drill

import (
	"strings"
	"time"
)

// Sample is what the sampler knew at one tick; nil means not seen.
type Sample struct {
	Elapsed         time.Duration // since just before the command
	Leader          *int32
	Epoch           *int32
	Holder          *int32
	MigrationOffset *int64
	WriteAccepted   bool // a metadata write was accepted under the new leader
	DualWrite       bool // dual write moves under the new leader
	LastError       string
}

// observation is one answered probe. Exactly one of the values is set, or err.
type observation struct {
	begun, ended time.Time
	leader       *leaderView
	written      bool
	stores       *storesView
	err          error
}

type leaderView struct{ id, epoch int32 }

// storesView is what ZooKeeper says, read in this order.
type storesView struct {
	holder    ControllerView
	zkEpoch   int
	migration MigrationView
}

// failover folds observations of one controller failover. Probes overtake each
// other, so it takes nothing back: the highest epoch and offset count.
type failover struct {
	from        int32
	epochBefore int32
	begun       time.Time // just before the command

	leader, epoch int32
	leaderBegun   time.Time // when the read began that first showed a new leader
	leaderAt      time.Time // when it ended; zero: none seen
	writeAt       time.Time
	named         *MigrationView // the first /migration that names the present leader and epoch
	dualAt        time.Time
	zkEpoch       *int
	last          Sample
}

func (f *failover) see(o observation) {
	switch {
	case o.err != nil:
		f.last.LastError = bounded(o.err.Error())
	case o.leader != nil:
		f.seeLeader(o)
	case o.written:
		f.seeWrite(o)
	case o.stores != nil:
		f.seeStores(o)
	}
}

func (f *failover) seeLeader(o observation) {
	id, epoch := o.leader.id, o.leader.epoch
	if id == f.from || epoch <= f.epochBefore || epoch < f.epoch {
		return
	}
	if f.leaderAt.IsZero() {
		f.leaderBegun, f.leaderAt = o.begun, o.ended
	}
	if epoch > f.epoch {
		// A crash often takes two elections: dual write must move under the last leader.
		f.named, f.dualAt = nil, time.Time{}
	}
	f.leader, f.epoch = id, epoch
	f.last.Leader, f.last.Epoch = &id, &epoch
}

// seeWrite counts a write only when it was begun after the question that
// showed the new leader and accepted after its answer: on a clean stop the old
// leader accepts writes for a while after the command.
func (f *failover) seeWrite(o observation) {
	if f.leaderAt.IsZero() || o.begun.Before(f.leaderBegun) || o.ended.Before(f.leaderAt) {
		return
	}
	if f.writeAt.IsZero() || o.ended.Before(f.writeAt) {
		f.writeAt = o.ended
	}
	f.last.WriteAccepted = true
}

// seeStores waits until both znodes name the present leader and epoch, and
// from there on for the offset to rise: named alone is only the claim.
func (f *failover) seeStores(o observation) {
	s := o.stores
	f.last.Holder, f.last.MigrationOffset = &s.holder.BrokerID, &s.migration.Offset
	if f.zkEpoch == nil || s.zkEpoch > *f.zkEpoch {
		f.zkEpoch = &s.zkEpoch
	}
	if f.leaderAt.IsZero() || s.holder.BrokerID != f.leader || s.holder.KRaftEpoch == nil || *s.holder.KRaftEpoch != f.epoch {
		return
	}
	if s.migration.ControllerID != f.leader || s.migration.ControllerEpoch != f.epoch {
		return
	}
	switch {
	case f.named == nil:
		f.named = &s.migration
	case s.migration.Offset > f.named.Offset && s.migration.Version > f.named.Version && f.dualAt.IsZero():
		f.dualAt = o.ended
	}
}

func (f *failover) done() bool {
	return !f.leaderAt.IsZero() && !f.writeAt.IsZero() && !f.dualAt.IsZero()
}

// since is milliseconds from the command; nil for a moment not seen.
func (f *failover) since(at time.Time) *int64 {
	if at.IsZero() {
		return nil
	}
	ms := at.Sub(f.begun).Milliseconds()
	return &ms
}

func (f *failover) sample(now time.Time) Sample {
	s := f.last
	s.Elapsed = now.Sub(f.begun)
	s.DualWrite = !f.dualAt.IsZero()
	return s
}

// maxText bounds what nodes and commands say in results.
const maxText = 400

func bounded(text string) string {
	text = strings.ToValidUTF8(text, "?")
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "..."
}
