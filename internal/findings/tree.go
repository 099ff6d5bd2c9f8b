package findings

import (
	"slices"
	"strings"
)

// Znode is one znode as it was read.
type Znode struct {
	Path           string // below the chroot
	Readable       bool   // false: it exists, and its ACL hides content and children
	Why            string // why it is not readable
	Data           []byte // nil: null, which is not the same as empty
	Version        int32
	EphemeralOwner int64 // session id; 0: persistent
	CreatedMs      int64 // since 1970
	ModifiedMs     int64
}

// Tree is a set of znodes with their parents and children.
type Tree struct {
	nodes    map[string]Znode
	children map[string][]string
}

// NewTree makes a tree of znodes; parents need not be among them.
func NewTree(nodes []Znode) Tree {
	t := Tree{nodes: make(map[string]Znode, len(nodes)), children: make(map[string][]string)}
	for _, z := range nodes {
		t.nodes[z.Path] = z
		if at := strings.LastIndexByte(z.Path, '/'); at >= 0 && z.Path != "/" {
			parent := z.Path[:at]
			t.children[parent] = append(t.children[parent], z.Path[at+1:])
		}
	}
	for _, names := range t.children {
		slices.Sort(names)
	}
	return t
}

// Get finds a znode by its path below the chroot.
func (t Tree) Get(path string) (Znode, bool) {
	z, ok := t.nodes[path]
	return z, ok
}

// Children are the names directly below a path, sorted.
func (t Tree) Children(path string) []string {
	return t.children[strings.TrimSuffix(path, "/")]
}

// Len is how many znodes there are.
func (t Tree) Len() int { return len(t.nodes) }
