package orchestrate

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/cluster"
	"migrator/internal/status"
)

// wholeRoll is every effect of the plan load: broker 2 holds /controller.
var wholeRoll = []string{"stop-1", "write-1", "start-1", "stop-3", "write-3", "start-3", "stop-2", "write-2", "start-2", "elect-preferred"}

func TestARollTakesBrokerAfterBrokerAndOffersTheNextPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := start(t, w, settings(), 0)
		defer s.end()
		s.approve("load")
		s.until("executing", func(st status.Status) bool { return st.RunStatus == status.Executing })
		st := s.until("offering hybrid", offers("hybrid"))
		if diff := cmp.Diff(wholeRoll, w.effects()); diff != "" {
			t.Errorf("effects (-want +got):\n%s", diff)
		}
		if st.Phase == nil || *st.Phase != cluster.Load || !st.PhaseComplete {
			t.Errorf("phase %v, complete %v: want load, complete", st.Phase, st.PhaseComplete)
		}
	})
}
