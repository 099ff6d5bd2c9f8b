// Package simcluster is a Kafka cluster in memory that keeps the rules a
// migration relies on: a ZooKeeper tree, a metadata quorum with elections and
// epochs, the copy, asynchronous dual write, registrations, in sync replicas
// and restart times. It is no Kafka: it moves no records. It answers through
// the interfaces that the orchestrator observes and acts through, and lives in
// the time of package time, so that testing/synctest makes hours pass at once.
package simcluster

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/config"
)

// Options describe the cluster. The zero Options are three brokers and three
// controllers with a few topics, as fast as they were measured.
type Options struct {
	Name        string        // of the migration
	Brokers     int           // 0: three
	Controllers int           // 0: three
	Topics      []Topic       // nil: some
	Soak        time.Duration // in dual-write; 0: thirty seconds
	Hooks       bool          // with hooks around plans and nodes
	Manual      []int32       // nodes that a person drives
	ByRack      bool          // the brokers of a rack restart together
	Seed        uint64        // of all durations and choices
	Speed       float64       // how many times faster the nodes are; 0: once
	Reading     time.Duration // what one round of reading takes; 0: twenty milliseconds
}

// Topic is one topic of the cluster at its beginning.
type Topic struct {
	Name       string
	Partitions int
	Replicas   int
	MinISR     int
}

// Cluster is the whole world outside the service.
type Cluster struct {
	mu     sync.Mutex
	cfg    config.Migration
	speed  float64
	slow   time.Duration // a round of reading
	source *rand.PCG
	rng    *rand.Rand
	now    time.Time
	agenda []due

	nodes  map[int32]*node
	byRole map[cluster.Role][]*node // in order of id
	zk     zookeeper
	quorum quorum
	driver migrating
	topics map[string]*topic
	client client
	rules  rules
	hooks  hooks
	faults []fault

	serial   int // of processes
	minted   int // ids of topics
	planned  int // entries of the agenda so far
	changes  int // to topics so far
	mirrored int // of them, those that ZooKeeper holds
	names    []string
	catching map[follower]bool
	told     described
}

// New is a cluster of brokers in ZooKeeper mode that serve; the controllers do
// not exist yet. It begins at the present.
func New(o Options) *Cluster {
	o = o.withDefaults()
	source := rand.NewPCG(o.Seed, 1)
	c := &Cluster{cfg: o.migration(), speed: o.Speed, slow: o.Reading, source: source, rng: rand.New(source), now: time.Now(),
		nodes: map[int32]*node{}, topics: map[string]*topic{}, catching: map[follower]bool{},
		hooks: hooks{aside: map[int32]bool{}, fails: map[string]int{}}}
	c.zk = newZooKeeper()
	c.quorum = newQuorum()
	for _, n := range c.cfg.Nodes {
		c.nodes[n.ID] = c.newNode(n)
	}
	c.sort()
	for _, t := range o.Topics {
		c.makeTopic(t)
	}
	for _, n := range c.brokers() {
		n.launch(c)
		n.proc.ready = true
		n.proc.booted = true
		c.registerZK(n)
	}
	c.takeController()
	c.mirror(true)
	c.in(0, (*Cluster).beat)
	return c
}

func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = "simulated"
	}
	if o.Brokers == 0 {
		o.Brokers = 3
	}
	if o.Controllers == 0 {
		o.Controllers = 3
	}
	if o.Topics == nil {
		o.Topics = []Topic{{"orders", 6, 3, 2}, {"payments", 3, 3, 2}, {"scratch", 1, 1, 1}}
	}
	if o.Soak == 0 {
		o.Soak = 30 * time.Second
	}
	if o.Speed == 0 {
		o.Speed = 1
	}
	if o.Reading == 0 {
		o.Reading = 20 * time.Millisecond
	}
	return o
}

// beat is what happens twice a second: the quorum writes, the driver writes
// both stores, our client sends.
func (c *Cluster) beat() {
	if c.quorum.leader != 0 {
		c.quorum.highWatermark++
	}
	c.dualWrite()
	c.clientBeat()
	c.rules.watch(c)
	// Not scaled: it is the pace of looking, not of the nodes.
	c.in(time.Duration(float64(tick)*c.speed), (*Cluster).beat)
}

// Migration is the configuration that describes this cluster.
func (c *Cluster) Migration() config.Migration { return c.cfg }

// brokers and controllers in order of id.
func (c *Cluster) brokers() []*node     { return c.byRole[cluster.Broker] }
func (c *Cluster) controllers() []*node { return c.byRole[cluster.Controller] }

// sort lists the nodes by role once all are there.
func (c *Cluster) sort() {
	c.byRole = map[cluster.Role][]*node{}
	for _, n := range c.cfg.Nodes {
		c.byRole[n.Role] = append(c.byRole[n.Role], c.nodes[n.ID])
	}
}

// pick draws one of the nodes; nil when there is none.
func (c *Cluster) pick(nodes []*node) *node {
	if len(nodes) == 0 {
		return nil
	}
	return nodes[c.rng.IntN(len(nodes))]
}

func (c *Cluster) mint() string {
	c.minted++
	return fmt.Sprintf("topic%017d", c.minted)
}
