package kafkaread

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func openBrokers(t *testing.T, seeds ...string) *Brokers {
	t.Helper()
	b, err := OpenBrokers(seeds)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func TestMetadataSurvivesDeadSeeds(t *testing.T) {
	c := fakeCluster(t, kfake.NumBrokers(3), kfake.ClusterID("cluster-1"), kfake.SeedTopics(4, "orders", "__consumer_offsets"))
	live := c.ListenAddrs()[1]
	tests := []struct {
		name  string
		seeds []string
	}{
		{"the only seed lives", []string{live}},
		{"nothing listens at the first seed", []string{deadAddr(t), live}},
		{"the first seed accepts and never answers", []string{hungAddr(t), live}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			md, err := openBrokers(t, test.seeds...).Metadata(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if md.ClusterID != "cluster-1" || md.From != live || len(md.Brokers) != 3 || len(md.Partitions) != 8 {
				t.Fatalf("cluster %q from %s with %d brokers, %d partitions", md.ClusterID, md.From, len(md.Brokers), len(md.Partitions))
			}
			for _, p := range md.Partitions {
				if !p.HasLeader || len(p.Replicas) == 0 || len(p.ISR) == 0 || len(p.TopicID) != 22 {
					t.Errorf("partition %+v", p)
				}
			}
		})
	}
}

// Without the right to describe topics a broker answers as if there were none.
func TestTopicsThatMayNotBeDescribedAreNoEmptyCluster(t *testing.T) {
	c := fakeCluster(t, kfake.NumBrokers(1), kfake.SeedTopics(4, "orders"))
	control(c, keyMetadata, func(req *kmsg.MetadataRequest) (kmsg.Response, error) {
		resp := req.ResponseKind().(*kmsg.MetadataResponse)
		resp.ClusterID = kmsg.StringPtr("cluster-1")
		for _, asked := range req.Topics {
			topic := kmsg.NewMetadataResponseTopic()
			topic.Topic, topic.ErrorCode = asked.Topic, kerr.TopicAuthorizationFailed.Code
			resp.Topics = append(resp.Topics, topic)
		}
		return resp, nil
	})
	md, err := openBrokers(t, c.ListenAddrs()[0]).Metadata(withTimeout(t))
	if !errors.Is(err, ErrNotAuthorized) || !strings.Contains(err.Error(), "left out") {
		t.Errorf("got %+v and %v, want an error that topics are left out", md, err)
	}
}

func TestTheBrokerThatAnsweredLastIsAskedFirst(t *testing.T) {
	c := fakeCluster(t, kfake.NumBrokers(2))
	fails := true
	c.ControlKey(keyMetadata, func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		return nil, errors.New("hang up"), fails && c.CurrentNode() == 0
	})
	b := openBrokers(t, c.ListenAddrs()...)
	for range 2 { // both answer at the second time
		md, err := b.Metadata(withTimeout(t))
		if err != nil || md.From != c.ListenAddrs()[1] {
			t.Fatalf("from %q, %v; want the second broker", md.From, err)
		}
		fails = false
	}
}

func TestMetadataNeedsAnAnswer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	dead, hung := deadAddr(t), hungAddr(t)
	_, err := openBrokers(t, dead, hung).Metadata(ctx)
	if err == nil || !strings.Contains(err.Error(), dead) || !strings.Contains(err.Error(), hung) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want both addresses and the deadline", err)
	}
}

func TestMetadataPartitions(t *testing.T) {
	tests := []struct {
		name      string
		topicCode int16
		code      int16
		leader    int32
		want      Partition
		wantErr   string
	}{
		{"with a leader", 0, 0, 2, Partition{Leader: 2, HasLeader: true}, ""},
		{"without a leader", 0, 5, -1, Partition{}, ""},
		{"whose leader lacks the listener we ask at", 0, 72, 2, Partition{}, ""},
		{"with an error that says nothing of its leader", 0, 56, 2, Partition{}, "orders-0"},
		{"of a topic in error", 17, 0, 2, Partition{}, "topic orders"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			name, cluster := "orders", "c"
			p := kmsg.NewMetadataResponseTopicPartition()
			p.Leader, p.LeaderEpoch, p.ErrorCode, p.ISR = test.leader, 7, test.code, []int32{2, 3}
			topic := kmsg.NewMetadataResponseTopic()
			topic.Topic, topic.ErrorCode, topic.Partitions = &name, test.topicCode, append(topic.Partitions, p)
			md, err := metadataOf(&kmsg.MetadataResponse{ClusterID: &cluster, ControllerID: -1, Topics: []kmsg.MetadataResponseTopic{topic}})
			if test.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantErr) {
					t.Errorf("error %v, want it to name %s", err, test.wantErr)
				}
				return
			}
			test.want.Topic, test.want.TopicID, test.want.LeaderEpoch, test.want.ISR = "orders", uuidText([16]byte{}), 7, []int32{2, 3}
			if diff := cmp.Diff(Metadata{ClusterID: "c", Partitions: []Partition{test.want}}, md); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}

