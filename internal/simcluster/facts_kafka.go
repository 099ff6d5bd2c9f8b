package simcluster

import (
	"fmt"
	"slices"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/configgen"
	"migrator/internal/facts"
	"migrator/internal/kraftlog"
	"migrator/internal/observe"
)

// brokerFacts are what any live broker answers.
func (c *Cluster) brokerFacts(s *facts.Snapshot, want observe.Want, begun time.Time) {
	s.API = map[int32]facts.Fact[facts.API]{}
	for _, n := range c.nodes {
		s.API[n.ID] = c.apiFact(n, begun)
	}
	c.settingFacts(s, want, begun)
	if want.Named {
		c.namedFacts(s, begun)
	}
	const source = "Metadata through brokers"
	if !slices.ContainsFunc(c.brokers(), func(n *node) bool { return n.serves() && !c.unreachable(n.ID) }) {
		s.Metadata = facts.Unknown[facts.Metadata]("no broker answers", source, begun)
		s.MinISR = facts.Unknown[map[string]int]("no broker answers", source, begun)
		s.Reassigning = facts.Unknown[[]string]("no broker answers", source, begun)
		return
	}
	told := c.describe()
	md := facts.Metadata{ClusterID: clusterID, Partitions: told.partitions}
	for _, n := range c.brokers() {
		if n.serves() {
			md.Brokers = append(md.Brokers, facts.MetadataBroker{ID: n.ID, Host: n.Host, Port: 9092})
		}
	}
	s.Metadata = facts.Known(md, source, begun)
	s.MinISR = facts.Known(told.minISR, "DescribeConfigs through brokers", begun)
	s.Reassigning = facts.Known([]string{}, "ListPartitionReassignments", begun)
}

// namedFacts are whom each broker takes for the controller: under a quorum any
// broker's id, another one in each answer.
func (c *Cluster) namedFacts(s *facts.Snapshot, begun time.Time) {
	s.Named = map[int32]facts.Fact[[]int32]{}
	for _, n := range c.brokers() {
		if !n.serves() || c.unreachable(n.ID) {
			continue
		}
		named := make([]int32, 10)
		for i := range named {
			named[i] = c.pick(c.brokers()).ID
			if c.acting() == byZooKeeper {
				named[i] = c.zk.holder.id
			}
		}
		s.Named[n.ID] = facts.Known(named, "Metadata of one broker", begun)
	}
}

// quorumFacts are each controller's own answers and the log of the leader.
func (c *Cluster) quorumFacts(s *facts.Snapshot, begun time.Time) {
	q := &c.quorum
	s.Quorum = map[int32]facts.Fact[facts.Quorum]{}
	s.Log = facts.Unknown[facts.Log]("no controller says it leads", "metadata log", begun)
	for _, n := range c.controllers() {
		source := fmt.Sprintf("DescribeQuorum at controller %d", n.ID)
		if !n.serves() || c.unreachable(n.ID) {
			s.Quorum[n.ID] = facts.Unknown[facts.Quorum]("connection refused", source, begun)
			continue
		}
		v := facts.Quorum{Leader: q.leader, HasLeader: q.leader != 0, Epoch: q.epoch, IsLeader: q.leader == n.ID}
		if v.IsLeader {
			v.HighWatermark = q.highWatermark
			v.Voters, v.Observers = c.followers()
			s.Log = facts.Known(facts.Log{Leader: q.leader, Epoch: q.epoch, HighWatermark: q.highWatermark, Image: c.image()}, "metadata log", begun)
		}
		s.Quorum[n.ID] = facts.Known(v, source, begun)
	}
}

// followers as the leader sees them; it forgets a dead observer after minutes.
func (c *Cluster) followers() (voters, observers []facts.Replica) {
	replica := func(n *node) facts.Replica {
		return facts.Replica{ID: n.ID, LogEndOffset: n.logEnd, LastFetch: n.lastFetch, LastCaughtUp: n.lastFetch}
	}
	for _, n := range c.controllers() {
		voters = append(voters, replica(n))
	}
	for _, n := range c.brokers() {
		if !n.lastFetch.IsZero() && c.now.Sub(n.lastFetch) < 5*time.Minute {
			observers = append(observers, replica(n))
		}
	}
	return voters, observers
}

