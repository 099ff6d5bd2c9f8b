package lab_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/facts"
	"migrator/internal/lab"
	"migrator/internal/observe"
)

// TestACompleteRoundOfAClusterInInitial reads a real cluster before anything
// was done to it, then with a broker stopped, and follows that broker's restart
// in its logs across a restart of the reader.
func TestACompleteRoundOfAClusterInInitial(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	c := startCluster(t, lab.Options{Brokers: 3, Controllers: 3, Chroot: "/kafka"})
	m := migrationOf(t, c)
	o := openObserver(t, m)
	want := observe.Want{Files: true, Meta: true, Topics: true, Quorum: true, Log: true, MinISR: true}

	s := awaitScan(ctx, t, o, want)
	checkInitial(t, c, s)
	t.Run("a round of a healthy cluster is quick", func(t *testing.T) {
		began := time.Now()
		o.Round(ctx, observe.Want{Files: true, MinISR: true})
		t.Logf("a round took %s", time.Since(began))
		if d := time.Since(began); d > 500*time.Millisecond {
			t.Errorf("a round took %s", d)
		}
	})
	t.Run("a broker that is down is seen so by every reader and delays none", func(t *testing.T) {
		checkBrokerDown(ctx, t, c, o)
	})
	t.Run("its restart is read from its logs, also by a service that was restarted meanwhile", func(t *testing.T) {
		checkRestartLines(ctx, t, c, m)
	})
	t.Run("a quorum that comes up is read whole, and its failover is followed", func(t *testing.T) {
		provision(ctx, t, c, m, knownFact(t, "cluster id", s.ClusterID))
		checkQuorum(ctx, t, c, o, m.Inventory().Controllers)
	})
}

func migrationOf(t *testing.T, c *lab.Cluster) config.Migration {
	t.Helper()
	file, err := config.Parse("migrations.yaml", []byte(c.MigrationsYAML(lab.YAMLOptions{})))
	if err != nil {
		t.Fatal(err)
	}
	return file.Migrations[0]
}

