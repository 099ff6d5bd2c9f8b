package findings

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
)

// topic is one child of /brokers/topics as Kafka's copy reads it.
type topic struct {
	name, path string
	fault      string // why its data is of no use
	id         string // as written; "" when the znode has none
	hasID      bool
	partitions []partition // by number
	oddKeys    []string    // partition keys that are no numbers
}

// partition is one partition of the assignment, with its state.
type partition struct {
	number           int32
	replicas         []int32
	adding, removing []int32
	state            *state // nil: see fault
	fault            string // why there is no state
}

// state is /brokers/topics/T/partitions/P/state.
type state struct {
	leader int32
	isr    []int32
}

// parsed is what several checks read of the tree, made once per judgement.
type parsed struct {
	done   bool
	topics []topic
	gaps   []Gap
	behind string // the code that explains why there are none
}

// topics are all topics but those that wait for their deletion, which are not
// copied and have a code of their own. What could not be read is noted.
func (l *look) topics() []topic {
	p := l.s.parsed
	if p == nil || !p.done {
		reader := &look{s: l.s}
		p = &parsed{done: true, topics: reader.readTopics()}
		p.gaps, p.behind = reader.gaps, reader.cause
		l.s.parsed = p
	}
	for _, g := range p.gaps {
		l.unsure(g.Cause, g.How)
	}
	if p.behind != "" {
		l.behind(p.behind)
	}
	return p.topics
}

func (l *look) readTopics() []topic {
	t, ok := l.tree()
	if !ok {
		return nil
	}
	out := make([]topic, 0, len(t.Children("/brokers/topics")))
	l.below("/brokers/topics", func(name string, z Znode) {
		if _, pending := t.Get("/admin/delete_topics/" + name); pending {
			return
		}
		one := readTopic(name, z)
		for i := range one.partitions {
			l.readState(&one, &one.partitions[i])
		}
		out = append(out, one)
	})
	return out
}

// readTopic reads the assignment (TopicZNode): version 1 has only partitions,
// version 2 adds moves, version 3 the topic id.
func readTopic(name string, z Znode) topic {
	out := topic{name: name, path: z.Path}
	fields, fault := object(z.Data)
	if fault != "" {
		out.fault = fault
		return out
	}
	var replicas, adding, removing map[string][]int32
	switch {
	case fields["partitions"] == nil || json.Unmarshal(fields["partitions"], &replicas) != nil || replicas == nil:
		out.fault = `it has no "partitions" of the form {"0":[1,2,3]}`
	case !optionalField(fields, "adding_replicas", &adding) || !optionalField(fields, "removing_replicas", &removing):
		out.fault = `its "adding_replicas" or "removing_replicas" are not of the form {"0":[1]}`
	case !optionalField(fields, "topic_id", &out.id):
		out.fault = `its "topic_id" is no text`
	}
	if out.fault != "" {
		return out
	}
	out.hasID = fields["topic_id"] != nil
	for key, list := range replicas {
		number, ok := plainID(key)
		if !ok {
			out.oddKeys = append(out.oddKeys, key)
			continue
		}
		out.partitions = append(out.partitions, partition{number: number, replicas: list, adding: adding[key], removing: removing[key]})
	}
	slices.Sort(out.oddKeys)
	slices.SortFunc(out.partitions, func(a, b partition) int { return cmp.Compare(a.number, b.number) })
	return out
}

// optionalField reads a field that may be absent or null.
func optionalField[T any](fields map[string]json.RawMessage, name string, into *T) bool {
	return fields[name] == nil || json.Unmarshal(fields[name], into) == nil
}

func (l *look) readState(t *topic, p *partition) {
	path := t.path + "/partitions/" + strconv.Itoa(int(p.number)) + "/state"
	z, present, ok := l.znode(path)
	switch {
	case !ok:
		p.state = nil // noted; a state that is hidden is neither there nor missing
		return
	case !present:
		p.fault = "there is no state"
		return
	}
	fields, fault := object(z.Data)
	if fault != "" {
		p.fault = fault
		return
	}
	var s struct {
		leader, leaderEpoch, controllerEpoch *int32
		isr                                  []int32
	}
	if !optionalField(fields, "leader", &s.leader) || !optionalField(fields, "leader_epoch", &s.leaderEpoch) ||
		!optionalField(fields, "controller_epoch", &s.controllerEpoch) || !optionalField(fields, "isr", &s.isr) ||
		s.leader == nil || s.leaderEpoch == nil || s.controllerEpoch == nil || s.isr == nil {
		p.fault = "leader, leader_epoch, controller_epoch or isr is missing or no number"
		return
	}
	p.state = &state{leader: *s.leader, isr: s.isr}
}

// partitionsOf are the partitions that a check picked, as text for people.
func partitionsOf(list []partition) string {
	out := make([]int32, 0, len(list))
	for _, p := range list {
		out = append(out, p.number)
	}
	return some(out)
}
