package lab_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"migrator/internal/cluster"
	"migrator/internal/lab"
)

// Kafka's own reading of its configuration takes every file that is rendered:
// the originals of this package in each mode, and the expected files of
// configgen. It takes seconds, and finds most of what a start would.
func TestKafkaTakesEveryRenderedFile(t *testing.T) {
	jars, err := lab.EnsureJars(t.Context(), "", os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	java, err := lab.FindJava(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names, files := renderedOriginals(t)
	secureNames, secureFiles := renderedSecured(t)
	names, files = append(names, secureNames...), append(files, secureFiles...)
	for name, file := range expectedFiles(t) {
		names, files = append(names, name), append(files, file)
	}
	dir, args := t.TempDir(), []string{"-cp", filepath.Join(jars.Home, "libs", "*"), "testdata/TakesConfig.java"}
	values := "zk=127.0.0.1:2181\npartitions=3\nsession=17000\n"
	if err := os.WriteFile(filepath.Join(dir, "values"), []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, file := range files {
		path := filepath.Join(dir, strings.ReplaceAll(names[i], "/", "-"))
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(file), "{dir}", dir)), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	cmd := exec.CommandContext(t.Context(), java, args...)
	said, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	answers := strings.Split(strings.TrimSpace(string(said)), "\n")
	if len(answers) != len(files) {
		t.Fatalf("%d answers for %d files:\n%s", len(answers), len(files), said)
	}
	for i, answer := range answers {
		if answer != "ok" {
			t.Errorf("%s: %s", names[i], answer)
		}
	}
	t.Logf("%d files", len(files))
}

// renderedOriginals are the files of every journey, without starting anything.
func renderedOriginals(t *testing.T) (names []string, files [][]byte) {
	t.Helper()
	add := func(name string, file []byte) { names, files = append(names, name), append(files, file) }
	for _, o := range append(originals(), furtherOriginals()...) {
		j := &journey{t: t, o: o, broker: cluster.Node{ID: int32(max(o.id, 1)), Role: cluster.Broker, Host: "127.0.0.1"},
			controller: cluster.Node{ID: 3001, Role: cluster.Controller, Host: "127.0.0.1", Port: 19095},
			ports:      strings.NewReplacer("{port}", "19092", "{a}", "19093", "{b}", "19094", "{zk}", "127.0.0.1:2181"+o.chroot)}
		base := "broker.id=1\nbroker.rack=a\nlisteners=PLAINTEXT://127.0.0.1:19092\nadvertised.listeners=PLAINTEXT://127.0.0.1:19092\nlog.dirs=/tmp/x\n" +
			"zookeeper.connect=127.0.0.1:2181" + o.chroot + "\ninter.broker.protocol.version=3.9\n"
		var err error
		if j.file, err = o.file([]byte(base), j.ports); err != nil {
			t.Fatal(err)
		}
		j.knows("127.0.0.1:2181" + o.chroot)
		migrating := j.render(cluster.ZKMigrating, j.file)
		controller := j.renderController(cluster.KRaftMigrating, nil)
		add(o.name+"/zk", j.file)
		add(o.name+"/zk-migrating", migrating)
		add(o.name+"/kraft", j.render(cluster.KRaft, migrating))
		add(o.name+"/zk-again", j.render(cluster.ZK, migrating))
		add(o.name+"/controller", controller)
		add(o.name+"/controller-finalized", j.renderController(cluster.KRaft, controller))
	}
	return names, files
}

// expectedFiles are configgen's golden ones.
func expectedFiles(t *testing.T) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("../../internal/configgen/testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	out := map[string][]byte{}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if f.Name == "want.properties" {
				out[filepath.Base(path)] = []byte(strings.NewReplacer("␍", "\r", "␄\n", "").Replace(string(f.Data)))
			}
		}
	}
	return out
}