func openObserver(t *testing.T, m config.Migration) *observe.Observer {
	t.Helper()
	o, err := observe.New(m, observe.Deps{Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

// awaitRound repeats rounds until one satisfies done.
func awaitRound(ctx context.Context, t *testing.T, o *observe.Observer, want observe.Want, what string, done func(facts.Snapshot) bool) facts.Snapshot {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		s := o.Round(ctx, want)
		if done(s) {
			return s
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("no round showed %s", what)
		}
	}
}

func awaitScan(ctx context.Context, t *testing.T, o *observe.Observer, want observe.Want) facts.Snapshot {
	t.Helper()
	return awaitRound(ctx, t, o, want, "a finished scan", func(s facts.Snapshot) bool { return s.ZKTopics.Known() })
}

func checkInitial(t *testing.T, c *lab.Cluster, s facts.Snapshot) {
	t.Helper()
	id := knownFact(t, "cluster id", s.ClusterID)
	holder := knownFact(t, "/controller", s.Holder)
	if !holder.Present || holder.KRaft() || !holder.Ephemeral || holder.ID < 1 || holder.ID > 3 {
		t.Errorf("/controller %+v, want one of the brokers", holder)
	}
	if e := knownFact(t, "/controller_epoch", s.ZKEpoch); !e.Present || e.Value < 1 {
		t.Errorf("/controller_epoch %+v", e)
	}
	if m := knownFact(t, "/migration", s.Migration); m.Present {
		t.Errorf("/migration %+v, want none", m)
	}
	if d := knownFact(t, "pending deletions", s.Deleting); len(d) != 0 {
		t.Errorf("pending deletions %v", d)
	}
	for _, member := range knownFact(t, "ensemble", s.Ensemble) {
		if member.Serving == nil || !*member.Serving || member.Mode != "standalone" {
			t.Errorf("member %+v", member)
		}
	}
	knownFact(t, "topics in ZooKeeper", s.ZKTopics)
	knownFact(t, "the canary topic's configuration", s.ZKMarker)
	knownFact(t, "min.insync.replicas", s.MinISR)
	if moves := knownFact(t, "reassignments", s.Reassigning); len(moves) != 0 {
		t.Errorf("reassignments %v", moves)
	}
	md := knownFact(t, "metadata", s.Metadata)
	if md.ClusterID != id || len(md.Brokers) != 3 {
		t.Errorf("metadata %+v, want cluster %s with three brokers", md, id)
	}
	checkBrokersInitial(t, c, s, id)
	checkNoQuorum(t, c, s)
}

func checkBrokersInitial(t *testing.T, c *lab.Cluster, s facts.Snapshot, id string) {
	t.Helper()
	var addresses []string
	for _, r := range knownFact(t, "registrations", s.Registered) {
		addresses = append(addresses, fmt.Sprintf("%s:%d", r.Host, r.Port))
		if r.Czxid == 0 {
			t.Errorf("broker %d has no czxid", r.ID)
		}
	}
	if diff := cmp.Diff(c.Bootstrap(), addresses); diff != "" {
		t.Errorf("registered addresses (-want +got):\n%s", diff)
	}
	for _, broker := range c.BrokerIDs() {
		mode := s.Mode(cluster.Node{ID: broker, Role: cluster.Broker})
		if got := knownFact(t, "mode", mode); got != cluster.ZK {
			t.Errorf("broker %d runs in mode %s", broker, got)
		}
		if f := knownFact(t, "file", s.Files[broker]); !f.Exists || f.Mode != cluster.ZK || len(f.SHA256) != 64 {
			t.Errorf("broker %d: file exists %t, mode %q, hash %q", broker, f.Exists, f.Mode, f.SHA256)
		}
		if !knownFact(t, "running", s.Running[broker]) {
			t.Errorf("broker %d does not run", broker)
		}
		for _, meta := range knownFact(t, "meta.properties", s.Meta[broker]) {
			want := facts.MetaProperties{Dir: meta.Dir, Exists: true, ClusterID: id, NodeID: fmt.Sprint(broker)}
			if diff := cmp.Diff(want, meta); diff != "" {
				t.Errorf("meta.properties of broker %d (-want +got):\n%s", broker, diff)
			}
		}
	}
}

func checkNoQuorum(t *testing.T, c *lab.Cluster, s facts.Snapshot) {
	t.Helper()
	for _, controller := range c.ControllerIDs() {
		for what, cause := range map[string]string{
			"DescribeQuorum": s.Quorum[controller].Cause(), "ApiVersions": s.API[controller].Cause(),
		} {
			if !strings.Contains(cause, "refused") {
				t.Errorf("%s of controller %d: cause %q, want that it refuses", what, controller, cause)
			}
		}
		if knownFact(t, "running", s.Running[controller]) {
			t.Errorf("controller %d runs", controller)
		}
		if f := knownFact(t, "file", s.Files[controller]); f.Exists {
			t.Errorf("controller %d has a file", controller)
		}
		for _, meta := range knownFact(t, "meta.properties", s.Meta[controller]) {
			if meta.Exists {
				t.Errorf("controller %d has %+v", controller, meta)
			}
		}
	}
	if s.Log.Known() || !strings.Contains(s.Log.Cause(), "no controller says it leads") {
		t.Errorf("metadata log known %t, cause %q", s.Log.Known(), s.Log.Cause())
	}
}

func checkBrokerDown(ctx context.Context, t *testing.T, c *lab.Cluster, o *observe.Observer) {
	if err := c.Stop(ctx, "2"); err != nil {
		t.Fatal(err)
	}
	want := observe.Want{Files: true, MinISR: true}
	s := awaitRound(ctx, t, o, want, "broker 2 gone from /brokers/ids and Metadata", func(s facts.Snapshot) bool {
		registered, ok := s.Registered.Get()
		md, okToo := s.Metadata.Get()
		return ok && okToo && len(registered) == 2 && len(md.Brokers) == 2
	})
	if cause := s.API[2].Cause(); !strings.Contains(cause, "refused") {
		t.Errorf("ApiVersions of broker 2: cause %q, want that its address refuses", cause)
	}
	if source := s.API[2].Source(); !strings.Contains(source, c.Bootstrap()[1]) {
		t.Errorf("source %q does not name %s", source, c.Bootstrap()[1])
	}
	if knownFact(t, "running", s.Running[2]) {
		t.Error("broker 2 runs")
	}
	for _, other := range []int32{1, 3} {
		knownFact(t, "ApiVersions", s.API[other])
	}
	// A node that holds its port and does nothing is the slow kind of dead.
	if err := c.Pause(ctx, "3"); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s = o.Round(ctx, want)
	if d := time.Since(began); d > 2500*time.Millisecond {
		t.Errorf("a paused broker held the round for %s", d)
	}
	if s.API[3].Known() || !knownFact(t, "running", s.Running[3]) {
		t.Errorf("a paused broker: ApiVersions known %t; its process exists", s.API[3].Known())
	}
	knownFact(t, "cluster id", s.ClusterID)
	knownFact(t, "ApiVersions", s.API[1])
	if err := c.Resume(ctx, "3"); err != nil {
		t.Fatal(err)
	}
}

func checkRestartLines(ctx context.Context, t *testing.T, c *lab.Cluster, m config.Migration) {
	before := openObserver(t, m)
	cursors, err := before.MarkLogs(ctx, []int32{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	want := observe.Want{Lines: []int32{1, 2}}
	if l := knownFact(t, "lines", before.Round(ctx, want).Lines[2]); l.Started || l.ShutDown {
		t.Errorf("lines before the mark count: %+v", l)
	}
	if err := c.Start(ctx, "2"); err != nil {
		t.Fatal(err)
	}
	awaitRound(ctx, t, before, want, "the start line of broker 2", func(s facts.Snapshot) bool {
		l, ok := s.Lines[2].Get()
		return ok && l.Started
	})
	after := openObserver(t, m)
	if err := after.RestoreLogs(cursors); err != nil {
		t.Fatal(err)
	}
	s := after.Round(ctx, want)
	if l := knownFact(t, "lines", s.Lines[2]); !l.Started || l.ShutDown || len(l.Fatal) != 0 {
		t.Errorf("after a restart of the reader: %+v", l)
	}
	if l := knownFact(t, "lines", s.Lines[1]); l.Started {
		t.Errorf("broker 1, which was not restarted: %+v", l)
	}
}

func knownFact[T any](t *testing.T, what string, f facts.Fact[T]) T {
	t.Helper()
	v, ok := f.Get()
	if !ok {
		t.Errorf("%s (%s) is unknown: %s", what, f.Source(), f.Cause())
	}
	return v
}

// provision makes and starts the controllers by hand, as an administrator would.
func provision(ctx context.Context, t *testing.T, c *lab.Cluster, m config.Migration, clusterID string) {
	t.Helper()
	var voters []string
	controllers := m.Inventory().Controllers
	for _, n := range controllers {
		voters = append(voters, fmt.Sprintf("%d@%s:%d", n.ID, n.Host, n.Port))
	}
	for _, n := range controllers {
		text := fmt.Sprintf("process.roles=controller\nnode.id=%d\ncontroller.quorum.voters=%s\nlisteners=CONTROLLER://%s:%d\n"+
			"controller.listener.names=CONTROLLER\nlog.dirs=%s\nzookeeper.connect=%s\nzookeeper.metadata.migration.enable=true\n",
			n.ID, strings.Join(voters, ","), n.Host, n.Port, c.DataDir(n.ID), c.ZooKeeperConnect())
		if err := os.WriteFile(c.PropertiesPath(n.ID), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprint(n.ID)
		if exit, out, err := lab.Control(ctx, c.Dir(), "format", name, "--cluster-id="+clusterID, "--config", c.PropertiesPath(n.ID)); exit != 0 {
			t.Fatalf("format %s: exit %d, %s: %v", name, exit, out, err)
		}
		if err := c.Start(ctx, name); err != nil {
			t.Fatal(err)
		}
	}
}

func checkQuorum(ctx context.Context, t *testing.T, c *lab.Cluster, o *observe.Observer, controllers []cluster.Node) {
	want := observe.Want{Files: true, Meta: true, Log: true}
	s := awaitRound(ctx, t, o, want, "three registered controllers in the metadata log", func(s facts.Snapshot) bool {
		log, ok := s.Log.Get()
		return ok && len(log.Image.Controllers) == 3 && log.Image.HasState
	})
	first := knownFact(t, "leader", s.Leader(controllers))
	log := knownFact(t, "metadata log", s.Log)
	if log.Image.State != cluster.StatePreMigration || log.Leader != first.ID || log.Epoch != first.Epoch {
		t.Errorf("log: state %s, leader %d, epoch %d; DescribeQuorum: leader %d, epoch %d",
			log.Image.State, log.Leader, log.Epoch, first.ID, first.Epoch)
	}
	if len(first.Voters) != 3 || first.HighWatermark <= 0 {
		t.Errorf("leader sees %d voters and the high watermark %d", len(first.Voters), first.HighWatermark)
	}
	for _, n := range controllers {
		if mode := knownFact(t, "mode", s.Mode(n)); mode != cluster.KRaftMigrating {
			t.Errorf("controller %d runs in mode %s", n.ID, mode)
		}
		if !knownFact(t, "running", s.Running[n.ID]) || knownFact(t, "file", s.Files[n.ID]).Mode != cluster.KRaftMigrating {
			t.Errorf("controller %d: its process or its file is not as made", n.ID)
		}
		if !log.Image.Controllers[n.ID].ZkMigrationReady {
			t.Errorf("controller %d is not registered as ready", n.ID)
		}
		for _, meta := range knownFact(t, "meta.properties", s.Meta[n.ID]) {
			if !meta.Exists || meta.Version != 1 || meta.NodeID != fmt.Sprint(n.ID) {
				t.Errorf("controller %d: %+v", n.ID, meta)
			}
		}
	}
	if m := knownFact(t, "/migration", s.Migration); !m.Present || m.Null || m.Offset != nil || m.ControllerID != nil {
		t.Errorf("/migration %+v, want one that says nothing was copied", m)
	}
	// The old leader hangs instead of dying: it is a voter still, and silent.
	if err := c.Pause(ctx, fmt.Sprint(first.ID)); err != nil {
		t.Fatal(err)
	}
	s = awaitRound(ctx, t, o, want, "the log through another leader", func(s facts.Snapshot) bool {
		log, ok := s.Log.Get()
		return ok && log.Leader != first.ID
	})
	second := knownFact(t, "leader", s.Leader(controllers))
	if second.ID == first.ID || second.Epoch <= first.Epoch {
		t.Errorf("leader %d in epoch %d after %d in %d", second.ID, second.Epoch, first.ID, first.Epoch)
	}
	if got := knownFact(t, "metadata log", s.Log); got.HighWatermark <= log.HighWatermark || len(got.Image.Controllers) != 3 {
		t.Errorf("after the failover: high watermark %d after %d, %d controllers", got.HighWatermark, log.HighWatermark, len(got.Image.Controllers))
	}
	if s.Quorum[first.ID].Known() {
		t.Errorf("the paused controller %d answered", first.ID)
	}
	if err := c.Resume(ctx, fmt.Sprint(first.ID)); err != nil {
		t.Fatal(err)
	}
	awaitRound(ctx, t, o, want, "one leader and a known log again", func(s facts.Snapshot) bool {
		return s.Log.Known() && s.Quorum[first.ID].Known()
	})
}
