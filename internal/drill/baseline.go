package drill

import (
	"context"
	"fmt"
	"time"
)

// Baseline is a ZooKeeper controller's failover, as clients felt it. Spans are
// milliseconds from the intent to stop the holder; nil means not seen.
type Baseline struct {
	OldHolder       int32
	NewHolder       *int32
	HolderMS        *int64
	MetadataWriteMS *int64
	Since           time.Time
}

// WatchFailover measures, while somebody else stops broker old, the time from
// the stop intent to the first metadata write that another holder of
// /controller accepted. It needs Probes.Holder and WriteMetadata only. It ends
// with the measurement or with ctx, then with what was seen and an error.
//
// The brokers must run in migration mode: those in plain ZooKeeper mode write
// topic configs themselves and would hide that there is no controller.
func WatchFailover(ctx context.Context, p Probes, old int32, from time.Time) (Baseline, error) {
	seen := failover{from: old, epochBefore: -1, begun: from}
	s := startSampler(ctx, askHolder(p), askWrite(p))
	defer s.stop()
	for seen.writeAt.IsZero() {
		select {
		case <-ctx.Done():
			return seen.baseline(), fmt.Errorf("watch the failover of broker %d (last answer: %s): %w", old, seen.last.LastError, ctx.Err())
		case o := <-s.seen:
			seen.see(o)
		}
	}
	return seen.baseline(), nil
}

// askHolder shows the holder of /controller as the leader to be seen.
func askHolder(p Probes) probe {
	return func(ctx context.Context) observation {
		holder, err := p.Holder(ctx)
		if err != nil {
			return observation{err: fmt.Errorf("read /controller: %w", err)}
		}
		return observation{leader: &leaderView{id: holder.BrokerID}}
	}
}

func (f *failover) baseline() Baseline {
	b := Baseline{OldHolder: f.from, HolderMS: f.since(f.leaderAt), MetadataWriteMS: f.since(f.writeAt), Since: f.begun}
	if b.HolderMS != nil {
		b.NewHolder = &f.leader
	}
	return b
}
