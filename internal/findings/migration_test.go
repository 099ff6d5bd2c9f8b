package findings

import (
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/facts"
)

// surveyOf is a survey of nothing but znodes.
func surveyOf(nodes ...Znode) Survey {
	for i := range nodes {
		nodes[i].Readable = nodes[i].Why == ""
	}
	nodes = append(nodes, Znode{Path: "/cluster/id", Readable: true, Data: []byte(`{"version":"1","id":"` + clusterID + `"}`)})
	return Survey{Tree: facts.Known(NewTree(nodes), "ZooKeeper", time.Unix(1, 0))}
}

// judged finds one code in what Judge says of a cluster whose migration has not begun.
func judged(t *testing.T, s Survey, code string) Finding {
	t.Helper()
	phase := cluster.Initial
	for _, f := range Judge(s, &phase) {
		if f.Code == code {
			return f
		}
	}
	t.Fatalf("no finding has the code %s", code)
	return Finding{}
}

func TestALeftOverMigrationZnodeBlocks(t *testing.T) {
	for _, c := range []struct {
		name string
		z    []Znode
		code string
		want Verdict
	}{
		{"absent", nil, "MIG201", Clear},
		{"absent", nil, "MIG202", Clear},
		{"null (FR-001)", []Znode{{Path: "/migration"}}, "MIG201", Found},
		{"empty (FR-001)", []Znode{{Path: "/migration", Data: []byte{}}}, "MIG201", Found},
		{"{} (FR-001)", []Znode{{Path: "/migration", Data: []byte("{}")}}, "MIG202", Found},
		{"copy done (FR-002)", []Znode{{Path: "/migration", Data: []byte(`{"version":0,"kraft_metadata_offset":4711,"kraft_controller_id":3000,"kraft_metadata_epoch":7,"kraft_controller_epoch":7}`)}}, "MIG202", Found},
		{"no copy yet", []Znode{{Path: "/migration", Data: []byte(`{"version":0,"kraft_metadata_offset":-1,"kraft_controller_id":-1,"kraft_metadata_epoch":-1,"kraft_controller_epoch":-1}`)}}, "MIG202", Clear},
		{"not readable", []Znode{{Path: "/migration", Why: "its ACL"}}, "MIG202", Unknown},
	} {
		if got := judged(t, surveyOf(c.z...), c.code); got.Verdict != c.want {
			t.Errorf("%s: %s is %s, want %s: %+v", c.name, c.code, got.Verdict, c.want, got)
		}
	}
}

func TestAFindingThatCannotBeRuledOutBlocks(t *testing.T) {
	f := judged(t, Survey{}, treeUnreadable)
	if f.Verdict != Unknown || !f.Blocks() {
		t.Errorf("without any reading of ZooKeeper it is %s and blocks is %v; want unknown, and that blocks", f.Verdict, f.Blocks())
	}
	if other := judged(t, Survey{}, "MIG212"); other.Verdict != Skipped || other.Behind != treeUnreadable {
		t.Errorf("one cause is said once: %+v", other)
	}
	if len(f.Missing) == 0 || f.Missing[0].How == "" {
		t.Errorf("it does not say how to make it visible: %+v", f)
	}
}

func TestWhatSaysSomethingOfTheBeginningOnlyIsSkippedLater(t *testing.T) {
	phase := cluster.DualWrite
	s := surveyOf(Znode{Path: "/migration", Data: []byte(`{"version":0,"kraft_metadata_offset":4711}`)})
	for _, f := range Judge(s, &phase) {
		if f.Code == "MIG202" && f.Verdict != Skipped {
			t.Errorf("in dual-write the state of a running migration is %s, want skipped", f.Verdict)
		}
	}
}

func TestTheRegistryIsWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range All() {
		if seen[r.Code] {
			t.Errorf("code %s is given twice", r.Code)
		}
		seen[r.Code] = true
		if r.Title == "" || r.Why == "" || r.Reference == "" {
			t.Errorf("%s lacks a title, a reason or a reference", r.Code)
		}
		if (r.Severity == Block) != (r.Kind != "") {
			t.Errorf("%s has severity %q and kind %q: blocks have a kind, others none", r.Code, r.Severity, r.Kind)
		}
	}
}
