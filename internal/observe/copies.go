package observe

import (
	"context"
	"fmt"
	"slices"

	"migrator/internal/config"
	"migrator/internal/facts"
	"migrator/internal/noderead"
)

// keptCopyReads look for what our writes replaced on the wanted nodes: where
// the journal that knew the brokers' earlier files is gone, these are left.
func (o *Observer) keptCopyReads(want Want) []read {
	kept := func(s *facts.Snapshot) *map[int32]facts.Fact[[]facts.KeptFile] { return &s.Kept }
	var reads []read
	for _, n := range o.m.Nodes {
		if slices.Contains(want.Kept, n.ID) {
			reads = append(reads, o.onNode(n, question(o, fmt.Sprintf("copies beside %s of %s %d", n.Properties, n.Role, n.ID), byID(kept, n.ID),
				func(ctx context.Context) ([]facts.KeptFile, error) { return o.keptCopies(ctx, n) })))
		}
	}
	return reads
}

func (o *Observer) keptCopies(ctx context.Context, n config.Node) ([]facts.KeptFile, error) {
	machine, err := o.machine(n)
	if err != nil {
		return nil, err
	}
	copies, err := noderead.Copies(ctx, machine, n.Properties)
	if err != nil {
		return nil, err
	}
	out := make([]facts.KeptFile, 0, len(copies))
	for _, c := range copies {
		f := facts.KeptFile{Path: c.Path, File: facts.File{Exists: true, SHA256: c.SHA256, Content: c.Content}}
		if mode, err := o.sources.nodes.mode(c.Content, n.Role); err == nil {
			f.Mode = mode
		}
		out = append(out, f)
	}
	return out, nil
}
