package revert

import (
	"migrator/internal/cluster"
	"migrator/internal/facts"
)

// Lack says where a controller lacks the migration flag.
type Lack string

const (
	LacksNothing Lack = ""
	LacksInFile  Lack = "file"    // it runs with the flag or not at all; its next start would be without
	LacksRunning Lack = "running" // it runs, or is starting, without the flag
)

// FlagOf answers what a controller lacks, as far as it is known. One that gives
// no answer yet may be starting with what its file says.
func FlagOf(s facts.Snapshot, n cluster.Node) Lack {
	mode, answers := s.Mode(n).Get()
	if answers && mode == cluster.KRaft {
		return LacksRunning
	}
	file, read := s.Files[n.ID].Get()
	if !read || !file.Exists || file.Mode != cluster.KRaft {
		return LacksNothing
	}
	if running, known := s.Running[n.ID].Get(); answers || known && !running {
		return LacksInFile
	}
	return LacksRunning
}
