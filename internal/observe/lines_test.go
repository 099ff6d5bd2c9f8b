package observe

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/config"
	"migrator/internal/facts"
	"migrator/internal/noderead"
	"migrator/internal/remote"
)

const logFile = "/var/log/server.log"

// script is a log: polls bring one line each from its place on.
type script struct {
	lines []noderead.Event
	next  int
	more  bool
	gaps  []string
	err   error
}

func (s *script) Poll(context.Context) (noderead.Polled, error) {
	p := noderead.Polled{More: s.more, Gaps: s.gaps}
	if s.next < len(s.lines) {
		s.next++
		p.Events = s.lines[s.next-1 : s.next]
	}
	return p, s.err
}

func (s *script) AtEnd(context.Context) ([]noderead.FileCursor, error) {
	s.next = len(s.lines)
	return []noderead.FileCursor{{Path: logFile, Cursor: remote.Cursor{Offset: int64(s.next)}}}, s.err
}

// logged makes an observer whose every node has this growing log.
func logged(log *[]noderead.Event) *Observer {
	s := healthy()
	s.nodes.follow = func(_ remote.Node, _ config.Logs, from []noderead.FileCursor) (follower, error) {
		f := &script{lines: *log}
		if from != nil {
			f.next = int(from[0].Cursor.Offset)
		}
		return f, nil
	}
	return newObserver(threeAndThree(), Deps{}, s)
}

func linesOf(t *testing.T, o *Observer, rounds int) facts.Fact[facts.Lines] {
	t.Helper()
	var f facts.Fact[facts.Lines]
	for range rounds {
		f = o.Round(t.Context(), Want{Lines: []int32{1}}).Lines[1]
	}
	return f
}

func TestLinesBeginAtTheMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := []noderead.Event{{Kind: noderead.StartedZK, Text: "before the mark"}}
		o := logged(&log)
		wantCause(t, linesOf(t, o, 1).Cause(), "no step has marked")

		cursors, err := o.MarkLogs(t.Context(), []int32{1})
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := linesOf(t, o, 1).Get(); !ok || got.Started || len(got.Notes) != 0 {
			t.Errorf("known %t, started %t, notes %v; want a node that said nothing since", ok, got.Started, got.Notes)
		}

		// The node restarts, and so does the service: what was said since is read again.
		log = append(log, noderead.Event{Kind: noderead.ShutDown, Text: "down"}, noderead.Event{Kind: noderead.StartedKRaft, Text: "up"},
			noderead.Event{Kind: noderead.StrayFound, Text: "strays", Fields: map[string]string{"count": "2"}})
		want := facts.Lines{Started: true, ShutDown: true, StrayCount: 2, Notes: []string{"down", "up", "strays"}}
		closed(t, o)
		o = logged(&log)
		for range 2 { // a second restore begins again, it does not add up
			if err := o.RestoreLogs(cursors); err != nil {
				t.Fatal(err)
			}
			got, _ := linesOf(t, o, 4).Get()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("after a restart of the service (-want +got):\n%s", diff)
			}
		}

		// The next step marks anew and forgets.
		if _, err := o.MarkLogs(t.Context(), []int32{1}); err != nil {
			t.Fatal(err)
		}
		f := linesOf(t, o, 1)
		if got, ok := f.Get(); !ok || got.Started || got.ShutDown {
			t.Errorf("known %t (%s), started %t, shut down %t after a new mark", ok, f.Cause(), got.Started, got.ShutDown)
		}
		closed(t, o)
	})
}

func TestStartAndShutdownLinesDoNotTakeEachOtherBack(t *testing.T) {
	down, up := noderead.Event{Kind: noderead.ShutDown}, noderead.Event{Kind: noderead.StartedZK}
	starting := noderead.Event{Kind: noderead.Starting}
	for _, test := range []struct {
		name              string
		events            []noderead.Event
		started, shutDown bool
	}{
		{"nothing said", nil, false, false},
		{"stopped and not started yet", []noderead.Event{down, starting}, false, true},
		{"stopped and started", []noderead.Event{down, starting, up}, true, true},
		{"started and stopped again", []noderead.Event{starting, up, down}, true, true},
		{"started after a kill", []noderead.Event{starting, up}, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var h heard
			h.add(noderead.Polled{Events: test.events})
			if l := h.lines(); l.Started != test.started || l.ShutDown != test.shutDown {
				t.Errorf("started %t, shut down %t; want %t, %t", l.Started, l.ShutDown, test.started, test.shutDown)
			}
		})
	}
}

