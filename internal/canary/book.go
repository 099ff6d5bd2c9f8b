package canary

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// maxErrorText bounds the error text that status and evidence carry.
const maxErrorText = 300

// Stats is a copy of what the canary saw since Since.
type Stats struct {
	Sent     uint64 // records handed to the producer
	Acked    uint64 // acknowledged by all in-sync replicas
	Failed   uint64 // reported as failed to us; may be in the log all the same
	Unknown  uint64 // without an outcome: in flight, or cut off by Stop
	Consumed uint64 // read back, each record once
	Lost     uint64 // acknowledged, and not there when the consumer passed its offset
	Expired  uint64 // acknowledged, deleted by retention before it was read
	// Unchecked counts acknowledged records that nothing can be said of any more:
	// their claims were dropped to bound the memory.
	Unchecked uint64
	// Duplicated counts records read a second time at a later offset.
	Duplicated uint64

	MetadataSent     uint64
	MetadataAccepted uint64

	LongestProduceStall  time.Duration // of any partition, between acknowledgements while a record waits
	CurrentProduceStall  time.Duration
	LongestMetadataStall time.Duration // between two accepted metadata writes
	CurrentMetadataStall time.Duration

	LastAck              time.Time // zero: none yet, so with the next two
	LastConsume          time.Time
	LastMetadataAccepted time.Time
	// LastMetadataWrite is the accepted write with the highest value; its zero value means none yet.
	LastMetadataWrite Marker
	Since             time.Time
	LastError         string // bounded; stays after things are well again
	LastErrorAt       time.Time
}

type topicPartition struct {
	topic     string
	partition int32
}

// book is the canary's whole memory. It has no lock and no clock of its own.
type book struct {
	since    time.Time
	counts   Stats // counters and last times; the rest is worked out
	ledgers  map[topicPartition]*ledger
	waits    map[topicPartition]*wait
	produce  stalls
	metadata stalls
	// metadataFrom is the last accepted metadata write, or the first attempt
	// since writes were held; zero while nobody waits.
	metadataFrom time.Time
	held         bool // no metadata writes but single ones
}

func newBook(ends map[string]map[int32]int64, now time.Time) book {
	b := book{since: now, ledgers: make(map[topicPartition]*ledger), waits: make(map[topicPartition]*wait)}
	for topic, partitions := range ends {
		for p, end := range partitions {
			b.ledgers[topicPartition{topic, p}] = newLedger(end)
			b.waits[topicPartition{topic, p}] = &wait{}
		}
	}
	return b
}

// partitions lists the partitions of a topic in order.
func (b *book) partitions(topic string) []int32 {
	var out []int32
	for tp := range b.ledgers {
		if tp.topic == topic {
			out = append(out, tp.partition)
		}
	}
	slices.Sort(out)
	return out
}

// topics lists all topics in order.
func (b *book) topics() []string {
	seen := make(map[string]bool)
	for tp := range b.ledgers {
		seen[tp.topic] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

func (b *book) send(tp topicPartition, now time.Time) (seq int64) {
	b.counts.Sent++
	b.waits[tp].sent(now)
	return b.ledgers[tp].send()
}

func (b *book) ack(tp topicPartition, seq, offset int64, now time.Time) {
	l := b.ledgers[tp]
	l.ack(seq, offset)
	b.counts.Acked++
	b.counts.LastAck = now
	b.waits[tp].acked(now, len(l.open) > 0, &b.produce)
}

func (b *book) fail(tp topicPartition, seq int64) {
	b.ledgers[tp].fail(seq)
	b.counts.Failed++
}

func (b *book) consume(tp topicPartition, offset int64, r record, ours bool, logStart int64, now time.Time) {
	l, ok := b.ledgers[tp]
	if !ok {
		return
	}
	l.read(offset, r.seq, ours, logStart)
	b.counts.LastConsume = now
}

func (b *book) metadataBegun(now time.Time) {
	b.counts.MetadataSent++
	if b.metadataFrom.IsZero() {
		b.metadataFrom = now
	}
}

func (b *book) metadataAccepted(m Marker) {
	b.counts.MetadataAccepted++
	if !b.metadataFrom.IsZero() && b.metadataFrom.Before(m.At) {
		b.metadata.add(b.metadataFrom, m.At)
		b.metadataFrom = m.At
	}
	if b.held {
		b.metadataFrom = time.Time{}
	}
	if b.counts.LastMetadataAccepted.Before(m.At) {
		b.counts.LastMetadataAccepted = m.At
	}
	// Attempts run side by side: an older one accepted late is not the newest.
	if m.number > b.counts.LastMetadataWrite.number {
		b.counts.LastMetadataWrite = m
	}
}

// hold stops or resumes counting stalls of metadata writes: a time in which
// nobody writes is no stall. A stall that lasts as the hold begins is kept.
func (b *book) hold(on bool, now time.Time) {
	if on && !b.held && !b.metadataFrom.IsZero() {
		b.metadata.add(b.metadataFrom, now)
		b.metadataFrom = time.Time{}
	}
	b.held = on
}

func (b *book) fault(err error, now time.Time) {
	b.counts.LastError = bounded(err.Error())
	b.counts.LastErrorAt = now
}

func bounded(text string) string {
	text = strings.ToValidUTF8(text, "?")
	if len(text) <= maxErrorText {
		return text
	}
	return strings.ToValidUTF8(text[:maxErrorText], "") + "..."
}

func (b *book) stats(now time.Time) Stats {
	s := b.counts
	s.Since = b.since
	s.Unknown = s.Sent - s.Acked - s.Failed
	for _, l := range b.ledgers {
		s.Consumed += l.consumed
		s.Lost += l.lost
		s.Expired += l.expired
		s.Unchecked += l.unchecked
		s.Duplicated += l.duplicated
	}
	s.CurrentProduceStall, s.CurrentMetadataStall = b.current(b.since, now)
	s.LongestProduceStall = max(b.produce.longest, s.CurrentProduceStall)
	s.LongestMetadataStall = max(b.metadata.longest, s.CurrentMetadataStall)
	return s
}

// current returns the stalls that last now, counted from since at the earliest.
func (b *book) current(since, now time.Time) (produce, metadata time.Duration) {
	for _, w := range b.waits {
		produce = max(produce, w.current(since, now))
	}
	open := wait{from: b.metadataFrom}
	return produce, open.current(since, now)
}

func (b *book) longestSince(since, now time.Time) (produce, metadata time.Duration) {
	produce, metadata = b.current(since, now)
	return max(produce, b.produce.longestSince(since)), max(metadata, b.metadata.longestSince(since))
}
