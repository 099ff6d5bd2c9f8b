package zkfake

import (
	"maps"
	"path"
	"slices"
)

// Error codes of the protocol.
const (
	noNode     = -101
	noAuth     = -102
	badVersion = -103
	nodeExists = -110
	authFailed = -115
	notEmpty   = -111
)

type znode struct {
	data     []byte
	version  int32
	cversion int32
	owner    int64
	czxid    int64
	mzxid    int64
	pzxid    int64 // of the last change of its children
	mtime    int64
	hidden   bool
	kids     map[string]bool
}

// tree is the whole content; a server's lock guards it.
type tree struct {
	nodes map[string]*znode
	zxid  int64
	now   func() int64
}

func (t *tree) clone() map[string]*znode {
	out := make(map[string]*znode, len(t.nodes))
	for p, n := range t.nodes {
		c := *n
		c.kids = maps.Clone(n.kids)
		out[p] = &c
	}
	return out
}

// children are the names below a znode that exists, in order.
func (t *tree) children(p string) []string { return slices.Sorted(maps.Keys(t.nodes[p].kids)) }

func (t *tree) create(p string, data []byte, owner int64) int32 {
	parent := t.nodes[path.Dir(p)]
	switch {
	case parent == nil:
		return noNode
	case t.nodes[p] != nil:
		return nodeExists
	}
	t.zxid++
	parent.cversion++
	parent.pzxid = t.zxid
	if parent.kids == nil {
		parent.kids = map[string]bool{}
	}
	parent.kids[path.Base(p)] = true
	t.nodes[p] = &znode{data: data, owner: owner, czxid: t.zxid, mzxid: t.zxid, pzxid: t.zxid, mtime: t.now()}
	return 0
}

func (t *tree) check(p string, version int32) int32 {
	n := t.nodes[p]
	switch {
	case n == nil:
		return noNode
	case version >= 0 && version != n.version:
		return badVersion
	}
	return 0
}

func (t *tree) set(p string, data []byte, version int32) int32 {
	if code := t.check(p, version); code != 0 {
		return code
	}
	n := t.nodes[p]
	t.zxid++
	n.data, n.mzxid, n.mtime = data, t.zxid, t.now()
	n.version++
	return 0
}

func (t *tree) delete(p string, version int32) int32 {
	if code := t.check(p, version); code != 0 {
		return code
	}
	if len(t.nodes[p].kids) > 0 {
		return notEmpty
	}
	t.zxid++
	t.drop(p)
	return 0
}

func (t *tree) drop(p string) {
	parent := t.nodes[path.Dir(p)]
	parent.pzxid = t.zxid
	parent.cversion++
	delete(parent.kids, path.Base(p))
	delete(t.nodes, p)
}

func (t *tree) expire(session int64) {
	for p, n := range t.nodes {
		if n.owner == session {
			t.drop(p)
		}
	}
}
