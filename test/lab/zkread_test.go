package lab_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"migrator/internal/execute"
	"migrator/internal/lab"
	"migrator/internal/zkread"
)

// One ensemble of three serves all checks; those that take members away come last.
func TestZooKeeperReads(t *testing.T) {
	c := startCluster(t, lab.Options{Chroot: "/kafka", Brokers: 2, ZooKeeperServers: 3})
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	createOrders(ctx, t, c)
	r := openReader(t, c.ZooKeeperConnect())

	t.Run("a broker in ZooKeeper mode holds the controller znode and no migration is there", func(t *testing.T) { checkRoles(ctx, t, r, c) })
	t.Run("a topic is read with id, replicas, states and overrides", func(t *testing.T) { checkTopic(ctx, t, r) })
	t.Run("the whole tree is read and has no surprises", func(t *testing.T) { checkTree(ctx, t, r) })
	t.Run("the bulk reader and the plain one read the same tree", func(t *testing.T) { checkBulk(ctx, t, c) })
	t.Run("a lost topic and a spoilt configuration come back from the backup, and brokers notice", func(t *testing.T) { checkRestore(ctx, t, r, c) })
	t.Run("a connect string without the chroot is answered with the place of the cluster", func(t *testing.T) { checkChroot(ctx, t, c) })
	t.Run("two services cannot drive one cluster, and the same store takes its own lock over", func(t *testing.T) { checkLock(ctx, t, c) })
	t.Run("one lost member is seen and stops neither reads nor the lock", func(t *testing.T) { checkMemberLost(ctx, t, r, c) })
}

func createOrders(ctx context.Context, t *testing.T, c *lab.Cluster) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.Bootstrap()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	retention := "86400000"
	if _, err := kadm.NewClient(client).CreateTopic(ctx, 6, 2, map[string]*string{"retention.ms": &retention}, "orders"); err != nil {
		t.Fatal(err)
	}
}

