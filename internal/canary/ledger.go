package canary

import (
	"slices"
	"sort"
)

// maxSpans and maxLostRanges bound one partition's memory over a long soak. A
// span ends only where a record failed, another writer came between, or the
// log was cut, so a quiet cluster needs one.
const (
	maxSpans      = 8192
	maxLostRanges = 64
)

// span claims n acknowledged records: offset+i holds sequence seq+i.
type span struct {
	offset, seq, n int64
}

func (s span) end() int64 { return s.offset + s.n }

// extent is a range of offsets, to exclusive.
type extent struct{ from, to int64 }

// ledger compares what one partition acknowledged with what the consumer read.
// Lost is claimed only for offsets the consumer has passed.
type ledger struct {
	acked       []span             // sorted, disjoint
	open        map[int64]struct{} // sequences sent, outcome not known
	early       map[int64]int64    // sequence -> offset, read before its outcome was known
	next        int64              // the consumer's position
	nextSeq     int64
	lost        uint64
	lostExtents []extent
	expired     uint64 // deleted by retention before the consumer came by
	unchecked   uint64 // claims dropped to bound the memory
	duplicated  uint64
	consumed    uint64
	lastReadSeq int64
	lastReadOff int64
}

func newLedger(start int64) *ledger {
	return &ledger{
		open: make(map[int64]struct{}), early: make(map[int64]int64),
		next: start, lastReadSeq: -1, lastReadOff: -1,
	}
}

// send opens the next sequence number.
func (l *ledger) send() int64 {
	seq := l.nextSeq
	l.nextSeq++
	l.open[seq] = struct{}{}
	return seq
}

// fail closes a sequence without a claim; the record may be in the log or not.
func (l *ledger) fail(seq int64) {
	delete(l.open, seq)
	delete(l.early, seq)
}

// ack records a claim. offset is negative when the broker answered "duplicate
// sequence", which acknowledges without saying where.
func (l *ledger) ack(seq, offset int64) {
	readAt, read := l.early[seq]
	delete(l.open, seq)
	delete(l.early, seq)
	if offset < 0 {
		return
	}
	// An offset handed out a second time: the log was cut below records that
	// had been acknowledged.
	if n := len(l.acked); n > 0 && offset < l.acked[n-1].end() {
		l.lose(offset, l.acked[n-1].end())
		l.next = min(l.next, offset)
	}
	l.claim(seq, offset)
	if offset < l.next && (!read || readAt != offset) {
		l.lose(offset, offset+1)
	}
}

func (l *ledger) claim(seq, offset int64) {
	if n := len(l.acked); n > 0 {
		last := &l.acked[n-1]
		if last.end() == offset && last.seq+last.n == seq {
			last.n++
			return
		}
	}
	if len(l.acked) == maxSpans {
		// The oldest half goes: Verify cannot ask for it again, and says so.
		for _, old := range l.acked[:maxSpans/2] {
			l.unchecked += uint64(old.n)
		}
		l.acked = slices.Clone(l.acked[maxSpans/2:])
	}
	l.acked = append(l.acked, span{offset: offset, seq: seq, n: 1})
}

// read takes the record at offset; ours says that it is a whole record of
// this run. logStart is the log start offset of the same answer.
func (l *ledger) read(offset, seq int64, ours bool, logStart int64) {
	if offset > l.next {
		l.skip(offset, logStart)
	}
	l.next = offset + 1 // also backwards: the consumer reads again after the log was cut
	if want, claimed := l.claimAt(offset); claimed && (!ours || seq != want) {
		l.lose(offset, offset+1)
	}
	if !ours {
		return
	}
	if _, open := l.open[seq]; open {
		l.early[seq] = offset
	}
	switch {
	case seq > l.lastReadSeq:
		l.consumed++
		l.lastReadSeq, l.lastReadOff = seq, offset
	case offset > l.lastReadOff:
		l.duplicated++
	}
}

// skip handles offsets that the consumer passed without a record: gone by
// retention below the log start, else lost.
func (l *ledger) skip(offset, logStart int64) {
	if gone := min(offset, logStart); gone > l.next {
		l.expired += uint64(l.remove(l.next, gone))
		l.next = gone
	}
	l.lose(l.next, offset)
}

func (l *ledger) lose(from, to int64) {
	n := l.remove(from, to)
	if n == 0 {
		return
	}
	l.lost += uint64(n)
	if len(l.lostExtents) < maxLostRanges {
		l.lostExtents = append(l.lostExtents, extent{from, to})
	}
}

// claimAt returns the sequence claimed for an offset.
func (l *ledger) claimAt(offset int64) (seq int64, ok bool) {
	i := sort.Search(len(l.acked), func(i int) bool { return l.acked[i].end() > offset })
	if i == len(l.acked) || l.acked[i].offset > offset {
		return 0, false
	}
	return l.acked[i].seq + offset - l.acked[i].offset, true
}

// remove drops the claims in [from, to) and returns how many there were.
func (l *ledger) remove(from, to int64) int64 {
	i := sort.Search(len(l.acked), func(i int) bool { return l.acked[i].end() > from })
	var removed int64
	var rest []span
	j := i
	for ; j < len(l.acked) && l.acked[j].offset < to; j++ {
		s := l.acked[j]
		lo, hi := max(s.offset, from), min(s.end(), to)
		removed += hi - lo
		if s.offset < lo {
			rest = append(rest, span{s.offset, s.seq, lo - s.offset})
		}
		if hi < s.end() {
			rest = append(rest, span{hi, s.seq + hi - s.offset, s.end() - hi})
		}
	}
	if removed > 0 {
		l.acked = slices.Replace(l.acked, i, j, rest...)
	}
	return removed
}
