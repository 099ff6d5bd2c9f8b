package simcluster

import (
	"time"

	"migrator/internal/cluster"
)

const (
	sessionTimeout = 6 * time.Second // of an ephemeral znode after a crash
	takeoverTime   = 100 * time.Millisecond
)

// zookeeper is the tree as far as a migration reads it.
type zookeeper struct {
	members   []bool // which serve
	zxid      int64
	holder    *holder // /controller
	epoch     int     // /controller_epoch
	migration *migrationZnode
	ids       map[int32]registration
	topics    map[string]*topic // the second store
	taking    bool              // a broker is about to take /controller
}

type holder struct {
	id    int32
	epoch *int32 // of a KRaft controller: the znode is persistent then
	owner *process
}

type migrationZnode struct {
	controller, epoch *int32
	offset            *int64
	version           int32
}

// registration is a broker's ephemeral znode.
type registration struct {
	czxid int64
	owner *process
}

func newZooKeeper() zookeeper {
	return zookeeper{members: []bool{true, true, true}, zxid: 100, ids: map[int32]registration{}, topics: map[string]*topic{}}
}

// writable says that a majority serves.
func (z *zookeeper) writable() bool {
	n := 0
	for _, up := range z.members {
		if up {
			n++
		}
	}
	return n > len(z.members)/2
}

func (z *zookeeper) next() int64 {
	z.zxid++
	return z.zxid
}

// gone says that the session of a process has ended: at once after a clean
// shutdown, after the timeout otherwise.
func (c *Cluster) gone(n *node, owner *process) bool {
	if n.proc == owner {
		return false
	}
	return n.clean || c.now.Sub(n.died) >= c.scaled(sessionTimeout)
}

// expire removes the ephemeral znodes of sessions that ended, and fences
// brokers that send no heartbeat to the quorum.
func (c *Cluster) expire() {
	if c.zk.writable() {
		for id, r := range c.zk.ids {
			if c.gone(c.nodes[id], r.owner) {
				delete(c.zk.ids, id)
			}
		}
		if h := c.zk.holder; h != nil && h.owner != nil && c.gone(c.nodes[h.id], h.owner) {
			c.zk.holder = nil
		}
	}
	c.fence()
}

// elect lets a broker take a free /controller.
func (c *Cluster) elect() {
	if c.zk.holder != nil || c.zk.taking || !c.zk.writable() {
		return
	}
	c.zk.taking = true
	c.in(takeoverTime, func(c *Cluster) {
		c.zk.taking = false
		if c.zk.holder == nil && c.zk.writable() {
			c.takeController()
		}
	})
}

func (c *Cluster) takeController() {
	var able []*node
	for _, n := range c.brokers() {
		if r, ok := c.zk.ids[n.ID]; ok && r.owner == n.proc && !n.proc.stopping {
			able = append(able, n)
		}
	}
	n := c.pick(able)
	if n == nil {
		return
	}
	c.zk.holder = &holder{id: n.ID, owner: n.proc}
	c.zk.epoch++
}

// registerZK makes a broker's znode anew.
func (c *Cluster) registerZK(n *node) {
	c.zk.ids[n.ID] = registration{czxid: c.zk.next(), owner: n.proc}
}

// register brings the processes that serve into both registries.
func (c *Cluster) register() {
	for _, n := range c.brokers() {
		if !n.serves() || n.proc.stopping {
			continue
		}
		// The znode of an earlier process must have gone first.
		if _, there := c.zk.ids[n.ID]; n.proc.mode != cluster.KRaft && c.zk.writable() && !there {
			c.registerZK(n)
		}
		if n.proc.mode != cluster.ZK {
			c.registerKRaft(n)
		}
	}
	for _, n := range c.controllers() {
		c.registerController(n)
	}
}
