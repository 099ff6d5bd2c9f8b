package kafkaread

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// onQuorum answers DescribeQuorum.
func (f *fakeController) onQuorum(answer func(*kmsg.DescribeQuorumResponseTopicPartition)) {
	control(f.cluster, keyDescribeQuorum, func(req *kmsg.DescribeQuorumRequest) (kmsg.Response, error) {
		resp := req.ResponseKind().(*kmsg.DescribeQuorumResponse)
		topic := kmsg.NewDescribeQuorumResponseTopic()
		topic.Topic = req.Topics[0].Topic
		p := kmsg.NewDescribeQuorumResponseTopicPartition()
		answer(&p)
		topic.Partitions = append(topic.Partitions, p)
		resp.Topics = append(resp.Topics, topic)
		return resp, nil
	})
}

func replicaState(id int32, end, fetched, caughtUp int64) kmsg.DescribeQuorumResponseTopicPartitionReplicaState {
	s := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
	s.ReplicaID, s.LogEndOffset, s.LastFetchTimestamp, s.LastCaughtUpTimestamp = id, end, fetched, caughtUp
	return s
}

func TestQuorum(t *testing.T) {
	static := uuidText([16]byte{})
	tests := []struct {
		name   string
		answer func(*kmsg.DescribeQuorumResponseTopicPartition)
		want   Quorum
		err    error
	}{
		{
			"the leader tells all",
			func(p *kmsg.DescribeQuorumResponseTopicPartition) {
				p.LeaderID, p.LeaderEpoch, p.HighWatermark = 3001, 4, 57
				p.CurrentVoters = append(p.CurrentVoters, replicaState(3001, 58, -1, -1), replicaState(3002, -1, -1, -1))
				p.Observers = append(p.Observers, replicaState(1, 57, 2000, 1000))
			},
			Quorum{
				IsLeader: true, Leader: 3001, HasLeader: true, Epoch: 4, HighWatermark: 57, HasHighWatermark: true,
				Voters:    []Replica{{ID: 3001, DirectoryID: static, LogEndOffset: 58, HasOffset: true}, {ID: 3002, DirectoryID: static}},
				Observers: []Replica{{ID: 1, DirectoryID: static, LogEndOffset: 57, HasOffset: true, LastFetch: time.UnixMilli(2000), LastCaughtUp: time.UnixMilli(1000)}},
			},
			nil,
		},
		{
			"a leader that has just won knows no high watermark",
			func(p *kmsg.DescribeQuorumResponseTopicPartition) {
				p.LeaderID, p.LeaderEpoch, p.HighWatermark = 3001, 4, -1
			},
			Quorum{IsLeader: true, Leader: 3001, HasLeader: true, Epoch: 4, Voters: []Replica{}, Observers: []Replica{}},
			nil,
		},
		{"a follower says that it is none, and nothing else", func(p *kmsg.DescribeQuorumResponseTopicPartition) { p.ErrorCode = 6 }, Quorum{}, nil},
		{"a refusal is told apart", func(p *kmsg.DescribeQuorumResponseTopicPartition) { p.ErrorCode = 31 }, Quorum{}, ErrNotAuthorized},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newController(t)
			f.onQuorum(test.answer)
			got, err := openControllers(t, f.addr).Quorum(withTimeout(t), 3001)
			if !errors.Is(err, test.err) {
				t.Fatalf("error %v, want %v", err, test.err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestADeadControllerDelaysOnlyItself(t *testing.T) {
	f := newController(t)
	f.onQuorum(func(p *kmsg.DescribeQuorumResponseTopicPartition) { p.LeaderID = 3001 })
	c := openControllers(t, f.addr, hungAddr(t), deadAddr(t))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	hung := make(chan error, 1)
	go func() {
		_, err := c.Quorum(ctx, 3002)
		hung <- err
	}()
	if _, err := c.Quorum(withTimeout(t), 3003); err == nil || !strings.Contains(err.Error(), "controller 3003") {
		t.Errorf("error %v, want it to name controller 3003", err)
	}
	if q, err := c.Quorum(withTimeout(t), 3001); err != nil || !q.IsLeader {
		t.Errorf("the live one: %+v, %v", q, err)
	}
	if err := <-hung; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the hung one: %v, want the deadline", err)
	}
}

func TestControllerAPI(t *testing.T) {
	f := newController(t)
	c := openControllers(t, f.addr)
	got, err := c.API(withTimeout(t), 3001)
	want := API{HasDescribeQuorum: true, ZkMigrationReady: true, Finalized: map[string]int16{"metadata.version": 21}, Supported: map[string]Levels{}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if _, err := c.API(withTimeout(t), 3009); err == nil {
		t.Error("a controller without an address answered")
	}
}
