package zkread

import (
	"context"

	"migrator/internal/zkread/zkwire"
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
	ModifiedMs     int64 // since 1970
	Czxid          int64
	Mzxid          int64
	ACL            []ACL // nil when it may not be read
}

// ACL is one entry of a znode's access list.
type ACL = zkwire.ACL

// Window says between which states a tree was read, and which znodes moved meanwhile.
type Window = zkwire.Window

// Tree hands every znode at and below root to visit, parents first, siblings in
// order, from one goroutine; progress (may be nil) tells how many are done of
// how many seen. /zookeeper is ZooKeeper's own and left out. A znode that may
// not be read is handed on as such; one deleted meanwhile is left out. The tree
// is one moment only if nothing moved within the window.
func (r *Reader) Tree(ctx context.Context, root string, visit func(Znode) error, progress func(done, seen int)) (Window, error) {
	return r.walk(ctx, zkwire.Walk{Root: root, ACL: true, Progress: progress}, visit)
}

// Contents is Tree without the ACLs, which cost a request for each znode.
func (r *Reader) Contents(ctx context.Context, root string, visit func(Znode) error, progress func(done, seen int)) (Window, error) {
	return r.walk(ctx, zkwire.Walk{Root: root, Progress: progress}, visit)
}

func (r *Reader) walk(ctx context.Context, w zkwire.Walk, visit func(Znode) error) (Window, error) {
	var refused error
	w.Skip = func(path string) bool { return r.full(path) == "/zookeeper" }
	w.Visit = func(n zkwire.Node) error {
		refused = visit(znode(n))
		return refused
	}
	window, err := r.wire.Walk(ctx, w)
	switch {
	case refused != nil:
		return window, err
	case err != nil:
		return window, r.unreachable(w.Root, err)
	}
	return window, nil
}

// Znodes reads the named znodes, without their ACLs. One that does not exist is
// absent from the map; one that may not be read is in a *PartialError.
func (r *Reader) Znodes(ctx context.Context, paths []string) (map[string]Znode, error) {
	out := make(map[string]Znode, len(paths))
	err := r.scan(ctx, paths, func(path string, n node) *NodeError {
		out[path] = znode(zkwire.Node{Path: path, Readable: true, Data: n.data, Stat: zkwire.Stat(n.stat)})
		return nil
	})
	return out, err
}

func znode(n zkwire.Node) Znode {
	out := Znode{Path: n.Path, Readable: n.Readable, Data: n.Data, Version: n.Stat.Version, Children: int(n.Stat.NumChildren),
		EphemeralOwner: n.Stat.EphemeralOwner, CreatedMs: n.Stat.Ctime, ModifiedMs: n.Stat.Mtime, Czxid: n.Stat.Czxid, Mzxid: n.Stat.Mzxid, ACL: n.ACL}
	if !n.Readable {
		out.Why = notAllowed(n.Path).Reason
	}
	return out
}
