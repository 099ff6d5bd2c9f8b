package zkread

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
)

// Znode is one node of the tree, for a backup.
type Znode struct {
	Path           string // below the chroot
	Readable       bool   // false: it exists, and its acl hides content and children
	Why            string // why it is not readable
	Data           []byte // nil: null, which is not the same as empty
	Version        int32
	Children       int
	EphemeralOwner int64 // 0: persistent
	CreatedMs      int64 // since 1970
	ModifiedMs     int64
	ACL            []ACL // nil when it may not be read
}

// ACL is one entry of a znode's access list.
type ACL struct {
	Perms  int32
	Scheme string
	ID     string
}

// chunk is how many znodes are read before they are handed on.
const chunk = 1024

// Tree hands every znode at and below root to visit, parents first, siblings in
// order, from one goroutine; progress (may be nil) tells how many are done of
// how many seen. /zookeeper is ZooKeeper's own and left out. A znode that may
// not be read is handed on as such; one deleted meanwhile is left out. The tree
// is not one moment: take it while no topic is being changed.
func (r *Reader) Tree(ctx context.Context, root string, visit func(Znode) error, progress func(done, seen int)) error {
	conns, err := r.synced(ctx, bulkConns)
	if err != nil {
		return err
	}
	level, done, seen := []string{root}, 0, 1
	for len(level) > 0 {
		var next []string
		for part := range slices.Chunk(level, chunk) {
			nodes := make([]branch, len(part))
			err := spread(ctx, conns, len(part), func(ctx context.Context, c *zk.Conn, i int) error {
				var err error
				nodes[i], err = r.branch(ctx, c, part[i])
				return err
			})
			if err != nil {
				return err
			}
			for _, n := range nodes {
				done++
				if n.Path == "" {
					continue
				}
				if err := visit(n.Znode); err != nil {
					return fmt.Errorf("visit %s: %w", n.Path, err)
				}
				next = append(next, n.below...)
				seen += len(n.below)
			}
			if progress != nil {
				progress(done, seen)
			}
		}
		slices.Sort(next)
		level = next
	}
	return nil
}

type branch struct {
	Znode
	below []string
}

// branch reads one znode with its ACL and the names of its children. The zero
// branch means that the znode is gone.
func (r *Reader) branch(ctx context.Context, c *zk.Conn, path string) (branch, error) {
	n, err := r.get(ctx, c, path)
	var fault *NodeError
	switch {
	case errors.As(err, &fault):
		return branch{Znode: Znode{Path: path, Why: fault.Reason}}, nil
	case err != nil || !n.present:
		return branch{}, err
	}
	b := branch{Znode: Znode{Path: path, Readable: true, Data: n.data, Version: n.stat.Version, Children: int(n.stat.NumChildren),
		EphemeralOwner: n.stat.EphemeralOwner, CreatedMs: n.stat.Ctime, ModifiedMs: n.stat.Mtime}}
	b.ACL, err = r.acl(ctx, c, path)
	if err != nil && !errors.As(err, &fault) {
		return branch{}, err
	}
	if n.stat.NumChildren == 0 {
		return b, nil
	}
	list, err := r.list(ctx, c, path)
	if err != nil {
		return branch{}, err
	}
	for _, name := range list.children {
		if child := strings.TrimSuffix(path, "/") + "/" + name; r.full(child) != "/zookeeper" {
			b.below = append(b.below, child)
		}
	}
	return b, nil
}

func (r *Reader) acl(ctx context.Context, c *zk.Conn, path string) ([]ACL, error) {
	n, err := r.ask(ctx, path, func() (node, error) {
		entries, stat, err := c.GetACL(r.full(path))
		return found(node{acl: entries}, stat, err)
	})
	if err != nil || !n.present {
		return nil, err
	}
	out := make([]ACL, 0, len(n.acl))
	for _, e := range n.acl {
		out = append(out, ACL{Perms: e.Perms, Scheme: e.Scheme, ID: e.ID})
	}
	return out, nil
}
