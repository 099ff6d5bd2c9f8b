package orchestrate

import (
	"testing"
	"time"

	"migrator/internal/facts"
)

// A broker that hung right after its start was waited for for ever: the same
// log lines were counted again in each round, and looked like progress.
func TestOnlyWhatMovesIsProgress(t *testing.T) {
	begun := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	look := func(running facts.Fact[bool], notes ...string) facts.Snapshot {
		return facts.Snapshot{Running: map[int32]facts.Fact[bool]{2: running},
			Lines: map[int32]facts.Fact[facts.Lines]{2: facts.Known(facts.Lines{Notes: notes}, "log", begun)}}
	}
	up, lost := facts.Known(true, "running", begun), facts.Unknown[bool]("timed out", "running", begun)
	blind := look(up, "starting")
	blind.Lines[2] = facts.Unknown[facts.Lines]("timed out", "log", begun)
	var p progress
	for i, c := range []struct {
		name  string
		see   facts.Snapshot
		moved bool
	}{
		{"the first look", look(up, "starting"), true},
		{"the same again", look(up, "starting"), false},
		{"and again", look(up, "starting"), false},
		{"a read fails", look(lost, "starting"), false},
		{"and succeeds again", look(up, "starting"), false},
		{"the log cannot be read", blind, false},
		{"and can be again", look(up, "starting"), false},
		{"a new line", look(up, "starting", "registered"), true},
		{"the process ends", look(facts.Known(false, "running", begun), "starting", "registered"), true},
	} {
		now := begun.Add(time.Duration(i) * time.Second)
		p.see(c.see, now)
		if moved := p.at.Equal(now); moved != c.moved {
			t.Errorf("%s: moved is %v, want %v", c.name, moved, c.moved)
		}
	}
}
