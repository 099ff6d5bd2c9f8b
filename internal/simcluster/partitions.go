package simcluster

import (
	"maps"
	"slices"
	"time"

	"migrator/internal/cluster"
)

// actor is who elects leaders now.
type actor int

const (
	byNobody actor = iota
	byZooKeeper
	byQuorum
)

func (c *Cluster) acting() actor {
	q, h := &c.quorum, c.zk.holder
	rules := q.hasState && (q.state == cluster.StateMigration || q.state == cluster.StatePostMigration)
	switch {
	case rules && q.leader != 0:
		return byQuorum
	case h != nil && h.owner != nil && c.nodes[h.id].proc == h.owner && c.zk.writable():
		return byZooKeeper // before the copy, and after /controller was given back
	default:
		return byNobody
	}
}

type topic struct {
	id         string
	minISR     int
	marker     string // our client's newest metadata write
	partitions []*partition
}

type partition struct {
	replicas []int32
	isr      []int32
	leader   int32 // 0: none
	epoch    int32
	changes  int32
	elected  int // ZooKeeper's or the quorum's epoch that wrote it
}

func (t *topic) clone() *topic {
	out := *t
	out.partitions = make([]*partition, len(t.partitions))
	for i, p := range t.partitions {
		q := *p // replicas and ISR are replaced, never changed
		out.partitions[i] = &q
	}
	return &out
}

func (c *Cluster) makeTopic(spec Topic) {
	brokers := c.brokers()
	t := &topic{id: c.mint(), minISR: spec.MinISR}
	for i := range spec.Partitions {
		p := &partition{epoch: 1}
		for j := range min(spec.Replicas, len(brokers)) {
			p.replicas = append(p.replicas, brokers[(i+j)%len(brokers)].ID)
		}
		p.isr, p.leader = slices.Clone(p.replicas), p.replicas[0]
		t.partitions = append(t.partitions, p)
	}
	c.topics[spec.Name] = t
	c.names = nil
	c.changes++
}

// alive says that the acting controller takes the broker for alive.
func (c *Cluster) alive(id int32, by actor) bool {
	if by == byZooKeeper {
		_, ok := c.zk.ids[id]
		return ok
	}
	r, ok := c.quorum.brokers[id]
	return ok && !r.fenced
}

// willing: alive, and not leaving.
func (c *Cluster) willing(id int32, by actor) bool {
	p := c.nodes[id].proc
	return c.alive(id, by) && (p == nil || !p.drained)
}

// lead is the acting controller's work: leaders and in sync replicas follow
// who is alive.
func (c *Cluster) lead() {
	by := c.acting()
	if by == byNobody {
		return
	}
	for _, name := range c.topicNames() {
		for i, p := range c.topics[name].partitions {
			c.leadOne(p, by)
			c.catchUp(name, i, p, by)
		}
	}
}

// topicNames in order; a made or deleted topic empties the list.
func (c *Cluster) topicNames() []string {
	if len(c.names) == 0 {
		c.names = slices.Sorted(maps.Keys(c.topics))
	}
	return c.names
}

func (c *Cluster) leadOne(p *partition, by actor) {
	leads := p.leader != 0 && c.willing(p.leader, by)
	next := -1
	if !leads {
		next = slices.IndexFunc(p.replicas, func(id int32) bool { return slices.Contains(p.isr, id) && c.willing(id, by) })
	}
	switch {
	case leads:
	case next >= 0:
		c.wrote(p)
		p.leader = p.replicas[next]
		p.epoch++
	case p.leader != 0 && !c.alive(p.leader, by):
		c.wrote(p)
		p.leader = 0
		p.epoch++
	}
	if p.leader == 0 {
		return
	}
	leaves := func(id int32) bool { return id != p.leader && !c.willing(id, by) }
	if slices.ContainsFunc(p.isr, leaves) {
		c.wrote(p)
		p.isr = slices.DeleteFunc(slices.Clone(p.isr), leaves)
	}
}

func (c *Cluster) wrote(p *partition) {
	c.changes++
	p.changes++
	p.elected = c.zk.epoch
	if c.acting() == byQuorum {
		p.elected = int(c.quorum.epoch)
		c.quorum.record()
	}
}

// follower is a replica of a partition that is on its way into the ISR.
type follower struct {
	topic     string
	partition int
	node      int32
}

// catchUp lets replicas that are back fetch for a while before they count.
func (c *Cluster) catchUp(name string, i int, p *partition, by actor) {
	if p.leader == 0 || len(p.isr) == len(p.replicas) {
		return
	}
	for _, id := range p.replicas {
		n := c.nodes[id]
		key := follower{name, i, id}
		if slices.Contains(p.isr, id) || n.slow || !n.serves() || n.proc.stopping || !c.willing(id, by) || c.catching[key] {
			continue
		}
		c.catching[key] = true
		serial := n.proc.serial
		c.in(c.between(100*time.Millisecond, 1200*time.Millisecond), func(c *Cluster) { c.caughtUp(key, serial) })
	}
}

// caughtUp takes a replica into the ISR if its broker still runs the process that fetched.
func (c *Cluster) caughtUp(f follower, serial int) {
	delete(c.catching, f)
	n, now := c.nodes[f.node], c.acting()
	if n.proc == nil || n.proc.serial != serial || n.proc.stopping || n.slow || now == byNobody || c.topics[f.topic] == nil {
		return
	}
	p := c.topics[f.topic].partitions[f.partition]
	if p.leader == 0 || slices.Contains(p.isr, f.node) || !c.willing(f.node, now) {
		return
	}
	c.wrote(p)
	p.isr = append(slices.Clone(p.isr), f.node)
}

// mirror brings the second store, ZooKeeper, up to what the acting controller knows.
func (c *Cluster) mirror(now bool) {
	if !now || !c.zk.writable() || c.mirrored == c.changes {
		return
	}
	c.mirrored = c.changes
	c.zk.topics = make(map[string]*topic, len(c.topics))
	for name, t := range c.topics {
		c.zk.topics[name] = t.clone()
	}
}
