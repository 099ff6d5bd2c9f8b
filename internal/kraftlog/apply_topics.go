package kraftlog

import "fmt"

// leaderNoChange in a PartitionChange means that it leaves the leader alone.
const leaderNoChange = -2

func (s *state) topic(rec record) error {
	f := rec.fields()
	name, id := f.CompactString(), f.Uuid()
	if !f.end(nil) {
		return rec.cutOff()
	}
	if old, ok := s.names[id]; ok && old != name {
		return fmt.Errorf("record at offset %d: topic id %s belongs to another topic", rec.offset, uuidText(id))
	}
	if old, ok := s.topics[name]; ok && old.ID != uuidText(id) {
		return fmt.Errorf("record at offset %d: topic %.80q has the id %s already", rec.offset, name, old.ID)
	}
	s.names[id] = name
	s.topics[name] = Topic{ID: uuidText(id), Partitions: map[int32]Partition{}}
	s.owned[name] = true
	return nil
}

func (s *state) removeTopic(rec record) error {
	f := rec.fields()
	id := f.Uuid()
	if !f.end(nil) {
		return rec.cutOff()
	}
	name, err := s.topicName(rec, id)
	if err != nil {
		return err
	}
	delete(s.names, id)
	delete(s.topics, name)
	delete(s.owned, name)
	s.configs.removeTopic(name) // Kafka writes no record for these
	return nil
}

func (s *state) topicName(rec record, id [16]byte) (string, error) {
	name, ok := s.names[id]
	if !ok {
		return "", fmt.Errorf("record at offset %d: %s of topic id %s, which does not exist", rec.offset, typeName(rec.kind), uuidText(id))
	}
	return name, nil
}

func (s *state) partition(rec record) error {
	f := rec.fields()
	number, id := f.Int32(), f.Uuid()
	p := Partition{Replicas: f.int32s(), ISR: f.int32s(), Removing: f.int32s(), Adding: f.int32s()}
	p.setLeader(f.Int32())
	p.LeaderEpoch = f.Int32()
	p.PartitionEpoch = f.Int32()
	if rec.version >= 1 {
		for range f.length(16) {
			f.Uuid() // log directories
		}
	}
	if !f.end(nil) {
		return rec.cutOff()
	}
	name, err := s.topicName(rec, id)
	if err != nil {
		return err
	}
	s.partitions(name)[number] = p
	return nil
}

func (s *state) changePartition(rec record) error {
	f := rec.fields()
	number, id := f.Int32(), f.Uuid()
	change := partitionChange{leader: leaderNoChange}
	if !f.end(change.take) {
		return rec.cutOff()
	}
	name, err := s.topicName(rec, id)
	if err != nil {
		return err
	}
	old, ok := s.topics[name].Partitions[number]
	if !ok {
		return fmt.Errorf("record at offset %d: change of partition %.80q-%d, which does not exist", rec.offset, name, number)
	}
	s.partitions(name)[number] = change.merge(old)
	return nil
}

// partitionChange holds what a PartitionChange record sets; nil means "as before".
type partitionChange struct {
	isr, replicas, removing, adding []int32
	leader                          int32
}

func (c *partitionChange) take(tag uint32, value *fields) {
	switch tag {
	case 0:
		c.isr = value.nullableInt32s()
	case 1:
		c.leader = value.Int32()
	case 2:
		c.replicas = value.nullableInt32s()
	case 3:
		c.removing = value.nullableInt32s()
	case 4:
		c.adding = value.nullableInt32s()
	}
}

// nullableInt32s gives nil for null and an empty slice for an empty array.
func (f *fields) nullableInt32s() []int32 {
	if len(f.Src) > 0 && f.Src[0] == 0 {
		f.Src = f.Src[1:]
		return nil
	}
	return f.int32s()
}

// merge counts the epochs itself: the record does not carry them. Any leader
// named, even the same one, is a new leader epoch.
func (c partitionChange) merge(p Partition) Partition {
	if c.isr != nil {
		p.ISR = c.isr
	}
	if c.replicas != nil {
		p.Replicas = c.replicas
	}
	if c.removing != nil {
		p.Removing = c.removing
	}
	if c.adding != nil {
		p.Adding = c.adding
	}
	if c.leader != leaderNoChange {
		p.setLeader(c.leader)
		p.LeaderEpoch++
	}
	p.PartitionEpoch++
	return p
}

// setLeader takes negative ids for nobody: -1 is Kafka's own, and a copied
// partition may carry ZooKeeper's -2 of a topic in deletion.
func (p *Partition) setLeader(id int32) {
	p.Leader, p.HasLeader = id, id >= 0
	if !p.HasLeader {
		p.Leader = 0
	}
}
