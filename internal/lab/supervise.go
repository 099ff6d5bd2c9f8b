package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// supervisor owns the processes of one cluster.
type supervisor struct {
	dir       string
	spec      spec
	spawner   *spawner
	processes map[string]*process
	log       *slog.Logger

	startsMu sync.Mutex // one line at a time in starts.log
}

// Supervise owns the processes of the cluster whose folder is dir, and does
// what Control asks for. It reserves the cluster's ports, and ends, killing
// every node, when stdin reaches its end (the owner is gone), on SIGTERM, or
// when ctx is done. SIGINT and SIGHUP of the terminal are ignored: an
// interrupted owner may still need its nodes to finish what it has begun.
func Supervise(ctx context.Context, dir string, stdin io.Reader) (err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("supervise %s: %w", dir, err)
	}
	var sp spec
	if err := readJSON(specPath(dir), &sp); err != nil {
		return err
	}
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP)
	defer signal.Reset(syscall.SIGINT, syscall.SIGHUP)
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { // ends with the process: a read of a pipe cannot be interrupted
		_, _ = io.Copy(io.Discard, stdin)
		cancel(errors.New("the owner of the cluster is gone"))
	}()

	reserved, err := reserve(locksFolder, sp.Ports)
	if err != nil {
		return fmt.Errorf("supervise %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, reserved.release()) }()
	if err := writeJSON(portsPath(dir), reserved.ports); err != nil {
		return err
	}
	log, err := os.OpenFile(supervisorLog(dir), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("supervise %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	s := newSupervisor(dir, sp, slog.New(slog.NewTextHandler(log, nil)))
	return s.serve(ctx)
}

func newSupervisor(dir string, sp spec, log *slog.Logger) *supervisor {
	s := &supervisor{dir: dir, spec: sp, spawner: newSpawner(), processes: map[string]*process{}, log: log}
	for _, n := range sp.Nodes {
		s.processes[n.Name] = &process{spec: n}
	}
	return s
}

// serve answers requests until ctx is done, then kills everything.
func (s *supervisor) serve(ctx context.Context) (err error) {
	defer s.spawner.close()
	listener, cleanup, err := listen(s.dir)
	if err != nil {
		return fmt.Errorf("supervise %s: %w", s.dir, err)
	}
	defer func() { err = errors.Join(err, cleanup()) }()
	s.log.Info(listeningMessage, "socket", listener.Addr().String(), "pid", os.Getpid())

	closed := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer closed()
	var answering sync.WaitGroup
	for {
		conn, err := listener.Accept()
		if err != nil {
			if ctx.Err() == nil {
				s.log.Error("accept", "error", err)
			}
			break
		}
		answering.Go(func() { s.answer(ctx, conn) })
	}
	answering.Wait() // a start under way makes its process first
	s.log.Info("killing all nodes", "because", fmt.Sprint(context.Cause(ctx)))
	return s.killAll()
}

// listeningMessage is what the owner waits for in supervisor.log.
const listeningMessage = "listening"

// killAll needs no clean stop: the folder of a cluster is not used again.
func (s *supervisor) killAll() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var errs []error
	for _, p := range s.processes {
		if err := p.end(ctx, syscall.SIGKILL); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// answer serves one connection: one request, one reply. A caller that hangs up
// cancels what it asked for, apart from signals already sent.
func (s *supervisor) answer(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	var req request
	if err := conn.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return
	}
	if err := json.NewDecoder(io.LimitReader(conn, maxMessage)).Decode(&req); err != nil {
		return
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		return
	}
	go func() { // ends when either side closes the connection
		_, _ = conn.Read(make([]byte, 1))
		cancel()
	}()
	rep := s.do(ctx, req)
	s.log.Info("asked", "verb", req.Verb, "node", req.Node, "exit", rep.Exit, "error", rep.Error)
	_ = json.NewEncoder(conn).Encode(rep)
}

// do carries out one request.
func (s *supervisor) do(ctx context.Context, req request) reply {
	if req.Verb == verbList {
		return reply{Out: s.list()}
	}
	p, ok := s.processes[req.Node]
	if !ok {
		return reply{Exit: ExitUsage, Error: fmt.Sprintf("the cluster has no node %q", req.Node)}
	}
	switch req.Verb {
	case verbRunning:
		pid, runs := p.pid()
		if !runs {
			return reply{Exit: 1, Out: "not running\n"}
		}
		return reply{Out: fmt.Sprintf("running, pid %d\n", pid)}
	case verbStart:
		return s.start(ctx, p)
	case verbStop:
		return result("stopped", p.end(ctx, syscall.SIGTERM))
	case verbKill:
		return result("killed", p.end(ctx, syscall.SIGKILL))
	case verbPause:
		return result("paused", p.signal(syscall.SIGSTOP))
	case verbResume:
		return result("resumed", p.signal(syscall.SIGCONT))
	case verbFormat:
		return s.format(ctx, p, req.Args)
	case verbTool:
		if len(req.Args) == 0 {
			return reply{Exit: ExitUsage, Error: "a tool needs a class"}
		}
		return s.tool(ctx, p, req.Args[0], req.Args[1:])
	}
	return reply{Exit: ExitUsage, Error: fmt.Sprintf("no verb %q: one of %s", req.Verb, strings.Join(verbs(), ", "))}
}

func result(done string, err error) reply {
	if err != nil {
		return reply{Exit: 1, Error: err.Error()}
	}
	return reply{Out: done + "\n"}
}

// list says one line per node, in the order of lab.json.
func (s *supervisor) list() string {
	var b strings.Builder
	for _, n := range s.spec.Nodes {
		state := "not running"
		if pid, ok := s.processes[n.Name].pid(); ok {
			state = "pid " + strconv.Itoa(pid)
		}
		fmt.Fprintf(&b, "%s %s %s\n", n.Kind, n.Name, state)
	}
	return b.String()
}
