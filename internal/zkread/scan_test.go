package zkread_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/zkread"
)

const topicID = "AAECAwQFBgcICQoLDA0ODw"

func TestTopicsWithEveryKindOfBrokenNode(t *testing.T) {
	s := server(t)
	put(s, map[string]string{
		"/brokers/topics/good":     `{"version":3,"topic_id":"` + topicID + `","partitions":{"1":[2,3],"0":[1,2]},"adding_replicas":{"0":[3]},"removing_replicas":{}}`,
		"/brokers/topics/old":      `{"version":1,"partitions":{"0":[1]}}`,
		"/brokers/topics/half":     `{`,
		"/brokers/topics/empty":    ``,
		"/brokers/topics/none":     `{"version":3,"partitions":{}}`,
		"/brokers/topics/nobody":   `{"partitions":{"0":[]}}`,
		"/brokers/topics/gap":      `{"partitions":{"1":[1]}}`,
		"/brokers/topics/x":        `{"partitions":{"x":[1]}}`,
		"/brokers/topics/bytes":    "{\xff}",
		"/brokers/topics/noid":     `{"topic_id":"","partitions":{"0":[1]}}`,
		"/brokers/topics/overflow": `{"partitions":{"0":[99999999999]}}`,
	})
	s.Put("/brokers/topics/null", nil)
	got, err := open(t, s.Addr()).Topics(t.Context(), nil)
	want := map[string]zkread.Topic{
		"good": {ID: new(topicID), Partitions: map[int32][]int32{0: {1, 2}, 1: {2, 3}}, Adding: map[int32][]int32{0: {3}}, Removing: map[int32][]int32{}},
		"old":  {Partitions: map[int32][]int32{0: {1}}, Adding: map[int32][]int32{}, Removing: map[int32][]int32{}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var partial *zkread.PartialError
	if !errors.As(err, &partial) {
		t.Fatalf("got %v", err)
	}
	var bad []string
	for _, n := range partial.Nodes {
		bad = append(bad, strings.TrimPrefix(n.Path, "/brokers/topics/"))
	}
	if diff := cmp.Diff([]string{"bytes", "empty", "gap", "half", "nobody", "noid", "none", "null", "overflow", "x"}, bad); diff != "" {
		t.Errorf("bad topics (-want +got):\n%s", diff)
	}
}

func TestAPartitionWithoutStateIsAbsent(t *testing.T) {
	s := server(t)
	put(s, map[string]string{
		"/brokers/topics/t":                    `{"version":3,"partitions":{"0":[1],"1":[1],"2":[1]}}`,
		"/brokers/topics/t/partitions/0/state": `{"version":1,"leader":1,"leader_epoch":4,"controller_epoch":9,"isr":[1,2]}`,
		"/brokers/topics/t/partitions/2/state": `{"version":1,"leader":-1,"controller_epoch":9,"isr":[]}`,
	})
	r := open(t, s.Addr())
	topics, err := r.Topics(t.Context(), []string{"t", "absent"})
	if err != nil {
		t.Fatal(err)
	}
	states, err := r.PartitionStates(t.Context(), topics)
	want := map[string]map[int32]zkread.PartitionState{"t": {0: {Leader: 1, LeaderEpoch: 4, ControllerEpoch: 9, ISR: []int32{1, 2}}}}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err == nil || !strings.Contains(err.Error(), "leader_epoch is missing") {
		t.Errorf("partition 2 has no leader epoch, got %v", err)
	}
}

func TestManyPartitionsAreAllRead(t *testing.T) {
	s := server(t)
	var parts []string
	for i := range 3000 {
		parts = append(parts, fmt.Sprintf(`"%d":[1]`, i))
		s.Put(fmt.Sprintf("/brokers/topics/wide/partitions/%d/state", i), fmt.Appendf(nil, `{"leader":1,"leader_epoch":%d,"controller_epoch":1,"isr":[1]}`, i))
	}
	s.Put("/brokers/topics/wide", []byte(`{"partitions":{`+strings.Join(parts, ",")+`}}`))
	r := open(t, s.Addr())
	topics, err := r.Topics(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	states, err := r.PartitionStates(t.Context(), topics)
	if err != nil || len(states["wide"]) != 3000 || states["wide"][2999].LeaderEpoch != 2999 {
		t.Errorf("got %d states, %v", len(states["wide"]), err)
	}
}

func TestConfigsKeepNamesAndNeverShowValuesInErrors(t *testing.T) {
	s := server(t)
	put(s, map[string]string{
		"/config/users/CN%3Dapp":           `{"version":1,"config":{"producer_byte_rate":"1000"}}`,
		"/config/users/alice":              `{"version":1}`,
		"/config/users/alice/clients/c%20": `{"version":1,"config":{"request_percentage":"5"}}`,
		"/config/users/<default>":          ``,
		"/config/users/mallory":            `{"version":1,"config":{"SCRAM-SHA-256":{"salt":"s3cret"}}}`,
	})
	got, err := open(t, s.Addr()).Configs(t.Context(), zkread.UserConfigs)
	want := map[string]map[string]string{
		"CN%3Dapp": {"producer_byte_rate": "1000"}, "alice": {}, "alice/clients/c%20": {"request_percentage": "5"}, "<default>": {},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "/config/users/mallory") {
		t.Errorf("want the path without the secret, got %v", err)
	}
	if name, ok := zkread.EntityName("CN%3Dapp"); !ok || name != "CN=app" {
		t.Errorf("got %q", name)
	}
}

func TestTheWholeTreeParentsFirstAndHiddenNodesNamed(t *testing.T) {
	s := server(t)
	put(s, map[string]string{"/kafka/a": "1", "/kafka/a/x": "2", "/kafka/b": "", "/other": "no"})
	s.Put("/kafka/c", nil)
	s.Put("/kafka/secret/below", []byte("s"))
	s.Hide("/kafka/secret")
	var paths, hidden []string
	var done, seen int
	data := map[string][]byte{}
	_, err := open(t, s.Addr()+"/kafka").Tree(t.Context(), "/", func(z zkread.Znode) error {
		paths = append(paths, z.Path)
		data[z.Path] = z.Data
		if !z.Readable {
			hidden = append(hidden, z.Path)
		} else if len(z.ACL) != 1 {
			t.Errorf("%s has acl %v", z.Path, z.ACL)
		}
		return nil
	}, func(d, n int) { done, seen = d, n })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/", "/a", "/b", "/c", "/secret", "/a/x"}, paths); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !slices.Equal(hidden, []string{"/secret"}) || done != 6 || seen != 6 {
		t.Errorf("hidden %v, done %d of %d", hidden, done, seen)
	}
	if data["/c"] != nil || data["/b"] == nil || string(data["/a/x"]) != "2" {
		t.Errorf("null and empty are told apart: %q", data)
	}
}

func TestTheRootTreeLeavesZooKeepersOwnOut(t *testing.T) {
	s := server(t)
	s.Put("/a", []byte("1"))
	var paths []string
	_, err := open(t, s.Addr()).Tree(t.Context(), "/", func(z zkread.Znode) error {
		paths = append(paths, z.Path)
		return nil
	}, nil)
	if err != nil || !slices.Equal(paths, []string{"/", "/a"}) {
		t.Errorf("got %v, %v", paths, err)
	}
}

func TestAVisitThatFailsEndsTheTree(t *testing.T) {
	s := server(t)
	s.Put("/a/b", []byte("1"))
	full := errors.New("disk full")
	_, err := open(t, s.Addr()).Tree(t.Context(), "/", func(zkread.Znode) error { return full }, nil)
	if !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}
