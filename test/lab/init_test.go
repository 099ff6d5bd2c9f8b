package lab_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	t.Run("one fault in a file or folder is one code", func(t *testing.T) { namesFaultsOfFiles(t, c) })
}

func namesFaultsOfFiles(t *testing.T, c *lab.Cluster) {
	config := writeFile(t, c.MigrationsYAML(lab.YAMLOptions{Name: "payments", PollInterval: "200ms"}))
	broker := filepath.Join(c.Dir(), "nodes", "1", "server.properties")
	controller := filepath.Join(c.Dir(), "nodes", "3001", "controller.properties")
	meta := filepath.Join(c.DataDir(1), "meta.properties")
	add := func(line string) func(string) string { return func(now string) string { return now + line + "\n" } }
	swap := func(old, next string) func(string) string {
		return func(now string) string { return strings.Replace(now, old, next, 1) }
	}
	for _, fault := range []struct {
		name, file string
		edit       func(string) string
		code       string
	}{
		{"a folder of another cluster", meta, func(now string) string {
			return regexp.MustCompile(`cluster.id=.*`).ReplaceAllString(now, "cluster.id=AAAAAAAAAAAAAAAAAAAAAA")
		}, "MIG306"},
		{"a folder formatted anew", meta, func(now string) string { return swap("broker.id", "node.id")(swap("version=0", "version=1")(now)) }, "MIG305"},
		{"another broker's folder", meta, swap("broker.id=1", "broker.id=9"), "MIG302"},
		{"another tree", broker, swap("/kafka\n", "/other\n"), "MIG314"},
		{"the flag too early", broker, add("zookeeper.metadata.migration.enable=true"), "MIG313"},
		{"a controller without the flag", controller, func(string) string { return "process.roles=controller\nzookeeper.metadata.migration.enabled=true\n" }, "MIG311"},
		{"a listener the map lacks", broker, swap("listeners=PLAINTEXT:", "listeners=INTERNAL:"), "MIG341"},
		{"a folder twice", broker, func(now string) string {
			return regexp.MustCompile(`log.dirs=(.*)`).ReplaceAllString(now, "log.dirs=$1,$1/")
		}, "MIG352"},
	} {
		now, err := os.ReadFile(fault.file)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		write(t, fault.file, fault.edit(string(now)))
		blocks, _, said := preflight(t.Context(), t, config)
		if !slices.Contains(blocks, fault.code) || len(blocks) > 1 {
			t.Errorf("%s: blocks %v, want %s\n%s", fault.name, blocks, fault.code, said)
		}
		if err == nil {
			write(t, fault.file, string(now))
		} else if err := os.Remove(fault.file); err != nil {
			t.Fatal(err)
		}
	}
}
