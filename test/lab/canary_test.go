package lab_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"migrator/internal/canary"
	"migrator/internal/lab"
)

// One cluster in plain ZooKeeper mode: what a roll and a crash cost is
// measured and loses nothing, and a real loss is seen.
func TestCanary(t *testing.T) {
	c := startCluster(t, lab.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	t.Run("a broker restart and a broker crash lose nothing", func(t *testing.T) { checkNothingLost(ctx, t, c) })
	t.Run("a partition wiped on disk is a loss", func(t *testing.T) { checkLossSeen(ctx, t, c) })
}

func startCanary(ctx context.Context, t *testing.T, c *lab.Cluster, topic string, replicas int16, minISR int) *canary.Canary {
	t.Helper()
	for range 2 { // the second time it is there and ours
		if err := canary.CreateTopic(ctx, canary.Cluster{Bootstrap: c.Bootstrap()}, topic, 3, replicas, minISR); err != nil {
			t.Fatal(err)
		}
	}
	own, err := canary.Start(ctx, canary.Options{Cluster: canary.Cluster{Bootstrap: c.Bootstrap()}, Topic: topic, Interval: 20 * time.Millisecond, MetadataInterval: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopCanary(t, own) })
	return own
}

func stopCanary(t *testing.T, own *canary.Canary) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := own.Stop(ctx); err != nil {
		t.Error(err)
	}
}

func awaitStats(ctx context.Context, t *testing.T, own *canary.Canary, what string, shows func(canary.Stats) bool) canary.Stats {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		s := own.Stats()
		if shows(s) {
			return s
		}
		select {
		case <-ctx.Done():
			t.Fatalf("never saw %s: %+v", what, s)
		case <-tick.C:
		}
	}
}

// ackedAgain waits until n more records are acknowledged and no partition stalls.
func ackedAgain(ctx context.Context, t *testing.T, own *canary.Canary, n uint64) canary.Stats {
	t.Helper()
	from := own.Stats().Acked
	return awaitStats(ctx, t, own, "records acknowledged again", func(s canary.Stats) bool {
		return s.Acked >= from+n && s.CurrentProduceStall < time.Second
	})
}

func checkNothingLost(ctx context.Context, t *testing.T, c *lab.Cluster) {
	const topic = "__migrator_canary"
	own := startCanary(ctx, t, c, topic, 3, 2)
	ackedAgain(ctx, t, own, 50)
	takes := []struct {
		node string
		take func(context.Context, string) error
	}{{"2", c.Stop}, {"3", c.Kill}}
	for _, tt := range takes {
		node, w := tt.node, own.Window()
		if err := tt.take(ctx, node); err != nil {
			t.Fatal(err)
		}
		awaitUnregistered(ctx, t, c, node)
		if err := c.Start(ctx, node); err != nil {
			t.Fatal(err)
		}
		if err := c.Ready(ctx, node); err != nil {
			t.Fatal(err)
		}
		ackedAgain(ctx, t, own, 100)
		produce, metadata := w.Longest()
		t.Logf("broker %s: longest stall %v for a producer, %v for metadata writes", node, produce, metadata)
	}
	if n, _, err := canary.ElectPreferred(ctx, canary.Cluster{Bootstrap: c.Bootstrap()}, nil); err != nil {
		t.Errorf("%d elected, %v", n, err)
	}
	s := ackedAgain(ctx, t, own, 50)
	if s.LastMetadataWrite.Value == "" || s.CurrentMetadataStall > 5*time.Second {
		t.Errorf("metadata writes: %+v", s)
	}
	if stored := storedMarker(t, c, topic); stored < number(t, s.LastMetadataWrite.Value) {
		t.Errorf("ZooKeeper holds %d, accepted was %+v", stored, s.LastMetadataWrite)
	}
	v, err := own.Verify(ctx)
	if err != nil || v.Lost != 0 || v.ReadBack != v.Acked || v.Acked < s.Acked {
		t.Errorf("while it runs: %+v, %v", v, err)
	}
	stopCanary(t, own)
	s = own.Stats()
	if s.Failed+s.Unknown+s.Lost+s.Duplicated != 0 || s.Acked != s.Sent {
		t.Errorf("%+v", s)
	}
	t.Logf("%+v", s)
	for range 2 {
		if err := canary.DeleteTopic(ctx, canary.Cluster{Bootstrap: c.Bootstrap()}, topic); err != nil {
			t.Fatal(err)
		}
	}
	if exists, _, err := canary.TopicExists(ctx, canary.Cluster{Bootstrap: c.Bootstrap()}, topic); exists || err != nil {
		t.Errorf("after its deletion the topic exists: %v, %v", exists, err)
	}
}

// awaitUnregistered waits until a crashed broker's session has expired (18 s by
// default): started earlier, it finds its own old registration and exits.
func awaitUnregistered(ctx context.Context, t *testing.T, c *lab.Cluster, node string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	conn := connectZooKeeper(t, c)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		registered, _, err := conn.Exists("/brokers/ids/" + node)
		if err == nil && !registered {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("broker %s is still registered (%v)", node, err)
		case <-tick.C:
		}
	}
}

func connectZooKeeper(t *testing.T, c *lab.Cluster) *zk.Conn {
	t.Helper()
	return connectAt(t, c.ZooKeeperConnect())
}

func connectAt(t testing.TB, server string) *zk.Conn {
	t.Helper()
	conn, _, err := zk.Connect([]string{server}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// storedMarker is the value of the last metadata write in ZooKeeper.
func storedMarker(t *testing.T, c *lab.Cluster, topic string) int64 {
	t.Helper()
	data, _, err := connectZooKeeper(t, c).Get("/config/topics/" + topic)
	if err != nil {
		t.Fatal(err)
	}
	var node struct {
		Config map[string]string `json:"config"`
	}
	if err := json.Unmarshal(data, &node); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return number(t, node.Config[canary.MetadataKey])
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// With one replica, a broker that comes back with an empty folder has lost
// what it acknowledged, and says nothing of it.
func checkLossSeen(ctx context.Context, t *testing.T, c *lab.Cluster) {
	const topic = "__migrator_canary_single"
	own := startCanary(ctx, t, c, topic, 1, 1)
	ackedAgain(ctx, t, own, 100)
	if err := c.Stop(ctx, "1"); err != nil {
		t.Fatal(err)
	}
	wiped := 0
	for p := range 3 {
		dir := filepath.Join(c.DataDir(1), topic+"-"+strconv.Itoa(p))
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		wiped++
	}
	if wiped != 1 {
		t.Fatalf("broker 1 held %d partitions of three, want every broker to lead one", wiped)
	}
	if err := c.Start(ctx, "1"); err != nil {
		t.Fatal(err)
	}
	s := awaitStats(ctx, t, own, "a lost record", func(s canary.Stats) bool { return s.Lost >= 30 })
	stopCanary(t, own)
	v, err := own.Verify(ctx)
	if err != nil || v.Lost < s.Lost || len(v.Missing) == 0 || v.Acked != v.ReadBack+v.Lost {
		t.Errorf("%+v, %v", v, err)
	}
	t.Logf("%+v\n%+v", v, own.Stats())
	if err := canary.DeleteTopic(ctx, canary.Cluster{Bootstrap: c.Bootstrap()}, topic); err != nil {
		t.Error(err)
	}
}
