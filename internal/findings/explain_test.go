package findings

import (
	"testing"

	"migrator/internal/facts"
)

func TestAWrongLineWrittenAfterTheStartIsOneFault(t *testing.T) {
	inForce := facts.Setting{Name: "zookeeper.connect", Value: "zk1:2181,zk2:2181,zk3:2181/kafka", Source: "static"}
	one := fileAndRun(2, "zookeeper.connect=zk1:2181/other\n", inForce)
	two := fileAndRun(2, "zookeeper.connect=zk1:2181/other\nlog.dirs=/elsewhere\n", inForce, facts.Setting{Name: "log.dirs", Value: "/d2/a,/d2/b", Source: "static"})
	judgeAll(t, []seen{
		{"the line is in another tree", one, "MIG314", Found, "zk1:2181/other"},
		{"and that it is not in force is not said again", one, "MIG281", Skipped, ""},
		{"another line is", two, "MIG281", Found, "/elsewhere"},
	})
	if f := judged(t, one, "MIG281"); f.Behind != "MIG314" || f.Blocks() {
		t.Errorf("explained by %q, blocks %v", f.Behind, f.Blocks())
	}
	if items := judged(t, two, "MIG281").Items; len(items) != 1 {
		t.Errorf("items %+v, want the one that nothing else explains", items)
	}
}
