package simcluster

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"migrator/internal/facts"
)

// Fault kinds of what readers cannot see, for a time.
type fault struct {
	kind  FaultKind
	node  int32 // Unreachable
	stale bool  // the facts stay as they were instead of becoming unknown
	until time.Time
}

// FaultKind is a part of the facts.
type FaultKind string

const (
	Unreachable  FaultKind = "unreachable" // one node answers nothing and obeys nothing
	NoZooKeeper  FaultKind = "zookeeper facts"
	NoQuorum     FaultKind = "quorum facts"
	NoBrokers    FaultKind = "broker facts"
	NoMachines   FaultKind = "machine facts"
	NoClientSeen FaultKind = "canary facts"
)

// FactKinds lists the parts that can be hidden or held back, without Unreachable.
func FactKinds() []FaultKind {
	return []FaultKind{NoZooKeeper, NoQuorum, NoBrokers, NoMachines, NoClientSeen}
}

// Hide makes facts unknown for a time; stale keeps the old ones with their old times.
func (c *Cluster) Hide(kind FaultKind, node int32, stale bool, d time.Duration) {
	defer c.hold()()
	c.faults = append(c.faults, fault{kind: kind, node: node, stale: stale, until: c.now.Add(d)})
	c.rules.lastFault = c.now.Add(d)
}

func (c *Cluster) unreachable(id int32) bool {
	return slices.ContainsFunc(c.faults, func(f fault) bool { return f.kind == Unreachable && f.node == id && f.until.After(c.now) })
}

// distort applies what hides facts now.
func (c *Cluster) distort(s *facts.Snapshot, last facts.Snapshot) {
	c.faults = slices.DeleteFunc(c.faults, func(f fault) bool { return !f.until.After(c.now) })
	for _, f := range c.faults {
		from := facts.Snapshot{}
		if f.stale {
			from = last
		}
		switch f.kind {
		case NoZooKeeper:
			s.ClusterID, s.Holder, s.ZKEpoch, s.Migration, s.Registered = from.ClusterID, from.Holder, from.ZKEpoch, from.Migration, from.Registered
			s.Ensemble, s.Writable, s.Driver, s.Deleting, s.ZKTopics, s.ZKMarker = from.Ensemble, from.Writable, from.Driver, from.Deleting, from.ZKTopics, from.ZKMarker
		case NoQuorum:
			s.Quorum, s.Log = from.Quorum, from.Log
		case NoBrokers:
			s.Metadata, s.MinISR, s.Reassigning, s.API = from.Metadata, from.MinISR, from.Reassigning, from.API
		case NoMachines:
			s.Files, s.Kept, s.Running, s.Lines, s.Meta = from.Files, from.Kept, from.Running, from.Lines, from.Meta
		case NoClientSeen:
			s.CanaryStats = from.CanaryStats
		}
	}
}

// Crash ends a node's process as SIGKILL would. forGood: no later process of
// it lives, until Repair.
func (c *Cluster) Crash(id int32, forGood bool) {
	defer c.hold()()
	n := c.nodes[id]
	n.broken, c.rules.hurt = forGood, c.now
	if n.proc != nil {
		n.end(c, false)
	}
	c.rules.lastFault = c.now
}

// DieAfterStart lets the next processes of a node die so long after each start,
// the last thing they log being what is fatal.
func (c *Cluster) DieAfterStart(id int32, processes int, after time.Duration, fatal string) {
	defer c.hold()()
	c.nodes[id].doomed = doom{left: processes, after: after, kind: lineFatal, text: fatal}
}

// Race lets the next processes of a controller lose Kafka's start-up race: two
// seconds after its start each halts.
func (c *Cluster) Race(id int32, processes int) {
	defer c.hold()()
	c.nodes[id].doomed = doom{left: processes, after: 2 * time.Second, kind: lineRace,
		text: "Should not have ZK migrations enabled on a cluster running metadata.version 3.0-IV1"}
}

