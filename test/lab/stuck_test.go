package lab_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"migrator/internal/lab"
)

// TestPreflightNamesEachFaultOfAFile: one fault at a time in what stands on a
// node; each has its own code and no other.
func TestPreflightNamesEachFaultOfAFile(t *testing.T) {
	nightly(t)
	c := startCluster(t, lab.Options{})
	createTopics(t.Context(), t, c)
	config := writeFile(t, c.MigrationsYAML(lab.YAMLOptions{Name: "payments", PollInterval: "200ms"}))
	for _, fault := range []struct {
		name, code     string
		path, old, new string
	}{
		{"another id in the file than on disk", "MIG302", c.PropertiesPath(3), "broker.id=3", "broker.id=4"},
		{"a folder of another cluster", "MIG306", filepath.Join(c.DataDir(1), "meta.properties"), "cluster.id=", "cluster.id=A"},
		{"settings of KRaft before their time", "MIG313", c.PropertiesPath(2), "broker.id=2", "broker.id=2\nprocess.roles=broker"},
		{"another tree than the migration's", "MIG314", c.PropertiesPath(1), "zookeeper.connect=" + c.ZooKeeperConnect(), "zookeeper.connect=" + c.ZooKeeperConnect() + "/elsewhere"},
		{"an authorizer on one broker alone", "MIG323", c.PropertiesPath(2), "broker.id=2", "broker.id=2\nauthorizer.class.name=kafka.security.authorizer.AclAuthorizer\nsuper.users=User:ANONYMOUS"},
	} {
		undo := edited(t, fault.path, fault.old, fault.new)
		blocks, _, said := preflight(t.Context(), t, config)
		// The broker runs with the file as it was; preflight says that too.
		blocks = slices.DeleteFunc(blocks, func(code string) bool { return code == "MIG281" })
		if !slices.Equal(blocks, []string{fault.code}) {
			t.Errorf("%s: blocks %v, want %s alone\n%s", fault.name, blocks, fault.code, said)
		}
		undo()
	}
	if blocks, warnings, said := preflight(t.Context(), t, config); len(blocks)+len(warnings) > 0 {
		t.Errorf("with every fault taken away: blocks %v, warnings %v\n%s", blocks, warnings, said)
	}
}

// TestAMigrationBegunByHandAndStuckIsExplained: one broker's protocol version is
// not the controllers', so it is refused for ever and the copy never begins. No
// log line of the controllers says which one and why.
func TestAMigrationBegunByHandAndStuckIsExplained(t *testing.T) {
	nightly(t)
	c := startCluster(t, lab.Options{})
	m := openMetadataLog(t, c)
	createTopics(t.Context(), t, c)
	edited(t, c.PropertiesPath(3), "inter.broker.protocol.version=3.9", "inter.broker.protocol.version=3.6")
	m.startControllers(t.Context(), t)
	m.rollBrokersIntoMigration(t.Context(), t)

	config := writeFile(t, c.MigrationsYAML(lab.YAMLOptions{Name: "payments", PollInterval: "500ms", GoodPolls: 2}))
	exit, out, errs := runMigrator(t.Context(), t, "preflight", "payments", "--config", config, "--json")
	var doc struct {
		Phase    string
		Findings []struct{ Code, Evidence string }
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil || exit != 3 || doc.Phase != "load" {
		t.Fatalf("exit %d, phase %q, %v; want 3 and load\n%s%s", exit, doc.Phase, err, out, errs)
	}
	var stalled string
	for _, f := range doc.Findings {
		if f.Code == "MIG133" {
			stalled = f.Evidence
		}
	}
	for _, want := range []string{"PRE_MIGRATION", "broker 3", "UNSUPPORTED_VERSION", "level 14", "level 21"} {
		if !strings.Contains(stalled, want) {
			t.Errorf("what holds the copy back does not say %q: %q", want, stalled)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
	if strings.Contains(stalled, "broker 1 ") || strings.Contains(stalled, "broker 2 ") {
		t.Errorf("it accuses brokers that are ready: %s", stalled)
	}
}

// edited replaces text in a file and returns how to take that back.
func edited(t *testing.T, path, old, with string) (undo func()) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(raw), old, with, 1)
	if text == string(raw) {
		t.Fatalf("%s has no %q", path, old)
	}
	write(t, path, text)
	return func() { write(t, path, string(raw)) }
}
