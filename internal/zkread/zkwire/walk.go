package zkwire

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

const (
	chunk        = 8192    // znodes whose questions are made at a time
	handTogether = 1024    // znodes whose ACLs are asked for together
	handBytes    = 4 << 20 // or so many bytes of data
	rereads      = 5
	keptPaths    = 100
)

// Node is one znode of a walk.
type Node struct {
	Path     string // below the chroot
	Readable bool   // false: it exists, and its ACL hides content and children
	Data     []byte // nil: null, which is not the same as empty
	Stat     Stat
	ACL      []ACL // nil unless it was wanted and may be read
}

// Window says between which states a walk read, and what moved meanwhile: each
// znode is whole by itself, but the tree is one moment only if none moved.
type Window struct {
	Begin  int64    // zxid: nothing older was read
	End    int64    // zxid of the newest state that answered
	Moved  int      // znodes that were changed or went away within it
	Moving []string // the first hundred of them
}

// Walk says what to read.
type Walk struct {
	Root string
	ACL  bool                   // ask for ACLs too: one request for each znode
	Skip func(path string) bool // may be nil: znodes to leave out with all below them
	// Visit is called for each znode, parents first, siblings in order, from
	// the caller's goroutine. A znode deleted meanwhile is left out.
	Visit    func(Node) error
	Progress func(done, seen int) // may be nil
}

// walker is a walk under way.
type walker struct {
	Walk
	c      *Client
	window Window
	next   []string // the level below
	done   int
	seen   int
	hand   []Node // read, not handed on yet
	bytes  int
}

// Walk reads the tree at and below a root, level by level.
func (c *Client) Walk(ctx context.Context, what Walk) (Window, error) {
	begin, err := c.Sync(ctx)
	if err != nil {
		return Window{}, err
	}
	defer c.trim()
	w := &walker{Walk: what, c: c, window: Window{Begin: begin}, seen: 1}
	for level := []string{what.Root}; len(level) > 0; level = w.next {
		w.next = nil
		for part := range slices.Chunk(level, chunk) {
			if err := w.part(ctx, part); err != nil {
				return w.window, err
			}
		}
	}
	w.window.End = c.zxid.Load()
	return w.window, nil
}

// part asks for data and children of each path in one request, which nothing
// can change in between as long as both agree on how many children there are.
func (w *walker) part(ctx context.Context, paths []string) error {
	var data Result
	err := w.c.Read(ctx, questions(paths), func(i int, r Result) error {
		if i%2 == 0 {
			data = r
			return nil
		}
		return w.one(ctx, paths[i/2], data, r)
	})
	if err != nil {
		return err
	}
	return w.handOn(ctx)
}

func questions(paths []string) []Op {
	ops := make([]Op, 0, 2*len(paths))
	for _, p := range paths {
		ops = append(ops, Op{Data, p}, Op{Children, p})
	}
	return ops
}

func (w *walker) one(ctx context.Context, path string, data, children Result) error {
	for try := 1; !agree(data, children); try++ {
		if data.Outcome == TooLarge || children.Outcome == TooLarge {
			return fmt.Errorf("read %s: its data or the list of its children is over %d bytes", path, w.c.o.MaxAnswer)
		}
		if try > rereads {
			w.moved(path)
			break
		}
		err := w.c.Read(ctx, questions([]string{path}), func(i int, r Result) error {
			if i == 0 {
				data = r
			} else {
				children = r
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	switch {
	case data.Outcome == Absent:
		w.done++
		w.moved(path)
		return nil
	case data.Outcome == Found && (data.Stat.Mzxid > w.window.Begin || data.Stat.Pzxid > w.window.Begin):
		w.moved(path)
	}
	w.hand = append(w.hand, Node{Path: path, Readable: data.Outcome == Found, Data: data.Data, Stat: data.Stat})
	w.bytes += len(data.Data)
	w.below(path, children.Children)
	if len(w.hand) < handTogether && w.bytes < handBytes {
		return nil
	}
	return w.handOn(ctx)
}

func agree(data, children Result) bool {
	if data.Outcome != children.Outcome {
		return false
	}
	return data.Outcome == Absent || data.Outcome == NotAllowed ||
		data.Outcome == Found && int(data.Stat.NumChildren) == len(children.Children)
}

func (w *walker) moved(path string) {
	w.window.Moved++
	if len(w.window.Moving) < keptPaths {
		w.window.Moving = append(w.window.Moving, path)
	}
}

func (w *walker) below(path string, names []string) {
	slices.Sort(names)
	prefix := strings.TrimSuffix(path, "/") + "/"
	for _, name := range names {
		if child := prefix + name; w.Skip == nil || !w.Skip(child) {
			w.next = append(w.next, child)
			w.seen++
		}
	}
}

// handOn gives what was read to the visitor, with its ACLs.
func (w *walker) handOn(ctx context.Context) error {
	if w.ACL {
		ops := make([]Op, len(w.hand))
		for i, n := range w.hand {
			ops[i] = Op{Access, n.Path}
		}
		err := w.c.Read(ctx, ops, func(i int, r Result) error {
			if r.Outcome == Found {
				w.hand[i].ACL = r.ACL
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, n := range w.hand {
		w.done++
		if err := w.Visit(n); err != nil {
			return fmt.Errorf("visit %s: %w", n.Path, err)
		}
	}
	w.hand, w.bytes = w.hand[:0], 0
	if w.Progress != nil {
		w.Progress(w.done, w.seen)
	}
	return nil
}
