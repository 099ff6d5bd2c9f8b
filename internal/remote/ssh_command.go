package remote

import (
	"crypto/rand"
	"strings"
)

// command collects what a node's own command brings, and the marks around it.
type command struct {
	mark           string
	out, err       *rear
	stdout, stderr *markedStream
	ended          chan struct{} // closed when the mark of the end came
	pid            int           // of the shell that runs it, on its host
	exit           *int
}

func newCommand() *command {
	c := &command{mark: rand.Text(), out: &rear{limit: MaxOutput + 1}, err: &rear{limit: MaxOutput + 1}, ended: make(chan struct{})}
	c.stdout = newMarked(c.mark, c.out, nil)
	c.stderr = newMarked(c.mark, c.err, c.told)
	return c
}

// told reads the marks on the stream of complaints.
func (c *command) told(args []string) {
	if pid, ok := number(args, "began"); ok {
		c.pid = pid
	}
	if exit, ok := number(args, "ended"); ok && c.exit == nil {
		c.exit = &exit
		close(c.ended)
	}
}

// result is the output so far; what still comes is not taken any more.
func (c *command) result(redact func(string) string) Result {
	_, _ = c.stdout.close(), c.stderr.close() // rear takes everything
	stdout, cutOut := lastOf(c.out.data)
	stderr, cutErr := lastOf(c.err.data)
	if redact != nil {
		stdout, stderr = redact(stdout), redact(stderr)
	}
	r := Result{Stdout: stdout, Stderr: stderr, Truncated: cutOut || cutErr}
	if c.exit != nil {
		r.Exit, r.Signal = *c.exit, signalOf(*c.exit)
	}
	return r
}

// lastOf is output as text. Half a line could be half a secret, which no
// redaction would know.
func lastOf(data []byte) (text string, cut bool) {
	if cut = len(data) > MaxOutput; cut {
		_, data = splitLine(data)
	}
	return strings.ToValidUTF8(string(data[max(0, len(data)-MaxOutput):]), "\uFFFD"), cut
}
