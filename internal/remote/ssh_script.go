package remote

import (
	"bytes"
	"io"
	"strconv"
	"strings"
)

// begin tells for certain whether a command was started: sudo that wants a
// password exits 1, as a `running` command says no, and a login shell may print
// what it likes before anything. The mark on both streams is where the
// command's own output begins; without it nothing ran. It is given as the first
// argument, so that the command itself cannot know it beforehand.
const begin = `command -v "$2" >/dev/null 2>&1 || exit 127
m=$1; shift
echo "$m"; echo "$m began $$" >&2
`

// plainScript becomes the command.
const plainScript = begin + `exec "$@"`

// relayScript runs a node's own command so that it outlives the connection.
// Its output goes through two processes that read on when nobody listens any
// more; a pipe without reader would end the command, or a daemon that it
// started, at its next line. The mark says that the command ended even while
// such a daemon keeps the output open.
const relayScript = begin + `exec 3>&1 4>&2
relay() { cat; exec cat >/dev/null; }
{ { { (exec "$@" 2>&5 3>&- 4>&- 5>&- </dev/null); echo "$m ended $?" >&4; } 2>/dev/null | relay >&3 2>/dev/null 3>&- 4>&- 5>&-; } 5>&1; } | relay >&4 2>/dev/null 3>&- 4>&-`

// shellLine is the line that sshd gives to the user's login shell: ssh passes a
// string and no argv, so each element is quoted for it.
func shellLine(become []string, script, mark string, argv []string) string {
	words := append([]string{}, become...)
	words = append(words, "sh", "-c", script, "sh", mark)
	words = append(words, argv...)
	var b strings.Builder
	b.WriteString("exec")
	for _, w := range words {
		b.WriteString(" '" + strings.ReplaceAll(w, "'", `'\''`) + "'")
	}
	return b.String()
}

// markedStream finds the marks in a stream and passes on the rest: nothing of
// what came before the first one.
type markedStream struct {
	mark []byte
	told func(args []string) // may be nil

	to      io.Writer
	pending []byte
	noise   rear // what came before the first mark
	began   bool
}

func newMarked(mark string, to io.Writer, told func(args []string)) *markedStream {
	return &markedStream{mark: []byte(mark), to: to, told: told, noise: rear{limit: maxComplaint}}
}

// maxMark is how long a mark is with its arguments and the end of its line.
const maxMark = 60

func (m *markedStream) Write(p []byte) (int, error) {
	m.pending = append(m.pending, p...)
	for {
		at := bytes.Index(m.pending, m.mark)
		if at < 0 { // the end may be the beginning of a mark
			return len(p), m.pass(max(0, len(m.pending)-len(m.mark)+1))
		}
		if err := m.pass(at); err != nil {
			return 0, err
		}
		line, rest, whole := bytes.Cut(m.pending, []byte("\n"))
		if !whole && len(m.pending) < maxMark {
			return len(p), nil
		}
		m.began = true
		if m.told != nil {
			m.told(strings.Fields(string(line[len(m.mark):])))
		}
		m.pending = append([]byte(nil), rest...)
	}
}

// pass hands on the first n bytes that wait.
func (m *markedStream) pass(n int) error {
	out := m.pending[:n]
	m.pending = append([]byte(nil), m.pending[n:]...)
	if !m.began {
		_, err := m.noise.Write(out)
		return err
	}
	_, err := m.to.Write(out)
	return err
}

// close passes on what waited for the rest of a mark.
func (m *markedStream) close() error { return m.pass(len(m.pending)) }

// number is the argument of a mark, such as an exit code.
func number(args []string, name string) (int, bool) {
	if len(args) != 2 || args[0] != name {
		return 0, false
	}
	n, err := strconv.Atoi(args[1])
	return n, err == nil
}
