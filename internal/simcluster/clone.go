package simcluster

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// Orphan copies the cluster as it stands if the service, and our client with
// it, dies at this moment. The copy goes on from here by itself, draws the same
// lots, and shares nothing that changes.
func (c *Cluster) Orphan() *Cluster {
	defer c.still()()
	source := *c.source
	out := &Cluster{cfg: c.cfg, speed: c.speed, slow: c.slow, source: &source, rng: rand.New(&source), now: c.now, agenda: slices.Clone(c.agenda),
		nodes: make(map[int32]*node, len(c.nodes)), topics: make(map[string]*topic, len(c.topics)), client: c.client,
		driver: c.driver, rules: c.rules.clone(), hooks: c.hooks.clone(), faults: slices.Clone(c.faults), serial: c.serial, minted: c.minted,
		planned: c.planned, changes: c.changes, mirrored: c.mirrored, catching: maps.Clone(c.catching), told: c.told}
	out.client.running = false
	same := twins{}
	for id, n := range c.nodes {
		out.nodes[id] = n.clone(same)
	}
	out.sort()
	for name, t := range c.topics {
		out.topics[name] = t.clone()
	}
	out.zk, out.quorum = c.zk.clone(same), c.quorum.clone(same)
	return out
}

// Mark names the moment of a cluster: two copies with one mark are equal.
type Mark struct {
	At                        int64
	Planned, Changes, Effects int
}

// Mark says which moment this is.
func (c *Cluster) Mark() Mark {
	defer c.still()()
	return Mark{At: c.now.UnixNano(), Planned: c.planned, Changes: c.changes, Effects: len(c.rules.effects)}
}

// twins are the processes of the copy by those of the original.
type twins map[*process]*process

func (t twins) of(p *process) *process {
	if p == nil {
		return nil
	}
	twin, ok := t[p]
	if !ok {
		copied := *p
		twin = &copied
		t[p] = twin
	}
	return twin
}

func (n *node) clone(same twins) *node {
	out := *n
	out.replaced, out.kept, out.lines, out.proc = slices.Clone(n.replaced), slices.Clone(n.kept), slices.Clone(n.lines), same.of(n.proc)
	if n.meta != nil {
		m := *n.meta
		out.meta = &m
	}
	return &out
}

func (z *zookeeper) clone(same twins) zookeeper {
	out := *z
	out.members, out.ids, out.topics = slices.Clone(z.members), make(map[int32]registration, len(z.ids)), make(map[string]*topic, len(z.topics))
	for id, r := range z.ids {
		out.ids[id] = registration{czxid: r.czxid, owner: same.of(r.owner)}
	}
	for name, t := range z.topics {
		out.topics[name] = t.clone()
	}
	if z.holder != nil {
		out.holder = &holder{id: z.holder.id, epoch: z.holder.epoch, owner: same.of(z.holder.owner)}
	}
	if z.migration != nil {
		m := *z.migration
		out.migration = &m
	}
	return out
}

func (q *quorum) clone(same twins) quorum {
	out := *q
	out.leading = same.of(q.leading)
	out.brokers, out.controllers = make(map[int32]*brokerRecord, len(q.brokers)), make(map[int32]controllerRecord, len(q.controllers))
	for id, r := range q.brokers {
		copied := *r
		copied.owner = same.of(r.owner)
		out.brokers[id] = &copied
	}
	for id, r := range q.controllers {
		r.owner = same.of(r.owner)
		out.controllers[id] = r
	}
	return out
}

func (r *rules) clone() rules {
	out := *r
	out.effects, out.broken = slices.Clone(r.effects), slices.Clone(r.broken)
	out.down, out.weak = maps.Clone(r.down), maps.Clone(r.weak)
	out.journal.actions, out.journal.drills = maps.Clone(r.journal.actions), slices.Clone(r.journal.drills)
	return out
}

// Copy is the store as it stands; what is in it never changes.
func (s *Store) Copy() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Store{entries: slices.Clone(s.entries), blobs: maps.Clone(s.blobs), full: s.full}
}
