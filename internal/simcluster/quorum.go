package simcluster

import (
	"fmt"
	"time"

	"migrator/internal/cluster"
)

// heartbeatTimeout is when the quorum fences a broker that died.
const heartbeatTimeout = 9 * time.Second

// quorum is the metadata quorum and what its log says.
type quorum struct {
	leader        int32 // 0: none
	leading       *process
	epoch         int32
	highWatermark int64
	lastChange    int64 // the newest record that is more than a sign of life
	electing      bool
	orderly       bool // the last leader left in good order

	hasState    bool
	state       cluster.MigrationState
	level       int16 // metadata.version
	brokers     map[int32]*brokerRecord
	controllers map[int32]controllerRecord
}

type brokerRecord struct {
	owner     *process
	migrating bool
	fenced    bool
	offset    int64
}

type controllerRecord struct {
	owner  *process
	ready  bool // to migrate: it has the flag
	offset int64
}

func newQuorum() quorum {
	return quorum{orderly: true, brokers: map[int32]*brokerRecord{}, controllers: map[int32]controllerRecord{}}
}

// led says that the process of this serial leads.
func (q *quorum) led(serial int) bool { return q.leading != nil && q.leading.serial == serial }

// record writes one record that changes something.
func (q *quorum) record() {
	q.highWatermark++
	q.lastChange = q.highWatermark
}

// voting are the controllers that can take part now.
func (c *Cluster) voting() []*node {
	var out []*node
	for _, n := range c.controllers() {
		if n.serves() && !n.proc.stopping {
			out = append(out, n)
		}
	}
	return out
}

func (c *Cluster) majority() int { return len(c.controllers())/2 + 1 }

// elects notices that the leader is gone and lets the others elect one.
func (c *Cluster) elects() {
	q := &c.quorum
	voting := c.voting()
	if q.leader != 0 {
		n := c.nodes[q.leader]
		left := n.proc != q.leading || n.proc.stopping
		if left || len(voting) < c.majority() {
			q.orderly = !left || n.proc == q.leading || n.clean
			q.leader, q.leading = 0, nil
		}
	}
	if q.leader != 0 || q.electing || len(voting) < c.majority() {
		return
	}
	q.electing = true
	wait, rounds := 240*time.Millisecond, int32(1)
	if !q.orderly {
		wait, rounds = c.between(3200*time.Millisecond, 3600*time.Millisecond), 2
	}
	c.in(wait, func(c *Cluster) {
		c.quorum.electing = false
		if able := c.voting(); len(able) >= c.majority() {
			c.activate(c.pick(able), rounds)
		}
	})
}

// activate makes a controller the active one. Without the migration flag it
// ends a migration that was under way (KIP-866).
func (c *Cluster) activate(n *node, rounds int32) {
	q := &c.quorum
	q.leader, q.leading, q.epoch, q.orderly = n.ID, n.proc, q.epoch+rounds, true
	q.record()
	flag := n.proc.mode == cluster.KRaftMigrating
	switch {
	case !q.hasState:
		q.level = n.metaLevel
		if flag {
			c.setState(cluster.StatePreMigration)
		} else {
			c.setState(cluster.StateNone)
		}
	case !flag && q.state == cluster.StateMigration:
		c.setState(cluster.StatePostMigration)
	}
}

func (c *Cluster) setState(s cluster.MigrationState) {
	c.quorum.hasState, c.quorum.state = true, s
	c.quorum.record()
	for _, n := range c.controllers() {
		if n.serves() {
			n.lines = append(n.lines, line{kind: lineState, state: s})
		}
	}
	if s != cluster.StatePostMigration {
		return
	}
	for _, n := range c.brokers() {
		if n.inMode(cluster.ZK, cluster.ZKMigrating) {
			c.rules.disaster(fmt.Sprintf("the migration ended while broker %d ran on ZooKeeper", n.ID))
		}
	}
}

// registerKRaft brings a broker into the metadata log. One at another protocol
// version is refused for ever (UNSUPPORTED_VERSION).
func (c *Cluster) registerKRaft(n *node) {
	q := &c.quorum
	if q.leader == 0 {
		return
	}
	migrating := n.proc.mode == cluster.ZKMigrating
	if migrating && n.proc.level != q.level {
		if len(n.lines) == 0 || n.lines[len(n.lines)-1].kind != lineRefused {
			n.say(lineRefused, "UNSUPPORTED_VERSION")
		}
		return
	}
	r, ok := q.brokers[n.ID]
	if ok && !r.fenced {
		return // registered, or refused as a duplicate until the earlier one's session ends
	}
	q.record()
	q.brokers[n.ID] = &brokerRecord{owner: n.proc, migrating: migrating, offset: q.highWatermark}
}

func (c *Cluster) registerController(n *node) {
	q := &c.quorum
	if q.leader == 0 || !n.serves() || n.proc.stopping || q.controllers[n.ID].owner == n.proc {
		return
	}
	q.record()
	q.controllers[n.ID] = controllerRecord{owner: n.proc, ready: n.proc.mode == cluster.KRaftMigrating, offset: q.highWatermark}
}

// fence marks brokers that are gone: at once when their controlled shutdown was
// granted, else when their session ends.
func (c *Cluster) fence() {
	if c.quorum.leader == 0 {
		return
	}
	for id, r := range c.quorum.brokers {
		n := c.nodes[id]
		if r.fenced || n.proc == r.owner {
			continue
		}
		if r.owner.drained || c.now.Sub(n.died) >= c.scaled(heartbeatTimeout) {
			r.fenced = true
			c.quorum.record()
		}
	}
}

// follow notes who fetches the metadata log now.
func (c *Cluster) follow() {
	for _, n := range c.nodes {
		if c.quorum.leader == 0 || !n.serves() || n.proc.mode == cluster.ZK {
			continue
		}
		n.lastFetch, n.logEnd = c.now, c.quorum.highWatermark
	}
}
