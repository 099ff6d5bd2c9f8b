package phases

import (
	"slices"
	"time"

	"migrator/internal/plan"
)

// Window is the time without any controller on the way back: from the moment
// the last KRaft controller has stopped until a metadata write is accepted.
// That a broker holds /controller does not end it: brokers go on asking the
// stopped controllers until each has learned of the new one (measured on Kafka
// 3.9: /controller taken in 0.03 s, the first topic created after 50 s).
type Window struct {
	Begun time.Time
	Ended time.Time // zero: not ended, or nobody saw when
	// Written: a metadata write of ours ended it. Without our own topic the end is
	// that of the step that waits until every broker follows the new controller.
	Written bool
}

// begin opens the window when the last controller has stopped. A way back on
// which a broker held /controller all along has no step follow, and no window.
func (s *State) begin(step plan.Step, at time.Time) {
	follows := slices.ContainsFunc(s.Run.Plan.Steps, func(st plan.Step) bool { return st.Kind == plan.Follow })
	left := slices.ContainsFunc(step.Batch, func(id int32) bool { return !s.Down[id] })
	if !follows || left {
		return
	}
	if w := s.Window; w != nil && w.Ended.IsZero() && !w.Begun.Before(s.Run.Approved) {
		return // a retry stopped again what was down
	}
	s.Window = &Window{Begun: at}
}

// finish closes the window that is open, if any.
func (s *State) finish(at time.Time, written bool) {
	if w := s.Window; w != nil && w.Ended.IsZero() {
		s.Window = &Window{Begun: w.Begun, Ended: at, Written: written}
	}
}
