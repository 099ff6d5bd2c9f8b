package observe

import (
	"errors"
	"net"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/facts"
	"migrator/internal/kafkaread"
	"migrator/internal/zkread"
)

func ptr[T any](v T) *T { return &v }

func TestHolder(t *testing.T) {
	for _, test := range []struct {
		name string
		in   zkread.Controller
		want facts.Holder
	}{
		{"nobody", zkread.Controller{}, facts.Holder{}},
		{"a broker of a version without KRaft", zkread.Controller{Present: true, BrokerID: 2, Ephemeral: true},
			facts.Holder{Present: true, ID: 2, Ephemeral: true}},
		{"a broker, whose epoch -1 means no KRaft", zkread.Controller{Present: true, BrokerID: 2, KRaftEpoch: ptr(int32(-1)), Ephemeral: true},
			facts.Holder{Present: true, ID: 2, Ephemeral: true}},
		{"a KRaft controller", zkread.Controller{Present: true, BrokerID: 3001, KRaftEpoch: ptr(int32(0))},
			facts.Holder{Present: true, ID: 3001, KRaftEpoch: ptr(int32(0))}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, holderFact(test.in)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMigrationZnode(t *testing.T) {
	for _, test := range []struct {
		name string
		in   zkread.Migration
		want facts.MigrationZnode
	}{
		{"absent", zkread.Migration{}, facts.MigrationZnode{}},
		{"without data", zkread.Migration{Present: true, Null: true, ZnodeVersion: 1}, facts.MigrationZnode{Present: true, Null: true, Version: 1}},
		{"before the copy, all -1", zkread.Migration{Present: true, ControllerID: -1, ControllerEpoch: -1, Offset: -1},
			facts.MigrationZnode{Present: true}},
		{"after the copy", zkread.Migration{Present: true, ControllerID: 3001, ControllerEpoch: 0, Offset: 0, ZnodeVersion: 7},
			facts.MigrationZnode{Present: true, ControllerID: ptr(int32(3001)), ControllerEpoch: ptr(int32(0)), Offset: ptr(int64(0)), Version: 7}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, migrationFact(test.in)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestARegistrationIsReachedAtTheEndpointThatWeSpeak(t *testing.T) {
	for _, test := range []struct {
		name      string
		host      string
		protocol  string
		endpoints []string
		protocols map[string]string
		want      string
	}{
		{"one plaintext listener", "b1", "PLAINTEXT", []string{"PLAINTEXT://b1:9092"}, map[string]string{"PLAINTEXT": "PLAINTEXT"}, "b1:9092"},
		{"the plaintext one of several", "b1", "PLAINTEXT", []string{"TLS://b1:9093", "IN://b1:9092"}, map[string]string{"TLS": "SSL", "IN": "PLAINTEXT"}, "b1:9092"},
		{"the TLS one of several", "b1", "SSL", []string{"IN://b1:9092", "TLS://b1.outside:9093"}, map[string]string{"TLS": "SSL", "IN": "PLAINTEXT"}, "b1.outside:9093"},
		{"no plaintext listener at all, so no host", "", "SASL_SSL", []string{"X://b1:9093"}, map[string]string{"X": "SASL_SSL"}, "b1:9093"},
		{"an IPv6 host", "::1", "PLAINTEXT", []string{"PLAINTEXT://[::1]:9092"}, nil, "[::1]:9092"},
		{"nothing that we speak", "", "PLAINTEXT", []string{"TLS://b1:9093"}, map[string]string{"TLS": "SSL"}, ":0"},
		{"nonsense", "b1", "PLAINTEXT", []string{"b1", "PLAINTEXT://b1:x", "PLAINTEXT://b1:-4"}, nil, "b1:0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			host, port := reachedAt(zkread.BrokerRegistration{Host: test.host, Endpoints: test.endpoints, ListenerMap: test.protocols}, test.protocol)
			if got := net.JoinHostPort(host, strconv.Itoa(port)); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestZooKeeperMembers(t *testing.T) {
	for _, test := range []struct {
		name string
		in   zkread.Server
		want facts.ZKMember
	}{
		{"serves", zkread.Server{Addr: "a", State: zkread.Serving, Mode: "leader"}, facts.ZKMember{Address: "a", Serving: ptr(true), Mode: "leader"}},
		{"is down", zkread.Server{Addr: "a", State: zkread.Down, Err: errors.New("refused")}, facts.ZKMember{Address: "a", Serving: ptr(false), Why: "refused"}},
		{"has no majority", zkread.Server{Addr: "a", State: zkread.NotServing, Err: errors.New("no majority")}, facts.ZKMember{Address: "a", Serving: ptr(false), Why: "no majority"}},
		{"does not tell, which is neither", zkread.Server{Addr: "a", State: zkread.Unanswered, Err: errors.New("no srvr")}, facts.ZKMember{Address: "a", Why: "no srvr"}},
		{"was never asked", zkread.Server{Addr: "a"}, facts.ZKMember{Address: "a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, memberFact(test.in)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPartitionWithoutStateZnodeHasNoState(t *testing.T) {
	got := topicFact(zkread.Topic{Partitions: map[int32][]int32{0: {1, 2}, 1: {2, 1}}},
		map[int32]zkread.PartitionState{1: {Leader: 2, LeaderEpoch: 4, ControllerEpoch: 9, ISR: []int32{2}}})
	want := facts.ZKTopic{Partitions: map[int32]facts.ZKPartition{
		0: {Replicas: []int32{1, 2}},
		1: {Replicas: []int32{2, 1}, HasState: true, ISR: []int32{2}, Leader: 2, LeaderEpoch: 4, ControllerEpoch: 9},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestALeaderThatJustWonIsUnknown(t *testing.T) {
	if q, err := quorumFact(kafkaread.Quorum{IsLeader: true, Leader: 1, HasLeader: true, Epoch: 5}); !errors.Is(err, errNewLeader) {
		t.Errorf("%+v, %v; a high watermark nobody knows must not read as 0", q, err)
	}
	if _, err := quorumFact(kafkaread.Quorum{}); err != nil {
		t.Errorf("a follower's answer is an answer: %v", err)
	}
}

func TestMetadataVersionIsAbsentWhereNoneIsFinalized(t *testing.T) {
	if v := apiFact(kafkaread.API{HasUpdateMetadata: true}).MetadataVersion; v != nil {
		t.Errorf("metadata version %d of a broker in ZooKeeper mode", *v)
	}
	if v := apiFact(kafkaread.API{Finalized: map[string]int16{metadataVersion: 21}}).MetadataVersion; v == nil || *v != 21 {
		t.Errorf("metadata version %v, want 21", v)
	}
}
