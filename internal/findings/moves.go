package findings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// ghosts are brokers that assignments name and that are not there. The copy
// waits for each of them (KRaftMigrationDriver: "found in metadata").
func ghosts(l *look) {
	live, ok := l.liveIDs()
	if !ok {
		return
	}
	missing := map[int32][]string{}
	for _, t := range l.topics() {
		for _, p := range t.partitions {
			for _, id := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(p.replicas, p.adding, p.removing)))) {
				if !live[id] && id >= 0 {
					missing[id] = append(missing[id], fmt.Sprintf("%s-%d", t.name, p.number))
				}
			}
		}
	}
	for _, id := range sortedKeys(missing) {
		where := fmt.Sprintf("broker %d", id)
		seen := fmt.Sprintf("not alive, and a replica of %d partitions: %s", len(missing[id]), some(missing[id]))
		if _, ours := l.s.Migration.Node(id); ours {
			l.found(where, seen, "Start it. If it is gone for good, move its partitions away with kafka-reassign-partitions.sh.")
			continue
		}
		l.found(where, seen, "Move these partitions away from it with kafka-reassign-partitions.sh, or delete the topics.")
	}
}

// movesInFlight are reassignments that have not ended.
func movesInFlight(l *look) {
	l.perTopic(func(p partition) bool { return len(p.adding)+len(p.removing) > 0 }, "replicas are being added or removed",
		"Let the reassignment end, or take it back (kafka-reassign-partitions.sh --cancel). Pause Cruise Control and the like for the whole migration.")
}

// oldMove is what tools of before 2.4 wrote; the next ZooKeeper controller acts
// on it, and a KRaft controller never reads it.
func oldMove(l *look) {
	l.leftOver("/admin/reassign_partitions", "Look whether the named partitions are being moved (kafka-reassign-partitions.sh --list). If nothing runs, delete the znode: zookeeper-shell.sh CONNECT delete /admin/reassign_partitions")
}

// oldElection is a preferred leader election that no controller has done.
func oldElection(l *look) {
	l.leftOver("/admin/preferred_replica_election", "The controller deletes it when the election is done. If it stays for minutes, delete it and run kafka-leader-election.sh --election-type preferred.")
}

// leftOver notes a znode of the old tools that is there.
func (l *look) leftOver(path, fix string) {
	if z, present, ok := l.znode(path); ok && present {
		l.found(path, fmt.Sprintf("%s, changed %s", listedMoves(z.Data), at(z.ModifiedMs)), fix)
	}
}

// listedMoves says how many partitions a znode of the old tools names.
func listedMoves(data []byte) string {
	fields, fault := object(data)
	if fault != "" {
		return fault
	}
	var list []json.RawMessage
	if fields["partitions"] == nil || json.Unmarshal(fields["partitions"], &list) != nil {
		return "it names no partitions"
	}
	return fmt.Sprintf("it names %d partitions", len(list))
}

// pendingDeletions are topics whose deletion has begun and not ended.
func pendingDeletions(l *look) {
	live, ok := l.liveIDs()
	if !ok {
		return
	}
	t, _ := l.tree()
	l.below("/admin/delete_topics", func(name string, _ Znode) {
		z, present, ok := l.znode("/brokers/topics/" + name)
		if !ok || !present {
			return
		}
		var away []int32
		for _, p := range readTopic(name, z).partitions {
			for _, id := range p.replicas {
				if !live[id] && !slices.Contains(away, id) {
					away = append(away, id)
				}
			}
		}
		slices.Sort(away)
		switch {
		case len(away) > 0:
			l.found("topic "+name, "its deletion waits for brokers that are not alive: "+some(away), "Start them, and wait until the topic is gone. If they are gone for good, the topic cannot be deleted by Kafka alone: ask for help before you touch znodes.")
		case l.deletionDisabled():
			l.found("topic "+name, "its deletion waits: a broker has delete.topic.enable=false", "Set delete.topic.enable=true on every broker and wait until the topic is gone; or take the mark back: zookeeper-shell.sh CONNECT delete /admin/delete_topics/"+name)
		default:
			l.found("topic "+name, "its deletion has begun "+at(created(t, name)), "Wait until it is gone. If it stays, look into the controller's log (controller.log of the broker that holds /controller).")
		}
	})
}

func created(t Tree, topic string) int64 {
	z, _ := t.Get("/admin/delete_topics/" + topic)
	return z.CreatedMs
}

// deletionDisabled says whether any broker is known to refuse deletions.
func (l *look) deletionDisabled() bool {
	for _, f := range l.s.Effective {
		list, _ := f.Get()
		for _, s := range list {
			if s.Name == "delete.topic.enable" && s.Value == strconv.FormatBool(false) {
				return true
			}
		}
	}
	return false
}

// strayMarks are marks of topics that are not there.
func strayMarks(l *look) {
	l.below("/admin/delete_topics", func(name string, z Znode) {
		if _, present, ok := l.znode("/brokers/topics/" + name); ok && !present {
			l.found("/admin/delete_topics/"+name, "no topic has this name; made "+at(z.CreatedMs), "zookeeper-shell.sh CONNECT delete /admin/delete_topics/"+name)
		}
	})
}
