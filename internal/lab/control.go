package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// Verbs of Control.
const (
	verbStart   = "start"
	verbStop    = "stop"
	verbRunning = "running"
	verbKill    = "kill"
	verbPause   = "pause"
	verbResume  = "resume"
	verbFormat  = "format"
	verbTool    = "tool"
	verbList    = "list"
)

func verbs() []string {
	return []string{verbStart, verbStop, verbRunning, verbKill, verbPause, verbResume, verbFormat, verbTool, verbList}
}

// Exit codes of Control beside 0, and 1 for "not running" and for a verb that
// did not succeed. Both are none of the 1 to 4 that mean "does not run".
const (
	ExitUsage       = 64
	ExitUnavailable = 69 // the supervisor does not answer
)

const maxMessage = 1 << 20

type request struct {
	Verb string   `json:"verb"`
	Node string   `json:"node"`
	Args []string `json:"args,omitempty"`
}

type reply struct {
	Exit  int    `json:"exit"`
	Out   string `json:"out,omitempty"`
	Error string `json:"error,omitempty"`
}

// Control asks the supervisor of the cluster in dir for one thing:
//
//	start    make the node's process; returns before it is ready; idempotent
//	stop     SIGTERM, then wait until the process is gone; idempotent
//	running  exit 0 while the process exists (paused too), 1 when not
//	kill     SIGKILL, then wait until the process is gone; idempotent
//	pause    SIGSTOP
//	resume   SIGCONT
//	format   run Kafka's storage tool with args; exit is the tool's
//	tool     run a class of the node's Kafka, args[0], with the other args
//	list     one line per node; node is ""
//
// It waits as long as ctx allows. exit is what a command should exit with; out
// is for its stdout. err says what went wrong whenever exit is not 0, apart
// from a node that is just not running.
func Control(ctx context.Context, dir, verb, node string, args ...string) (exit int, out string, err error) {
	what := strings.TrimSpace(verb + " " + node)
	rep, err := ask(ctx, dir, request{Verb: verb, Node: node, Args: args})
	if err != nil {
		return ExitUnavailable, "", fmt.Errorf("%s: the supervisor of %s does not answer: %w", what, dir, err)
	}
	if rep.Error != "" {
		return rep.Exit, rep.Out, fmt.Errorf("%s: %s", what, rep.Error)
	}
	return rep.Exit, rep.Out, nil
}

func ask(ctx context.Context, dir string, req request) (reply, error) {
	name, err := os.ReadFile(socketNamePath(dir))
	if err != nil {
		return reply{}, err
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", strings.TrimSpace(string(name)))
	if err != nil {
		return reply{}, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if err := json.NewEncoder(conn).Encode(req); err != nil {
		return reply{}, err
	}
	var rep reply
	if err := json.NewDecoder(io.LimitReader(conn, maxMessage)).Decode(&rep); err != nil {
		if ctx.Err() != nil {
			return reply{}, context.Cause(ctx)
		}
		return reply{}, fmt.Errorf("it closed the connection: %w", err)
	}
	return rep, nil
}

// longestSocketPath is what a sockaddr_un holds, less its final zero.
const longestSocketPath = 107

// listen opens the cluster's socket, in its folder or, when that path is too
// long for the kernel, in a private folder of its own, and leaves its path in
// the file named socket. cleanup removes what it made.
func listen(dir string) (listener net.Listener, cleanup func() error, err error) {
	path := filepath.Join(dir, "control.sock")
	aside := ""
	if len(path) > longestSocketPath {
		if aside, err = os.MkdirTemp("", "lab-"); err != nil {
			return nil, nil, err
		}
		path = filepath.Join(aside, "control.sock")
	}
	cleanup = func() error {
		err := os.Remove(socketNamePath(dir))
		if aside == "" {
			return ignoreAbsent(err)
		}
		return errors.Join(ignoreAbsent(err), os.RemoveAll(aside))
	}
	listener, err = net.Listen("unix", path)
	if err != nil {
		return nil, nil, errors.Join(err, cleanup())
	}
	if err := writeWhole(socketNamePath(dir), []byte(path+"\n")); err != nil {
		return nil, nil, errors.Join(err, listener.Close(), cleanup())
	}
	return listener, cleanup, nil
}

func ignoreAbsent(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
