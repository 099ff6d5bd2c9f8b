package zkread

import (
	"context"
	"fmt"
	"sort"

	"github.com/go-zookeeper/zk"

	"migrator/internal/zkread/zkwire"
)

// scan reads many znodes at once, none of them older than its begin. take is
// called for each path that exists, one at a time; the *NodeError it returns,
// and znodes that may not be read, are collected into a PartialError. A znode
// that went away meanwhile is skipped: it is absent now.
func (r *Reader) scan(ctx context.Context, paths []string, take func(path string, n node) *NodeError) error {
	if len(paths) == 0 {
		return nil
	}
	ops := make([]zkwire.Op, len(paths))
	for i, path := range paths {
		ops[i] = zkwire.Op{Kind: zkwire.Data, Path: path}
	}
	var faults faults
	err := r.bulk(ctx, ops, func(i int, got zkwire.Result) {
		switch got.Outcome {
		case zkwire.Found:
			faults.add(take(paths[i], node{present: true, data: got.Data, stat: zk.Stat(got.Stat)}))
		case zkwire.Absent:
		default:
			faults.add(hidden(paths[i], got.Outcome))
		}
	})
	if err != nil {
		return err
	}
	return faults.err()
}

// bulk asks for many znodes after a sync.
func (r *Reader) bulk(ctx context.Context, ops []zkwire.Op, take func(i int, got zkwire.Result)) error {
	_, err := r.wire.Sync(ctx)
	if err == nil {
		err = r.wire.Read(ctx, ops, func(i int, got zkwire.Result) error {
			take(i, got)
			return nil
		})
	}
	if err != nil {
		return r.unreachable(ops[0].Path, err)
	}
	return nil
}

// hidden is a znode that exists and gave no content.
func hidden(path string, o zkwire.Outcome) *NodeError {
	switch o {
	case zkwire.NotAllowed:
		return notAllowed(path)
	case zkwire.TooLarge:
		return &NodeError{Path: path, Reason: fmt.Sprintf("exists, but its answer is over %d bytes", maxAnswer)}
	default:
		return &NodeError{Path: path, Reason: fmt.Sprintf("exists, and was read as %q", o)}
	}
}

const keptFaults = 100

type faults struct {
	nodes []*NodeError
	total int
}

func (f *faults) add(n *NodeError) {
	if n == nil {
		return
	}
	f.total++
	f.nodes = append(f.nodes, n)
}

func (f *faults) err() error {
	if f.total == 0 {
		return nil
	}
	sort.Slice(f.nodes, func(i, j int) bool { return f.nodes[i].Path < f.nodes[j].Path })
	return &PartialError{Nodes: f.nodes[:min(len(f.nodes), keptFaults)], Total: f.total}
}

// children lists a znode's children in order, after a sync.
func (r *Reader) children(ctx context.Context, path string) ([]string, bool, error) {
	lists, err := r.childrenOf(ctx, []string{path})
	names, present := lists[path]
	return names, present, err
}

// childrenOf lists the children of many znodes in order. One that does not
// exist has no entry; one that may not be read is an error.
func (r *Reader) childrenOf(ctx context.Context, paths []string) (map[string][]string, error) {
	out := make(map[string][]string, len(paths))
	if len(paths) == 0 {
		return out, nil
	}
	ops := make([]zkwire.Op, len(paths))
	for i, path := range paths {
		ops[i] = zkwire.Op{Kind: zkwire.Children, Path: path}
	}
	var faults faults
	err := r.bulk(ctx, ops, func(i int, got zkwire.Result) {
		switch got.Outcome {
		case zkwire.Found:
			sort.Strings(got.Children)
			out[paths[i]] = got.Children
		case zkwire.Absent:
		default:
			faults.add(hidden(paths[i], got.Outcome))
		}
	})
	if err != nil {
		return nil, err
	}
	return out, faults.err()
}
