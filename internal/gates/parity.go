package gates

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"migrator/internal/facts"
	"migrator/internal/kraftlog"
)

// parityLook is how far apart two scans must have begun to confirm a difference:
// dual write is asynchronous and lags about half a second on an idle cluster.
const parityLook = time.Second

// parityMemory is the newest whole comparison of ZooKeeper with the metadata
// log. A scan is compared once, with the log of its own round: compared again
// later, everything written since would look like a difference.
type parityMemory struct {
	scan   time.Time // begun of the compared scan; zero: none yet
	topics int
	// first is, by difference with the values of both sides, the begin of the
	// first scan in a row that showed it.
	first map[string]time.Time
}

func (p parityMemory) observe(v *View) parityMemory {
	scan := aged(v, v.Snapshot.ZKTopics, topicsRule(v))
	zk, okZK := scan.Get()
	deleting, okDel := fresh(v, v.Snapshot.Deleting).Get()
	lg, okLog := fresh(v, v.Snapshot.Log).Get()
	if !okZK || !okDel || !okLog || !scan.Begun().After(p.scan) {
		return p
	}
	next := parityMemory{scan: scan.Begun(), topics: len(lg.Image.Topics), first: map[string]time.Time{}}
	for _, d := range differences(zk, lg.Image.Topics, deleting) {
		next.first[d] = scan.Begun()
		if first, ok := p.first[d]; ok {
			next.first[d] = first
		}
	}
	return next
}

func judgeParity(l *look) {
	l.todo = "While the two stores differ, the way back would lose what only one of them has. Look at the named topics in both; if dual write lives, restarting the active controller makes it compare everything again (KAFKA-15010)."
	s := l.v.Snapshot
	_, okZK := useAged(l, "topics in ZooKeeper", s.ZKTopics, topicsRule(l.v))
	_, okDel := use(l, "/admin/delete_topics", s.Deleting)
	_, okLog := use(l, "metadata log", s.Log)
	if !okZK || !okDel || !okLog {
		return
	}
	p := l.v.Memory.parity
	var confirmed, once []string
	for _, d := range keys(p.first) {
		if p.scan.Sub(p.first[d]) >= parityLook {
			confirmed = append(confirmed, d)
		} else {
			once = append(once, d)
		}
	}
	if len(confirmed) > 0 {
		l.bad("", "%s, seen in two scans: %s", plural(len(confirmed), "difference", "differences"), listed(confirmed, "; "))
	}
	if len(once) > 0 {
		l.unsure("%s seen once, looking again: %s", plural(len(once), "difference", "differences"), listed(once, "; "))
	}
	l.pass("ZooKeeper and the metadata log agree on %s", plural(p.topics, "topic", "topics"))
}

// differences names each one with what both sides say, sorted by topic.
// Topics that ZooKeeper is about to delete count as gone there.
func differences(zk facts.ZKTopics, log map[string]kraftlog.Topic, deleting []string) []string {
	inZK := maps.Clone(zk.Topics)
	for _, name := range deleting {
		delete(inZK, name)
	}
	var out []string
	for _, name := range keys(inZK) {
		topic, ok := log[name]
		if !ok {
			out = append(out, fmt.Sprintf("topic %s is only in ZooKeeper", cut(name)))
			continue
		}
		out = append(out, topicDifferences(name, inZK[name], topic)...)
	}
	for _, name := range keys(log) {
		if _, ok := inZK[name]; !ok {
			out = append(out, fmt.Sprintf("topic %s is only in the metadata log", cut(name)))
		}
	}
	return out
}

func topicDifferences(name string, zk facts.ZKTopic, log kraftlog.Topic) []string {
	switch {
	case !zk.HasID:
		return []string{fmt.Sprintf("topic %s has no id in ZooKeeper", cut(name))}
	case zk.ID != log.ID:
		return []string{fmt.Sprintf("topic %s has id %s in ZooKeeper and %s in the log", cut(name), cut(zk.ID), log.ID)}
	}
	var out []string
	if len(zk.Partitions) != len(log.Partitions) {
		out = append(out, fmt.Sprintf("topic %s has %d partitions in ZooKeeper and %d in the log", cut(name), len(zk.Partitions), len(log.Partitions)))
	}
	for _, number := range keys(zk.Partitions) {
		p, ok := log.Partitions[number]
		if !ok {
			continue // the counts differ, or another number is missing below
		}
		if d := partitionDifference(zk.Partitions[number], p); d != "" {
			out = append(out, partitionName(name, number)+": "+d)
		}
	}
	for _, number := range keys(log.Partitions) {
		if _, ok := zk.Partitions[number]; !ok {
			out = append(out, partitionName(name, number)+" is only in the metadata log")
		}
	}
	return out
}

func partitionDifference(zk facts.ZKPartition, log kraftlog.Partition) string {
	var out []string
	if !slices.Equal(zk.Replicas, log.Replicas) {
		out = append(out, fmt.Sprintf("replicas %v in ZooKeeper, %v in the log", zk.Replicas, log.Replicas))
	}
	if !zk.HasState {
		return strings.Join(append(out, "no state in ZooKeeper"), ", ")
	}
	if !slices.Equal(sorted(zk.ISR), sorted(log.ISR)) {
		out = append(out, fmt.Sprintf("ISR %v in ZooKeeper, %v in the log", sorted(zk.ISR), sorted(log.ISR)))
	}
	if zk.LeaderEpoch != log.LeaderEpoch {
		out = append(out, fmt.Sprintf("leader epoch %d in ZooKeeper, %d in the log", zk.LeaderEpoch, log.LeaderEpoch))
	}
	return strings.Join(out, ", ")
}

func sorted(ids []int32) []int32 { return slices.Sorted(slices.Values(ids)) }
