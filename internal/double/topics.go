package double

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"migrator/internal/znodebackup"
)

// brokers gives every broker id that the tree names a local broker, in order.
func (f *folder) brokers(saved []znodebackup.Znode) {
	ids := map[int32]bool{}
	for _, z := range saved {
		if rest, ok := strings.CutPrefix(z.Path, "/brokers/ids/"); ok {
			if id, err := strconv.ParseInt(rest, 10, 32); err == nil {
				ids[int32(id)] = true
			}
		}
		if topic, ok := topicOf(z.Path); ok && topic == strings.TrimPrefix(z.Path, "/brokers/topics/") {
			for _, replicas := range assignment(z.Data) {
				for _, id := range replicas {
					ids[id] = true
				}
			}
		}
	}
	var sorted []int32
	for id := range ids {
		sorted = append(sorted, id)
	}
	slices.Sort(sorted)
	for i, id := range sorted {
		f.to[id] = f.local[i%len(f.local)]
	}
}

// topicOf names the topic that a znode belongs to.
func topicOf(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, "/brokers/topics/")
	topic, _, _ := strings.Cut(rest, "/")
	return topic, ok
}

func assignment(data []byte) map[string][]int32 {
	var v struct {
		Partitions map[string][]int32 `json:"partitions"`
	}
	if json.Unmarshal(data, &v) != nil {
		return nil
	}
	return v.Partitions
}

func (f *folder) topics(z znodebackup.Znode) {
	topic, ok := topicOf(z.Path)
	if !ok { // the folder itself
		f.keep(z.Path, z.Data)
		return
	}
	parts := strings.Split(strings.TrimPrefix(z.Path, "/brokers/topics/"), "/")
	switch {
	case len(parts) == 1:
		f.topic(topic, z)
	case len(parts) == 4 && parts[1] == "partitions" && parts[3] == "state":
		f.keep(z.Path, f.state(z.Data, f.replicas[topic][parts[2]]))
	default:
		f.keep(z.Path, z.Data)
	}
}

// topic folds the assignment. One that cannot be understood stays as it is:
// preflight must see it as it would in production.
func (f *folder) topic(name string, z znodebackup.Znode) {
	f.out.Topics++
	var doc map[string]json.RawMessage
	partitions := assignment(z.Data)
	if partitions == nil || json.Unmarshal(z.Data, &doc) != nil {
		f.note("topics kept as they are: they cannot be understood")
		f.keep(z.Path, z.Data)
		return
	}
	f.out.Partitions += len(partitions)
	for n, replicas := range partitions {
		partitions[n] = f.fold(replicas)
		if len(partitions[n]) < len(replicas) {
			f.note("partitions with fewer replicas than there: there are fewer brokers here")
		}
	}
	f.replicas[name] = partitions
	for _, field := range []string{"adding_replicas", "removing_replicas"} {
		if raw, ok := doc[field]; ok {
			if string(raw) != "{}" {
				f.note("topics whose reassignment was under way: its target is left out")
			}
			doc[field] = json.RawMessage("{}")
		}
	}
	doc["partitions"], _ = json.Marshal(partitions) // a map of numbers always has a JSON text
	data, err := json.Marshal(doc)
	if err != nil {
		data = z.Data
	}
	f.keep(z.Path, data)
}

// fold gives each replica a local broker; where that has one of the partition
// already, the next one that has none.
func (f *folder) fold(replicas []int32) []int32 {
	out := []int32{}
	for _, id := range replicas {
		at := max(slices.Index(f.local, f.to[id]), 0)
		for range f.local {
			if !slices.Contains(out, f.local[at]) {
				out = append(out, f.local[at])
				break
			}
			at = (at + 1) % len(f.local)
		}
	}
	return out
}

// state says that every replica is in sync, since none has any record, that the
// preferred one leads, and that no controller has acted yet: a state of a higher
// controller epoch would refuse the double's own first controller (KAFKA-20488).
func (f *folder) state(data []byte, replicas []int32) []byte {
	var doc map[string]json.RawMessage
	var v struct {
		Leader *int32  `json:"leader"`
		ISR    []int32 `json:"isr"`
	}
	if len(replicas) == 0 || json.Unmarshal(data, &doc) != nil || json.Unmarshal(data, &v) != nil {
		return data
	}
	if v.Leader == nil || *v.Leader < 0 {
		f.note("partitions without a leader there have one here")
	} else if len(v.ISR) < len(replicas) {
		f.note("partitions that were short there are whole here")
	}
	isr, err := json.Marshal(replicas)
	if err != nil {
		return data
	}
	doc["isr"], doc["leader"], doc["controller_epoch"] = isr, json.RawMessage(strconv.Itoa(int(replicas[0]))), json.RawMessage("0")
	out, err := json.Marshal(doc)
	if err != nil {
		return data
	}
	return out
}
