package findings

import (
	"cmp"
	"fmt"
	"slices"

	"migrator/internal/facts"
)

// look is one check looking at one survey. It notes what was found and what
// could not be seen; a check that notes neither found nothing.
type look struct {
	s     *Survey
	items []Item
	gaps  []Gap
	cause string // the code of the finding that explains why not all could be seen
}

// found notes one place. seen must hold no secret; fix says what to do there.
func (l *look) found(where, seen, fix string) {
	l.items = append(l.items, Item{Where: Bounded(where), Seen: Bounded(seen), Fix: fix})
}

// unsure notes, once, what could not be seen and how to make it visible.
func (l *look) unsure(cause, how string) {
	g := Gap{Cause: Bounded(cause), How: how}
	if !slices.Contains(l.gaps, g) {
		l.gaps = append(l.gaps, g)
	}
}

// behind notes that what is missing here is another finding's to say.
func (l *look) behind(code string) { l.cause = code }

// need reads a fact that the check cannot do without.
func need[T any](l *look, what string, f facts.Fact[T], how string) (T, bool) {
	v, ok := f.Get()
	if !ok {
		l.unsure(fmt.Sprintf("%s: %s", what, f.Cause()), how)
	}
	return v, ok
}

const readableZooKeeper = "Make ZooKeeper answer and let migrator read the znode: with set.acl it needs the brokers' ZooKeeper credentials."

// treeUnreadable is the finding that says why no znode could be looked at.
const treeUnreadable = "MIG200"

// noCluster is the finding of a tree that is no Kafka cluster's.
const noCluster = "MIG203"

// tree is the cluster's znodes. Where none could be read, or they are no Kafka
// cluster's, one finding says so for all.
func (l *look) tree() (Tree, bool) {
	t, ok := l.s.Tree.Get()
	if !ok {
		l.behind(treeUnreadable)
		return t, false
	}
	if _, there := t.Get("/cluster/id"); !there {
		l.behind(noCluster)
		return t, false
	}
	return t, true
}

func unreadableTree(l *look) {
	need(l, "the znodes", l.s.Tree, readableZooKeeper)
}

// znode reads one znode of the tree. present is false when it does not exist;
// ok is false when its content could not be seen, which is noted.
func (l *look) znode(path string) (z Znode, present, ok bool) {
	t, ok := l.tree()
	if !ok {
		return Znode{}, false, false
	}
	z, present = t.Get(path)
	if present && !z.Readable {
		l.unsure(path+" exists and is not readable: "+z.Why, readableZooKeeper)
		return Znode{}, true, false
	}
	return z, present, true
}

func (l *look) finding(r Row) Finding {
	out := Finding{Row: r, Verdict: Clear, Items: l.items, Missing: l.gaps, Behind: l.cause}
	slices.SortStableFunc(out.Items, func(a, b Item) int { return cmp.Compare(a.Where, b.Where) })
	switch {
	case len(l.items) > 0:
		out.Verdict = Found
	case len(l.gaps) > 0:
		out.Verdict = Unknown
	case l.cause != "":
		out.Verdict = Skipped
	}
	return out
}

const maxText = 300

// Bounded keeps hostile text short and on one line.
func Bounded(text string) string {
	out := make([]rune, 0, min(len(text), maxText))
	for _, r := range text {
		if len(out) == maxText {
			return string(out) + "..."
		}
		if r < ' ' || r == 0x7f {
			r = ' '
		}
		out = append(out, r)
	}
	return string(out)
}
