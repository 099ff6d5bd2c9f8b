package gates

import (
	"time"

	"migrator/internal/cluster"
	"migrator/internal/facts"
)

// guardMemory is what the guards of every round must have seen before.
type guardMemory struct {
	// freed: since all controllers were stopped for good, /controller was seen without a KRaft id.
	freed bool
	// offset is when the first reading in a row of /migration with an offset had ended, at the latest.
	offset time.Time
	idle   idleMemory
	sparse sparseMemory
}

// idleMemory is since when a KRaft id holds /controller and nobody acts.
type idleMemory struct {
	since time.Time // begun of the first such reading; zero: somebody acts
	last  time.Time // begun of the newest one
	moved time.Time // when the copy was last seen to move
	mark  copyMark
}

// copyMark changes with every batch of the copy, and not with no-ops.
type copyMark struct {
	pending int
	change  int64
}

// sparseMemory is since which scan ZooKeeper has many times the log's topics.
type sparseMemory struct {
	scan, first time.Time
	inZK, inLog int
}

func (g guardMemory) observe(v *View) guardMemory {
	holder := fresh(v, v.Snapshot.Holder)
	migration := fresh(v, v.Snapshot.Migration)
	h, okHolder := holder.Get()
	m, okMigration := migration.Get()
	down := stoppedForGood(v)
	g.freed = down && (g.freed || okHolder && !h.KRaft())
	switch {
	case okMigration && !copied(m):
		g.offset = time.Time{}
	case okMigration && g.offset.IsZero():
		g.offset = v.Now
	}
	switch {
	case okHolder && !h.KRaft(), okMigration && copied(m) && !down:
		g.idle = idleMemory{}
	case okHolder && okMigration:
		g.idle = g.idle.observe(v, holder.Begun())
	}
	g.sparse = g.sparse.observe(v, g.offset)
	return g
}

func (i idleMemory) observe(v *View, at time.Time) idleMemory {
	if !at.After(i.last) {
		return i
	}
	first := i.since.IsZero()
	if first {
		i.since, i.moved = at, at
	}
	i.last = at
	if lg, ok := fresh(v, v.Snapshot.Log).Get(); ok {
		mark := copyMark{lg.Image.Pending, lg.Image.LastChange}
		if mark != i.mark {
			i.mark, i.moved = mark, at
		}
	}
	return i
}

// observe compares each scan once, and only one begun after the copy had left
// its offset: before that the log is meant to be empty.
func (s sparseMemory) observe(v *View, offset time.Time) sparseMemory {
	scan := aged(v, v.Snapshot.ZKTopics, topicsRule(v))
	zk, okZK := scan.Get()
	deleting, okDeleting := fresh(v, v.Snapshot.Deleting).Get()
	lg, okLog := fresh(v, v.Snapshot.Log).Get()
	switch {
	case offset.IsZero():
		return sparseMemory{}
	case !okZK || !okDeleting || !okLog || !scan.Begun().After(offset) || !scan.Begun().After(s.scan):
		return s
	}
	next := sparseMemory{scan: scan.Begun(), inZK: remaining(zk, deleting), inLog: len(lg.Image.Topics)}
	if lg.Image.HasState && lg.Image.State == cluster.StateMigration && next.inZK > farFewer*next.inLog {
		next.first = next.scan
		if !s.first.IsZero() {
			next.first = s.first
		}
	}
	return next
}

// remaining counts topics without those that ZooKeeper is about to delete.
func remaining(zk facts.ZKTopics, deleting []string) int {
	n := len(zk.Topics)
	for _, name := range deleting {
		if _, ok := zk.Topics[name]; ok {
			n--
		}
	}
	return n
}
