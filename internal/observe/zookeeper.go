package observe

import (
	"context"

	"migrator/internal/facts"
)

// zookeeperReads are the small reads of every round; they share one session.
func (o *Observer) zookeeperReads(Want) []read {
	zk := o.sources.zk
	return []read{
		question(o, "znode /cluster/id", func(s *facts.Snapshot, f facts.Fact[string]) { s.ClusterID = f }, zk.clusterID),
		question(o, "znode /controller", func(s *facts.Snapshot, f facts.Fact[facts.Holder]) { s.Holder = f }, zk.holder),
		question(o, "znode /controller_epoch", func(s *facts.Snapshot, f facts.Fact[facts.ZKEpoch]) { s.ZKEpoch = f }, zk.epoch),
		question(o, "znode /migration", func(s *facts.Snapshot, f facts.Fact[facts.MigrationZnode]) { s.Migration = f }, zk.migration),
		question(o, "znodes /brokers/ids", func(s *facts.Snapshot, f facts.Fact[[]facts.Registration]) { s.Registered = f }, o.registered),
		question(o, "srvr of each ZooKeeper server", func(s *facts.Snapshot, f facts.Fact[[]facts.ZKMember]) { s.Ensemble = f }, zk.ensemble),
		question(o, "znodes /admin/delete_topics", func(s *facts.Snapshot, f facts.Fact[[]string]) { s.Deleting = f }, zk.deleting),
		o.marker(),
		dependency(o, "our driver znode", func(s *facts.Snapshot, f facts.Fact[facts.Driver]) { s.Driver = f }, o.deps.Driver),
		dependency(o, "a write of our driver znode", func(s *facts.Snapshot, f facts.Fact[bool]) { s.Writable = f }, o.deps.Writable),
	}
}

// registered remembers where brokers registered, for those that Metadata has
// never named.
func (o *Observer) registered(ctx context.Context) ([]facts.Registration, error) {
	list, err := o.sources.zk.registered(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range list {
		o.book.registered(r.ID, r.Host, r.Port)
	}
	return list, nil
}

// marker reads the configuration of the canary's topic as ZooKeeper has it.
func (o *Observer) marker() read {
	topic := o.m.Canary.Topic
	set := func(s *facts.Snapshot, f facts.Fact[map[string]string]) { s.ZKMarker = f }
	if o.m.Canary.Off || topic == "" {
		return unasked(o, "znode of the canary topic's configuration", "the canary is off", set)
	}
	return question(o, "znode /config/topics/"+topic, set, func(ctx context.Context) (map[string]string, error) {
		return o.sources.zk.topic(ctx, topic)
	})
}

// dependency is a question to a function that the owner of the observer may not have.
func dependency[T any](o *Observer, source string, set func(*facts.Snapshot, facts.Fact[T]), ask func(context.Context) (T, error)) read {
	if ask == nil {
		return unasked(o, source, "this service does not ask", set)
	}
	return question(o, source, set, ask)
}