func TestMinISRIsTheEffectiveValue(t *testing.T) {
	c := fakeCluster(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "plain"))
	if err := c.CreateTopic("strict", 1, map[string]string{"min.insync.replicas": "2"}); err != nil {
		t.Fatal(err)
	}
	got, err := openBrokers(t, c.ListenAddrs()...).MinISR(withTimeout(t), []string{"plain", "strict", "gone"})
	if diff := cmp.Diff(map[string]int{"plain": 1, "strict": 2}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestReassignmentsAsksOnUntilAControllerAnswers(t *testing.T) {
	tests := []struct {
		name    string
		refuse  int // so many brokers are not the controller
		code    int16
		wantErr error
	}{
		{"the first broker knows", 0, 41, nil},
		{"the third broker knows", 2, 41, nil},
		{"nobody is allowed to say", 3, 31, ErrNotAuthorized},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := fakeCluster(t, kfake.NumBrokers(3))
			asked := 0
			control(c, 46, func(req *kmsg.ListPartitionReassignmentsRequest) (kmsg.Response, error) {
				resp := req.ResponseKind().(*kmsg.ListPartitionReassignmentsResponse)
				if asked++; asked <= test.refuse {
					resp.ErrorCode = test.code
					return resp, nil
				}
				p := kmsg.NewListPartitionReassignmentsResponseTopicPartition()
				p.Partition, p.Replicas, p.AddingReplicas, p.RemovingReplicas = 4, []int32{1, 2}, []int32{2}, []int32{1}
				topic := kmsg.NewListPartitionReassignmentsResponseTopic()
				topic.Topic, topic.Partitions = "orders", append(topic.Partitions, p)
				resp.Topics = append(resp.Topics, topic)
				return resp, nil
			})
			got, err := openBrokers(t, c.ListenAddrs()...).Reassignments(withTimeout(t))
			if test.wantErr != nil {
				if !errors.Is(err, test.wantErr) {
					t.Errorf("error %v, want %v", err, test.wantErr)
				}
				return
			}
			want := []Reassignment{{Topic: "orders", Partition: 4, Replicas: []int32{1, 2}, Adding: []int32{2}, Removing: []int32{1}}}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}

func TestAPITellsTheModesOfABrokerApart(t *testing.T) {
	tests := []struct {
		name  string
		keys  map[int16]int16
		ready bool
		level int16
		want  API
	}{
		{"plain ZooKeeper mode", map[int16]int16{3: 12, 6: 8, 18: 4}, false, 0, API{HasUpdateMetadata: true, Finalized: map[string]int16{}}},
		{"ZooKeeper mode, migrating", map[int16]int16{3: 12, 6: 8, 18: 4}, true, 0, API{HasUpdateMetadata: true, ZkMigrationReady: true, Finalized: map[string]int16{}}},
		{"KRaft mode", map[int16]int16{3: 12, 55: 2, 18: 4}, false, 21, API{HasDescribeQuorum: true, Finalized: map[string]int16{"metadata.version": 21}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := fakeCluster(t, kfake.NumBrokers(1))
			control(c, keyApiVersions, func(req *kmsg.ApiVersionsRequest) (kmsg.Response, error) {
				resp := versions(req, test.keys)
				resp.ZkMigrationReady = test.ready
				if test.level > 0 {
					f := kmsg.NewApiVersionsResponseFinalizedFeature()
					f.Name, f.MaxVersionLevel = "metadata.version", test.level
					resp.FinalizedFeatures = append(resp.FinalizedFeatures, f)
				}
				return resp, nil
			})
			host, port := hostPort(t, c.ListenAddrs()[0])
			got, err := openBrokers(t, c.ListenAddrs()...).API(withTimeout(t), host, port)
			test.want.Supported = map[string]Levels{}
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}

func TestAPIRefusedIsNotAMissingFlag(t *testing.T) {
	c := fakeCluster(t, kfake.NumBrokers(1))
	asked := 0
	control(c, keyApiVersions, func(req *kmsg.ApiVersionsRequest) (kmsg.Response, error) {
		if asked++; asked == 1 { // the client's own, on connecting
			return versions(req, map[int16]int16{3: 12, 18: 4}), nil
		}
		resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
		resp.ErrorCode = 42
		return resp, nil
	})
	host, port := hostPort(t, c.ListenAddrs()[0])
	if api, err := openBrokers(t, c.ListenAddrs()...).API(withTimeout(t), host, port); err == nil {
		t.Errorf("an answer with code 42 gave %+v", api)
	}
}

func TestAPIReconnectsToANodeThatHungUp(t *testing.T) {
	c := fakeCluster(t, kfake.NumBrokers(1))
	asked := 0
	control(c, keyApiVersions, func(req *kmsg.ApiVersionsRequest) (kmsg.Response, error) {
		if asked++; asked == 2 {
			return nil, errors.New("hang up")
		}
		return versions(req, map[int16]int16{3: 12, 18: 4}), nil
	})
	host, port := hostPort(t, c.ListenAddrs()[0])
	if _, err := openBrokers(t, c.ListenAddrs()...).API(withTimeout(t), host, port); err != nil {
		t.Error(err)
	}
}

func TestOpenBrokersRefusesWhatIsNoAddress(t *testing.T) {
	for _, seeds := range [][]string{nil, {"kafka-1"}, {"kafka-1:9092", ""}} {
		if _, err := OpenBrokers(seeds); err == nil {
			t.Errorf("%q was taken", seeds)
		}
	}
}

func TestClosedBrokersFail(t *testing.T) {
	c := fakeCluster(t, kfake.NumBrokers(1))
	b := openBrokers(t, c.ListenAddrs()...)
	b.Close()
	b.Close()
	if _, err := b.Metadata(withTimeout(t)); err == nil {
		t.Error("a closed reader answered")
	}
}
