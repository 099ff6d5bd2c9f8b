package observe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"migrator/internal/config"
	"migrator/internal/facts"
	"migrator/internal/noderead"
)

// markLimit is how long marking one node may take, an earlier poll included.
const markLimit = 10 * time.Second

// follower reads what a node's log files say since its last poll. After an
// error it goes on from where it was.
type follower interface {
	Poll(context.Context) (noderead.Polled, error)
	AtEnd(context.Context) ([]noderead.FileCursor, error)
}

// nodeLog follows the logs of one node from its mark on. The channel is a
// lock that can be waited for with a context: it is held while the node is asked.
type nodeLog struct {
	node config.Node
	busy chan struct{}

	// What follows belongs to the holder of busy.
	marked bool
	from   []noderead.FileCursor // where a follower begins, while there is none
	follow follower
	heard  heard
}

func newNodeLog(n config.Node) *nodeLog {
	return &nodeLog{node: n, busy: make(chan struct{}, 1)}
}

// readable says whether there are files to follow. Logs that come from a
// command are not followed: gates then ask for two other signals, as with none.
func (l *nodeLog) readable() bool { return !l.node.Logs.None && len(l.node.Logs.Files) > 0 }

func (l *nodeLog) lock(ctx context.Context) error {
	select {
	case l.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for an earlier read of the logs: %w", ctx.Err())
	}
}

func (l *nodeLog) unlock() { <-l.busy }

// lineReads poll the logs of the wanted nodes.
func (o *Observer) lineReads(want Want) []read {
	lines := func(s *facts.Snapshot) *map[int32]facts.Fact[facts.Lines] { return &s.Lines }
	var reads []read
	for _, id := range want.Lines {
		l, ok := o.logs[id]
		if !ok {
			continue
		}
		source := fmt.Sprintf("log lines of %s %d", l.node.Role, id)
		reads = append(reads, o.onNode(l.node, question(o, source, byID(lines, id), func(ctx context.Context) (facts.Lines, error) {
			return o.pollLines(ctx, l)
		})))
	}
	return reads
}

// pollLines adds new events where they are read, not where the round collects:
// a poll that comes back too late for its round loses nothing.
func (o *Observer) pollLines(ctx context.Context, l *nodeLog) (facts.Lines, error) {
	if !l.readable() {
		return facts.Lines{Unsupported: true}, nil
	}
	if err := l.lock(ctx); err != nil {
		return facts.Lines{}, err
	}
	defer l.unlock()
	if !l.marked {
		return facts.Lines{}, errors.New("no step has marked where its logs begin")
	}
	if l.follow == nil {
		f, err := o.openLogs(l.node, l.from)
		if err != nil {
			return facts.Lines{}, err
		}
		l.follow = f
	}
	polled, err := l.follow.Poll(ctx)
	l.heard.add(polled)
	if err == nil && polled.More {
		err = errors.New("more lines than one poll takes; still reading")
	}
	if err != nil {
		return facts.Lines{}, err
	}
	return l.heard.lines(), nil
}

func (o *Observer) openLogs(n config.Node, from []noderead.FileCursor) (follower, error) {
	machine, err := o.machine(n)
	if err != nil {
		return nil, err
	}
	return o.sources.nodes.follow(machine, n.Logs, from)
}

// MarkLogs forgets what the logs of these nodes said and follows them from
// their present end. The cursors, opaque text by node id, belong in the journal;
// nodes without readable logs have none. An error names each node that could
// not be marked, and that keeps its earlier mark; the others are marked.
func (o *Observer) MarkLogs(ctx context.Context, ids []int32) (map[int32]string, error) {
	type result struct {
		id     int32
		cursor string
		err    error
	}
	results := make(chan result, len(ids))
	for _, id := range ids {
		go func() {
			cursor, err := o.markLog(ctx, id)
			results <- result{id, cursor, err}
		}()
	}
	cursors := make(map[int32]string, len(ids))
	var problems []error
	for range ids {
		r := <-results
		switch {
		case r.err != nil:
			problems = append(problems, r.err)
		case r.cursor != "":
			cursors[r.id] = r.cursor
		}
	}
	return cursors, errors.Join(problems...)
}

func (o *Observer) markLog(ctx context.Context, id int32) (string, error) {
	l, ok := o.logs[id]
	if !ok {
		return "", fmt.Errorf("mark logs of node %d: not in the inventory", id)
	}
	if !l.readable() {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, markLimit)
	defer cancel()
	if err := l.lock(ctx); err != nil {
		return "", fmt.Errorf("mark logs of %s %d: %w", l.node.Role, id, err)
	}
	defer l.unlock()
	text, err := o.moveToEnd(ctx, l)
	if err != nil {
		return "", fmt.Errorf("mark logs of %s %d: %w", l.node.Role, id, err)
	}
	return text, nil
}

// moveToEnd is for the holder of l.busy.
func (o *Observer) moveToEnd(ctx context.Context, l *nodeLog) (string, error) {
	f, err := o.openLogs(l.node, nil)
	if err != nil {
		return "", err
	}
	cursors, err := f.AtEnd(ctx)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(cursors)
	if err != nil {
		return "", err
	}
	l.marked, l.from, l.follow, l.heard = true, cursors, f, heard{}
	return string(text), nil
}

// RestoreLogs goes on from cursors of an earlier MarkLogs, after a restart of
// the service: what the logs said since then is read again. Nothing is
// restored if one cursor is not understood.
func (o *Observer) RestoreLogs(cursors map[int32]string) error {
	parsed := make(map[int32][]noderead.FileCursor, len(cursors))
	for id, text := range cursors {
		l, ok := o.logs[id]
		if !ok {
			return fmt.Errorf("restore logs of node %d: not in the inventory", id)
		}
		from, err := parseCursors(text, l.node.Logs.Files)
		if err != nil {
			return fmt.Errorf("restore logs of %s %d: %w", l.node.Role, id, err)
		}
		parsed[id] = from
	}
	for id, from := range parsed {
		l := o.logs[id]
		select {
		case l.busy <- struct{}{}:
		default:
			return fmt.Errorf("restore logs of %s %d: they are being read; restore before the first round", l.node.Role, id)
		}
		l.marked, l.from, l.follow, l.heard = true, from, nil, heard{}
		l.unlock()
	}
	return nil
}
