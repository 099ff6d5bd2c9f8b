package main

import (
	"fmt"
	"io"
	"time"
)

// meter tells on stderr how far long work has come, and how long it may still
// take: at a terminal in one line that moves, elsewhere a line now and then.
type meter struct {
	out   io.Writer
	what  string
	live  bool
	every time.Duration // between two lines, where they do not move
	begun time.Time
	last  time.Time
	told  bool
}

func newMeter(out io.Writer, what string) *meter {
	now := time.Now()
	return &meter{out: out, what: what, live: isTerminal(out), every: 10 * time.Second, begun: now, last: now}
}

func (m *meter) tell(done, total int) {
	every := m.every
	if m.live {
		every = 200 * time.Millisecond
	}
	now := time.Now()
	if now.Sub(m.last) < every {
		return
	}
	m.last, m.told = now, true
	text := fmt.Sprintf("%d of %d %s", done, total, m.what)
	if done > 0 && total > done {
		left := time.Duration(float64(now.Sub(m.begun)) / float64(done) * float64(total-done))
		text += fmt.Sprintf(", about %s left", max(time.Second, left.Round(time.Second)))
	}
	if m.live {
		fmt.Fprintf(m.out, "\r\x1b[K%s", text)
		return
	}
	fmt.Fprintln(m.out, text)
}

// end takes the moving line away.
func (m *meter) end() {
	if m.live && m.told {
		fmt.Fprint(m.out, "\r\x1b[K")
	}
}
