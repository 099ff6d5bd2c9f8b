package lab_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/lab"
)

// TestAnOlderReleaseIsRefusedAndMigratesOnceItRuns39: a cluster of 3.7.2 or
// 3.6.2 is told to upgrade first, and how. Rolled to 3.9.2 with its own
// inter.broker.protocol.version kept, it migrates, goes back, and migrates again.
func TestAnOlderReleaseIsRefusedAndMigratesOnceItRuns39(t *testing.T) {
	nightly(t)
	for _, version := range []string{"3.7.2", "3.6.2"} {
		t.Run(version, func(t *testing.T) {
			c := startCluster(t, lab.Options{Brokers: 2, Version: version})
			yaml := lab.YAMLOptions{Name: "payments", Soak: "5s", PollInterval: "500ms", GoodPolls: 2, StepTimeout: "2m"}
			config := filepath.Join(t.TempDir(), "old.yaml")
			if err := os.WriteFile(config, []byte(c.MigrationsYAML(yaml)), 0o600); err != nil {
				t.Fatal(err)
			}
			exit, said, _ := runMigrator(t.Context(), t, "preflight", "payments", "--config", config)
			blocks, _, _ := preflight(t.Context(), t, config)
			if exit != 3 || !slices.Contains(blocks, "MIG276") || !strings.Contains(said, "inter.broker.protocol.version=3.9") {
				t.Fatalf("exit %d, blocked by %v:\n%s", exit, blocks, said)
			}
			rollTo(t, c, "3.9.2")
			op := newOperatorOf(t, c, "payments", strings.Replace(c.MigrationsYAML(yaml), "version: "+version, "version: 3.9.2", 1))
			originals := op.files(c.BrokerIDs())
			op.drive(8*time.Minute, complete(cluster.DualWrite))
			op.goesBack(cluster.Initial, originals)
			op.drive(10*time.Minute, finished)
			if s := op.status(); s.Canary == nil || s.Canary.Lost != 0 {
				t.Errorf("canary %+v at the end", s.Canary)
			}
		})
	}
}

// rollTo replaces the software under every node, one broker after the other;
// the files, and with them inter.broker.protocol.version, stay.
func rollTo(t *testing.T, c *lab.Cluster, version string) {
	t.Helper()
	if _, err := lab.EnsureJars(t.Context(), version, os.Stderr); err != nil {
		t.Fatal(err)
	}
	for _, id := range append(c.BrokerIDs(), c.ControllerIDs()...) {
		if err := c.UseVersion(id, version); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range c.BrokerIDs() {
		name := strconv.Itoa(int(id))
		for _, act := range []func() error{
			func() error { return c.Stop(t.Context(), name) },
			func() error { return c.Start(t.Context(), name) },
			func() error { return c.Ready(t.Context(), name) },
		} {
			if err := act(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
