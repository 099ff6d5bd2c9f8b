package lab

import (
	"context"
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/cluster"
	"migrator/internal/config"
)

func testCluster(t *testing.T, o Options) *Cluster {
	t.Helper()
	o.Binary = "/opt/migrator"
	o, err := o.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{dir: "/tmp/lab-1", options: o, members: newMembers(o)}
	for i := range c.members {
		c.members[i].port = 20001 + i
	}
	return c
}

func TestMigrationsYAMLIsAccepted(t *testing.T) {
	c := testCluster(t, Options{Chroot: "/kafka", Brokers: 4, BrokersPerRack: 2, ExtraController: []string{"metadata.log.max.snapshot.interval.ms=3000"}})
	text := c.MigrationsYAML(YAMLOptions{
		Name: "payments", SoakLoad: "0s", Soak: "5s", PollInterval: "500ms", StepTimeout: "2m", GoodPolls: 2,
		DrillKinds: []string{"clean", "crash"}, MaxUnavailable: "15s", RollBatch: "rack", Approve: []string{"initial"}, CanaryTopic: "canary",
	})
	file, err := config.Parse("migrations.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	m := file.Migrations[0]
	if want := "127.0.0.1:20001/kafka"; m.ZooKeeper.Connect != want {
		t.Errorf("zookeeper.connect %q, want %q", m.ZooKeeper.Connect, want)
	}
	if m.Soak(cluster.DualWrite) != 5*time.Second || !m.NeedsApproval(cluster.Initial) || m.NeedsApproval(cluster.Load) {
		t.Errorf("soak or approvals were lost:\n%s", text)
	}
	broker, controller := m.Nodes[2], m.Nodes[4]
	if diff := cmp.Diff(cluster.Node{ID: 3, Role: cluster.Broker, Host: "127.0.0.1", Rack: "b"}, broker.Node); diff != "" {
		t.Errorf("third of four brokers, two in a rack (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(cluster.Node{ID: 3001, Role: cluster.Controller, Host: "127.0.0.1", Port: 20006, Rack: "a"}, controller.Node); diff != "" {
		t.Errorf("first controller (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/opt/migrator", "lab", "ctl", "--dir", "/tmp/lab-1", "kill", "3"}, broker.Commands.Kill); diff != "" {
		t.Errorf("kill (-want +got):\n%s", diff)
	}
	wantFormat := []string{"/opt/migrator", "lab", "ctl", "--dir", "/tmp/lab-1", "format", "3001", "--",
		"--cluster-id={cluster_id}", "--release-version={metadata_version}", "--config", "/tmp/lab-1/nodes/3001/controller.properties"}
	if diff := cmp.Diff(wantFormat, controller.Commands.Format); diff != "" {
		t.Errorf("format (-want +got):\n%s", diff)
	}
	wantSettings := []config.Setting{
		{Key: "log.dirs", Value: "/tmp/lab-1/nodes/3001/data"},
		{Key: "metadata.log.max.snapshot.interval.ms", Value: "3000"},
	}
	if diff := cmp.Diff(wantSettings, controller.Settings); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestMigrationsYAMLWithNothingChosenIsAccepted(t *testing.T) {
	text := testCluster(t, Options{}).MigrationsYAML(YAMLOptions{})
	if _, err := config.Parse("migrations.yaml", []byte(text)); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestExtraLinesReplaceTheLineWithTheirKey(t *testing.T) {
	c := testCluster(t, Options{ExtraBroker: []string{"listeners=SASL_PLAINTEXT://127.0.0.1:{port}", "super.users=User:{id}"}})
	text := serverProperties(c.dir, c.members[1], c.options, c.ZooKeeperConnect())
	for _, want := range []string{"listeners=SASL_PLAINTEXT://127.0.0.1:20002", "super.users=User:1", "broker.id=1", "inter.broker.protocol.version=3.9", "zookeeper.connect=127.0.0.1:20001"} {
		if strings.Count("\n"+text, "\n"+want+"\n") != 1 {
			t.Errorf("not one line %q in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "\nlisteners=PLAINTEXT") {
		t.Errorf("the replaced line is still there:\n%s", text)
	}
}

func TestASecureClusterHasMorePortsAndItsOwnLines(t *testing.T) {
	c := testCluster(t, Options{Brokers: 2, MorePorts: 2, ExtraBroker: []string{"listeners=A://:{port},B://:{port1},C://:{port2}"},
		BrokerSettings: []string{"ssl.keystore.location=/k/{id}.p12"},
		ZooKeeper:      &ZooKeeperOptions{TLS: &tls.Config{}, Extra: []string{"ssl.clientAuth=need"}}})
	c.giveOut([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	if text := serverProperties(c.dir, c.members[2], c.options, ""); !strings.Contains(text, "listeners=A://:3,B://:9,C://:10\n") {
		t.Errorf("the second broker's listeners are not on its ports:\n%s", text)
	}
	if text := zooCfg(c.dir, c.members[0], c.options.ZooKeeper, nil); !strings.Contains(text, "secureClientPort=1\n") || strings.Contains(text, "clientPort=") || !strings.Contains(text, "ssl.clientAuth=need\n") {
		t.Errorf("ZooKeeper lets clients in without TLS:\n%s", text)
	}
	file, err := config.Parse("migrations.yaml", []byte(c.MigrationsYAML(YAMLOptions{ControllerProtocol: "SSL", Kafka: []string{"tls: {ca: /ca.pem}"}, Quorum: []string{"tls: {ca: /other.pem}"}, ZooKeeper: []string{"tls: {ca: /zk.pem}"}})))
	if err != nil {
		t.Fatal(err)
	}
	m := file.Migrations[0]
	if m.Kafka.TLS.CA != "/ca.pem" || m.Quorum.TLS.CA != "/other.pem" || m.ZooKeeper.TLS.CA != "/zk.pem" || m.Nodes[1].Settings[0].Value != "/k/2.p12" {
		t.Errorf("lines of migrations.yaml were lost: %+v", m)
	}
}

func TestASmallClusterAsksForNoMoreReplicasThanItHas(t *testing.T) {
	c := testCluster(t, Options{Brokers: 1, ExtraBroker: nil})
	text := serverProperties(c.dir, c.members[1], c.options, c.ZooKeeperConnect())
	for _, want := range []string{"default.replication.factor=1", "min.insync.replicas=1", "offsets.topic.replication.factor=1"} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("no line %q in:\n%s", want, text)
		}
	}
}

func TestOptionsThatCannotBeAreRefused(t *testing.T) {
	tests := []struct {
		name string
		o    Options
		want string
	}{
		{"a version without ZooKeeper", Options{Version: "4.1.1"}, "no ZooKeeper mode"},
		{"two ZooKeeper servers", Options{ZooKeeperServers: 2}, "want 1 or 3"},
		{"a chroot that is no path", Options{Chroot: "kafka"}, "want a path"},
		{"less than no brokers", Options{Brokers: -1}, "negative"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Start(t.Context(), tt.o)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error about %q", err, tt.want)
			}
		})
	}
}

func TestLinesBeforeTheLastStartDoNotCount(t *testing.T) {
	dir := t.TempDir()
	c := &Cluster{dir: dir}
	if err := os.MkdirAll(logsDir(dir, "1"), 0o700); err != nil {
		t.Fatal(err)
	}
	log := c.LogPath(1, "server.log")
	writeTest(t, log, "started in another life\n", 0o600)
	writeTest(t, startsPath(dir), `{"node":"2","pid":1}`+"\n"+`{"node":"1","pid":2,"logs":{"server.log":24}}`+"\n", 0o600)
	ctx, cancel := context.WithTimeout(t.Context(), 3*pollEvery)
	defer cancel()
	if line, err := c.WaitLog(ctx, 1, "server.log", literal("started")); err == nil {
		t.Errorf("the line %q is of an earlier start", line)
	}
	f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("started n"); err != nil {
		t.Fatal(err)
	}
	if found, next, err := scan(log, 24, literal("started")); found != "" || next != 24 || err != nil {
		t.Errorf("half a line counts: %q, %d, %v", found, next, err)
	}
	if _, err := f.WriteString("ow\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := c.WaitLog(t.Context(), 1, "server.log", literal("started")); line != "started now" || err != nil {
		t.Errorf("got %q, %v", line, err)
	}
}

func TestStdoutOfANodeIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stdout.log")
	chunk := make([]byte, 1<<20)
	for range 3 { // three starts
		f, err := openBounded(path)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if n, err := f.Write(chunk); n != len(chunk) || err != nil {
				t.Fatalf("a full file must not stop the node: %d, %v", n, err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []string{path, path + ".1"} {
		info, err := os.Stat(p)
		if err != nil || info.Size() > stdoutLimit {
			t.Errorf("%s: %v bytes (%v)", p, info.Size(), err)
		}
	}
}
