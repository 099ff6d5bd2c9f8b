package simcluster

import (
	"cmp"
	"slices"
	"time"
)

// tick is how often the cluster looks at itself: an idle quorum writes a
// record twice a second (metadata.max.idle.interval.ms).
const tick = 500 * time.Millisecond

// due is something that will happen. What it does captures numbers and names
// only, so that it does the same in a copy of the cluster.
type due struct {
	at time.Time
	do func(*Cluster)
}

// in lets something happen after d of the cluster's own time.
func (c *Cluster) in(d time.Duration, do func(*Cluster)) {
	c.planned++
	e := due{at: c.now.Add(c.scaled(d)), do: do}
	i, _ := slices.BinarySearchFunc(c.agenda, e, func(x, y due) int {
		if x.at.Equal(y.at) {
			return -1 // behind what was planned earlier
		}
		return cmp.Compare(x.at.UnixNano(), y.at.UnixNano())
	})
	c.agenda = slices.Insert(c.agenda, i, e)
}

func (c *Cluster) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) / c.speed)
}

// between draws a duration.
func (c *Cluster) between(low, high time.Duration) time.Duration {
	return low + time.Duration(c.rng.Int64N(int64(high-low)+1))
}

// settle brings the cluster up to the present. Nothing happens by itself: each
// look from outside first lets happen what was due since the last one.
func (c *Cluster) settle() {
	now := time.Now()
	for len(c.agenda) > 0 && !c.agenda[0].at.After(now) {
		next := c.agenda[0]
		c.agenda = c.agenda[1:]
		c.now = next.at
		next.do(c)
		c.reconcile()
	}
	c.now = now
}

// hold locks the cluster at the present to change it; call the answer to let go.
func (c *Cluster) hold() (release func()) {
	c.mu.Lock()
	c.settle()
	return func() {
		c.reconcile()
		c.mu.Unlock()
	}
}

// still locks the cluster at the present to look at it only.
func (c *Cluster) still() (release func()) {
	c.mu.Lock()
	c.settle()
	return c.mu.Unlock
}

// reconcile lets each part of the cluster react to what the others did.
func (c *Cluster) reconcile() {
	c.boot()
	c.expire()
	c.lead() // sees who is gone before the next process of the same node registers
	c.elect()
	c.register()
	c.elects()
	c.drive()
	c.lead()
	c.mirror(c.acting() == byZooKeeper)
}
