package evidence

import (
	"time"

	"migrator/internal/phases"
)

// Window is one time without any controller, on a way back. Ended and Seconds
// are null where nobody saw the end.
type Window struct {
	Begun   time.Time  `json:"begun"`
	Ended   *time.Time `json:"ended"`
	Seconds *float64   `json:"seconds"`
	// Written: ended by an accepted metadata write; else by the step that waits
	// until every broker follows the new controller.
	Written bool `json:"metadata_write_accepted"`
}

// takeWindow notes how the newest one stands after an entry.
func (b *builder) takeWindow(w *phases.Window) {
	if w == nil {
		return
	}
	out := Window{Begun: w.Begun, Written: w.Written}
	if !w.Ended.IsZero() {
		sec := w.Ended.Sub(w.Begun).Seconds()
		out.Ended, out.Seconds = &w.Ended, &sec
	}
	if n := len(b.pack.Windows); n > 0 && b.pack.Windows[n-1].Begun.Equal(w.Begun) {
		b.pack.Windows[n-1] = out
		return
	}
	b.pack.Windows = append(b.pack.Windows, out)
}
