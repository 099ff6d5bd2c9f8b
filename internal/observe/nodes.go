package observe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"migrator/internal/config"
	"migrator/internal/facts"
	"migrator/internal/remote"
)

const (
	nodesAtOnce = 32
	// commandLimit is how long a hanging command or file keeps its node from
	// being asked again. It is not ended at the round's deadline, because a
	// command that hangs would then be started anew in each round.
	commandLimit = time.Minute
)

// nodeReads look at the machines: whether the process exists in every round,
// files where wanted.
func (o *Observer) nodeReads(want Want) []read {
	running := func(s *facts.Snapshot) *map[int32]facts.Fact[bool] { return &s.Running }
	files := func(s *facts.Snapshot) *map[int32]facts.Fact[facts.File] { return &s.Files }
	meta := func(s *facts.Snapshot) *map[int32]facts.Fact[[]facts.MetaProperties] { return &s.Meta }
	var reads []read
	for _, n := range o.m.Nodes {
		if !want.looksAt(n.ID) {
			continue
		}
		reads = append(reads, o.onNode(n, question(o, fmt.Sprintf("running command of %s %d", n.Role, n.ID), byID(running, n.ID),
			func(ctx context.Context) (bool, error) { return o.isRunning(ctx, n) })))
		if want.Files {
			reads = append(reads, o.onNode(n, question(o, fmt.Sprintf("file %s of %s %d", n.Properties, n.Role, n.ID), byID(files, n.ID),
				func(ctx context.Context) (facts.File, error) { return o.file(ctx, n) })))
		}
		if want.Meta {
			reads = append(reads, o.onNode(n, question(o, fmt.Sprintf("meta.properties of %s %d", n.Role, n.ID), byID(meta, n.ID),
				func(ctx context.Context) ([]facts.MetaProperties, error) { return o.metaProperties(ctx, n) })))
		}
	}
	return reads
}

func (w Want) looksAt(id int32) bool { return w.Machines == nil || slices.Contains(w.Machines, id) }

// keepMachines fills in what this round did not ask from the round that last
// did, and remembers what it asked.
func (o *Observer) keepMachines(s *facts.Snapshot, want Want) {
	o.seen.Running = keep(o.m.Nodes, o.seen.Running, &s.Running, true, want)
	o.seen.Files = keep(o.m.Nodes, o.seen.Files, &s.Files, want.Files, want)
	o.seen.Meta = keep(o.m.Nodes, o.seen.Meta, &s.Meta, want.Meta, want)
}

// keep merges this round's facts over the earlier ones and answers the whole.
func keep[T any](nodes []config.Node, earlier map[int32]facts.Fact[T], now *map[int32]facts.Fact[T], wanted bool, want Want) map[int32]facts.Fact[T] {
	if !wanted {
		return earlier
	}
	whole := make(map[int32]facts.Fact[T], len(nodes))
	for _, n := range nodes {
		if want.looksAt(n.ID) {
			whole[n.ID] = (*now)[n.ID]
		} else if f, ok := earlier[n.ID]; ok {
			whole[n.ID] = f
		}
	}
	*now = maps.Clone(whole)
	return whole
}

// onNode gives a node that is not this machine more time: what is asked there
// takes several commands, each of which connects anew where kubectl leads to it.
func (o *Observer) onNode(n config.Node, r read) read {
	r.turns, r.limit = o.turns, commandLimit
	if n.Access.Kind == "ssh" || n.Access.Kind == "wrapper" {
		r.wait = farLimit
	}
	return r
}

// machine opens the way to a node once: a way that is opened is tried first.
func (o *Observer) machine(n config.Node) (remote.Node, error) {
	if opened, ok := o.machines.Load(n.ID); ok {
		return opened.(remote.Node), nil
	}
	machine, err := o.sources.nodes.open(n.Access)
	if err != nil {
		return nil, err
	}
	opened, _ := o.machines.LoadOrStore(n.ID, machine)
	return opened.(remote.Node), nil
}

// isRunning asks the node's own command: 0 is yes, 1 to 4 no (3 is what
// systemctl is-active answers), anything else is no answer. Of a node that a
// person drives its port is asked.
func (o *Observer) isRunning(ctx context.Context, n config.Node) (bool, error) {
	if n.Access.Kind == "manual" {
		return o.listens(ctx, n)
	}
	if len(n.Commands.Running) == 0 {
		return false, errors.New("no running command is configured")
	}
	machine, err := o.machine(n)
	if err != nil {
		return false, err
	}
	result, err := machine.Run(ctx, n.Commands.Running)
	running, known := result.Running()
	switch {
	case err != nil:
		return false, err
	case known:
		return running, nil
	case result.Signal != "":
		return false, fmt.Errorf("%s was ended by %s", n.Commands.Running[0], result.Signal)
	default:
		return false, fmt.Errorf("%s exited %d: %s", n.Commands.Running[0], result.Exit, bounded(result.Stderr, maxCause/2))
	}
}

// file reads a node's properties file; a missing one is an answer. A file
// that says no mode keeps its hash, so drift is seen however broken it is.
func (o *Observer) file(ctx context.Context, n config.Node) (facts.File, error) {
	machine, err := o.machine(n)
	if err != nil {
		return facts.File{}, err
	}
	content, err := machine.ReadFile(ctx, n.Properties)
	if errors.Is(err, fs.ErrNotExist) {
		return facts.File{}, nil
	}
	if err != nil {
		return facts.File{}, err
	}
	f := facts.File{Exists: true, SHA256: remote.Sum(content), Content: content}
	if mode, err := o.sources.nodes.mode(content, n.Role); err == nil {
		f.Mode = mode
	}
	return f, nil
}

// metaProperties reads the meta.properties of every folder a node formats or
// writes to: a controller's are configured, a broker's are in its own file.
func (o *Observer) metaProperties(ctx context.Context, n config.Node) ([]facts.MetaProperties, error) {
	machine, err := o.machine(n)
	if err != nil {
		return nil, err
	}
	dirs := n.LogDirs
	if len(dirs) == 0 {
		content, err := machine.ReadFile(ctx, n.Properties)
		if err != nil {
			return nil, err
		}
		if dirs, err = o.sources.nodes.dirs(content); err != nil {
			return nil, fmt.Errorf("log folders in %s: %w", n.Properties, err)
		}
	}
	return o.sources.nodes.meta(ctx, machine, dirs)
}