func openReader(t *testing.T, connect string) *zkread.Reader {
	t.Helper()
	r, err := zkread.Open(connect, 10*time.Second, zkread.Login{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func checkRoles(ctx context.Context, t *testing.T, r *zkread.Reader, c *lab.Cluster) {
	id, err := r.ClusterID(ctx)
	if err != nil || len(id) != 22 {
		t.Errorf("cluster id %q, %v", id, err)
	}
	brokers, err := r.Brokers(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var ids []int32
	for _, b := range brokers {
		ids = append(ids, b.ID)
		if b.Rack == nil || len(b.Endpoints) == 0 || b.ListenerMap == nil || b.Czxid <= 0 || b.Session == 0 {
			t.Errorf("broker %d reads as %+v", b.ID, b)
		}
	}
	if !slices.Equal(ids, c.BrokerIDs()) {
		t.Errorf("registered %v, want %v", ids, c.BrokerIDs())
	}
	controller, err := r.Controller(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if !controller.Present || !controller.Ephemeral || controller.HeldByKRaft() || controller.KRaftEpoch == nil || *controller.KRaftEpoch != -1 || !slices.Contains(ids, controller.BrokerID) {
		t.Errorf("/controller reads as %+v", controller)
	}
	if e, err := r.ControllerEpoch(ctx); err != nil || !e.Present || e.Value < 1 {
		t.Errorf("/controller_epoch reads as %+v, %v", e, err)
	}
	if m, err := r.Migration(ctx); err != nil || m.Present {
		t.Errorf("/migration reads as %+v, %v", m, err)
	}
}

func checkTopic(ctx context.Context, t *testing.T, r *zkread.Reader) {
	topics, err := r.Topics(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	orders := topics["orders"]
	if orders.ID == nil || len(orders.Partitions) != 6 || len(orders.Adding)+len(orders.Removing) != 0 {
		t.Fatalf("orders reads as %+v", orders)
	}
	var states map[string]map[int32]zkread.PartitionState
	poll(ctx, t, "a state for each partition", func() bool {
		states, err = r.PartitionStates(ctx, topics)
		return err == nil && len(states["orders"]) == 6
	})
	for p := range int32(6) {
		s, ok := states["orders"][p]
		if !ok || len(s.ISR) != 2 || s.Leader != orders.Partitions[p][0] || s.ControllerEpoch < 1 {
			t.Errorf("state of partition %d: %+v, present %v", p, s, ok)
		}
	}
	config, present, err := r.TopicConfig(ctx, "orders")
	if err != nil || !present || config["retention.ms"] != "86400000" {
		t.Errorf("overrides %v, present %v, %v", config, present, err)
	}
	if _, present, err := r.TopicConfig(ctx, "absent"); err != nil || present {
		t.Errorf("an absent topic has overrides: %v, %v", present, err)
	}
	if pending, err := r.PendingDeletions(ctx); err != nil || len(pending) != 0 {
		t.Errorf("pending deletions %v, %v", pending, err)
	}
}

func checkTree(ctx context.Context, t *testing.T, r *zkread.Reader) {
	seen := map[string]zkread.Znode{}
	if _, err := r.Tree(ctx, "/", func(z zkread.Znode) error {
		if !z.Readable || len(z.ACL) == 0 {
			t.Errorf("%s is not readable (%s) or has no acl", z.Path, z.Why)
		}
		seen[z.Path] = z
		return nil
	}, nil); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/cluster/id", "/controller_epoch", "/brokers/topics/orders/partitions/5/state", "/config/topics/orders"} {
		if z, ok := seen[path]; !ok || path != "/" && len(z.Data) == 0 {
			t.Errorf("%s is missing or empty", path)
		}
	}
	for path := range seen {
		if strings.HasPrefix(path, "/kafka") {
			t.Errorf("%s: the chroot shows in a path", path)
		}
	}
}

func checkChroot(ctx context.Context, t *testing.T, c *lab.Cluster) {
	_, err := openReader(t, strings.TrimSuffix(c.ZooKeeperConnect(), "/kafka")).ClusterID(ctx)
	if !errors.Is(err, zkread.ErrNoClusterID) || !strings.Contains(err.Error(), "a cluster is at /kafka") {
		t.Errorf("got %v", err)
	}
}

func openLock(t *testing.T, c *lab.Cluster, store string) *execute.ZNodes {
	t.Helper()
	z, err := execute.OpenZNodes(c.ZooKeeperConnect(), 10*time.Second, zkread.Login{}, store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(z.Close)
	return z
}

func checkLock(ctx context.Context, t *testing.T, c *lab.Cluster) {
	killed := openLock(t, c, "store-a")
	if err := killed.Acquire(ctx, "first run"); err != nil {
		t.Fatal(err)
	}
	other := openLock(t, c, "store-b")
	var held *execute.HeldError
	if err := other.Acquire(ctx, "other store"); !errors.As(err, &held) || held.Owner != "first run" || time.Since(held.Since).Abs() > time.Minute {
		t.Fatalf("want the first run named, got %v", err)
	}
	// The first run's session lives on, as after a SIGKILL; its store comes back.
	again := openLock(t, c, "store-a")
	if err := again.Acquire(ctx, "second run"); err != nil {
		t.Fatal(err)
	}
	if err := again.Writable(ctx); err != nil {
		t.Error(err)
	}
	if err := killed.Writable(ctx); !errors.Is(err, execute.ErrNotHeld) {
		t.Errorf("the first run still writes: %v", err)
	}
	if err := other.Acquire(ctx, "other store"); !errors.As(err, &held) || held.Owner != "second run" {
		t.Errorf("want the second run named, got %v", err)
	}
	again.Close()
	if err := other.Acquire(ctx, "other store"); err != nil {
		t.Errorf("the lock was not given up at the end: %v", err)
	}
	other.Close()
}

func checkMemberLost(ctx context.Context, t *testing.T, r *zkread.Reader, c *lab.Cluster) {
	z := openLock(t, c, "store-a")
	if err := z.Acquire(ctx, "me"); err != nil {
		t.Fatal(err)
	}
	all := serversOf(ctx, t, r)
	leader := slices.IndexFunc(all, func(s zkread.Server) bool { return s.Mode == "leader" })
	if leader < 0 || slices.ContainsFunc(all, func(s zkread.Server) bool { return !s.OK() || s.Version == "" }) {
		t.Fatalf("members read as %+v", all)
	}
	if err := c.Kill(ctx, c.ZooKeeperNames()[leader]); err != nil {
		t.Fatal(err)
	}
	poll(ctx, t, "a new leader beside the member that is down", func() bool {
		now := serversOf(ctx, t, r)
		return now[leader].State == zkread.Down && slices.ContainsFunc(now, func(s zkread.Server) bool { return s.Mode == "leader" })
	})
	poll(ctx, t, "writes again, by the same lock", func() bool { return z.Writable(ctx) == nil && z.Held() })
	if controller, err := r.Controller(ctx); err != nil || !controller.Present {
		t.Errorf("/controller reads as %+v, %v", controller, err)
	}
	second := (leader + 1) % len(all)
	if err := c.Kill(ctx, c.ZooKeeperNames()[second]); err != nil {
		t.Fatal(err)
	}
	poll(ctx, t, "a member that serves nobody", func() bool {
		return slices.ContainsFunc(serversOf(ctx, t, r), func(s zkread.Server) bool { return s.State == zkread.NotServing })
	})
	short, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := z.Writable(short); err == nil {
		t.Error("writable without a majority")
	}
	if _, err := r.Controller(short); !errors.Is(err, zkread.ErrUnreachable) {
		t.Errorf("a read without a majority: %v", err)
	}
	poll(ctx, t, "not held once the session may have ended", func() bool { return !z.Held() })
}

func serversOf(ctx context.Context, t *testing.T, r *zkread.Reader) []zkread.Server {
	t.Helper()
	all, err := r.Servers(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// poll waits for a condition that nothing announces.
func poll(ctx context.Context, t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("never: %s", what)
		}
	}
}
