package observe

import (
	"encoding/json"
	"fmt"
	"slices"

	"migrator/internal/facts"
	"migrator/internal/noderead"
)

// heard is what a node's logs said since their mark. Two things are kept beside
// the summary, which tells how the node is now: a step that stops and starts a
// node asks for both lines, so neither takes the other back.
type heard struct {
	summary  noderead.Summary
	started  bool
	shutDown bool
	gaps     []string // files of which lines may have been missed
}

func (h *heard) add(p noderead.Polled) {
	h.summary.Add(p.Events)
	for _, e := range p.Events {
		switch e.Kind {
		case noderead.StartedZK, noderead.StartedKRaft:
			h.started = true
		case noderead.ShutDown:
			h.shutDown = true
		}
	}
	for _, path := range p.Gaps {
		if !slices.Contains(h.gaps, path) {
			h.gaps = append(h.gaps, path)
		}
	}
}

func (h *heard) lines() facts.Lines {
	l := h.summary.Lines()
	l.Started, l.ShutDown = h.started, h.shutDown
	for _, path := range h.gaps {
		l.Notes = append(l.Notes, "lines of "+path+" may be missing: it was rotated away, cut or replaced before it was read")
	}
	return l
}

// parseCursors understands a journalled cursor. Every log file of the node must
// be in it: one without a place would be read from its beginning, and lines of
// years ago would count as said after the mark.
func parseCursors(text string, files []string) ([]noderead.FileCursor, error) {
	var cursors []noderead.FileCursor
	if err := json.Unmarshal([]byte(text), &cursors); err != nil {
		return nil, fmt.Errorf("read its cursor: %w", err)
	}
	for _, file := range files {
		if !slices.ContainsFunc(cursors, func(c noderead.FileCursor) bool { return c.Path == file }) {
			return nil, fmt.Errorf("its cursor names no place in %s", file)
		}
	}
	return cursors, nil
}
