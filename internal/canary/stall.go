package canary

import "time"

// maxStalls bounds the history of stalls. Stalls are kept in whole
// milliseconds and strictly falling, so real ones stay far below it.
const maxStalls = 512

type stall struct {
	end  time.Time
	took time.Duration
}

// stalls keeps just enough of all ended stalls to answer "the longest since
// T" for any T: each entry is longer than every later one. A shorter, earlier
// stall can never be the answer, even where the longer one began before T and
// is cut there: the earlier one lies within what is left of it.
type stalls struct {
	kept    []stall
	longest time.Duration
}

func (s *stalls) add(from, end time.Time) {
	took := end.Sub(from)
	s.longest = max(s.longest, took)
	for len(s.kept) > 0 && s.kept[len(s.kept)-1].took.Milliseconds() <= took.Milliseconds() {
		s.kept = s.kept[:len(s.kept)-1]
	}
	if len(s.kept) == maxStalls {
		s.kept = append(s.kept[:0], s.kept[1:]...)
	}
	s.kept = append(s.kept, stall{end: end, took: took})
}

func (s *stalls) longestSince(since time.Time) time.Duration {
	var longest time.Duration
	for _, st := range s.kept {
		longest = max(longest, min(st.took, st.end.Sub(since)))
	}
	return longest
}

// wait measures how long one partition makes its producer wait: from the first
// record sent with nothing outstanding, or the last acknowledgement, to the
// next one. A failed record ends nothing: the client has still got nothing through.
type wait struct {
	from time.Time // zero: nobody waits
}

func (w *wait) sent(now time.Time) {
	if w.from.IsZero() {
		w.from = now
	}
}

// acked ends the stall, and begins the next one when records are outstanding.
func (w *wait) acked(now time.Time, outstanding bool, into *stalls) {
	if !w.from.IsZero() {
		into.add(w.from, now)
	}
	w.from = time.Time{}
	if outstanding {
		w.from = now
	}
}

// current is how long the stall has lasted, counted from since at the earliest.
func (w *wait) current(since, now time.Time) time.Duration {
	if w.from.IsZero() {
		return 0
	}
	if w.from.After(since) {
		since = w.from
	}
	return max(0, now.Sub(since))
}
