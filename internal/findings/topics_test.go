package findings

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/facts"
)

const orders = "/brokers/topics/orders"

// withTopic is the znodes of one more topic, with states that fit.
func withTopic(name, data string) map[string]*string {
	state := `{"controller_epoch":7,"leader":1,"version":1,"leader_epoch":3,"isr":[1,2]}`
	return map[string]*string{"/brokers/topics/" + name: &data, "/brokers/topics/" + name + "/partitions/0/state": &state}
}

func TestBrokenTopicsAreFoundUnderTheirCode(t *testing.T) {
	const id = `"topic_id":"y2pJxVWfSJWzjSfi3rJPgA"`
	exactly(t, []fault{
		{"null data (FR-029)", map[string]*string{orders: nil}, "MIG211", orders, "null"},
		{"empty data (FR-029)", map[string]*string{orders: is("")}, "MIG211", orders, "empty"},
		{"cut off (FR-029)", map[string]*string{orders: is("{")}, "MIG211", orders, "7b"},
		{"no UTF-8 (FR-029)", map[string]*string{orders: is("\xff\xfe{}")}, "MIG211", orders, "ff fe"},
		{"partitions of another shape", withTopic("t", `{"partitions":[1]}`), "MIG211", "/t", "partitions"},
		{"no partitions (FR-029)", map[string]*string{orders: is(`{"version":3,"topic_id":"` + ordersID + `","partitions":{}}`)}, "MIG214", orders, "no partition"},
		{"no replicas (FR-029)", withTopic("t", `{"version":3,`+id+`,"partitions":{"0":[]}}`), "MIG214", "/t", "no replicas"},
		{"partition 0 is missing (FR-029)", map[string]*string{orders: is(`{"version":3,"topic_id":"` + ordersID + `","partitions":{"1":[2,3,1]}}`)}, "MIG214", orders, "partition 0 is missing"},
		{"a partition key that is no number (FR-029)", withTopic("t", `{"version":3,`+id+`,"partitions":{"0":[1,2],"x":[1]}}`), "MIG214", "/t", "x"},
		{"a replica twice", withTopic("t", `{"version":3,`+id+`,"partitions":{"0":[1,2,1]}}`), "MIG214", "/t", "twice"},
		{"no id, version 1 (FR-028)", withTopic("legacy", `{"version":1,"partitions":{"0":[1,2]}}`), "MIG212", "/legacy", "no topic_id"},
		{"no id, version 2 (FR-028)", withTopic("legacy", `{"version":2,"partitions":{"0":[1,2]},"adding_replicas":{},"removing_replicas":{}}`), "MIG212", "/legacy", "no topic_id"},
		{"empty id (FR-028)", withTopic("legacy", `{"version":3,"topic_id":"","partitions":{"0":[1,2]}}`), "MIG212", "/legacy", "no topic_id"},
		{"malformed id (FR-028)", withTopic("legacy", `{"version":3,"topic_id":"abc","partitions":{"0":[1,2]}}`), "MIG212", "/legacy", "abc"},
		{"an id twice (FR-028)", withTopic("legacy", `{"version":3,"topic_id":"`+ordersID+`","partitions":{"0":[1,2]}}`), "MIG213", ordersID, "legacy, orders"},
		{"a name that no client can use", withTopic("a b", `{"version":3,`+id+`,"partitions":{"0":[1,2]}}`), "MIG218", "a b", "refuse"},
	})
}

func TestPartitionStatesAreFoundUnderTheirCode(t *testing.T) {
	const path = orders + "/partitions/0/state"
	exactly(t, []fault{
		{"missing (FR-030)", map[string]*string{path: is("absent")}, "MIG215", orders, "no state"},
		{"null (FR-030)", map[string]*string{path: nil}, "MIG215", orders, "null"},
		{"no leader_epoch (FR-030)", map[string]*string{path: is(`{"controller_epoch":7,"leader":1,"version":1,"isr":[1,2,3]}`)}, "MIG215", orders, "leader_epoch"},
		{"a stranger in the isr (FR-030)", map[string]*string{path: is(`{"controller_epoch":7,"leader":1,"leader_epoch":1,"isr":[1,2,3,9]}`)}, "MIG215", orders, "[1 2 3 9]"},
		{"offline (FR-030)", map[string]*string{path: is(`{"controller_epoch":7,"leader":-1,"leader_epoch":1,"isr":[2]}`)}, "MIG216", "orders", "partitions 0"},
		{"under-replicated (FR-030)", map[string]*string{path: is(`{"controller_epoch":7,"leader":1,"leader_epoch":1,"isr":[1,2]}`)}, "MIG217", "orders", "partitions 0"},
	})
}

