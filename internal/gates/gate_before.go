package gates

import (
	"fmt"
	"slices"

	"migrator/internal/cluster"
)

func judgeNoOtherDown(l *look) {
	l.todo = "With one node down already, the batch would be the second. Bring the named nodes back first, or accept them as down."
	brokers := l.brokers()
	if md, ok := use(l, "live brokers", l.v.Snapshot.Metadata); ok {
		live := map[int32]bool{}
		for _, b := range md.Brokers {
			live[b.ID] = true
		}
		for _, n := range brokers {
			if running, ok := peek(l, l.v.Snapshot.Running[n.ID]); ok && !running {
				continue // said below
			}
			if l.mustBeUp(n) && !live[n.ID] {
				l.bad(n.Name(), "%s is no live broker of the cluster%s", n.Name(), l.copiesOn(n))
			}
		}
	}
	watched := brokers
	if l.quorumInUse() {
		watched = l.v.Settings.Inventory.Nodes()
	}
	others := 0
	for _, n := range watched {
		if !l.mustBeUp(n) {
			continue
		}
		others++
		if running, ok := use(l, "whether "+n.Name()+" runs", l.v.Snapshot.Running[n.ID]); ok && !running {
			l.bad(n.Name(), "%s does not run%s", n.Name(), l.copiesOn(n))
		}
	}
	l.pass("%s up", plural(others, "other node is", "other nodes are"))
	for _, n := range l.v.Settings.Inventory.Lost {
		l.note("%s is left out: accepted as lost", n.Name())
	}
}

// copiesOn lists the partitions with a replica on a broker: a person who accepts
// it as lost shall see them.
func (l *look) copiesOn(n cluster.Node) string {
	md, ok := peek(l, l.v.Snapshot.Metadata)
	on := OnBroker(md, n.ID)
	if !ok || n.Role != cluster.Broker || len(on) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s on it: %s)", plural(len(on), "partition has a replica", "partitions have a replica"), listed(on, ", "))
}

// mustBeUp excepts the batch itself and what the approved plan holds down.
func (l *look) mustBeUp(n cluster.Node) bool {
	return !l.inBatch(n.ID) && !slices.Contains(l.v.Stopped, n.ID)
}

func judgeNoReassign(l *look) {
	l.todo = "A reassignment in hybrid mode has left stray replicas or hung (KAFKA-16120), and it keeps ISRs short. Let it end or cancel it, and stop the rebalancer."
	running, ok := use(l, "running reassignments", l.v.Snapshot.Reassigning)
	if !ok {
		return
	}
	for _, name := range slices.Sorted(slices.Values(running)) {
		l.bad(cut(name), "%s is being reassigned", cut(name))
	}
	l.pass("no reassignment runs")
}

func judgeBatchFile(l *look) {
	l.todo = "The plan was made from another content; what was reviewed is not what would be written. Put the content back, or let the plan be made again."
	if !l.needStep() {
		return
	}
	for _, n := range l.batch() {
		want, ok := l.v.Expected[n.ID]
		if !ok {
			l.unsure("the content %s's file should have", n.Name())
			continue
		}
		l.sameFile(n, want)
	}
	l.pass("the files of %s are those the plan was made from", idList(l.v.Step.Batch))
}
