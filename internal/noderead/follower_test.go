package noderead

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/config"
	"migrator/internal/facts"
	"migrator/internal/remote"
)

const (
	startedLine  = stamp + "[KafkaServer id=1] started (kafka.server.KafkaServer)\n"
	stoppedLine  = stamp + "[KafkaServer id=1] shut down completed (kafka.server.KafkaServer)\n"
	movedLine    = stamp + "[QuorumController id=1] Replayed a ZkMigrationStateRecord changing the migration state from NONE to PRE_MIGRATION. (x.Y)\n"
	behindLine   = stamp + "[KRaftMigrationDriver id=1] Ignoring image M(o=1) which does not contain a superset of the metadata in ZK. Staying in SYNC_KRAFT_TO_ZK (x.Y)\n"
	oomLine      = "java.lang.OutOfMemoryError: Java heap space\n"
	ordinaryLine = stamp + "Nothing to see here (x.Y)\n"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func follow(t *testing.T, from []FileCursor, files ...string) *Follower {
	t.Helper()
	f, err := NewFollower(remote.NewLocal(), config.Logs{Files: files}, from)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func kinds(t *testing.T, f *Follower) []Kind {
	t.Helper()
	p, err := f.Poll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []Kind
	for _, e := range p.Events {
		got = append(got, e.Kind)
	}
	return got
}

func TestOnlyLinesAfterTheBaselineCount(t *testing.T) {
	server, controller := filepath.Join(t.TempDir(), "server.log"), filepath.Join(t.TempDir(), "controller.log")
	write(t, server, startedLine)
	f := follow(t, nil, server, controller)
	if _, err := f.AtEnd(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := kinds(t, f); got != nil {
		t.Errorf("old lines counted: %v", got)
	}
	write(t, server, stoppedLine+ordinaryLine)
	write(t, controller, movedLine) // appears only now: from its beginning
	if diff := cmp.Diff([]Kind{ShutDown, StateChanged}, kinds(t, f)); diff != "" {
		t.Error(diff)
	}
}

func TestTheJournalledBaselineContinuesAfterARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.log")
	write(t, path, startedLine)
	f := follow(t, nil, path)
	if got := kinds(t, f); len(got) != 1 {
		t.Fatalf("got %v", got)
	}
	stored, err := json.Marshal(f.Cursors())
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, stoppedLine)
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write(t, path, startedLine)

	var cursors []FileCursor
	if err := json.Unmarshal(stored, &cursors); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Kind{ShutDown, StartedZK}, kinds(t, follow(t, cursors, path))); diff != "" {
		t.Error(diff)
	}
}

func TestAGapIsTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.log")
	write(t, path, startedLine+stoppedLine)
	f := follow(t, nil, path)
	kinds(t, f)
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	write(t, path, startedLine)
	p, err := f.Poll(t.Context())
	if err != nil || len(p.Events) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	if diff := cmp.Diff([]string{path}, p.Gaps); diff != "" {
		t.Error(diff)
	}
}

func TestOneUnreadableFileDoesNotHideTheOther(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(t.TempDir(), "server.log")
	write(t, path, startedLine)
	p, err := follow(t, nil, dir, path).Poll(t.Context())
	if !errors.Is(err, remote.ErrNotRegular) || len(p.Events) != 1 || p.Events[0].File != path {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestLogsThatCannotBeFollowed(t *testing.T) {
	for name, tt := range map[string]struct {
		logs config.Logs
		want error
	}{
		"none":       {config.Logs{None: true}, ErrNoLogs},
		"nothing":    {config.Logs{}, ErrNoLogs},
		"by command": {config.Logs{Argv: []string{"journalctl"}}, ErrLogsByCommand},
	} {
		if _, err := NewFollower(remote.NewLocal(), tt.logs, nil); !errors.Is(err, tt.want) {
			t.Errorf("%s: error %v, want %v", name, err, tt.want)
		}
	}
}

func TestSummary(t *testing.T) {
	tests := []struct {
		name string
		text string
		want facts.Lines
	}{
		{"nothing", "", facts.Lines{}},
		{"started", startedLine, facts.Lines{Started: true}},
		{"stopped after a start is down", startedLine + stoppedLine, facts.Lines{ShutDown: true}},
		{"the last state counts", movedLine + strings.Replace(movedLine, "from NONE to PRE_MIGRATION", "from PRE_MIGRATION to MIGRATION", 1), facts.Lines{State: "MIGRATION"}},
		{"a state nobody knows is no state", strings.Replace(movedLine, "to PRE_MIGRATION", "to MIGRATED", 1), facts.Lines{}},
		{"copy done", stamp + "[KRaftMigrationDriver id=1] Finished initial migration of ZK metadata to KRaft in 1 ns. (x.Y)\n", facts.Lines{CopyDone: true}},
		{"strays add up", strings.Repeat(stamp+"While handling full LeaderAndIsr request from KRaft controller 1 with correlation id 4, found 2 stray partition(s). (x.Y)\n", 2), facts.Lines{StrayCount: 4}},
		{"out of memory is fatal", oomLine, facts.Lines{Fatal: []string{strings.TrimSpace(oomLine)}}},
		{"what an earlier life died of no longer holds the next one back", oomLine + stamp + "[KafkaServer id=1] starting (kafka.server.KafkaServer)\n" + startedLine, facts.Lines{Started: true}},
		{"a fatal line of the present life stays", stamp + "[KafkaServer id=1] starting (kafka.server.KafkaServer)\n" + oomLine, facts.Lines{Fatal: []string{strings.TrimSpace(oomLine)}}},
		{"an image behind for an instant is normal", strings.Repeat(behindLine, behindTooOften-1), facts.Lines{}},
		{"an image behind for seconds is fatal, once", strings.Repeat(behindLine, behindTooOften+3), facts.Lines{Fatal: []string{"[KRaftMigrationDriver id=1] Ignoring image M(o=1) which does not contain a superset of the metadata in ZK. Staying in SYNC_KRAFT_TO_ZK"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s Summary
			for line := range strings.Lines(tt.text) { // one poll a line
				s.Add(parseAll([]byte(line), "f"))
			}
			got := s.Lines()
			got.Notes = nil
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSummaryIsBounded(t *testing.T) {
	var s Summary
	for i := range 3 * maxNotes {
		n := strconv.Itoa(i)
		s.Add(parseAll([]byte(strings.Replace(oomLine, "heap", n, 1)+strings.Replace(startedLine, "id=1", "id="+n, 1)), "f"))
	}
	if l := s.Lines(); len(l.Fatal) != maxNotes || len(l.Notes) != maxNotes {
		t.Errorf("%d fatal, %d notes", len(l.Fatal), len(l.Notes))
	}
	s = Summary{}
	for range 3 * maxNotes {
		s.Add(parseAll([]byte(startedLine+stoppedLine), "f"))
	}
	if l := s.Lines(); len(l.Notes) != 2 {
		t.Errorf("repeated lines are kept %d times", len(l.Notes))
	}
}
