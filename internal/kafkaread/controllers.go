package kafkaread

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// metadataTopic is the one partition of the quorum, number 0.
const metadataTopic = "__cluster_metadata"

// Controllers asks each KRaft controller directly, over a client of its own:
// a dead one delays nobody's question but its own. Safe for concurrent use.
type Controllers struct {
	nodes map[int32]*node
}

// OpenControllers takes the controllers' listeners as host:port by node id; it
// connects to none yet.
func OpenControllers(addresses map[int32]string, opts ...Option) (*Controllers, error) {
	c := &Controllers{nodes: make(map[int32]*node, len(addresses))}
	for id, addr := range addresses {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			c.Close()
			return nil, fmt.Errorf("open controller %d: address %.100q: %w", id, addr, err)
		}
		n, err := dial(addr, newSettings(opts), true)
		if err != nil {
			c.Close()
			return nil, fmt.Errorf("open controller %d: %w", id, err)
		}
		c.nodes[id] = n
	}
	return c, nil
}

// Close ends all connections; later calls fail.
func (c *Controllers) Close() {
	for _, n := range c.nodes {
		n.close()
	}
}

func (c *Controllers) node(id int32) (*node, error) {
	n, ok := c.nodes[id]
	if !ok {
		return nil, fmt.Errorf("controller %d: no address known", id)
	}
	return n, nil
}

// API asks one controller what it is.
func (c *Controllers) API(ctx context.Context, id int32) (API, error) {
	n, err := c.node(id)
	if err != nil {
		return API{}, err
	}
	api, err := n.api(ctx)
	if err != nil {
		return API{}, fmt.Errorf("controller %d: %w", id, err)
	}
	return api, nil
}

// Quorum is the quorum in the eyes of one controller. Only a leader sees it:
// where IsLeader is false, nothing else is known and HasLeader is false.
type Quorum struct {
	IsLeader  bool
	Leader    int32
	HasLeader bool
	Epoch     int32
	// HighWatermark is the offset below which all is decided. A leader that
	// has just won does not know it yet: HasHighWatermark is false then.
	HighWatermark    int64
	HasHighWatermark bool
	Voters           []Replica
	Observers        []Replica
}

// Replica is a voter or observer in the leader's eyes. A dead observer is
// listed for five minutes more, so being listed is no sign of life.
type Replica struct {
	ID int32
	// DirectoryID is as Kafka prints it: all A for the voters of a static quorum.
	DirectoryID string
	// LogEndOffset says nothing where HasOffset is false.
	LogEndOffset int64
	HasOffset    bool
	// LastFetch and LastCaughtUp are by the leader's clock; zero for the
	// leader itself or where it has not seen one.
	LastFetch    time.Time
	LastCaughtUp time.Time
}

// Quorum asks one controller. That it does not lead is an answer, not an error.
func (c *Controllers) Quorum(ctx context.Context, id int32) (Quorum, error) {
	n, err := c.node(id)
	if err != nil {
		return Quorum{}, err
	}
	resp, err := ask[*kmsg.DescribeQuorumResponse](ctx, n, describeQuorum())
	if err != nil {
		return Quorum{}, fmt.Errorf("controller %d: %w", id, err)
	}
	q, err := quorumOf(resp)
	if err != nil {
		return Quorum{}, fmt.Errorf("controller %d: DescribeQuorum at %s: %w", id, n.addr, err)
	}
	return q, nil
}

func describeQuorum() *kmsg.DescribeQuorumRequest {
	partition := kmsg.NewDescribeQuorumRequestTopicPartition()
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic, topic.Partitions = metadataTopic, append(topic.Partitions, partition)
	req := kmsg.NewPtrDescribeQuorumRequest()
	req.Topics = append(req.Topics, topic)
	return req
}

func quorumOf(resp *kmsg.DescribeQuorumResponse) (Quorum, error) {
	if err := codeErr(resp.ErrorCode); err != nil {
		return Quorum{}, err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return Quorum{}, errors.New("answer is not about one partition")
	}
	p := resp.Topics[0].Partitions[0]
	err := codeErr(p.ErrorCode)
	if errors.Is(err, kerr.NotLeaderForPartition) {
		return Quorum{}, nil // the leader fields of this answer are 0, not a hint
	}
	if err != nil {
		return Quorum{}, err
	}
	q := Quorum{
		IsLeader: true, Leader: p.LeaderID, HasLeader: p.LeaderID >= 0, Epoch: p.LeaderEpoch,
		HighWatermark: p.HighWatermark, HasHighWatermark: p.HighWatermark >= 0,
		Voters: replicasOf(p.CurrentVoters), Observers: replicasOf(p.Observers),
	}
	if !q.HasHighWatermark {
		q.HighWatermark = 0
	}
	return q, nil
}

func replicasOf(states []kmsg.DescribeQuorumResponseTopicPartitionReplicaState) []Replica {
	out := make([]Replica, 0, len(states))
	for _, s := range states {
		r := Replica{
			ID: s.ReplicaID, DirectoryID: uuidText(s.ReplicaDirectoryID),
			LogEndOffset: s.LogEndOffset, HasOffset: s.LogEndOffset >= 0,
			LastFetch: millis(s.LastFetchTimestamp), LastCaughtUp: millis(s.LastCaughtUpTimestamp),
		}
		if !r.HasOffset {
			r.LogEndOffset = 0
		}
		out = append(out, r)
	}
	return out
}

func millis(ms int64) time.Time {
	if ms < 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
