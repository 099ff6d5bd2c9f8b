package lab_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/lab"
	"migrator/internal/status"
)

// TestBehindAWrapper goes to the end of load and back with brokers that only a prefix
// leads to, into an environment that has busybox and nothing else; controllers
// are local. While the prefix fails with the exit code of a `running` that says
// no, as docker does whose container is gone, nothing is taken for stopped.
func TestBehindAWrapper(t *testing.T) {
	nightly(t)
	dir := t.TempDir()
	tools, gone := filepath.Join(dir, "bin"), filepath.Join(dir, "gone")
	if err := os.Mkdir(tools, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("busybox", "--install", "-s", tools).CombinedOutput(); err != nil {
		t.Fatalf("busybox is needed: %v: %s", err, out)
	}
	prefix := filepath.Join(dir, "container")
	write(t, prefix, "#!/bin/sh\ntest ! -e "+gone+" || { echo No such container: $1 >&2; exit 1; }\nshift\nexec env PATH="+tools+" \"$@\"\n")
	if err := os.Chmod(prefix, 0o755); err != nil {
		t.Fatal(err)
	}
	c := startCluster(t, lab.Options{Brokers: 2})
	yaml := c.MigrationsYAML(lab.YAMLOptions{Name: "payments", Soak: "5s", PollInterval: "500ms", GoodPolls: 2, StepTimeout: "2m", DrillKinds: []string{"clean"}})
	yaml = strings.Replace(yaml, "{kind: local}", "{kind: wrapper, argv: ["+prefix+", \"broker-{id}\"]}", 1)
	op := newOperatorOf(t, c, "payments", yaml)
	originals, before := op.files(c.BrokerIDs()), op.starts(c.BrokerIDs())
	op.drive(8*time.Minute, complete(cluster.Load))

	write(t, gone, "")
	op.until("a gate says what is wrong with the way to the brokers", time.Minute, func() bool {
		s := op.status()
		if s.RunStatus == status.Blocked {
			t.Fatalf("blocked: %+v", *s.Blocked)
		}
		return slices.ContainsFunc(s.Gates, func(g status.Gate) bool {
			if g.Verdict == "fail" {
				t.Fatalf("%s failed: %s", g.Name, g.Evidence)
			}
			return g.Verdict == "unknown" && strings.Contains(g.Evidence, "No such container")
		})
	})
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}

	op.goesBack(cluster.Initial, originals)
	for id, n := range op.starts(c.BrokerIDs()) {
		if n-before[id] != 2 {
			t.Errorf("broker %d was started %d times, want once forward and once back", id, n-before[id])
		}
	}
}
