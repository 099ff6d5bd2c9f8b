package zkread

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const topicsRoot = "/brokers/topics"

// Topic is one child of /brokers/topics.
type Topic struct {
	ID         *string           // Kafka's base64 text; nil before any controller gave one
	Partitions map[int32][]int32 // replicas, the preferred leader first
	Adding     map[int32][]int32 // by a reassignment that runs
	Removing   map[int32][]int32
}

// Topics reads the named topics, or all when names is nil. A named topic that
// does not exist is absent from the map. Broken ones are in a *PartialError.
func (r *Reader) Topics(ctx context.Context, names []string) (map[string]Topic, error) {
	if names == nil {
		all, _, err := r.children(ctx, topicsRoot)
		if err != nil {
			return nil, err
		}
		names = all
	}
	out := make(map[string]Topic, len(names))
	err := r.scan(ctx, below(topicsRoot, names), func(path string, n node) *NodeError {
		t, fault := decodeTopic(path, n.data)
		if fault == nil {
			out[path[len(topicsRoot)+1:]] = t
		}
		return fault
	})
	return out, err
}

func decodeTopic(path string, data []byte) (Topic, *NodeError) {
	var v struct {
		ID         *string            `json:"topic_id"`
		Partitions map[string][]int32 `json:"partitions"`
		Adding     map[string][]int32 `json:"adding_replicas"`
		Removing   map[string][]int32 `json:"removing_replicas"`
	}
	if fault := decode(path, data, &v); fault != nil {
		return Topic{}, fault
	}
	if v.ID != nil && !isUUID(*v.ID) {
		return Topic{}, &NodeError{Path: path, Reason: "topic_id " + bounded(*v.ID) + " is no id of 22 base64 characters"}
	}
	t := Topic{ID: v.ID}
	for _, part := range []struct {
		field string
		in    map[string][]int32
		to    *map[int32][]int32
	}{{"partitions", v.Partitions, &t.Partitions}, {"adding_replicas", v.Adding, &t.Adding}, {"removing_replicas", v.Removing, &t.Removing}} {
		*part.to = make(map[int32][]int32, len(part.in))
		for key, replicas := range part.in {
			id, ok := number(key)
			if !ok {
				return Topic{}, &NodeError{Path: path, Reason: part.field + " has the key " + bounded(key) + ", which is no partition number"}
			}
			(*part.to)[id] = replicas
		}
	}
	return t, judgePartitions(path, t)
}

// judgePartitions refuses what makes Kafka's readers fall over: no partitions,
// a gap in their numbers, a partition without replicas.
func judgePartitions(path string, t Topic) *NodeError {
	if len(t.Partitions) == 0 {
		return &NodeError{Path: path, Reason: "no partitions"}
	}
	for id := range int32(len(t.Partitions)) {
		replicas, ok := t.Partitions[id]
		if !ok {
			return &NodeError{Path: path, Reason: fmt.Sprintf("%d partitions, but number %d is not among them", len(t.Partitions), id)}
		}
		if len(replicas) == 0 {
			return &NodeError{Path: path, Reason: fmt.Sprintf("partition %d has no replicas", id)}
		}
	}
	return nil
}

// PartitionState is /brokers/topics/T/partitions/P/state.
type PartitionState struct {
	Leader          int32 // -1: no leader, as Kafka writes it
	LeaderEpoch     int32
	ControllerEpoch int32 // of whoever wrote it last: the ZooKeeper epoch or the KRaft epoch
	ISR             []int32
	ZnodeVersion    int32 // Kafka's partition epoch
}

// PartitionStates reads the state of every partition of the topics. One whose
// znode does not exist is absent from the inner map: Kafka would invent a state
// for it, with all replicas in sync.
func (r *Reader) PartitionStates(ctx context.Context, topics map[string]Topic) (map[string]map[int32]PartitionState, error) {
	out := make(map[string]map[int32]PartitionState, len(topics))
	var paths []string
	for name, t := range topics {
		out[name] = make(map[int32]PartitionState, len(t.Partitions))
		for id := range t.Partitions {
			paths = append(paths, statePath(name, id))
		}
	}
	err := r.scan(ctx, paths, func(path string, n node) *NodeError {
		s, fault := decodeState(path, n)
		if fault != nil {
			return fault
		}
		// Topic names have no slash, so these fields are where statePath put them.
		parts := strings.Split(path[len(topicsRoot)+1:], "/")
		id, _ := number(parts[2])
		out[parts[0]][id] = s
		return nil
	})
	return out, err
}

func statePath(topic string, partition int32) string {
	return topicsRoot + "/" + topic + "/partitions/" + strconv.Itoa(int(partition)) + "/state"
}

func decodeState(path string, n node) (PartitionState, *NodeError) {
	var v struct {
		Leader          *int32   `json:"leader"`
		LeaderEpoch     *int32   `json:"leader_epoch"`
		ControllerEpoch *int32   `json:"controller_epoch"`
		ISR             *[]int32 `json:"isr"`
	}
	if fault := decode(path, n.data, &v); fault != nil {
		return PartitionState{}, fault
	}
	switch {
	case v.Leader == nil:
		return PartitionState{}, missing(path, "leader")
	case v.LeaderEpoch == nil:
		return PartitionState{}, missing(path, "leader_epoch")
	case v.ControllerEpoch == nil:
		return PartitionState{}, missing(path, "controller_epoch")
	case v.ISR == nil:
		return PartitionState{}, missing(path, "isr")
	}
	return PartitionState{Leader: *v.Leader, LeaderEpoch: *v.LeaderEpoch, ControllerEpoch: *v.ControllerEpoch,
		ISR: *v.ISR, ZnodeVersion: n.stat.Version}, nil
}

// PendingDeletions names the topics that wait under /admin/delete_topics. A
// mark that is left over from a topic that is gone waits for nothing.
func (r *Reader) PendingDeletions(ctx context.Context) ([]string, error) {
	names, _, err := r.children(ctx, "/admin/delete_topics")
	if err != nil {
		return nil, err
	}
	const root = "/brokers/topics"
	var out []string
	err = r.scan(ctx, below(root, names), func(path string, _ node) *NodeError {
		out = append(out, path[len(root)+1:])
		return nil
	})
	slices.Sort(out)
	return out, err
}

// ReassignmentPending says whether /admin/reassign_partitions exists: the old
// way to ask for a reassignment. Running ones show in Topic.Adding and Removing.
func (r *Reader) ReassignmentPending(ctx context.Context) (bool, error) {
	n, err := r.fresh(ctx, "/admin/reassign_partitions")
	return n.present, err
}
