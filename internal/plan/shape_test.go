package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/cluster"
)

func rolled(id int32, keys ...string) Step {
	s := Step{Kind: Roll, Batch: []int32{id}, Mode: cluster.KRaft, Diffs: []Diff{{Node: id}}}
	for _, k := range keys {
		s.Diffs[0].Reasons = append(s.Diffs[0].Reasons, Reason{Op: "set", Key: k})
	}
	return s
}

func TestAShapeForgetsHowManyNodesThereAre(t *testing.T) {
	small := Plan{Phase: cluster.Hybrid, Steps: []Step{rolled(1, "node.id", "a"), {Kind: Elect}}}
	large := Plan{Phase: cluster.Hybrid, Steps: []Step{rolled(11, "a"), rolled(12, "node.id"), rolled(13, "a", "node.id"), {Kind: Elect}}}
	want := []Turn{{Plan: cluster.Hybrid, Role: cluster.Broker, Mode: cluster.KRaft, Keys: []string{"set a", "set node.id"}}}
	for _, p := range []Plan{small, large} {
		if diff := cmp.Diff(want, p.Turns()); diff != "" {
			t.Errorf("turns (-want +got):\n%s", diff)
		}
	}
	large.Revert = true
	if got := large.Turns(); len(got) != 0 {
		t.Errorf("a way back has turns: %v", got)
	}
}

func TestWhatARehearsalDoesNotSpeakFor(t *testing.T) {
	turn := func(role cluster.Role, keys ...string) Turn {
		return Turn{Plan: cluster.Load, Role: role, Mode: cluster.ZKMigrating, Keys: keys}
	}
	rehearsed := Shape{KafkaVersion: "3.9.2", Batch: "node", Turns: []Turn{turn(cluster.Broker, "set a", "set b"), {Plan: cluster.Finalize, Role: cluster.Controller, Mode: cluster.KRaft}}}
	for name, test := range map[string]struct {
		here Shape
		want []string
	}{
		"the same, and not all of it yet": {Shape{KafkaVersion: "3.9.2", Batch: "node", Turns: []Turn{turn(cluster.Broker, "set a", "set b")}}, nil},
		"another version":                 {Shape{KafkaVersion: "3.9.1", Batch: "node"}, []string{"Kafka 3.9.1 here, 3.9.2 in the rehearsal"}},
		"by racks":                        {Shape{KafkaVersion: "3.9.2", Batch: "rack"}, []string{"brokers are restarted by rack here, by node in the rehearsal"}},
		"other keys": {Shape{KafkaVersion: "3.9.2", Batch: "node", Turns: []Turn{turn(cluster.Broker, "set a", "set c")}},
			[]string{"plan load, brokers into mode zk-migrating: only here: set c", "plan load, brokers into mode zk-migrating: only in the rehearsal: set b"}},
		"another role": {Shape{KafkaVersion: "3.9.2", Batch: "node", Turns: []Turn{turn(cluster.Controller)}}, []string{"plan load, controllers into mode zk-migrating: not rehearsed"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, rehearsed.Differences(test.here)); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}
