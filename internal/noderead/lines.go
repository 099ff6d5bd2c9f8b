package noderead

import (
	"slices"
	"strconv"

	"migrator/internal/cluster"
	"migrator/internal/facts"
)

const (
	maxNotes = 50 // of each list kept; the newest
	// behindTooOften is when "image behind" stops being the short moment after
	// an election: the driver repeats it after 100 ms, doubling, so six lines
	// are three seconds. It then means a leftover /migration, and every topic is
	// deleted as soon as the new log's offset has passed the old one.
	behindTooOften = 6
)

// Summary folds the events after a step's cursor, poll by poll, into what
// gates ask for. The zero Summary has seen nothing.
type Summary struct {
	lines  facts.Lines
	behind int // ImageBehind since the driver last moved
}

// Add takes the events of one more poll.
func (s *Summary) Add(events []Event) {
	for _, e := range events {
		switch {
		case e.Kind == DriverMoved:
			s.behind = 0
		case e.Kind == ImageBehind:
			s.behind++
		}
		if e.Severity == Fatal || (e.Kind == ImageBehind && s.behind == behindTooOften) {
			s.lines.Fatal = keepNewest(s.lines.Fatal, e.Text)
		} else {
			s.lines.Notes = keepNewest(s.lines.Notes, e.Text)
		}
		s.lines = fold(s.lines, e)
	}
}

// Lines is what was seen so far.
func (s *Summary) Lines() facts.Lines {
	l := s.lines
	l.Fatal, l.Notes, l.DeadChannels = slices.Clone(l.Fatal), slices.Clone(l.Notes), slices.Clone(l.DeadChannels)
	return l
}

func fold(l facts.Lines, e Event) facts.Lines {
	switch e.Kind {
	case Starting:
		// A new life: the end of the one before is no longer the node's state,
		// and what it died of is history.
		l.Started, l.ShutDown, l.StartRace = false, false, false
		l.DeadChannels = nil
		for _, text := range l.Fatal {
			l.Notes = keepNewest(l.Notes, text)
		}
		l.Fatal = nil
	case StartedZK, StartedKRaft:
		l.Started, l.ShutDown = true, false
	case ShutDown:
		l.ShutDown, l.Started = true, false
	case StartRace:
		l.StartRace = true
	case StateChanged:
		if to, ok := migrationState(e.Fields["to"]); ok {
			l.State = to
		}
	case CopyFinished:
		l.CopyDone = true
	case Refused:
		l.Refused = e.Fields["reason"]
	case ChannelDied:
		l.DeadChannels = keepNewest(l.DeadChannels, e.Fields["channel"])
	case StrayFound:
		l.StrayCount += strayCount(e)
	default: // every other kind is a note only
	}
	return l
}

// strayCount is the line's number; a line without one names one replica.
func strayCount(e Event) int {
	text, has := e.Fields["count"]
	if !has {
		return 1
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 1
	}
	return n
}

func migrationState(name string) (cluster.MigrationState, bool) {
	switch s := cluster.MigrationState(name); s {
	case cluster.StateNone, cluster.StatePreMigration, cluster.StateMigration, cluster.StatePostMigration, cluster.StateZK:
		return s, true
	default:
		return "", false
	}
}

// keepNewest moves a text to the end. Each is kept once: a broker without
// controller repeats one line many times a second.
func keepNewest(list []string, text string) []string {
	kept := make([]string, 0, len(list)+1)
	for _, t := range list {
		if t != text {
			kept = append(kept, t)
		}
	}
	kept = append(kept, text)
	return kept[max(0, len(kept)-maxNotes):]
}
