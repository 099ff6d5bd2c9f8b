package kafkaread

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Metadata is what one broker says of the whole cluster. A broker in
// ZooKeeper mode can be behind.
type Metadata struct {
	// From is the address of the broker that said it.
	From      string
	ClusterID string
	// ControllerID is the broker that Metadata calls controller: under a KRaft
	// controller some live broker at random. False HasController: nobody.
	ControllerID  int32
	HasController bool
	Brokers       []BrokerAddress
	Partitions    []Partition
}

// BrokerAddress is a live broker as clients reach it.
type BrokerAddress struct {
	ID   int32
	Host string
	Port int
	Rack *string
}

// Partition is one partition of any topic, internal ones included. Leader says
// nothing where HasLeader is false.
type Partition struct {
	Topic       string
	TopicID     string
	Partition   int32
	Leader      int32
	HasLeader   bool
	LeaderEpoch int32
	Replicas    []int32
	ISR         []int32
	Offline     []int32
}

// Metadata asks for all topics, of the first broker that answers.
func (b *Brokers) Metadata(ctx context.Context) (Metadata, error) {
	md, err := first(ctx, b, func(ctx context.Context, n *node) (Metadata, error) {
		req := kmsg.NewPtrMetadataRequest()
		req.Topics = nil // all of them
		resp, err := ask[*kmsg.MetadataResponse](ctx, n, req)
		if err != nil {
			return Metadata{}, err
		}
		md, err := metadataOf(resp)
		if err == nil {
			err = seesAll(ctx, n)
		}
		if err != nil {
			return Metadata{}, fmt.Errorf("Metadata at %s: %w", n.addr, err)
		}
		md.From = n.addr
		return md, nil
	})
	if err != nil {
		return Metadata{}, err
	}
	addrs := make([]string, 0, len(md.Brokers))
	for _, broker := range md.Brokers {
		addrs = append(addrs, net.JoinHostPort(broker.Host, strconv.Itoa(broker.Port)))
	}
	b.learn(addrs)
	return md, nil
}

// noTopic is a topic that nobody has: a broker says that it is unknown to who
// may describe every topic, and that he is not authorized to everybody else.
const noTopic = "__migrator_no_such_topic"

// seesAll: a broker leaves out of its answer, without a word, every topic that
// may not be described (KafkaApis of 3.9). What is left of it looks like a
// cluster in good health.
func seesAll(ctx context.Context, n *node) error {
	req := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = kmsg.StringPtr(noTopic)
	req.Topics, req.AllowAutoTopicCreation = []kmsg.MetadataRequestTopic{topic}, false
	resp, err := ask[*kmsg.MetadataResponse](ctx, n, req)
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		if err := codeErr(t.ErrorCode); errors.Is(err, ErrNotAuthorized) {
			return fmt.Errorf("topics are left out of the answer, since we may not Describe every topic: %w", err)
		}
	}
	return nil
}

func metadataOf(resp *kmsg.MetadataResponse) (Metadata, error) {
	if err := codeErr(resp.ErrorCode); err != nil {
		return Metadata{}, err
	}
	if resp.ClusterID == nil {
		return Metadata{}, errors.New("no cluster id")
	}
	md := Metadata{ClusterID: *resp.ClusterID, ControllerID: resp.ControllerID, HasController: resp.ControllerID >= 0}
	if !md.HasController {
		md.ControllerID = 0
	}
	for _, broker := range resp.Brokers {
		md.Brokers = append(md.Brokers, BrokerAddress{ID: broker.NodeID, Host: broker.Host, Port: int(broker.Port), Rack: broker.Rack})
	}
	for _, topic := range resp.Topics {
		if topic.Topic == nil {
			return Metadata{}, errors.New("a topic without a name")
		}
		if err := codeErr(topic.ErrorCode); err != nil {
			return Metadata{}, fmt.Errorf("topic %s: %w", *topic.Topic, err)
		}
		for _, p := range topic.Partitions {
			partition, err := partitionOf(*topic.Topic, topic.TopicID, p)
			if err != nil {
				return Metadata{}, err
			}
			md.Partitions = append(md.Partitions, partition)
		}
	}
	return md, nil
}

func partitionOf(topic string, id [16]byte, p kmsg.MetadataResponseTopicPartition) (Partition, error) {
	out := Partition{
		Topic: topic, TopicID: uuidText(id), Partition: p.Partition,
		Leader: p.Leader, HasLeader: p.Leader >= 0, LeaderEpoch: p.LeaderEpoch,
		Replicas: p.Replicas, ISR: p.ISR, Offline: p.OfflineReplicas,
	}
	switch err := codeErr(p.ErrorCode); {
	case err == nil, errors.Is(err, kerr.ReplicaNotAvailable):
	case errors.Is(err, kerr.LeaderNotAvailable), errors.Is(err, kerr.ListenerNotFound):
		out.HasLeader = false // the rest of the answer stands
	default:
		return Partition{}, fmt.Errorf("partition %s-%d: %w", topic, p.Partition, err)
	}
	if !out.HasLeader {
		out.Leader = 0
	}
	return out, nil
}

// uuidText writes an id the way Kafka's tools do.
func uuidText(id [16]byte) string { return base64.RawURLEncoding.EncodeToString(id[:]) }
