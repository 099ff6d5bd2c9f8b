package survey

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/facts"
	"migrator/internal/findings"
	"migrator/internal/remote"
)

const (
	machinesAtOnce = 8
	// lookLimit bounds one question to a machine; looking through the folders of
	// a broker with some thousand partitions takes seconds.
	lookLimit = 30 * time.Second
)

// machines looks at every node through remote: folders, process, service
// manager, files and the connections that the migration will need.
func machines(ctx context.Context, m config.Migration, s *findings.Survey) {
	s.Machines = map[int32]findings.Machine{}
	needed := findings.Connections(*s)
	turns := make(chan struct{}, machinesAtOnce)
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, n := range m.Nodes {
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			seen := lookAt(ctx, n, *s)
			seen.Reach = reach(ctx, n, needed[n.ID])
			mu.Lock()
			defer mu.Unlock()
			s.Machines[n.ID] = seen
		})
	}
	wg.Wait()
}

func lookAt(ctx context.Context, n config.Node, s findings.Survey) findings.Machine {
	machine, err := remote.Open(n.Access)
	if err != nil || n.Access.Kind == "manual" {
		return findings.Machine{} // everything stays unknown; the gates say that the node cannot be reached
	}
	l := looker{machine: machine, node: n}
	out := findings.Machine{Folders: map[string]facts.Fact[findings.Folder]{}, Files: map[string]facts.Fact[bool]{}}
	if n.Role == cluster.Broker {
		dirs, _ := s.Snapshot.Meta[n.ID].Get()
		for _, d := range dirs {
			out.Folders[d.Dir] = fact(ctx, "folder "+d.Dir, func(ctx context.Context) (findings.Folder, error) { return l.folder(ctx, d.Dir) })
		}
	}
	out.Process = fact(ctx, "process of "+n.Name(), l.process)
	out.ClockAheadMs = fact(ctx, "date on "+n.Name(), l.clockAhead)
	unit := fact(ctx, "systemctl show", l.unit)
	out.StopLimit, out.HeapBytes = stopLimit(unit), heap(out.Process, unit)
	for _, f := range findings.FilesNeeded(s, n) {
		out.Files[f.Path] = fact(ctx, f.Path, func(ctx context.Context) (bool, error) {
			info, err := machine.Stat(ctx, f.Path)
			return info.Exists, err
		})
	}
	return out
}

// looker asks one machine with argv lists only.
type looker struct {
	machine remote.Node
	node    config.Node
}

func fact[T any](ctx context.Context, source string, ask func(context.Context) (T, error)) facts.Fact[T] {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	v, err := ask(ctx)
	if err != nil {
		return facts.Unknown[T](findings.Bounded(err.Error()), source, begun)
	}
	return facts.Known(v, source, begun)
}

// output runs a command that must exit 0, or 1 where that means "nothing".
func (l looker) output(ctx context.Context, argv []string, nothing int) (text string, whole bool, err error) {
	r, err := l.machine.Run(ctx, argv)
	switch {
	case err != nil:
		return "", false, err
	case r.Exit != 0 && r.Exit != nothing || r.Signal != "":
		return "", false, fmt.Errorf("%s exited %d: %s", argv[0], r.Exit, findings.Bounded(strings.TrimSpace(r.Stderr)))
	}
	return r.Stdout, !r.Truncated, nil
}

// clockAhead compares with the middle of the question's time; whole seconds are
// what every date(1) can say.
func (l looker) clockAhead(ctx context.Context) (int64, error) {
	begun := time.Now()
	text, _, err := l.output(ctx, []string{"date", "-u", "+%s"}, 0)
	if err != nil {
		return 0, err
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0, errors.New("date answers something that is no number")
	}
	middle := begun.Add(time.Since(begun) / 2)
	return seconds*1000 + 500 - middle.UnixMilli(), nil
}

// folder asks for what is odd only, so that the answer stays small however
// many partitions there are.
func (l looker) folder(ctx context.Context, dir string) (findings.Folder, error) {
	var f findings.Folder
	top := []string{"find", dir, "-mindepth", "1", "-maxdepth", "1", "-type", "d"}
	odd, whole, err := l.output(ctx, append(top, "(", "-name", "__cluster_metadata-0", "-o", "-name", "*-stray", "-o", "-name", "*-delete", ")", "-print"), 0)
	if err != nil {
		return f, err
	}
	f.Odd = names(odd, dir)
	bare, whole2, err := l.output(ctx, append(top, "-name", "*-[0-9]*", "!", "-name", "*-stray", "!", "-name", "*-delete", "!", "-name", "*-future", "!", "-name", "__cluster_metadata-0",
		"!", "-exec", "test", "-e", "{}/partition.metadata", ";", "-print"), 0)
	if err != nil {
		return f, err
	}
	f.Bare = names(bare, dir)
	ids, whole3, err := l.output(ctx, []string{"find", dir, "-mindepth", "2", "-maxdepth", "2", "-name", "partition.metadata", "-exec", "grep", "-H", "^topic_id:", "{}", "+"}, 1)
	if err != nil {
		return f, err
	}
	f.TopicIDs, f.Whole = topicIDs(ids, dir), whole && whole2 && whole3
	return f, nil
}

// names are the entries of dir in find's output; a name that Kafka could not
// have made is left out.
func names(text, dir string) []string {
	var out []string
	for line := range strings.Lines(text) {
		name, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), strings.TrimRight(dir, "/")+"/")
		if ok && name != "" {
			out = append(out, findings.Bounded(name))
		}
	}
	return out
}

// topicIDs reads lines such as /d1/orders-3/partition.metadata:topic_id: x. A
// line that was cut at the beginning of bounded output does not parse.
func topicIDs(text, dir string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		path, id, ok := strings.Cut(strings.TrimSpace(line), "/partition.metadata:topic_id:")
		name, inside := strings.CutPrefix(path, strings.TrimRight(dir, "/")+"/")
		if ok && inside {
			out[findings.Bounded(name)] = findings.Bounded(strings.TrimSpace(id))
		}
	}
	return out
}

var errNoProcess = errors.New("no Kafka process with this properties file was found")
