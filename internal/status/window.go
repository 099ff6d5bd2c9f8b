package status

import (
	"fmt"
	"time"
)

// Window is the newest time without any controller: no topic can be created, no
// partition gets a new leader. Ended and Seconds are null where nobody saw the end.
type Window struct {
	Begun   time.Time  `json:"begun"`
	Ended   *time.Time `json:"ended"`
	Seconds *float64   `json:"seconds"` // so far, while it is open
	Open    bool       `json:"open"`
	Text    string     `json:"text"`
}

// windowOf says how long there has been no controller and what ends it. Only
// the journal says that it ended; that a controller leads says that it is over.
func windowOf(in Input) *Window {
	w := in.State.Window
	if w == nil {
		return nil
	}
	out := &Window{Begun: w.Begun, Ended: stamp(w.Ended)}
	_, leads := in.leader.Get()
	switch {
	case out.Ended != nil:
		out.take(w.Ended.Sub(w.Begun))
		out.Text = fmt.Sprintf("there was no controller for %s; %s", round(w.Ended.Sub(w.Begun)), endedBy(w.Written))
	case leads:
		out.Text = "a controller leads the quorum again; when it began to act was not seen"
	default:
		out.Open = true
		out.take(in.Now.Sub(w.Begun))
		out.Text = fmt.Sprintf("no controller for %s: no topic can be created, no partition gets a new leader; it ends when a metadata write is accepted, after the steps znodes and follow",
			round(in.Now.Sub(w.Begun)))
	}
	return out
}

func (w *Window) take(d time.Duration) {
	sec := d.Seconds()
	w.Seconds = &sec
}

func endedBy(written bool) string {
	if written {
		return "a metadata write was accepted then"
	}
	return "every broker followed the new one then, no metadata write was tried"
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
