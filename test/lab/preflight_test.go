package lab_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"migrator/internal/lab"
)

// TestPreflightNamesEachFault: nothing is said of a ready cluster, and of one
// with a single fault in ZooKeeper exactly its code blocks.
func TestPreflightNamesEachFault(t *testing.T) {
	c := startCluster(t, lab.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.Bootstrap()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := kadm.NewClient(client).CreateTopic(ctx, 2, 3, nil, "orders"); err != nil {
		t.Fatal(err)
	}
	config := writeFile(t, c.MigrationsYAML(lab.YAMLOptions{Name: "payments", PollInterval: "200ms"}))
	blocks, warnings, said := preflight(ctx, t, config)
	if len(blocks) > 0 || len(warnings) > 0 {
		t.Fatalf("a ready cluster: blocks %v, warnings %v\n%s", blocks, warnings, said)
	}
	conn := connectZooKeeper(t, c) // from now on a client that preflight does not know, a warning
	const orders = "/brokers/topics/orders"
	for _, fault := range []struct {
		name, path string
		data       func(now string) []byte
		code       string
	}{
		{"null /migration", "/migration", func(string) []byte { return nil }, "MIG201"},
		{"/migration of an earlier attempt", "/migration", text(`{"version":0,"kraft_metadata_offset":4711,"kraft_controller_id":3000,"kraft_metadata_epoch":7,"kraft_controller_epoch":7}`), "MIG202"},
		{"a topic without id", orders, func(now string) []byte {
			var fields map[string]json.RawMessage
			if err := json.Unmarshal([]byte(now), &fields); err != nil {
				t.Fatal(err)
			}
			delete(fields, "topic_id")
			data, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			return data
		}, "MIG212"},
		{"a dead broker in an assignment", orders, func(now string) []byte { return []byte(strings.Replace(now, `"0":[`, `"0":[7,`, 1)) }, "MIG221"},
		{"a cut off partition state", orders + "/partitions/0/state", text("{"), "MIG215"},
		{"a quota with a unit", "/config/users/u", text(`{"version":1,"config":{"producer_byte_rate":"1MB"}}`), "MIG251"},
		{"a number where a text belongs", "/config/topics/orders", text(`{"version":1,"config":{"retention.ms":5}}`), "MIG242"},
		{"settings of no broker", "/config/brokers/b1", text(`{"version":1,"config":{}}`), "MIG233"},
		{"settings of a broker with a controller's id", "/config/brokers/3001", text(`{"version":1,"config":{}}`), "MIG231"},
		{"producer ids of garbage", "/latest_producer_id_block", text("7"), "MIG208"},
		{"a name without its encoding", "/config/clients/%zz", text(`{"version":1,"config":{}}`), "MIG252"},
	} {
		undo := put(t, conn, fault.path, fault.data)
		blocks, _, said := preflight(ctx, t, config)
		if !slices.Equal(blocks, []string{fault.code}) {
			t.Errorf("%s: blocks %v, want %s\n%s", fault.name, blocks, fault.code, said)
		}
		undo()
	}
}

func text(data string) func(string) []byte { return func(string) []byte { return []byte(data) } }

// put changes a znode, or makes it, and returns how to take that back.
func put(t *testing.T, conn *zk.Conn, path string, data func(now string) []byte) (undo func()) {
	t.Helper()
	now, _, err := conn.Get(path)
	if err == zk.ErrNoNode {
		if _, err := conn.Create(path, data(""), 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
		return func() {
			if err := conn.Delete(path, -1); err != nil {
				t.Error(err)
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Set(path, data(string(now)), -1); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := conn.Set(path, now, -1); err != nil {
			t.Error(err)
		}
	}
}

// preflight runs it and sorts what it says: codes that block, and warnings.
func preflight(ctx context.Context, t *testing.T, config string) (blocks, warnings []string, said string) {
	t.Helper()
	_, out, errs := runMigrator(ctx, t, "preflight", "payments", "--config", config, "--json")
	var doc struct {
		Findings []struct {
			Code, Severity, Verdict, Evidence string
			Blocks                            bool
		}
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatalf("%v in\n%s%s", err, out, errs)
	}
	for _, f := range doc.Findings {
		switch {
		case f.Blocks:
			blocks = append(blocks, f.Code)
		case f.Severity == "warn" && f.Verdict == "fail":
			warnings = append(warnings, f.Code)
		case f.Verdict != "unknown":
			continue
		}
		said += f.Code + " " + f.Verdict + ": " + f.Evidence + "\n"
	}
	return blocks, warnings, said + errs
}
