package zkread

import (
	"context"
	"errors"
	"sort"
	"sync"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"
)

// scan reads many znodes at once over several connections, each synced first.
// take is called for each path that exists, one at a time; the *NodeError it
// returns, and znodes that may not be read, are collected into a PartialError.
// A znode that went away meanwhile is skipped: it is absent now.
func (r *Reader) scan(ctx context.Context, paths []string, take func(path string, n node) *NodeError) error {
	if len(paths) == 0 {
		return nil
	}
	conns, err := r.synced(ctx, min(bulkConns, 1+len(paths)/500))
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var faults faults
	err = spread(ctx, conns, len(paths), func(ctx context.Context, c *zk.Conn, i int) error {
		n, err := r.get(ctx, c, paths[i])
		mu.Lock()
		defer mu.Unlock()
		if fault := (*NodeError)(nil); errors.As(err, &fault) {
			faults.add(fault)
			return nil
		}
		if err != nil {
			return err
		}
		if n.present {
			faults.add(take(paths[i], n))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return faults.err()
}

func (r *Reader) synced(ctx context.Context, n int) ([]*zk.Conn, error) {
	conns, err := r.connections(n)
	if err != nil {
		return nil, err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, c := range conns {
		group.Go(func() error { return r.sync(ctx, c) })
	}
	return conns, group.Wait()
}

// spread calls do for 0..n-1 with perConn calls waiting on each connection, and
// ends at the first error.
func spread(ctx context.Context, conns []*zk.Conn, n int, do func(context.Context, *zk.Conn, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	next := make(chan int)
	group.Go(func() error {
		defer close(next)
		for i := range n {
			select {
			case next <- i:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for worker := range min(n, perConn*len(conns)) {
		c := conns[worker%len(conns)]
		group.Go(func() error {
			for i := range next {
				if err := do(ctx, c, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
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
	conns, err := r.synced(ctx, 1)
	if err != nil {
		return nil, false, err
	}
	n, err := r.list(ctx, conns[0], path)
	sort.Strings(n.children)
	return n.children, n.present, err
}
