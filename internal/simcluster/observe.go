package simcluster

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"migrator/internal/facts"
	"migrator/internal/observe"
)

// Round answers what readers would see.
func (l *Life) Round(ctx context.Context, want observe.Want) facts.Snapshot {
	begun := time.Now()
	if !pause(ctx, l.c.slow) {
		return facts.Snapshot{Begun: begun}
	}
	defer l.c.still()()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.c.follow()
	s := facts.Snapshot{Begun: begun}
	l.c.zooKeeperFacts(&s, begun)
	l.c.brokerFacts(&s, want, begun)
	l.c.quorumFacts(&s, begun)
	l.machineFacts(&s, want, begun)
	l.lineFacts(&s, want, begun)
	l.topicScan(&s, want, begun)
	s.CanaryStats = l.c.clientFact(begun)
	l.c.distort(&s, l.last)
	l.last = s
	return s
}

// topicScan is a whole reading of the topics, made now and then only.
func (l *Life) topicScan(s *facts.Snapshot, want observe.Want, begun time.Time) {
	if !want.Topics && !want.TopicsSoon {
		return
	}
	every := 10 * time.Second
	if want.TopicsSoon {
		every = time.Second
	}
	if l.scan.Begun().IsZero() || begun.Sub(l.scan.Begun()) >= every || !l.scan.Known() {
		l.scan = l.c.scanTopics(begun)
	}
	s.ZKTopics = l.scan
}

// machineFacts looks at the wanted machines and keeps the others as they were.
func (l *Life) machineFacts(s *facts.Snapshot, want observe.Want, begun time.Time) {
	s.Running, s.Files, s.Meta = map[int32]facts.Fact[bool]{}, map[int32]facts.Fact[facts.File]{}, map[int32]facts.Fact[[]facts.MetaProperties]{}
	for _, cfg := range l.c.cfg.Nodes {
		id := cfg.ID
		if want.Machines != nil && !slices.Contains(want.Machines, id) {
			s.Running[id], s.Files[id], s.Meta[id] = l.seen.Running[id], l.seen.Files[id], l.seen.Meta[id]
			continue
		}
		n := l.c.nodes[id]
		if l.c.unreachable(id) {
			s.Running[id] = facts.Unknown[bool]("connection timed out", "running command", begun)
			s.Files[id] = facts.Unknown[facts.File]("connection timed out", n.Properties, begun)
			s.Meta[id] = facts.Unknown[[]facts.MetaProperties]("connection timed out", "meta.properties", begun)
			continue
		}
		s.Running[id] = facts.Known(n.proc != nil, "running command", begun)
		s.Files[id] = n.fileFact(begun)
		s.Meta[id] = n.metaFact(begun)
	}
	l.seen = *s
	s.Kept = map[int32]facts.Fact[[]facts.KeptFile]{}
	for _, id := range want.Kept {
		s.Kept[id] = l.c.keptFact(id, begun)
	}
}

func (l *Life) lineFacts(s *facts.Snapshot, want observe.Want, begun time.Time) {
	s.Lines = map[int32]facts.Fact[facts.Lines]{}
	for _, id := range want.Lines {
		n := l.c.nodes[id]
		if l.c.unreachable(id) {
			s.Lines[id] = facts.Unknown[facts.Lines]("connection timed out", "log", begun)
			continue
		}
		mark, ok := l.marks[id]
		if !ok {
			mark = len(n.lines) // followed from now on
			l.marks[id] = mark
		}
		s.Lines[id] = facts.Known(said(n.lines[min(mark, len(n.lines)):]), "log", begun)
	}
}

func said(lines []line) facts.Lines {
	var out facts.Lines
	for _, ln := range lines {
		switch ln.kind {
		case lineStarting:
			out.Fatal, out.StartRace = nil, false
		case lineStarted:
			out.Started = true
		case lineShutDown:
			out.ShutDown = true
		case lineState:
			out.State = ln.state
		case lineCopyDone:
			out.CopyDone = true
		case lineFatal:
			out.Fatal = append(out.Fatal, ln.text)
		case lineRace:
			out.Fatal, out.StartRace = append(out.Fatal, ln.text), true
		case lineRefused:
			out.Refused = ln.text
		}
	}
	return out
}

// MarkLogs answers the present end of the nodes' logs.
func (l *Life) MarkLogs(_ context.Context, ids []int32) (map[int32]string, error) {
	defer l.c.still()()
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[int32]string{}
	for _, id := range ids {
		if l.c.unreachable(id) {
			return nil, fmt.Errorf("log of node %d: connection timed out", id)
		}
		l.marks[id] = len(l.c.nodes[id].lines)
		out[id] = strconv.Itoa(l.marks[id])
	}
	return out, nil
}

// RestoreLogs goes on from journalled marks.
func (l *Life) RestoreLogs(cursors map[int32]string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, text := range cursors {
		mark, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("log cursor of node %d: %w", id, err)
		}
		l.marks[id] = mark
	}
	return nil
}