func TestMovesGhostsAndDeletionsAreFoundUnderTheirCode(t *testing.T) {
	const id = `"topic_id":"y2pJxVWfSJWzjSfi3rJPgA"`
	moving := withTopic("t", `{"version":3,`+id+`,"partitions":{"0":[1,2]},"adding_replicas":{"0":[1]},"removing_replicas":{}}`)
	exactly(t, []fault{
		{"a reassignment (FR-013)", moving, "MIG222", "topic t", "partitions 0"},
		{"an old tool's reassignment", map[string]*string{"/admin/reassign_partitions": is(`{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[1]}]}`)}, "MIG223", "/admin/reassign_partitions", "1 partitions"},
		{"garbage of an old tool", map[string]*string{"/admin/reassign_partitions": is("x")}, "MIG223", "/admin/reassign_partitions", "no JSON"},
		{"an election", map[string]*string{"/admin/preferred_replica_election": nil}, "MIG224", "preferred", "null"},
		{"a topic pending deletion (FR-015)", map[string]*string{"/admin/delete_topics/orders": nil}, "MIG225", "topic orders", "has begun"},
		{"its mark is left over (FR-015)", map[string]*string{"/admin/delete_topics/t2": nil}, "MIG226", "/admin/delete_topics/t2", "no topic"},
	})
	s := withZnodes(withTopic("old", `{"version":3,`+id+`,"partitions":{"0":[1,2,7]}}`))
	f := judged(t, s, "MIG221")
	if f.Verdict != Found || f.Items[0].Where != "broker 7" || !strings.Contains(f.Items[0].Seen, "old-0") || !f.Blocks() {
		t.Errorf("a ghost (FR-004) is %+v", f)
	}
	gone := withTopic("old", `{"version":3,`+id+`,"partitions":{"0":[1,2,7]}}`)
	gone["/admin/delete_topics/old"] = nil
	if f := judged(t, withZnodes(gone), "MIG225"); f.Verdict != Found || !strings.Contains(f.Items[0].Seen, "7") {
		t.Errorf("a deletion that waits for broker 7 (FR-015) is %+v", f)
	}
}

func TestTheClusterItselfIsFoundUnderItsCode(t *testing.T) {
	exactly(t, []fault{
		{"no cluster id (FR-024)", map[string]*string{"/cluster/id": is("absent")}, "MIG203", "/cluster/id", "no Kafka cluster"},
		{"a cluster id of garbage", map[string]*string{"/cluster/id": is(`{"id":5}`)}, "MIG203", "/cluster/id", `no "id"`},
		{"another cluster id (FR-021)", map[string]*string{"/cluster/id": is(`{"version":"1","id":"B43RxiCRQ46jq0I-YoRiIQ"}`)}, "MIG204", "bootstrap", "B43R"},
		{"no controller", map[string]*string{"/controller": is("absent")}, "MIG205", "/controller", "absent"},
		{"a controller of garbage", map[string]*string{"/controller": is("2")}, "MIG205", "/controller", "no JSON"},
		{"a controller that is not alive (FR-042)", map[string]*string{"/controller": is(`{"brokerid":8,"kraftControllerEpoch":-1}`)}, "MIG205", "/controller", "8"},
		{"an older controller's znode", map[string]*string{"/controller": is(`{"version":1,"brokerid":2,"timestamp":"1"}`)}, "", "", ""},
		{"a KRaft controller (FR-097)", map[string]*string{"/controller": is(`{"brokerid":3000,"kraftControllerEpoch":100}`)}, "MIG206", "/controller", "100"},
		{"no controller epoch", map[string]*string{"/controller_epoch": is("absent")}, "MIG207", "/controller_epoch", "absent"},
		{"a controller epoch of garbage", map[string]*string{"/controller_epoch": is("seven")}, "MIG207", "/controller_epoch", "5 bytes"},
		{"producer ids of garbage", map[string]*string{"/latest_producer_id_block": is(`{"broker":1,"block_start":7}`)}, "MIG208", "/latest_producer", "missing"},
		{"no producer ids yet", map[string]*string{"/latest_producer_id_block": nil}, "", "", ""},
		{"a finalized feature", map[string]*string{"/feature": is(`{"version":2,"status":1,"features":{"x":{"max_version_level":1}}}`)}, "MIG209", "/feature", "x"},
	})
}

