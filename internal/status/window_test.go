package status

import (
	"strings"
	"testing"
	"time"

	"migrator/internal/facts"
	"migrator/internal/phases"
)

func TestHowLongThereWasNoController(t *testing.T) {
	tests := []struct {
		name    string
		window  *phases.Window
		leads   bool
		open    bool
		seconds *float64
		says    string
	}{
		{name: "none", window: nil},
		{name: "open", window: &phases.Window{Begun: moment}, open: true, seconds: ptr(60.0), says: "no controller for 1m0s"},
		{name: "it says what ends it", window: &phases.Window{Begun: moment}, open: true, seconds: ptr(60.0), says: "ends when a metadata write is accepted"},
		{name: "over by a write", window: &phases.Window{Begun: moment, Ended: moment.Add(9 * time.Second), Written: true}, seconds: ptr(9.0), says: "a metadata write was accepted"},
		{name: "over without a write", window: &phases.Window{Begun: moment, Ended: moment.Add(9 * time.Second)}, seconds: ptr(9.0), says: "no metadata write was tried"},
		{name: "a person started a controller: no time is made up", window: &phases.Window{Begun: moment}, leads: true, says: "was not seen"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := resting()
			in.State.Window = tt.window
			if !tt.leads {
				in.Snapshot.Quorum = map[int32]facts.Fact[facts.Quorum]{}
			}
			w := Build(in).Window
			if tt.window == nil {
				if w != nil {
					t.Errorf("window %+v", w)
				}
				return
			}
			if w.Open != tt.open || (w.Seconds == nil) != (tt.seconds == nil) || w.Seconds != nil && *w.Seconds != *tt.seconds || !strings.Contains(w.Text, tt.says) {
				t.Errorf("window %+v, want open %t, seconds %v and %q", w, tt.open, tt.seconds, tt.says)
			}
		})
	}
}
