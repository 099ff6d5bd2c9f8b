package findings

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"migrator/internal/cluster"
	"migrator/internal/configgen"
	"migrator/internal/facts"
)

const ordersID = "x2pJxVWfSJWzjSfi3rJPgA"

// healthyZnodes are a ready cluster of three brokers with one topic.
func healthyZnodes() map[string]*string {
	out := map[string]*string{}
	for path, data := range map[string]string{
		"/cluster/id":            `{"version":"1","id":"` + clusterID + `"}`,
		"/controller":            `{"version":2,"brokerid":1,"timestamp":"1","kraftControllerEpoch":-1}`,
		"/controller_epoch":      "7",
		"/brokers/ids/1":         `{"version":5,"host":"b1","port":9092}`,
		"/brokers/ids/2":         `{"version":5,"host":"b2","port":9092}`,
		"/brokers/ids/3":         `{"version":5,"host":"b3","port":9092}`,
		"/brokers/topics/orders": `{"version":3,"topic_id":"` + ordersID + `","partitions":{"0":[1,2,3],"1":[2,3,1]},"adding_replicas":{},"removing_replicas":{}}`,
		"/brokers/topics/orders/partitions/0/state": `{"controller_epoch":7,"leader":1,"version":1,"leader_epoch":3,"isr":[1,2,3]}`,
		"/brokers/topics/orders/partitions/1/state": `{"controller_epoch":7,"leader":2,"version":1,"leader_epoch":3,"isr":[2,3,1]}`,
		"/config/topics/orders":                     `{"version":1,"config":{"min.insync.replicas":"2"}}`,
		"/latest_producer_id_block":                 `{"version":1,"broker":2,"block_start":"1000","block_end":"1999"}`,
		"/feature":                                  `{"version":2,"status":1,"features":{}}`,
	} {
		out[path] = &data
	}
	for _, empty := range []string{"/brokers/ids", "/brokers/topics", "/brokers/seqid", "/admin/delete_topics", "/config/topics", "/config/brokers", "/config/users",
		"/config/clients", "/config/ips", "/config/changes", "/isr_change_notification"} {
		out[empty] = nil
	}
	return out
}

// withZnodes is the ready cluster with other znodes. A changed znode has the
// data given (nil: null); "absent" takes it away, "hidden" makes it unreadable.
func withZnodes(change map[string]*string) Survey {
	all := healthyZnodes()
	for path, data := range change {
		all[path] = data
	}
	var nodes []Znode
	for path, data := range all {
		if data != nil && *data == "absent" {
			continue
		}
		z := Znode{Path: path, Readable: true}
		if data != nil {
			z.Data = []byte(*data)
		}
		if path == "/controller" || strings.HasPrefix(path, "/brokers/ids/") {
			z.EphemeralOwner = 1
		}
		if data != nil && *data == "hidden" {
			z = Znode{Path: path, Why: "its ACL"}
		}
		nodes = append(nodes, z)
	}
	s := healthy()
	s.Tree = known(NewTree(nodes))
	s.Snapshot.Metadata = known(facts.Metadata{ClusterID: clusterID})
	s.Snapshot.MinISR = known(map[string]int{"orders": 2})
	s.Effective, s.LogDirs, s.Releases = map[int32]facts.Fact[[]facts.Setting]{}, map[int32]facts.Fact[[]LogDir]{}, map[int32]facts.Fact[string]{}
	for id := int32(1); id <= 3; id++ {
		s = runsWith(s, id)
		s.LogDirs[id] = known([]LogDir{{Path: fmt.Sprintf("/d%d/a", id)}, {Path: fmt.Sprintf("/d%d/b", id)}})
		s.Releases[id] = known("3.9")
	}
	return s
}

// runsWith is a broker that runs with what its file says, and with more.
func runsWith(s Survey, id int32, more ...facts.Setting) Survey {
	file, _ := s.Snapshot.Files[id].Get()
	doc, err := configgen.Parse(file.Content)
	if err != nil {
		return s
	}
	var list []facts.Setting
	for _, key := range doc.Keys() {
		value, _ := doc.Value(key)
		if !slices.ContainsFunc(more, func(m facts.Setting) bool { return m.Name == key }) {
			list = append(list, facts.Setting{Name: key, Value: value, Source: "static", Sensitive: configgen.Secret(key)})
		}
	}
	s.Effective[id] = known(append(list, more...))
	return s
}

func is(text string) *string { return &text }

// seenHere are this file's codes that were found, and those that are unknown.
func seenHere(s Survey, phase cluster.Phase) (found, unknown []string) {
	for _, f := range Judge(s, &phase) {
		switch {
		case !strings.HasPrefix(f.Code, "MIG2"):
		case f.Verdict == Found:
			found = append(found, f.Code)
		case f.Verdict == Unknown:
			unknown = append(unknown, f.Code)
		}
	}
	return found, unknown
}

// fault is one thing wrong with a cluster that is ready otherwise.
type fault struct {
	name  string
	nodes map[string]*string
	want  string // the code, "" when nothing is to be found
	where string // of the item
	seen  string
}

// exactly checks that each fault is found under its code and no other.
func exactly(t *testing.T, faults []fault) {
	t.Helper()
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			s := withZnodes(f.nodes)
			found, _ := seenHere(s, cluster.Initial)
			var want []string
			if f.want != "" {
				want = []string{f.want}
			}
			if !slices.Equal(found, want) {
				t.Fatalf("found %v, want %v", found, want)
			}
			if f.want == "" {
				return
			}
			item := judged(t, s, f.want).Items[0]
			if !strings.Contains(item.Where, f.where) || !strings.Contains(item.Seen, f.seen) || item.Fix == "" {
				t.Errorf("item %+v, want %q at %q and a remedy", item, f.seen, f.where)
			}
		})
	}
}

func TestAReadyClusterHasNoFindingAndNothingUnknown(t *testing.T) {
	found, unknown := seenHere(withZnodes(nil), cluster.Initial)
	if len(found) > 0 || len(unknown) > 0 {
		t.Errorf("found %v, unknown %v", found, unknown)
	}
}