// image is the metadata log folded.
func (c *Cluster) image() kraftlog.Image {
	q := &c.quorum
	out := kraftlog.Image{Offset: q.highWatermark - 1, HasOffset: q.highWatermark > 0, Epoch: q.epoch, State: q.state, HasState: q.hasState,
		LastChange: q.lastChange, HasChange: q.lastChange > 0,
		Brokers: map[int32]kraftlog.Broker{}, Controllers: map[int32]kraftlog.Controller{}, Topics: map[string]kraftlog.Topic{},
		Features: map[string]int16{"metadata.version": q.level}, TopicConfigs: map[string]map[string]string{}}
	for id, r := range q.brokers {
		rack := c.nodes[id].Rack
		out.Brokers[id] = kraftlog.Broker{ID: id, Incarnation: r.owner.incarnation(), MigratingZK: r.migrating, Fenced: r.fenced,
			InControlledShutdown: r.owner.drained, Rack: &rack, RegisteredAt: r.offset, Epoch: r.offset}
	}
	for id, r := range q.controllers {
		out.Controllers[id] = kraftlog.Controller{ID: id, Incarnation: r.owner.incarnation(), ZkMigrationReady: r.ready, Offset: r.offset}
	}
	if q.state != cluster.StateMigration && q.state != cluster.StatePostMigration {
		return out
	}
	told := c.describe()
	out.Topics, out.TopicConfigs = told.topics, told.configs
	return out
}

// described is what readers are told of the topics. Nobody changes it; it is
// made anew after a change to a topic.
type described struct {
	changes    int
	partitions []facts.Partition
	minISR     map[string]int
	topics     map[string]kraftlog.Topic
	configs    map[string]map[string]string
}

func (c *Cluster) describe() described {
	if c.told.topics != nil && c.told.changes == c.changes {
		return c.told
	}
	d := described{changes: c.changes, minISR: map[string]int{}, topics: map[string]kraftlog.Topic{}, configs: map[string]map[string]string{}}
	for _, name := range c.topicNames() {
		t := c.topics[name]
		d.minISR[name] = t.minISR
		if t.marker != "" {
			d.configs[name] = map[string]string{markerKey: t.marker}
		}
		v := kraftlog.Topic{ID: t.id, Partitions: map[int32]kraftlog.Partition{}}
		for i, p := range t.partitions {
			number := int32(i)
			d.partitions = append(d.partitions, facts.Partition{Topic: name, Partition: number, HasLeader: p.leader != 0, Leader: p.leader,
				LeaderEpoch: p.epoch, Replicas: p.replicas, ISR: p.isr})
			v.Partitions[number] = kraftlog.Partition{Replicas: p.replicas, ISR: p.isr, Leader: p.leader,
				HasLeader: p.leader != 0, LeaderEpoch: p.epoch, PartitionEpoch: p.changes}
		}
		d.topics[name] = v
	}
	c.told = d
	return d
}

// settingFacts are what wanted brokers run with: their file as it was at their start.
func (c *Cluster) settingFacts(s *facts.Snapshot, want observe.Want, begun time.Time) {
	s.Settings = map[int32]facts.Fact[[]facts.Setting]{}
	for _, n := range c.brokers() {
		if !slices.Contains(want.Settings, n.ID) || !n.serves() || c.unreachable(n.ID) {
			continue
		}
		doc, err := configgen.Parse(n.proc.file)
		if err != nil {
			continue
		}
		var list []facts.Setting
		for _, key := range doc.Keys() {
			value, _ := doc.Value(key)
			list = append(list, facts.Setting{Name: key, Value: value, Source: "static"})
		}
		s.Settings[n.ID] = facts.Known(list, "DescribeConfigs", begun)
	}
}
