package gates

import (
	"fmt"
	"slices"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/facts"
)

// isrGapLimit is how long a partition may be short before the soak waits for it.
const isrGapLimit = time.Minute

// judgeISRWithout asks what clients with acks=all need while the batch is
// down: as many in sync replicas as min.insync.replicas wants.
func judgeISRWithout(l *look) {
	l.todo = "While the batch is down these partitions would refuse writes. Wait for the ISR, add replicas, or accept the named partitions; a batch that takes too many replicas at once must be made smaller (roll.batch: node)."
	hosted, ok := l.hosted()
	if !ok {
		return
	}
	minISR := map[string]int{}
	if len(hosted) > 0 {
		if minISR, ok = useAged(l, "effective min.insync.replicas", l.v.Snapshot.MinISR, minISRRule(l.v)); !ok {
			return
		}
	}
	announced := 0
	for _, p := range hosted {
		need, known := minISR[p.Topic]
		if !known {
			l.unsure("effective min.insync.replicas of topic %s", cut(p.Topic))
			continue
		}
		if l.availableWithout(p, need) {
			continue
		}
		if slices.Contains(l.v.Step.Impact, partitionName(p.Topic, p.Partition)) && unsatisfiable(p, need) {
			announced++
			continue
		}
		l.tooFew(p, need)
	}
	l.pass("%s on the batch keep enough in sync replicas without it", plural(len(hosted)-announced, "partition", "partitions"))
	if announced > 0 {
		l.note("%s unavailable meanwhile, as the plan says", plural(announced, "partition is", "partitions are"))
	}
}

// availableWithout says that the batch's stop takes nothing away that was there.
func (l *look) availableWithout(p facts.Partition, need int) bool {
	left := l.without(p.ISR)
	if len(left) >= need {
		return true
	}
	// Before the plan it refused such writes too; only going offline is worse.
	before, was := l.v.Short[partitionName(p.Topic, p.Partition)]
	return was && before < need && (len(left) > 0 || !p.HasLeader || before == 0)
}

// unsatisfiable partitions cannot stay available whichever single node of
// theirs restarts: one replica, or min.insync.replicas as high as their number.
func unsatisfiable(p facts.Partition, need int) bool { return len(p.Replicas)-1 < need }

func (l *look) tooFew(p facts.Partition, need int) {
	name := partitionName(p.Topic, p.Partition)
	text := fmt.Sprintf("%s: ISR %s leaves %d without the batch, min.insync.replicas is %d", name, idList(p.ISR), len(l.without(p.ISR)), need)
	if !unsatisfiable(p, need) && len(l.without(p.Replicas)) < need {
		// One node at a time would be possible: no reason to accept this.
		l.bad("", "%s, and the batch holds too many of its %d replicas", text, len(p.Replicas))
		return
	}
	l.bad(name, "%s", text)
}

func (l *look) without(ids []int32) []int32 {
	return slices.DeleteFunc(slices.Clone(ids), l.inBatch)
}

// hosted are the partitions with a replica in the batch.
func (l *look) hosted() ([]facts.Partition, bool) {
	if !l.needStep() {
		return nil, false
	}
	if !slices.ContainsFunc(l.batch(), func(n cluster.Node) bool { return n.Role == cluster.Broker }) {
		return nil, true
	}
	all, ok := l.partitions()
	if !ok {
		return nil, false
	}
	var out []facts.Partition
	for _, p := range all {
		if slices.ContainsFunc(p.Replicas, l.inBatch) {
			out = append(out, p)
		}
	}
	return out, true
}

func judgeISRFull(l *look) {
	l.todo = "One replica is already behind; restarting the batch takes a second one. Wait until it caught up, or bring back the broker that holds it."
	l.wholeISR()
}

func judgeISRAsBefore(l *look) {
	l.todo = "The batch runs but its replicas have not caught up; the next batch would take a second copy away. Wait; if nothing moves, look at the broker's log for its fetchers."
	l.wholeISR()
}

// wholeISR lets only that count which got worse since the plan began.
func (l *look) wholeISR() {
	hosted, ok := l.hosted()
	if !ok {
		return
	}
	short := 0
	for _, p := range hosted {
		if !isrHolds(l.v, p) {
			name := partitionName(p.Topic, p.Partition)
			l.bad(name, "%s: ISR %s of replicas %s", name, idList(p.ISR), idList(p.Replicas))
			l.cutOff(p)
		} else if len(p.ISR) < len(p.Replicas) {
			short++
		}
	}
	l.pass("ISR is full for the %s the batch hosts", plural(len(hosted), "partition", "partitions"))
	if short > 0 {
		l.note("%s short before the plan, and no shorter now", plural(short, "was", "were"))
	}
}

// cutOff says why waiting does not help where the leader cannot ask the
// controller for a change of the ISR any more.
func (l *look) cutOff(p facts.Partition) {
	lines, ok := peek(l, l.v.Snapshot.Lines[p.Leader])
	if !ok || !p.HasLeader || len(lines.DeadChannels) == 0 {
		return
	}
	l.todo = fmt.Sprintf("Broker %d leads these partitions and its thread to the controller has ended (%s: a fault of Kafka as it changed to another controller): it changes no ISR until it is restarted. "+
		"Restart broker %d as it is, and the step goes on; without its restart nothing moves.", p.Leader, listed(lines.DeadChannels, ", "), p.Leader)
}

func judgeISRWhole(l *look) {
	l.todo = "The soak's clock stands still while replicas are missing: a failover now would meet a weaker cluster than the one being proven. Bring the brokers of these replicas back."
	partitions, ok := l.partitions()
	if !ok {
		return
	}
	brief := 0
	for _, p := range partitions {
		if isrHolds(l.v, p) {
			continue
		}
		name := partitionName(p.Topic, p.Partition)
		since, isShort := l.v.Memory.short[name]
		switch {
		case !isShort || l.oldest.Sub(since) < isrGapLimit:
			brief++
		default:
			l.bad(name, "%s: ISR %s of replicas %s for %s", name, idList(p.ISR), idList(p.Replicas), span(l.oldest.Sub(since)))
		}
	}
	l.pass("%d of %d partitions have a full ISR", len(partitions)-brief, len(partitions))
	if brief > 0 {
		l.note("%s short for less than %s", plural(brief, "is", "are"), span(isrGapLimit))
	}
}

func judgeNoOffline(l *look) {
	l.todo = "Clients can neither read nor write these partitions. Bring back a broker of their ISR; do not restart others meanwhile."
	partitions, ok := l.partitions()
	if !ok {
		return
	}
	excused := 0
	for _, p := range partitions {
		if p.HasLeader {
			continue
		}
		name := partitionName(p.Topic, p.Partition)
		before, was := l.v.Short[name]
		switch {
		case was && before == 0, l.v.Step != nil && l.v.Step.Opened && slices.Contains(l.v.Step.Impact, name):
			excused++
		default:
			l.bad(name, "%s has no leader", name)
		}
	}
	l.pass("%s, none offline", plural(len(partitions), "partition", "partitions"))
	if excused > 0 {
		l.note("%s offline before the plan or by its announcement", plural(excused, "is", "are"))
	}
}
