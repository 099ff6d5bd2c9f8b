package simcluster

import (
	"strings"
	"time"

	"migrator/internal/facts"
)

func zk[T any](c *Cluster, v T, path string, begun time.Time) facts.Fact[T] {
	if !c.zk.writable() {
		return facts.Unknown[T]("connection loss", path, begun)
	}
	return facts.Known(v, path, begun)
}

func (c *Cluster) zooKeeperFacts(s *facts.Snapshot, begun time.Time) {
	z := &c.zk
	s.ClusterID = zk(c, clusterID, "/cluster/id", begun)
	s.Holder = zk(c, z.holderView(), "/controller", begun)
	s.ZKEpoch = zk(c, facts.ZKEpoch{Present: true, Value: z.epoch}, "/controller_epoch", begun)
	s.Migration = zk(c, z.migrationView(), "/migration", begun)
	s.Registered = zk(c, c.registeredView(), "/brokers/ids", begun)
	s.Writable = zk(c, true, "our znode", begun)
	s.Driver = zk(c, facts.Driver{Held: true}, "our znode", begun)
	s.Preflight = zk(c, facts.Preflight{}, "survey", begun)
	s.Deleting = zk(c, []string{}, "/admin/delete_topics", begun)
	marker := map[string]string{}
	if t := z.topics[c.cfg.Canary.Topic]; t != nil && t.marker != "" {
		marker[markerKey] = t.marker
	}
	s.ZKMarker = zk(c, marker, "/config/topics", begun)
	members := []facts.ZKMember{}
	for i, address := range strings.Split(zooKeeperAddress, ",") {
		serving := z.members[i] && z.writable()
		members = append(members, facts.ZKMember{Address: address, Serving: &serving})
	}
	s.Ensemble = facts.Known(members, "ruok", begun)
}

func (z *zookeeper) holderView() facts.Holder {
	if z.holder == nil {
		return facts.Holder{}
	}
	return facts.Holder{Present: true, ID: z.holder.id, KRaftEpoch: z.holder.epoch, Ephemeral: z.holder.owner != nil}
}

func (z *zookeeper) migrationView() facts.MigrationZnode {
	m := z.migration
	if m == nil {
		return facts.MigrationZnode{}
	}
	return facts.MigrationZnode{Present: true, ControllerID: m.controller, ControllerEpoch: m.epoch, Offset: m.offset, Version: m.version}
}

func (c *Cluster) registeredView() []facts.Registration {
	out := []facts.Registration{}
	for _, n := range c.brokers() {
		if r, ok := c.zk.ids[n.ID]; ok {
			out = append(out, facts.Registration{ID: n.ID, Host: n.Host, Port: 9092, Rack: n.Rack, Czxid: r.czxid})
		}
	}
	return out
}

// scanTopics is ZooKeeper's whole view of the topics.
func (c *Cluster) scanTopics(begun time.Time) facts.Fact[facts.ZKTopics] {
	out := facts.ZKTopics{Topics: map[string]facts.ZKTopic{}}
	for name, t := range c.zk.topics {
		v := facts.ZKTopic{ID: t.id, HasID: true, Partitions: map[int32]facts.ZKPartition{}}
		for i, p := range t.partitions {
			leader := p.leader
			if leader == 0 {
				leader = -1
			}
			v.Partitions[int32(i)] = facts.ZKPartition{Replicas: p.replicas, HasState: true, ISR: p.isr, Leader: leader,
				LeaderEpoch: p.epoch, ControllerEpoch: int32(p.elected)}
		}
		out.Topics[name] = v
	}
	return zk(c, out, "scan of /brokers/topics", begun)
}
