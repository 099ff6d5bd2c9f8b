package canary

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// story is what happened to one partition, in order.
type story func(l *ledger)

func ackNext(offset int64) story {
	return func(l *ledger) { l.ack(l.send(), offset) }
}

func readBack(offset, seq int64) story {
	return func(l *ledger) { l.read(offset, seq, true, 0) }
}

func TestLedgerClaimsLossOnlyForWhatTheConsumerPassed(t *testing.T) {
	type want struct {
		lost, expired, consumed, duplicated uint64
	}
	tests := []struct {
		name  string
		story []story
		want  want
	}{
		{"everything read back", []story{ackNext(0), ackNext(1), readBack(0, 0), readBack(1, 1)}, want{consumed: 2}},
		{"acknowledged and not reached yet is no loss", []story{ackNext(0), ackNext(1), readBack(0, 0)}, want{consumed: 1}},
		{"a hole the consumer passed is a loss", []story{ackNext(0), ackNext(1), ackNext(2), readBack(0, 0), readBack(2, 2)}, want{lost: 1, consumed: 2}},
		{"another record in its place is a loss", []story{ackNext(0), ackNext(1), readBack(0, 0), func(l *ledger) { l.read(1, 0, false, 0) }}, want{lost: 1, consumed: 1}},
		{"a failed record leaves no claim", []story{ackNext(0), func(l *ledger) { l.fail(l.send()) }, ackNext(1), readBack(0, 0), readBack(1, 2)}, want{consumed: 2}},
		{"read before its acknowledgement arrived", []story{func(l *ledger) {
			seq := l.send()
			l.read(0, seq, true, 0)
			l.ack(seq, 0)
		}}, want{consumed: 1}},
		{"acknowledged late for an offset passed without it", []story{func(l *ledger) {
			seq := l.send()
			l.read(0, 0, false, 0)
			l.ack(seq, 0)
		}}, want{lost: 1}},
		{"an offset acknowledged twice means the log was cut", []story{
			ackNext(0), ackNext(1), ackNext(2), readBack(0, 0), readBack(1, 1), readBack(2, 2), ackNext(1), readBack(1, 3),
		}, want{lost: 2, consumed: 4}},
		{"deleted by retention before it was read", []story{ackNext(0), ackNext(1), ackNext(2), func(l *ledger) { l.read(2, 2, true, 2) }}, want{expired: 2, consumed: 1}},
		{"read again after a reset counts once", []story{ackNext(0), ackNext(1), readBack(0, 0), readBack(1, 1), readBack(0, 0), readBack(1, 1)}, want{consumed: 2}},
		{"the same record at a later offset is a duplicate", []story{ackNext(0), readBack(0, 0), readBack(1, 0)}, want{consumed: 1, duplicated: 1}},
		{"an acknowledgement without an offset claims nothing", []story{ackNext(-1), readBack(0, 7)}, want{consumed: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLedger(0)
			for _, event := range tt.story {
				event(l)
			}
			got := want{l.lost, l.expired, l.consumed, l.duplicated}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Error(diff)
			}
			if len(l.early) != 0 {
				t.Errorf("early reads kept: %v", l.early)
			}
		})
	}
}

func TestLedgerStaysSmallOverALongSoak(t *testing.T) {
	l := newLedger(0)
	for i := range int64(2_600_000) { // 72 h at ten records a second
		l.ack(l.send(), i)
		l.read(i, i, true, 0)
	}
	if len(l.acked) != 1 || len(l.open) != 0 || l.lost != 0 {
		t.Errorf("spans %d, open %d, lost %d", len(l.acked), len(l.open), l.lost)
	}
	for i := range int64(50_000) { // every second record fails
		l.fail(l.send())
		l.ack(l.send(), 2_600_000+i)
	}
	if len(l.acked) > maxSpans {
		t.Errorf("%d spans kept", len(l.acked))
	}
}

func TestStallsAnswerForAnyWindow(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(100, 0).Add(time.Duration(ms) * time.Millisecond) }
	var s stalls
	for _, st := range [][2]int{{0, 50}, {50, 60}, {60, 500}, {500, 530}, {530, 540}, {540, 600}} {
		s.add(at(st[0]), at(st[1]))
	}
	for since, want := range map[int]int{0: 440, 60: 440, 400: 100, 450: 60, 480: 60, 570: 30, 600: 0} {
		if got := s.longestSince(at(since)); got != time.Duration(want)*time.Millisecond {
			t.Errorf("since %d ms: %v, want %d ms", since, got, want)
		}
	}
	if s.longest != 440*time.Millisecond {
		t.Errorf("longest %v", s.longest)
	}
}

func TestRecordIsReadBackOnlyInItsPlace(t *testing.T) {
	r := record{run: "ab12", seq: 7, sent: time.Unix(5, 6)}
	value := r.encode("t", 1)
	if got, ok := decodeRecord("t", 1, value); !ok || got.run != r.run || got.seq != r.seq || !got.sent.Equal(r.sent) {
		t.Errorf("decoded %+v, %v", got, ok)
	}
	if _, ok := decodeRecord("t", 2, value); ok {
		t.Error("accepted in another partition")
	}
	value[len(recordPrefix)+1] ^= 1
	if _, ok := decodeRecord("t", 1, value); ok {
		t.Error("accepted with a flipped bit")
	}
}

func FuzzDecodeRecord(f *testing.F) {
	f.Add([]byte("migrator-canary/1 a 1 2 00000000"))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, value []byte) { decodeRecord("t", 0, value) })
}

// A cluster with so many interruptions that the claims no longer fit had its
// oldest acknowledgements forgotten without a word: "0 lost" then says too much.
func TestClaimsThatNoLongerFitAreCounted(t *testing.T) {
	b := book{ledgers: map[topicPartition]*ledger{{"t", 0}: newLedger(0)}, waits: map[topicPartition]*wait{}}
	l := b.ledgers[topicPartition{"t", 0}]
	for i := range int64(maxSpans + 10) {
		ackNext(2 * i)(l) // a gap after each: every record is a span of its own
	}
	_, v := b.claims()
	if got := b.stats(time.Time{}).Unchecked; got != maxSpans/2 || v.Unchecked != got || l.size()+got != maxSpans+10 {
		t.Errorf("%d no longer checked (when verified %d), %d remembered, of %d acknowledged", got, v.Unchecked, l.size(), maxSpans+10)
	}
}

// A way back holds the metadata writes for its whole length: a rehearsal once
// showed that minute as the longest stall a client felt.
func TestATimeWithoutMetadataWritesIsNoStall(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(1000+s), 0) }
	b := book{}
	b.metadataBegun(at(0))
	b.metadataAccepted(Marker{At: at(1), number: 1})
	b.metadataBegun(at(1))
	b.hold(true, at(3))
	b.hold(true, at(30)) // it is said again in every round
	b.metadataBegun(at(40))
	b.metadataAccepted(Marker{At: at(44), number: 2}) // the single write that ends a controllerless window
	if _, now := b.current(at(0), at(60)); now != 0 {
		t.Errorf("while writes are held the stall is %s, want none", now)
	}
	b.hold(false, at(60))
	b.metadataBegun(at(61))
	b.metadataAccepted(Marker{At: at(62), number: 3})
	if got := b.stats(at(62)).LongestMetadataStall; got != 4*time.Second {
		t.Errorf("the longest stall is %s, want the 4s of the single write", got)
	}
}