// The text of the failed read names where a cluster was found instead (FR-024).
func TestAWrongChrootIsSaidOnceWithTheRightOne(t *testing.T) {
	s := Survey{Tree: known(NewTree([]Znode{{Path: "/", Readable: true}}))}
	s.Snapshot.ClusterID = facts.Unknown[string]("/cluster/id: none; a cluster is at /kafka", "ZooKeeper", time.Unix(1, 0))
	if f := judged(t, s, noCluster); f.Verdict != Found || !strings.Contains(f.Items[0].Seen, "a cluster is at /kafka") {
		t.Errorf("%+v", f)
	}
	if f := judged(t, s, "MIG205"); f.Verdict != Skipped || f.Behind != noCluster {
		t.Errorf("one cause is said once: %+v", f)
	}
}

// A znode that may not be read is no clear answer, and no invented one.
func TestWhatIsHiddenIsUnknown(t *testing.T) {
	for _, c := range []struct{ path, code string }{
		{"/cluster/id", "MIG203"}, {"/controller", "MIG205"}, {"/controller_epoch", "MIG207"}, {"/brokers/topics", "MIG211"}, {orders, "MIG212"},
		{orders + "/partitions/0/state", "MIG215"}, {"/brokers/ids", "MIG221"}, {"/admin/delete_topics", "MIG225"}, {"/admin/reassign_partitions", "MIG223"},
	} {
		f := judged(t, withZnodes(map[string]*string{c.path: is("hidden")}), c.code)
		if f.Verdict != Unknown || len(f.Missing) == 0 || f.Missing[0].How == "" {
			t.Errorf("%s hidden: %s is %s, missing %v", c.path, c.code, f.Verdict, f.Missing)
		}
	}
}

func TestOnceTheCopyIsDoneTopicsAreKRaftsAffair(t *testing.T) {
	s := withZnodes(map[string]*string{orders: nil})
	if found, _ := seenHere(s, cluster.Load); !slices.Equal(found, []string{"MIG211"}) {
		t.Errorf("before the copy, in load: %v, want MIG211", found)
	}
	offset := int64(4711)
	s.Snapshot.Migration = facts.Known(facts.MigrationZnode{Present: true, Offset: &offset}, "/migration", time.Unix(1, 0))
	if found, _ := seenHere(s, cluster.Load); len(found) > 0 {
		t.Errorf("after the copy: %v", found)
	}
}

// BenchmarkBigTree judges 100,000 znodes: time must grow with the tree, not faster.
func BenchmarkBigTree(b *testing.B) {
	nodes := map[string]*string{}
	state := is(`{"controller_epoch":7,"leader":1,"version":1,"leader_epoch":3,"isr":[1,2,3]}`)
	for i := range 25_000 {
		path := fmt.Sprintf("/brokers/topics/t%d", i)
		nodes[path] = is(`{"version":3,"topic_id":"` + fmt.Sprintf("%021d", i) + `A","partitions":{"0":[1,2,3]},"adding_replicas":{},"removing_replicas":{}}`)
		nodes[path+"/partitions"], nodes[path+"/partitions/0/state"] = nil, state
		nodes[fmt.Sprintf("/config/topics/t%d", i)] = is(`{"version":1,"config":{}}`)
	}
	s := withZnodes(nodes)
	for b.Loop() {
		seenHere(s, cluster.Initial)
	}
}
