package remote

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// logFile drives one log file of a test and follows it.
type logFile struct {
	t    *testing.T
	node Node
	path string
	at   Cursor
	last Tailed
}

func (l *logFile) append(text string) {
	l.t.Helper()
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		l.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		l.t.Fatal(err)
	}
}

func (l *logFile) rename(from, to string) {
	l.t.Helper()
	if err := os.Rename(l.path+from, l.path+to); err != nil {
		l.t.Fatal(err)
	}
}

// wants tails to the end and compares what came.
func (l *logFile) wants(text string) {
	l.t.Helper()
	var got strings.Builder
	for {
		tailed, err := l.node.Tail(l.t.Context(), l.path, l.at)
		if err != nil {
			l.t.Fatal(err)
		}
		got.Write(tailed.Data)
		l.at, l.last = tailed.Next, tailed
		if !tailed.More {
			break
		}
	}
	if diff := cmp.Diff(text, got.String()); diff != "" {
		l.t.Errorf("tailed:\n%s", diff)
	}
}

func testTail(t *testing.T, node Node) {
	tests := []struct {
		name  string
		story func(*logFile)
	}{
		{"a missing file starts at 0 when it appears", func(l *logFile) {
			l.wants("")
			if !l.last.Missing {
				l.t.Error("not told missing")
			}
			l.append("one\n")
			l.wants("one\n")
			l.wants("")
		}},
		{"half a line waits for its end", func(l *logFile) {
			l.append("one\ntw")
			l.wants("one\n")
			l.append("o\n")
			l.wants("two\n")
		}},
		{"from the end, only what comes later counts", func(l *logFile) {
			l.append("old\nhal")
			l.at = Cursor{FromEnd: true}
			l.wants("")
			l.append("f\nnew\n")
			l.wants("half\nnew\n")
		}},
		{"the end of a missing file is its beginning", func(l *logFile) {
			l.at = Cursor{FromEnd: true}
			l.wants("")
			l.append("one\n")
			l.wants("one\n")
		}},
		{"a renamed file is finished before its successor", func(l *logFile) {
			l.append("one\n")
			l.wants("one\n")
			l.append("two\nlast without newline")
			l.rename("", ".1")
			l.append("three\n")
			l.wants("two\nlast without newline\nthree\n")
			if l.last.Lost {
				l.t.Error("told lost")
			}
			l.wants("")
		}},
		{"two rotations between two reads lose nothing", func(l *logFile) {
			l.append("one\n")
			l.wants("one\n")
			l.append("two\n")
			l.rename("", ".1")
			l.append("three\n")
			l.rename(".1", ".2")
			l.rename("", ".1")
			l.append("four\n")
			l.wants("two\nthree\nfour\n")
		}},
		{"a renamed file without successor yet", func(l *logFile) {
			l.append("one\n")
			l.wants("one\n")
			l.append("two\n")
			l.rename("", ".2026-11-30-07")
			l.wants("two\n")
			l.append("three\n")
			l.wants("three\n")
		}},
		{"a renamed file that is gone is told as lost", func(l *logFile) {
			l.append("one\n")
			l.wants("one\n")
			l.append("two\n")
			l.rename("", ".1")
			l.append("three\n")
			if err := os.Remove(l.path + ".1"); err != nil {
				l.t.Fatal(err)
			}
			l.wants("three\n")
			if !l.last.Lost {
				l.t.Error("not told lost")
			}
		}},
		{"a truncated file is read from 0", func(l *logFile) {
			l.append("one\ntwo\n")
			l.wants("one\ntwo\n")
			if err := os.Truncate(l.path, 0); err != nil {
				l.t.Fatal(err)
			}
			l.append("new\n")
			l.wants("new\n")
			if !l.last.Truncated {
				l.t.Error("not told truncated")
			}
		}},
		{"a truncated file that grew past the cursor is read from 0", func(l *logFile) {
			l.append("one\n")
			l.wants("one\n")
			if err := os.Truncate(l.path, 0); err != nil {
				l.t.Fatal(err)
			}
			l.append("a longer line\nand more\n")
			l.wants("a longer line\nand more\n")
			if !l.last.Truncated {
				l.t.Error("not told truncated")
			}
		}},
		{"rotation by copy and truncation loses nothing", func(l *logFile) {
			l.append("one\n")
			l.wants("one\n")
			l.append("two\n")
			data, err := os.ReadFile(l.path)
			if err != nil {
				l.t.Fatal(err)
			}
			put(l.t, l.path+".1", string(data), 0o600)
			if err := os.Truncate(l.path, 0); err != nil {
				l.t.Fatal(err)
			}
			l.append("three\n")
			l.wants("two\nthree\n")
		}},
		{"more than one call's worth arrives whole", func(l *logFile) {
			text := strings.Repeat(strings.Repeat("x", 99)+"\n", 25_000)
			l.append(text)
			l.wants(text)
		}},
		{"the rest of an overlong line never passes for a line", func(l *logFile) {
			l.append("first\n" + strings.Repeat("x", MaxTail+10) + "[KafkaServer id=1] started\nnext\n")
			l.wants("first\n" + strings.Repeat("x", MaxTail) + "\nnext\n")
		}},
		{"a link to the log is followed to its rotated files", func(l *logFile) {
			l.append("one\n")
			link := filepath.Join(l.t.TempDir(), "link.log")
			if err := os.Symlink(l.path, link); err != nil {
				l.t.Fatal(err)
			}
			real := l.path
			l.path = link
			l.wants("one\n")
			l.path = real
			l.append("two\n")
			l.rename("", ".1")
			l.append("three\n")
			l.path = link
			l.wants("two\nthree\n")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.story(&logFile{t: t, node: node, path: filepath.Join(t.TempDir(), "server.log")})
		})
	}
}
