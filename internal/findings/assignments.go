package findings

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const deleteOrRepair = "Delete the topic with Kafka's own tool, or repair the znode from a backup; then run preflight again."

// brokenTopics: Kafka reads such a znode as a topic without partitions or
// stops the copy at it.
func brokenTopics(l *look) {
	for _, t := range l.topics() {
		if t.fault != "" {
			l.found(t.path, t.fault, deleteOrRepair)
		}
	}
}

// topicsWithoutID: the copy takes the id without looking whether there is one.
func topicsWithoutID(l *look) {
	const fix = "A ZooKeeper controller at inter.broker.protocol.version 2.8 or newer gives every topic an id when it is elected: let the controller role move once (restart the broker that holds it) and run preflight again."
	for _, t := range l.topics() {
		raw, err := base64.RawURLEncoding.DecodeString(t.id)
		switch {
		case t.fault != "":
		case !t.hasID || t.id == "":
			l.found(t.path, "no topic_id", fix)
		case err != nil || len(raw) != 16:
			l.found(t.path, "topic_id "+t.id+" is no id", deleteOrRepair)
		case string(raw) == string(make([]byte, 16)):
			l.found(t.path, "topic_id is the reserved one of all zeros", deleteOrRepair)
		}
	}
}

func sharedTopicIDs(l *look) {
	byID := map[string][]string{}
	for _, t := range l.topics() {
		if t.hasID && t.id != "" {
			byID[t.id] = append(byID[t.id], t.name)
		}
	}
	for _, id := range sortedKeys(byID) {
		if names := byID[id]; len(names) > 1 {
			l.found("topic_id "+id, "topics "+some(names), "One of the znodes was copied by hand. Compare with partition.metadata in the brokers' log directories, and delete the topic that has no data under this id.")
		}
	}
}

// brokenAssignments: partitions that nobody could serve after the copy.
func brokenAssignments(l *look) {
	for _, t := range l.topics() {
		if t.fault != "" {
			continue
		}
		if len(t.partitions) == 0 && len(t.oddKeys) == 0 {
			l.found(t.path, "no partition at all", deleteOrRepair)
		}
		if len(t.oddKeys) > 0 {
			l.found(t.path, "partition keys that are no numbers: "+some(t.oddKeys), deleteOrRepair)
		}
		gap := false
		for i, p := range t.partitions {
			switch {
			case int(p.number) != i && !gap:
				gap = true
				l.found(t.path, fmt.Sprintf("partition %d is missing", i), deleteOrRepair)
			case len(p.replicas) == 0:
				l.found(t.path, fmt.Sprintf("partition %d has no replicas", p.number), deleteOrRepair)
			case duplicate(p.replicas) || slices.Min(p.replicas) < 0:
				l.found(t.path, fmt.Sprintf("partition %d has the replicas %v: a broker twice, or no broker's id", p.number, p.replicas), deleteOrRepair)
			}
		}
	}
}

func duplicate(ids []int32) bool {
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			return true
		}
	}
	return false
}

var legalTopic = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// illegalNames: Kafka's Topic.validate; no client can use such a topic.
func illegalNames(l *look) {
	for _, t := range l.topics() {
		if !legalTopic.MatchString(t.name) {
			l.found(t.path, "a name that Kafka's clients refuse", "Something else than Kafka made it. Delete it if nobody needs it.")
		}
	}
}

// collidingNames: metrics spell a dot as an underscore.
func collidingNames(l *look) {
	bySpelling := map[string][]string{}
	for _, t := range l.topics() {
		spelling := strings.ReplaceAll(t.name, ".", "_")
		bySpelling[spelling] = append(bySpelling[spelling], t.name)
	}
	for _, spelling := range sortedKeys(bySpelling) {
		if names := bySpelling[spelling]; len(names) > 1 {
			l.found("topics "+some(names), "they differ only in dots and underscores", "Nothing to do for the migration; a deleted one cannot be created again beside the other.")
		}
	}
}

// missingStates: where a state is missing Kafka makes one up, with every
// replica in sync and epoch 0.
func missingStates(l *look) {
	const fix = "Find out which replica has the data (the broker's log directory), and let the ZooKeeper controller write the state: restart the broker that holds /controller, or reassign the partition. Never migrate it so."
	for _, t := range l.topics() {
		byFault := map[string][]partition{}
		for _, p := range t.partitions {
			if p.fault != "" {
				byFault[p.fault] = append(byFault[p.fault], p)
				continue
			}
			if p.state == nil || len(p.replicas) == 0 {
				continue
			}
			if strangers := slices.DeleteFunc(slices.Clone(p.state.isr), func(id int32) bool { return slices.Contains(p.replicas, id) || slices.Contains(p.adding, id) }); len(strangers) > 0 {
				l.found(t.path, fmt.Sprintf("partition %d: isr %v has brokers that are no replicas (%v)", p.number, p.state.isr, p.replicas), fix)
			}
		}
		for _, fault := range sortedKeys(byFault) {
			l.found(t.path, fmt.Sprintf("partitions %s: %s", partitionsOf(byFault[fault]), fault), fix)
		}
	}
}

// offlinePartitions have no leader, as ZooKeeper has it, though a broker that
// could lead is alive; that none is has a code of its own (ghosts).
func offlinePartitions(l *look) {
	live, ok := l.liveIDs()
	l.perTopic(func(p partition) bool {
		return ok && p.state != nil && p.state.leader < 0 && slices.ContainsFunc(p.replicas, func(id int32) bool { return live[id] })
	}, "no leader", "Bring back the broker that holds the last in-sync replica. Only a person can decide for an unclean election.")
}

// shortISR are partitions with a leader and a living replica that is not in sync.
func shortISR(l *look) {
	live, ok := l.liveIDs()
	l.perTopic(func(p partition) bool {
		return ok && p.state != nil && p.state.leader >= 0 && !duplicate(p.replicas) &&
			slices.ContainsFunc(p.replicas, func(id int32) bool { return live[id] && !slices.Contains(p.state.isr, id) })
	}, "a living replica is not in sync",
		"Find out why the missing replica does not follow (a full or offline disk, a slow network), and wait until the ISR is whole.")
}

// perTopic notes one place for each topic with such partitions.
func (l *look) perTopic(is func(partition) bool, what, fix string) {
	for _, t := range l.topics() {
		var hit []partition
		for _, p := range t.partitions {
			if is(p) {
				hit = append(hit, p)
			}
		}
		if len(hit) > 0 {
			l.found("topic "+t.name, fmt.Sprintf("partitions %s: %s", partitionsOf(hit), what), fix)
		}
	}
}

// unavailableInRoll are topics that no order of restarts can spare.
func unavailableInRoll(l *look) {
	least, known := need(l, "the effective min.insync.replicas", l.s.Snapshot.MinISR, describable)
	for _, t := range l.topics() {
		one, tight := []partition{}, []partition{}
		want, told := least[t.name]
		for _, p := range t.partitions {
			switch {
			case len(p.replicas) == 1:
				one = append(one, p)
			case known && told && len(p.replicas) > 0 && want >= len(p.replicas):
				tight = append(tight, p)
			}
		}
		const fix = "Add replicas, or lower min.insync.replicas, or tell those who write to it. The plan lists the partitions again."
		if len(one) > 0 {
			l.found("topic "+t.name, "partitions "+partitionsOf(one)+" have one replica", fix)
		}
		if len(tight) > 0 {
			l.found("topic "+t.name, fmt.Sprintf("partitions %s: min.insync.replicas is %d, as many as there are replicas", partitionsOf(tight), want), fix)
		}
	}
}
