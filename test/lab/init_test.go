package lab_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"migrator/internal/config"
	"migrator/internal/lab"
)

// TestInitAndPreflightOfAReadyCluster: a draft that names the real brokers, and
// no alarm where nothing is wrong.
func TestInitAndPreflightOfAReadyCluster(t *testing.T) {
	c := startCluster(t, lab.Options{Chroot: "/kafka", Brokers: 2})
	t.Run("the draft is of this cluster and validates once it is filled in", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "migrations.yaml")
		if exit, stdout, errs := runMigrator(t.Context(), t, "init", "--zookeeper", c.ZooKeeperConnect(), "--out", out); exit != 0 {
			t.Fatalf("init exits %d:\n%s%s", exit, stdout, errs)
		}
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		filled := regexp.MustCompile(`(?m)# FILL IN:.*; such as (.*)$`).ReplaceAllString(string(text), "$1")
		file, err := config.Parse(out, []byte(filled))
		if err != nil {
			t.Fatalf("%v\n%s", err, filled)
		}
		m := file.Migrations[0]
		if m.Name != "kafka" || m.Kafka.Version != "3.9.2" || len(m.Inventory().Brokers) != 2 || m.Inventory().Brokers[1].Rack != "b" || m.Kafka.Bootstrap[0] != c.Bootstrap()[0] {
			t.Errorf("the draft is of another cluster:\n%s", filled)
		}
		if exit, stdout, errs := runMigrator(t.Context(), t, "init", "--zookeeper", c.ZooKeeperConnect(), "--out", out); exit != 2 || !strings.Contains(errs, "not overwritten") {
			t.Errorf("a second init exits %d, want 2 and the file kept:\n%s%s", exit, stdout, errs)
		}
	})
	t.Run("without the chroot init says where a cluster is", func(t *testing.T) {
		root := strings.TrimSuffix(c.ZooKeeperConnect(), "/kafka")
		if exit, stdout, errs := runMigrator(t.Context(), t, "init", "--zookeeper", root, "--out", "-"); exit == 0 || !strings.Contains(errs, "/kafka") {
			t.Errorf("exit %d, want a failure that names /kafka:\n%s%s", exit, stdout, errs)
		}
	})
	t.Run("preflight of a ready cluster finds nothing", func(t *testing.T) {
		path := writeFile(t, c.MigrationsYAML(lab.YAMLOptions{Name: "payments"}))
		exit, stdout, errs := runMigrator(t.Context(), t, "preflight", "payments", "--config", path, "--json")
		var doc struct {
			Findings []struct{ Code, Severity, Title, Verdict, Evidence string }
		}
		if err := json.Unmarshal([]byte(stdout), &doc); err != nil || exit != 0 || len(doc.Findings) < 100 {
			t.Fatalf("exit %d, %d findings, %v:\n%s%s", exit, len(doc.Findings), err, stdout, errs)
		}
		for _, f := range doc.Findings {
			switch {
			case f.Verdict == "fail" && f.Severity != "info":
				t.Errorf("false alarm: %s %s: %s", f.Code, f.Title, f.Evidence)
			case f.Verdict == "unknown" && f.Code != "MIG361": // the lab's nodes have no service manager
				t.Errorf("not known: %s %s: %s", f.Code, f.Title, f.Evidence)
			}
		}
	})
}