func TestLogsThatCannotBeRead(t *testing.T) {
	t.Run("a node without logs is known to have none, unmarked", func(t *testing.T) {
		m := threeAndThree()
		m.Nodes[0].Logs = config.Logs{None: true}
		o := newObserver(m, Deps{}, healthy())
		cursors, err := o.MarkLogs(t.Context(), []int32{1})
		if err != nil || len(cursors) != 0 {
			t.Errorf("cursors %v, error %v", cursors, err)
		}
		if got, ok := linesOf(t, o, 1).Get(); !ok || !got.Unsupported {
			t.Errorf("known %t, unsupported %t", ok, got.Unsupported)
		}
		closed(t, o)
	})
	t.Run("a poll that fails is unknown, and the next goes on", func(t *testing.T) {
		s := healthy()
		f := &script{}
		s.nodes.follow = func(remote.Node, config.Logs, []noderead.FileCursor) (follower, error) { return f, nil }
		o := newObserver(threeAndThree(), Deps{}, s)
		if _, err := o.MarkLogs(t.Context(), []int32{1}); err != nil {
			t.Fatal(err)
		}
		f.err, f.lines = errors.New("connection reset"), []noderead.Event{{Kind: noderead.StartedZK}}
		wantCause(t, linesOf(t, o, 1).Cause(), "connection reset")
		f.err = nil
		if got, ok := linesOf(t, o, 1).Get(); !ok || !got.Started {
			t.Errorf("known %t, started %t; what came with the error is lost", ok, got.Started)
		}
		closed(t, o)
	})
	t.Run("one dead node is named and the others are marked", func(t *testing.T) {
		s := healthy()
		m := threeAndThree()
		m.Nodes[1].Access.Kind = "unreachable"
		s.nodes.open = func(a config.Access) (remote.Node, error) {
			if a.Kind != "" {
				return nil, errors.New("no route to host")
			}
			return machine{}, nil
		}
		o := newObserver(m, Deps{}, s)
		cursors, err := o.MarkLogs(t.Context(), []int32{1, 2})
		if err == nil || !strings.Contains(err.Error(), "broker 2: no route to host") {
			t.Errorf("error %v", err)
		}
		if len(cursors) != 1 || cursors[1] == "" {
			t.Errorf("cursors %v, want that of broker 1", cursors)
		}
		closed(t, o)
	})
	t.Run("lines that may be missing are said, and unread ones are unknown", func(t *testing.T) {
		s := healthy()
		f := &script{gaps: []string{logFile}, more: true}
		s.nodes.follow = func(remote.Node, config.Logs, []noderead.FileCursor) (follower, error) { return f, nil }
		o := newObserver(threeAndThree(), Deps{}, s)
		if _, err := o.MarkLogs(t.Context(), []int32{1}); err != nil {
			t.Fatal(err)
		}
		wantCause(t, linesOf(t, o, 1).Cause(), "still reading")
		f.more = false
		got, _ := linesOf(t, o, 1).Get()
		want := []string{"lines of " + logFile + " may be missing: it was rotated away, cut or replaced before it was read"}
		if diff := cmp.Diff(want, got.Notes); diff != "" {
			t.Errorf("notes (-want +got):\n%s", diff)
		}
		closed(t, o)
	})
	for _, broken := range []string{"{", "[]", `[{"path":"/var/log/other.log"}]`} {
		t.Run("the cursor "+broken+" restores nothing", func(t *testing.T) {
			o := newObserver(threeAndThree(), Deps{}, healthy())
			good := `[{"path":"` + logFile + `","cursor":{"device":1,"inode":2,"offset":3}}]`
			if err := o.RestoreLogs(map[int32]string{1: good, 2: broken}); err == nil {
				t.Error("accepted")
			}
			if linesOf(t, o, 1).Known() {
				t.Error("broker 1 was restored although the journal entry is broken")
			}
			closed(t, o)
		})
	}
}