// SlowStop lets the next stop of a node take so long.
func (c *Cluster) SlowStop(id int32, takes time.Duration) {
	defer c.hold()()
	c.nodes[id].stopsIn = takes
}

// Repair is an operator who makes a node whole and starts it, if nobody holds
// it down on purpose and it was ever meant to run.
func (c *Cluster) Repair(id int32) {
	defer c.hold()()
	n := c.nodes[id]
	n.broken, n.slow = false, false
	if n.proc == nil && n.starts > 0 {
		n.startCommand(c)
	}
}

// Lag keeps a broker's replicas from catching up, or lets them again.
func (c *Cluster) Lag(id int32, slow bool) {
	defer c.hold()()
	n := c.nodes[id]
	n.slow, c.rules.hurt = slow, c.now
	if !slow || c.acting() == byNobody {
		return // nobody there to take it out of an ISR
	}
	for _, name := range slices.Sorted(maps.Keys(c.topics)) {
		for _, p := range c.topics[name].partitions {
			if i := slices.Index(p.isr, id); i >= 0 && p.leader != id && p.leader != 0 && len(p.isr) > 1 {
				c.wrote(p)
				p.isr = slices.Delete(slices.Clone(p.isr), i, i+1)
			}
		}
	}
}

// ZooKeeper sets how many of the ensemble's members serve.
func (c *Cluster) ZooKeeper(serving int) {
	defer c.hold()()
	c.rules.hurt = c.now
	for i := range c.zk.members {
		c.zk.members[i] = i < serving
	}
}

// Failover makes the quorum elect another leader, as after a pause.
func (c *Cluster) Failover() {
	defer c.hold()()
	c.rules.hurt = c.now
	if c.quorum.leader != 0 {
		c.quorum.leader, c.quorum.leading, c.quorum.orderly = 0, nil, false
	}
}

// FailCopy lets the copy hang once it has taken /controller, or lets later
// copies succeed again.
func (c *Cluster) FailCopy(fails bool) {
	defer c.hold()()
	c.driver.fails = fails
}

// LoseWrites lets dual write go on in appearance only: its offset moves, and
// ZooKeeper gets no change any more.
func (c *Cluster) LoseWrites() {
	defer c.hold()()
	c.driver.loses = true
}

// Edit changes a node's file behind our back.
func (c *Cluster) Edit(id int32) {
	c.EditLine(id, fmt.Sprintf("# edited at %d", time.Now().Unix()))
}

// EditLine adds a line to a node's file behind our back.
func (c *Cluster) EditLine(id int32, line string) {
	defer c.hold()()
	if n := c.nodes[id]; n.file != nil {
		n.replaced = append(n.replaced, n.file)
		n.file = newContent(append(slices.Clone(n.file.data), line+"\n"...), n.Role)
		c.rules.lastFault = c.now
	}
}

// PutBack gives a node's file a content that it had before it was edited, as a
// person would from a backup; false if it never had that one.
func (c *Cluster) PutBack(id int32, sha string) bool {
	defer c.hold()()
	n := c.nodes[id]
	i := slices.IndexFunc(n.replaced, func(was *content) bool { return was.sha == sha })
	if i < 0 {
		return false
	}
	n.replaced = append(n.replaced, n.file)
	n.file = n.replaced[i]
	return true
}

// NodeIDs are the brokers' and the controllers' ids.
func (c *Cluster) NodeIDs() (brokers, controllers []int32) {
	defer c.still()()
	for _, n := range c.brokers() {
		brokers = append(brokers, n.ID)
	}
	for _, n := range c.controllers() {
		controllers = append(controllers, n.ID)
	}
	return brokers, controllers
}

// Mend lets a node's next process live, and starts nothing.
func (c *Cluster) Mend(id int32) {
	defer c.hold()()
	c.nodes[id].broken, c.nodes[id].slow = false, false
}

// LoseStore is the end of the service's data folder: the rules hear the journal
// of the next life from its beginning.
func (c *Cluster) LoseStore() {
	defer c.hold()()
	c.rules.journal = story{}
}
