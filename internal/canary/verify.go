package canary

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// verifyPatience is how long Verify waits for end offsets to reach what was
// acknowledged (a new leader learns its high watermark late, KIP-207), and for
// partitions that answer nothing.
const verifyPatience = 10 * time.Second

// Range is a run of offsets of one partition with missing records, To exclusive.
type Range struct {
	Topic     string
	Partition int32
	From, To  int64
}

// Verification is the result of reading everything once more.
type Verification struct {
	Acked    uint64 // acknowledged records that must be readable now
	ReadBack uint64 // of these, read with the right sequence and checksum
	Lost     uint64 // Acked - ReadBack: missing now, or found missing before
	Expired  uint64 // acknowledged and deleted by retention since: nothing is claimed
	// Unchecked are acknowledged and not among these: their claims were dropped to bound the memory.
	Unchecked uint64
	Missing   []Range // bounded; Lost counts all
}

// check is one partition's claims; reading removes what is missing from them.
type check struct {
	*ledger
	claimed uint64 // claims at or above the log start
	end     int64  // read up to here, exclusive
}

// Verify reads the canary's topics from the start and checks every
// acknowledged record at or above the log start. It may run beside the canary
// or after Stop; what is acknowledged meanwhile is left out. An error means
// that not everything could be read, and nothing is claimed.
func (c *Canary) Verify(ctx context.Context) (Verification, error) {
	c.mu.Lock()
	checks, result := c.book.claims()
	c.mu.Unlock()
	from, err := bounds(ctx, c.opts.Cluster, checks)
	if err != nil {
		return Verification{}, fmt.Errorf("verify canary: %w", err)
	}
	for tp, ck := range checks {
		start := from[tp]
		result.Expired += uint64(ck.remove(0, start))
		ck.claimed, ck.next = ck.size(), start
	}
	if err := c.readAll(ctx, checks); err != nil {
		return Verification{}, fmt.Errorf("verify canary: %w", err)
	}
	for tp, ck := range checks {
		ck.lose(ck.next, ck.top()) // acknowledged, and beyond the end of the log
		result.Acked += ck.claimed - ck.expired
		result.Expired += ck.expired // retention moved on while we read
		result.ReadBack += ck.size()
		result.addLost(tp, ck.lost, ck.lostExtents)
	}
	slices.SortFunc(result.Missing, func(a, b Range) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.From, b.From))
	})
	return result, nil
}

func (v *Verification) addLost(tp topicPartition, lost uint64, extents []extent) {
	v.Lost += lost
	for _, e := range extents {
		v.Missing = append(v.Missing, Range{tp.topic, tp.partition, e.from, e.to})
	}
}

// claims copies what was acknowledged, and begins the result with what was
// found lost so far: those claims are gone from the ledgers.
func (b *book) claims() (map[topicPartition]*check, Verification) {
	var v Verification
	checks := make(map[topicPartition]*check, len(b.ledgers))
	for tp, l := range b.ledgers {
		fresh := newLedger(0)
		fresh.acked = slices.Clone(l.acked)
		checks[tp] = &check{ledger: fresh, end: fresh.top()}
		v.Acked += l.lost
		v.Unchecked += l.unchecked
		v.addLost(tp, l.lost, l.lostExtents)
	}
	return checks, v
}

// bounds returns the log start of each partition and cuts each check's end to
// the log's end, once that holds all claims or has had time to.
func bounds(ctx context.Context, cluster Cluster, checks map[topicPartition]*check) (map[topicPartition]int64, error) {
	admin, err := newAdmin(cluster)
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	topics := checkedTopics(checks)
	deadline := time.Now().Add(verifyPatience)
	for {
		listed, err := admin.ListEndOffsets(ctx, topics...)
		if err = errors.Join(err, listed.Error()); err != nil {
			return nil, fmt.Errorf("list end offsets of %v: %w", topics, err)
		}
		ends := offsetMap(listed)
		if covered(checks, ends) || time.Now().After(deadline) {
			for tp, ck := range checks {
				ck.end = min(ck.end, ends[tp.topic][tp.partition])
			}
			break
		}
		if err := pause(ctx, topicPoll); err != nil {
			return nil, err
		}
	}
	listed, err := admin.ListStartOffsets(ctx, topics...)
	if err = errors.Join(err, listed.Error()); err != nil {
		return nil, fmt.Errorf("list start offsets of %v: %w", topics, err)
	}
	starts := make(map[topicPartition]int64, len(checks))
	for tp := range checks {
		starts[tp] = offsetMap(listed)[tp.topic][tp.partition]
	}
	return starts, nil
}

func covered(checks map[topicPartition]*check, ends map[string]map[int32]int64) bool {
	for tp, ck := range checks {
		if ends[tp.topic][tp.partition] < ck.end {
			return false
		}
	}
	return true
}

func checkedTopics(checks map[topicPartition]*check) []string {
	var topics []string
	for tp := range checks {
		topics = append(topics, tp.topic)
	}
	slices.Sort(topics)
	return slices.Compact(topics)
}

// readAll reads from each check's position until it has reached its end.
func (c *Canary) readAll(ctx context.Context, checks map[topicPartition]*check) error {
	from, left := make(map[string]map[int32]int64), 0
	for tp, ck := range checks {
		if ck.next >= ck.end {
			continue
		}
		if from[tp.topic] == nil {
			from[tp.topic] = make(map[int32]int64)
		}
		from[tp.topic][tp.partition] = ck.next
		left++
	}
	if left == 0 {
		return nil
	}
	reader, err := newConsumer(c.opts.Cluster, from)
	if err != nil {
		return fmt.Errorf("make consumer: %w", err)
	}
	defer reader.Close()
	for left > 0 {
		poll, cancel := context.WithTimeout(ctx, verifyPatience)
		fetches := reader.PollFetches(poll)
		cancel()
		if err := fetches.Err0(); err != nil {
			return fmt.Errorf("read on, with %d partitions not read to their end: %w", left, err)
		}
		fetches.EachPartition(func(f kgo.FetchTopicPartition) {
			if !checks[topicPartition{f.Topic, f.Partition}].take(f, c.run) {
				return
			}
			left--
			// What the canary goes on producing there must not hide that another partition stands still.
			reader.PauseFetchPartitions(map[string][]int32{f.Topic: {f.Partition}})
		})
	}
	return nil
}

// take checks records and says whether they brought the check to its end.
func (ck *check) take(f kgo.FetchTopicPartition, run string) (reached bool) {
	if ck.next >= ck.end {
		return false
	}
	for _, r := range f.Records {
		rec, whole := decodeRecord(r.Topic, r.Partition, r.Value)
		ck.read(r.Offset, rec.seq, whole && rec.run == run, f.LogStartOffset)
	}
	return ck.next >= ck.end
}

// size counts the claims.
func (l *ledger) size() (n uint64) {
	for _, s := range l.acked {
		n += uint64(s.n)
	}
	return n
}

// top is the end of the last claim, 0 when there is none.
func (l *ledger) top() int64 {
	if len(l.acked) == 0 {
		return 0
	}
	return l.acked[len(l.acked)-1].end()
}
