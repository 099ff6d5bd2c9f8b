package configgen

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"migrator/internal/cluster"
)

var update = flag.Bool("update", false, "rewrite the expected files of testdata")

// TestGolden renders each archive: its case file names node, mode and
// cluster; now.properties is the current file, if any, and broker.properties
// the broker file that controllers learn from.
func TestGolden(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) < 8 {
		t.Fatalf("found %d archives: %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) { golden(t, path) })
	}
}

func golden(t *testing.T, path string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := readCase(t, archive)
	out, err := Render(c.node, c.mode, c.now, c.settings, c.extra)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]byte{"want.properties": hold(out.File), "want.diff": []byte(out.Unified(c.path, c.now == nil)), "want.notes": []byte(strings.Join(append(out.Notes, ""), "\n"))}
	if *update {
		rewrite(t, path, archive, got)
	}
	for _, name := range []string{"want.properties", "want.diff", "want.notes"} {
		want, _ := member(archive, name)
		if diff := cmp.Diff(string(want), string(got[name])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	again, err := Render(c.node, c.mode, out.File, c.settings, c.extra)
	if err != nil {
		t.Fatalf("rendering the rendered file: %v", err)
	}
	if len(again.Changes) > 0 || len(again.Diff) > 0 || !bytes.Equal(again.File, out.File) {
		t.Errorf("rendering the rendered file changes it again: %+v", again.Changes)
	}
	if text := string(got["want.diff"]) + strings.Join(out.Notes, "\n"); strings.Contains(text, "s3cr3t") {
		t.Errorf("a secret is shown:\n%s", text)
	}
}

type goldenCase struct {
	path     string
	node     cluster.Node
	mode     cluster.Mode
	now      []byte
	settings Settings
	extra    []Setting
}

func readCase(t *testing.T, archive *txtar.Archive) goldenCase {
	t.Helper()
	c := goldenCase{settings: healthy(), path: "server.properties"}
	if now, ok := member(archive, "now.properties"); ok {
		c.now = unhold(now)
	}
	broker, ok := member(archive, "broker.properties")
	if !ok {
		broker = []byte("broker.id=1\n")
	}
	ib, err := FromBroker(unhold(broker))
	if err != nil {
		t.Fatal(err)
	}
	c.settings.InterBroker = ib
	spec, _ := member(archive, "case")
	for line := range strings.Lines(string(spec)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		c.read(t, key, value)
	}
	return c
}

func (c *goldenCase) read(t *testing.T, key, value string) {
	t.Helper()
	switch key {
	case "broker", "controller":
		id, err := strconv.Atoi(value)
		if err != nil {
			t.Fatal(err)
		}
		c.node = cluster.Node{ID: int32(id), Role: cluster.Role(key), Host: "b" + value}
		for _, n := range c.settings.Quorum.Voters {
			if n.ID == c.node.ID {
				c.node = n
			}
		}
	case "mode":
		c.mode = cluster.Mode(value)
	case "quorum":
		c.settings.Quorum.Mode = value
	case "protocol":
		c.settings.Quorum.ListenerProtocol = value
	case "metadata":
		c.settings.MetadataVersion = value
	case "set":
		k, v, _ := strings.Cut(value, "=")
		c.extra = append(c.extra, Setting{k, v})
	default:
		t.Fatalf("case has an unknown word %q", key)
	}
}

// healthy is a cluster of three controllers and plain brokers.
func healthy() Settings {
	return Settings{
		Quorum: Quorum{Mode: StaticQuorum, ListenerName: "CONTROLLER", ListenerProtocol: "PLAINTEXT", Voters: []cluster.Node{
			{ID: 3001, Role: cluster.Controller, Host: "c1", Port: 9093},
			{ID: 3002, Role: cluster.Controller, Host: "c2", Port: 9093},
			{ID: 3003, Role: cluster.Controller, Host: "c3", Port: 9093},
		}},
		ZooKeeperConnect: "zk1:2181,zk2:2181/kafka",
		KafkaVersion:     "3.9.2",
		MetadataVersion:  "3.9-IV0",
		InterBroker:      InterBroker{Listener: "PLAINTEXT", Protocol: "PLAINTEXT"},
	}
}

func member(archive *txtar.Archive, name string) ([]byte, bool) {
	for _, f := range archive.Files {
		if f.Name == name {
			return f.Data, true
		}
	}
	return nil, false
}

// hold and unhold carry what an archive cannot: carriage returns as ␍ and a
// missing last line end as ␄.
func hold(file []byte) []byte {
	file = bytes.ReplaceAll(file, []byte("\r"), []byte("␍"))
	if n := len(file); n > 0 && file[n-1] != '\n' {
		file = append(file, "␄\n"...)
	}
	return file
}

func unhold(file []byte) []byte {
	file = bytes.ReplaceAll(file, []byte("␍"), []byte("\r"))
	return bytes.ReplaceAll(file, []byte("␄\n"), nil)
}

func rewrite(t *testing.T, path string, archive *txtar.Archive, got map[string][]byte) {
	t.Helper()
	var kept []txtar.File
	for _, f := range archive.Files {
		if !strings.HasPrefix(f.Name, "want.") {
			kept = append(kept, f)
		}
	}
	for _, name := range []string{"want.properties", "want.diff", "want.notes"} {
		kept = append(kept, txtar.File{Name: name, Data: got[name]})
	}
	archive.Files = kept
	if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}
