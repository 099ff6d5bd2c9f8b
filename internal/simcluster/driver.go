package simcluster

import (
	"time"

	"migrator/internal/cluster"
)

// copyTime is how long the copy of a small cluster takes.
const copyTime = 900 * time.Millisecond

// migrating is the driver of the active controller.
type migrating struct {
	claimed int32 // the quorum epoch for which it wrote its claim to ZooKeeper
	waiting int32 // the epoch for which a claim is about to be made
	copying bool
	fails   bool // the copy never ends
	loses   bool // dual write says it goes on and writes nothing
}

// drive is the active controller's migration driver: it waits for the brokers,
// copies once, and writes both stores from then on.
func (c *Cluster) drive() {
	q := &c.quorum
	if q.leader == 0 || q.leading.mode != cluster.KRaftMigrating || !c.zk.writable() {
		return
	}
	switch q.state {
	case cluster.StatePreMigration:
		c.prepare()
	case cluster.StateMigration:
		c.claimAgain()
	}
}

// prepare makes /migration, and copies when everybody has registered.
func (c *Cluster) prepare() {
	if c.zk.migration == nil {
		c.zk.migration = &migrationZnode{}
	}
	if off := c.zk.migration.offset; off != nil && !c.driver.copying {
		// A left over offset: no copy, and once the log has passed it the empty
		// image is written over ZooKeeper (kafka hazard).
		if c.quorum.highWatermark > *off {
			c.rules.disaster("every topic was deleted from ZooKeeper: /migration was left over")
			c.zk.topics = map[string]*topic{}
		}
		return
	}
	if c.driver.copying || !c.everybodyReady() {
		return
	}
	c.driver.copying = true
	leading, epoch := c.quorum.leading.serial, c.quorum.epoch
	c.in(100*time.Millisecond, func(c *Cluster) {
		if !c.quorum.led(leading) || !c.zk.writable() {
			c.driver.copying = false
			return
		}
		c.claim()
		c.zk.epoch++
		c.in(copyTime, func(c *Cluster) { c.copied(leading, epoch) })
	})
}

func (c *Cluster) copied(leading int, epoch int32) {
	if c.driver.fails {
		return
	}
	c.driver.copying = false
	q := &c.quorum
	if !q.led(leading) || q.epoch != epoch || !c.zk.writable() {
		return
	}
	q.highWatermark += 99
	q.record()
	c.nodes[q.leader].say(lineCopyDone, "completed migration of metadata from ZooKeeper to KRaft")
	c.setState(cluster.StateMigration)
	c.dualWrite()
}

// everybodyReady: all controllers registered with the flag, and every broker
// that lives or that an assignment names registered in migration mode.
func (c *Cluster) everybodyReady() bool {
	for _, n := range c.controllers() {
		if r, ok := c.quorum.controllers[n.ID]; !ok || !r.ready {
			return false
		}
	}
	need := map[int32]bool{}
	for id := range c.zk.ids {
		need[id] = true
	}
	for _, t := range c.topics {
		for _, p := range t.partitions {
			for _, id := range p.replicas {
				need[id] = true
			}
		}
	}
	for id := range need {
		if r, ok := c.quorum.brokers[id]; !ok || !r.migrating {
			return false
		}
	}
	return len(need) > 0
}

// claimAgain: after a failover the new active controller needs a moment before
// it has compared both stores and writes again.
func (c *Cluster) claimAgain() {
	epoch := c.quorum.epoch
	if c.driver.claimed == epoch || c.driver.waiting == epoch {
		return
	}
	c.driver.waiting = epoch
	c.in(c.between(100*time.Millisecond, time.Second), func(c *Cluster) {
		c.driver.waiting = 0
		if c.quorum.epoch == epoch && c.quorum.leader != 0 && c.zk.writable() {
			c.claim()
			c.dualWrite()
		}
	})
}

// claim takes /controller and /migration for the active controller.
func (c *Cluster) claim() {
	id, epoch := c.quorum.leader, c.quorum.epoch
	c.driver.claimed = epoch
	c.zk.epoch++
	c.zk.holder = &holder{id: id, epoch: &epoch}
	c.zk.migration.controller, c.zk.migration.epoch = &id, &epoch
	c.zk.migration.version++
}

// writesBoth says that dual write is under way.
func (c *Cluster) writesBoth() bool {
	q := &c.quorum
	return q.leader != 0 && q.state == cluster.StateMigration && q.leading.mode == cluster.KRaftMigrating &&
		c.driver.claimed == q.epoch && c.zk.writable()
}

func (c *Cluster) dualWrite() {
	if !c.writesBoth() {
		return
	}
	offset := c.quorum.highWatermark
	c.zk.migration.offset = &offset
	c.zk.migration.version++
	c.mirror(!c.driver.loses)
}
