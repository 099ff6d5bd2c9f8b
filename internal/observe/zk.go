package observe

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"

	"migrator/internal/facts"
	"migrator/internal/zkread"
)

// zkSession bounds how long a silent ZooKeeper member is waited for before
// the next one is tried. It is above the least a server grants (two ticks of 2 s).
const zkSession = 6 * time.Second

// memberLimit is how long one ZooKeeper server has to answer. It is less than
// a read's limit, so that a silent member is named instead of all being unknown.
const memberLimit = 1500 * time.Millisecond

// openZooKeeper answers in facts; protocol is the one that we speak to brokers.
func openZooKeeper(r *zkread.Reader, protocol string) zookeeperSource {
	return zookeeperSource{
		clusterID: r.ClusterID,
		holder: func(ctx context.Context) (facts.Holder, error) {
			c, err := r.Controller(ctx)
			return holderFact(c), err
		},
		epoch: func(ctx context.Context) (facts.ZKEpoch, error) {
			e, err := r.ControllerEpoch(ctx)
			return facts.ZKEpoch{Present: e.Present, Value: int(e.Value)}, err
		},
		migration: func(ctx context.Context) (facts.MigrationZnode, error) {
			m, err := r.Migration(ctx)
			return migrationFact(m), err
		},
		registered: func(ctx context.Context) ([]facts.Registration, error) {
			list, err := r.Brokers(ctx)
			if err != nil {
				return nil, err // a partial list would hide a broker
			}
			return registrations(list, protocol), nil
		},
		ensemble: func(ctx context.Context) ([]facts.ZKMember, error) { return ensemble(ctx, r) },
		deleting: r.PendingDeletions,
		topic: func(ctx context.Context, name string) (map[string]string, error) {
			config, _, err := r.TopicConfig(ctx, name) // no znode says the same as no overrides
			return config, err
		},
		topics: func(ctx context.Context) (facts.ZKTopics, error) { return scanTopics(ctx, r) },
	}
}

func holderFact(c zkread.Controller) facts.Holder {
	h := facts.Holder{Present: c.Present, ID: c.BrokerID, Ephemeral: c.Ephemeral}
	if c.HeldByKRaft() {
		h.KRaftEpoch = c.KRaftEpoch
	}
	return h
}

// migrationFact turns Kafka's -1 into nil: it means "not yet".
func migrationFact(m zkread.Migration) facts.MigrationZnode {
	out := facts.MigrationZnode{Present: m.Present, Null: m.Null, Version: m.ZnodeVersion}
	if !m.Present || m.Null {
		return out
	}
	if m.ControllerID >= 0 {
		out.ControllerID = &m.ControllerID
	}
	if m.ControllerEpoch >= 0 {
		out.ControllerEpoch = &m.ControllerEpoch
	}
	if m.Offset >= 0 {
		out.Offset = &m.Offset
	}
	return out
}

func registrations(list []zkread.BrokerRegistration, protocol string) []facts.Registration {
	out := make([]facts.Registration, 0, len(list))
	for _, b := range list {
		r := facts.Registration{ID: b.ID, Czxid: b.Czxid}
		r.Host, r.Port = reachedAt(b, protocol)
		if b.Rack != nil {
			r.Rack = *b.Rack
		}
		out = append(out, r)
	}
	return out
}

// reachedAt is the first endpoint of the protocol that we speak; where there is
// none, the registration's own host (that of its plaintext endpoint) and port 0.
func reachedAt(b zkread.BrokerRegistration, protocol string) (host string, port int) {
	for _, endpoint := range b.Endpoints {
		name, address, ok := strings.Cut(endpoint, "://")
		speaks := b.ListenerMap[name]
		if speaks == "" {
			speaks = name // registrations of old have no map: the name is the protocol
		}
		if !ok || speaks != protocol {
			continue
		}
		host, text, err := net.SplitHostPort(address)
		if err != nil {
			continue
		}
		if port, err := strconv.Atoi(text); err == nil && port > 0 {
			return host, port
		}
	}
	return b.Host, 0
}

func ensemble(ctx context.Context, r *zkread.Reader) ([]facts.ZKMember, error) {
	short, cancel := context.WithTimeout(ctx, memberLimit)
	defer cancel()
	servers, err := r.Servers(short)
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	out := make([]facts.ZKMember, 0, len(servers))
	for _, s := range servers {
		out = append(out, memberFact(s))
	}
	return out, nil
}

// memberFact leaves Serving nil for a member that runs and does not tell.
func memberFact(s zkread.Server) facts.ZKMember {
	m := facts.ZKMember{Address: s.Addr, Mode: s.Mode, Version: s.Version}
	if s.Err != nil {
		m.Why = cause(s.Err)
	}
	var serving bool
	switch s.State {
	case zkread.Serving:
		serving = true
	case zkread.Down, zkread.NotServing:
	default:
		return m
	}
	m.Serving = &serving
	return m
}

// scanTopics reads all topics and then their states. What cannot be decoded
// makes the whole scan unknown: parity over the rest would prove nothing.
func scanTopics(ctx context.Context, r *zkread.Reader) (facts.ZKTopics, error) {
	topics, err := r.Topics(ctx, nil)
	if err != nil {
		return facts.ZKTopics{}, err
	}
	states, err := r.PartitionStates(ctx, topics)
	if err != nil {
		return facts.ZKTopics{}, err
	}
	out := facts.ZKTopics{Topics: make(map[string]facts.ZKTopic, len(topics))}
	for name, t := range topics {
		out.Topics[name] = topicFact(t, states[name])
	}
	return out, nil
}

func topicFact(t zkread.Topic, states map[int32]zkread.PartitionState) facts.ZKTopic {
	out := facts.ZKTopic{Partitions: make(map[int32]facts.ZKPartition, len(t.Partitions))}
	if t.ID != nil {
		out.ID, out.HasID = *t.ID, true
	}
	for id, replicas := range t.Partitions {
		p := facts.ZKPartition{Replicas: replicas}
		if s, ok := states[id]; ok {
			p.HasState, p.ISR = true, s.ISR
			p.Leader, p.LeaderEpoch, p.ControllerEpoch = s.Leader, s.LeaderEpoch, s.ControllerEpoch
		}
		out.Partitions[id] = p
	}
	return out
}
