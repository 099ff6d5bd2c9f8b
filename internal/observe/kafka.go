package observe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync/atomic"

	"migrator/internal/canary"
	"migrator/internal/facts"
	"migrator/internal/kafkaread"
	"migrator/internal/survey"
)

// metadataVersion is the feature whose finalized level ApiVersions shows.
const metadataVersion = "metadata.version"

func openBrokers(b *kafkaread.Brokers) brokersSource {
	return brokersSource{
		metadata: func(ctx context.Context) (facts.Metadata, error) {
			md, err := b.Metadata(ctx)
			return metadataFact(md), err
		},
		minISR: func(ctx context.Context) (map[string]int, error) {
			md, err := b.Metadata(ctx)
			if err != nil {
				return nil, err
			}
			return b.MinISR(ctx, topicNames(md))
		},
		reassigning: func(ctx context.Context) ([]string, error) {
			moves, err := b.Reassignments(ctx)
			names := make([]string, 0, len(moves))
			for _, m := range moves {
				names = append(names, fmt.Sprintf("%s-%d", m.Topic, m.Partition))
			}
			slices.Sort(names)
			return names, err
		},
		api: func(ctx context.Context, _ int32, address string) (facts.API, error) {
			host, port, err := split(address)
			if err != nil {
				return facts.API{}, err
			}
			api, err := b.API(ctx, host, port)
			return apiFact(api), err
		},
		named: func(ctx context.Context, address string) ([]int32, error) {
			host, port, err := split(address)
			if err != nil {
				return nil, err
			}
			return b.Named(ctx, host, port, namedTimes)
		},
		settings: func(ctx context.Context, id int32, address string) ([]facts.Setting, error) {
			host, port, err := split(address)
			if err != nil {
				return nil, err
			}
			list, err := b.Settings(ctx, host, port, id)
			return survey.Settings(list), err
		},
	}
}

// namedTimes is how often a broker is asked whom it takes for the controller:
// three brokers led by KRaft give ten equal answers once in 20,000 tries.
const namedTimes = 10

func split(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	port, err = strconv.Atoi(text)
	return host, port, err
}

func openControllers(c *kafkaread.Controllers) controllersSource {
	log := c.NewLog()
	var forget atomic.Bool
	return controllersSource{
		forget: func() { forget.Store(true) },
		quorum: func(ctx context.Context, id int32) (facts.Quorum, error) {
			q, err := c.Quorum(ctx, id)
			if err != nil {
				return facts.Quorum{}, err
			}
			return quorumFact(q)
		},
		api: func(ctx context.Context, id int32) (facts.API, error) {
			api, err := c.API(ctx, id)
			return apiFact(api), err
		},
		// One poll at a time is the rule of reads of one name.
		log: func(ctx context.Context, leader int32, q facts.Quorum) (facts.Log, error) {
			if forget.Swap(false) {
				log.Forget()
			}
			image, highWatermark, err := log.Poll(ctx, leader, q.Epoch)
			return facts.Log{Leader: leader, Epoch: q.Epoch, HighWatermark: highWatermark, Image: image}, err
		},
	}
}

func topicNames(md kafkaread.Metadata) []string {
	var names []string
	for _, p := range md.Partitions {
		names = append(names, p.Topic)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func metadataFact(md kafkaread.Metadata) facts.Metadata {
	out := facts.Metadata{ClusterID: md.ClusterID}
	for _, b := range md.Brokers {
		out.Brokers = append(out.Brokers, facts.MetadataBroker{ID: b.ID, Host: b.Host, Port: b.Port})
	}
	for _, p := range md.Partitions {
		out.Partitions = append(out.Partitions, facts.Partition{
			Topic: p.Topic, Partition: p.Partition,
			HasLeader: p.HasLeader, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch,
			Replicas: p.Replicas, ISR: p.ISR,
		})
	}
	return out
}

func apiFact(api kafkaread.API) facts.API {
	out := facts.API{
		DescribeQuorum:   api.HasDescribeQuorum,
		UpdateMetadata:   api.HasUpdateMetadata,
		ZkMigrationReady: api.ZkMigrationReady,
	}
	if level, ok := api.Finalized[metadataVersion]; ok {
		out.MetadataVersion = &level
	}
	return out
}

// errNewLeader is a leader that has just won: it does not know yet what is
// committed, and a high watermark of 0 would claim that nothing is.
var errNewLeader = errors.New("it has just been elected and knows no high watermark yet")

func quorumFact(q kafkaread.Quorum) (facts.Quorum, error) {
	if q.IsLeader && !q.HasHighWatermark {
		return facts.Quorum{}, errNewLeader
	}
	return facts.Quorum{
		IsLeader: q.IsLeader, Leader: q.Leader, HasLeader: q.HasLeader,
		Epoch: q.Epoch, HighWatermark: q.HighWatermark,
		Voters: replicas(q.Voters), Observers: replicas(q.Observers),
	}, nil
}

// replicas keeps 0 as the end of a log the leader has not heard of: that reads
// as far behind, never as caught up.
func replicas(list []kafkaread.Replica) []facts.Replica {
	var out []facts.Replica
	for _, r := range list {
		out = append(out, facts.Replica{ID: r.ID, LogEndOffset: r.LogEndOffset, LastFetch: r.LastFetch, LastCaughtUp: r.LastCaughtUp})
	}
	return out
}

// canaryFact keeps of the canary's book what gates and pages look at.
func canaryFact(s canary.Stats) facts.Canary {
	return facts.Canary{
		Sent: s.Sent, Acked: s.Acked, Failed: s.Failed, Lost: s.Lost, Unchecked: s.Unchecked,
		LongestStall: s.LongestProduceStall, LongestMetadataStall: s.LongestMetadataStall,
		Stall: s.CurrentProduceStall, LastAck: s.LastAck,
		MarkerKey: s.LastMetadataWrite.Key, MarkerValue: s.LastMetadataWrite.Value, MarkerAt: s.LastMetadataWrite.At,
	}
}
