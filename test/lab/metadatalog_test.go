package lab_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/kafkaread"
	"migrator/internal/kraftlog"
	"migrator/internal/lab"
)

// What is read from outside must be what Kafka itself holds, before the copy,
// after it, from a snapshot and past a failover.
func TestMetadataLogFromOutside(t *testing.T) {
	c := startCluster(t, lab.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	m := openMetadataLog(t, c)
	createTopics(ctx, t, c)
	m.startControllers(ctx, t)

	log := m.controllers.NewLog() // one reader follows all of it
	steps := []struct {
		name string
		run  func(context.Context, *testing.T, *kafkaread.Log)
	}{
		{"before the copy the state is PRE_MIGRATION, wherever one asks", m.checkBeforeCopy},
		{"after the copy the log says what the brokers say", m.checkAfterCopy},
		{"a fresh reader gets the same from a snapshot", m.checkSnapshot},
		{"after a failover the reader goes on where it was", m.checkFailover},
	}
	for _, s := range steps { // each needs the ones before it
		if !t.Run(s.name, func(t *testing.T) { s.run(ctx, t, log) }) {
			return
		}
	}
}

// metadataLab is a cluster on its way, driven without the program's own plans.
type metadataLab struct {
	*lab.Cluster
	nodes       []cluster.Node
	brokers     *kafkaread.Brokers
	controllers *kafkaread.Controllers
}

func openMetadataLog(t *testing.T, c *lab.Cluster) *metadataLab {
	t.Helper()
	file, err := config.Parse("migrations.yaml", []byte(c.MigrationsYAML(lab.YAMLOptions{})))
	if err != nil {
		t.Fatal(err)
	}
	m := &metadataLab{Cluster: c, nodes: file.Migrations[0].Inventory().Controllers}
	addresses := map[int32]string{}
	for _, n := range m.nodes {
		addresses[n.ID] = fmt.Sprintf("%s:%d", n.Host, n.Port)
	}
	if m.controllers, err = kafkaread.OpenControllers(addresses); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.controllers.Close)
	if m.brokers, err = kafkaread.OpenBrokers(c.Bootstrap()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.brokers.Close)
	return m
}

func createTopics(ctx context.Context, t *testing.T, c *lab.Cluster) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.Bootstrap()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	retention := "86400000"
	for i := range 5 {
		if _, err := kadm.NewClient(client).CreateTopic(ctx, 4, 3, map[string]*string{"retention.ms": &retention}, fmt.Sprint("orders-", i)); err != nil {
			t.Fatal(err)
		}
	}
}

// migrating is the lines that both kinds of node need for the migration.
func (m *metadataLab) migrating() string {
	voters := make([]string, 0, len(m.nodes))
	for _, n := range m.nodes {
		voters = append(voters, fmt.Sprintf("%d@%s:%d", n.ID, n.Host, n.Port))
	}
	return "\nzookeeper.metadata.migration.enable=true\ncontroller.listener.names=CONTROLLER\n" +
		"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n" +
		"controller.quorum.voters=" + strings.Join(voters, ",") + "\n"
}

func (m *metadataLab) startControllers(ctx context.Context, t *testing.T) {
	t.Helper()
	md, err := m.brokers.Metadata(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range m.nodes {
		text := fmt.Sprintf("process.roles=controller\nnode.id=%d\nlisteners=CONTROLLER://%s:%d\nlog.dirs=%s\nzookeeper.connect=%s\n"+
			"inter.broker.listener.name=PLAINTEXT\nmetadata.log.max.snapshot.interval.ms=5000\n", n.ID, n.Host, n.Port, m.DataDir(n.ID), m.ZooKeeperConnect())
		if err := os.WriteFile(m.PropertiesPath(n.ID), []byte(text+m.migrating()), 0o600); err != nil {
			t.Fatal(err)
		}
		name := strconv.Itoa(int(n.ID))
		if exit, out, err := lab.Control(ctx, m.Dir(), "format", name, "--cluster-id="+md.ClusterID, "--config", m.PropertiesPath(n.ID)); exit != 0 {
			t.Fatalf("format %s: exit %d, %s, %v", name, exit, out, err)
		}
		if err := m.Start(ctx, name); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range m.nodes {
		if err := m.Ready(ctx, strconv.Itoa(int(n.ID))); err != nil {
			t.Fatal(err)
		}
	}
}

func (m *metadataLab) rollBrokersIntoMigration(ctx context.Context, t *testing.T) {
	t.Helper()
	for _, id := range m.BrokerIDs() {
		name := strconv.Itoa(int(id))
		old, err := os.ReadFile(m.PropertiesPath(id))
		err = errors.Join(err, m.Stop(ctx, name), os.WriteFile(m.PropertiesPath(id), append(old, m.migrating()...), 0o600), m.Start(ctx, name), m.Ready(ctx, name))
		if err != nil {
			t.Fatal(err)
		}
	}
}

// leader asks every controller and wants exactly one to lead.
func (m *metadataLab) leader(ctx context.Context) (kafkaread.Quorum, error) {
	var found []kafkaread.Quorum
	for _, n := range m.nodes {
		short, cancel := context.WithTimeout(ctx, 5*time.Second)
		q, err := m.controllers.Quorum(short, n.ID)
		cancel()
		if err == nil && q.IsLeader {
			found = append(found, q)
		}
	}
	if len(found) != 1 || !found[0].HasHighWatermark {
		return kafkaread.Quorum{}, fmt.Errorf("%d controllers say that they lead, or the leader is too new", len(found))
	}
	return found[0], nil
}

// await polls the log until the image is as wanted. Elections on a busy
// machine make single polls fail; that they end is what is wanted.
func (m *metadataLab) await(ctx context.Context, t *testing.T, log *kafkaread.Log, wanted func(kafkaread.Quorum, kraftlog.Image) error) (kafkaread.Quorum, kraftlog.Image) {
	t.Helper()
	short, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		q, err := m.leader(short)
		var image kraftlog.Image
		if err == nil {
			image, _, err = log.Poll(short, q.Leader, q.Epoch)
		}
		if err == nil {
			err = wanted(q, image)
		}
		if err == nil {
			return q, image
		}
		select {
		case <-short.Done():
			t.Fatalf("the log did not come to what is wanted: %v", err)
		case <-tick.C:
		}
	}
}

func (m *metadataLab) checkBeforeCopy(ctx context.Context, t *testing.T, log *kafkaread.Log) {
	t.Helper()
	q, _ := m.await(ctx, t, log, func(_ kafkaread.Quorum, image kraftlog.Image) error {
		ready := 0
		for _, registered := range image.Controllers {
			if registered.ZkMigrationReady {
				ready++
			}
		}
		if image.State != cluster.StatePreMigration || ready != len(m.nodes) || image.Features["metadata.version"] != 21 {
			return fmt.Errorf("state %q, %d controllers ready, features %v", image.State, ready, image.Features)
		}
		return nil
	})
	if len(q.Voters) != len(m.nodes) {
		t.Errorf("voters %+v", q.Voters)
	}
	for _, n := range m.nodes {
		m.awaitAPI(ctx, t, n.ID)
	}
	api, err := m.brokers.API(ctx, "127.0.0.1", brokerPort(t, m.Bootstrap()[0]))
	if err != nil || api.HasDescribeQuorum || !api.HasUpdateMetadata || api.ZkMigrationReady {
		t.Errorf("a broker in plain ZooKeeper mode says %+v, %v", api, err)
	}
	m.checkHints(ctx, t)
}

// awaitAPI: a controller answers with what it has loaded of the log, and for a
// moment that is metadata.version 1.
func (m *metadataLab) awaitAPI(ctx context.Context, t *testing.T, id int32) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		api, err := m.controllers.API(ctx, id)
		if err == nil && api.ZkMigrationReady && api.HasDescribeQuorum && !api.HasUpdateMetadata && api.Finalized["metadata.version"] == 21 {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("controller %d says %+v, %v", id, api, err)
		case <-tick.C:
		}
	}
}

// checkHints asks with stale knowledge: at a follower, and in an old epoch.
func (m *metadataLab) checkHints(ctx context.Context, t *testing.T) {
	t.Helper()
	m.await(ctx, t, m.controllers.NewLog(), func(q kafkaread.Quorum, _ kraftlog.Image) error {
		for _, n := range m.nodes {
			for _, epoch := range []int32{q.Epoch, 0} {
				image, _, err := m.controllers.NewLog().Poll(ctx, n.ID, epoch)
				if err != nil || image.State != cluster.StatePreMigration {
					return fmt.Errorf("through controller %d with epoch %d, the leader being %d in %d: state %q, %v", n.ID, epoch, q.Leader, q.Epoch, image.State, err)
				}
			}
		}
		return nil
	})
}

func (m *metadataLab) checkAfterCopy(ctx context.Context, t *testing.T, log *kafkaread.Log) {
	t.Helper()
	m.rollBrokersIntoMigration(ctx, t)
	_, image := m.await(ctx, t, log, func(_ kafkaread.Quorum, image kraftlog.Image) error {
		for _, id := range m.BrokerIDs() {
			if b, ok := image.Brokers[id]; !ok || b.Fenced || !b.MigratingZK || b.RegisteredAt != b.Epoch {
				return fmt.Errorf("broker %d is registered as %+v", id, b)
			}
		}
		if image.State != cluster.StateMigration || image.Pending != 0 {
			return fmt.Errorf("state %q with %d records pending", image.State, image.Pending)
		}
		return m.sameAsBrokersSay(ctx, image)
	})
	if got := image.TopicConfigs["orders-3"]["retention.ms"]; got != "86400000" {
		t.Errorf("retention.ms of orders-3 is %q in the log", got)
	}
	minISR, err := m.brokers.MinISR(ctx, []string{"orders-3"})
	if err != nil || minISR["orders-3"] != 2 {
		t.Errorf("min.insync.replicas %v, %v", minISR, err)
	}
	if moves, err := m.brokers.Reassignments(ctx); err != nil || len(moves) != 0 {
		t.Errorf("reassignments %v, %v", moves, err)
	}
	api, err := m.brokers.API(ctx, "127.0.0.1", brokerPort(t, m.Bootstrap()[0]))
	if err != nil || api.HasDescribeQuorum || !api.HasUpdateMetadata || !api.ZkMigrationReady {
		t.Errorf("a migrating broker says %+v, %v", api, err)
	}
}

// sameAsBrokersSay compares the image with Metadata, partition by partition.
func (m *metadataLab) sameAsBrokersSay(ctx context.Context, image kraftlog.Image) error {
	md, err := m.brokers.Metadata(ctx)
	if err != nil {
		return err
	}
	got := map[string]kraftlog.Topic{}
	for _, p := range md.Partitions {
		if _, ok := got[p.Topic]; !ok {
			got[p.Topic] = kraftlog.Topic{ID: p.TopicID, Partitions: map[int32]kraftlog.Partition{}}
		}
		got[p.Topic].Partitions[p.Partition] = kraftlog.Partition{Replicas: p.Replicas, ISR: slices.Sorted(slices.Values(p.ISR)), Leader: p.Leader, HasLeader: p.HasLeader, LeaderEpoch: p.LeaderEpoch}
	}
	sortedISR := cmp.Transformer("sortedISR", func(p kraftlog.Partition) [3]any {
		return [3]any{p.Replicas, slices.Sorted(slices.Values(p.ISR)), fmt.Sprint(p.Leader, p.HasLeader, p.LeaderEpoch)}
	})
	if diff := cmp.Diff(got, image.Topics, sortedISR); diff != "" {
		return fmt.Errorf("brokers (-) and the log (+) differ:\n%s", diff)
	}
	return nil
}

// checkSnapshot reads from the beginning once the leader answers that with a
// snapshot, and compares with the reader that followed the log all along.
func (m *metadataLab) checkSnapshot(ctx context.Context, t *testing.T, log *kafkaread.Log) {
	t.Helper()
	m.await(ctx, t, log, func(q kafkaread.Quorum, followed kraftlog.Image) error {
		if n := snapshots(m.DataDir(q.Leader)); n == 0 {
			return errors.New("the leader has no snapshot yet")
		}
		fresh, _, err := m.controllers.NewLog().Poll(ctx, q.Leader, q.Epoch)
		if err != nil {
			return err
		}
		for _, b := range fresh.Brokers {
			if b.RegisteredAt <= b.Epoch {
				return fmt.Errorf("broker %d was not read from a snapshot that covers the copy", b.ID)
			}
		}
		if len(fresh.Brokers) != len(m.BrokerIDs()) {
			return fmt.Errorf("%d brokers in the snapshot", len(fresh.Brokers))
		}
		offsets := cmpopts.IgnoreFields(kraftlog.Image{}, "Offset", "Other", "LastChange")
		registered := cmp.Options{cmpopts.IgnoreFields(kraftlog.Broker{}, "RegisteredAt"), cmpopts.IgnoreFields(kraftlog.Controller{}, "Offset")}
		if diff := cmp.Diff(followed, fresh, offsets, registered); diff != "" {
			return fmt.Errorf("the followed log (-) and the snapshot (+) differ:\n%s", diff)
		}
		return nil
	})
}

// snapshots counts the snapshots below a controller's folder, apart from the
// one that formatting leaves.
func snapshots(dir string) int {
	found, _ := filepath.Glob(filepath.Join(dir, "__cluster_metadata-0", "*.checkpoint"))
	n := 0
	for _, path := range found {
		if !strings.HasPrefix(filepath.Base(path), "00000000000000000000-") && filepath.Base(path) != "bootstrap.checkpoint" {
			n++
		}
	}
	return n
}

// checkFailover kills the leader: the reader goes on where it was.
func (m *metadataLab) checkFailover(ctx context.Context, t *testing.T, log *kafkaread.Log) {
	t.Helper()
	old, before := m.await(ctx, t, log, func(kafkaread.Quorum, kraftlog.Image) error { return nil })
	if err := m.Kill(ctx, strconv.Itoa(int(old.Leader))); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if image, _, err := log.Poll(short, old.Leader, old.Epoch); err == nil {
		t.Errorf("a dead leader gave an image at offset %d", image.Offset)
	}
	q, after := m.await(ctx, t, log, func(q kafkaread.Quorum, image kraftlog.Image) error {
		if q.Epoch <= old.Epoch || image.Epoch <= old.Epoch {
			return fmt.Errorf("epoch %d, newest record of %d", q.Epoch, image.Epoch)
		}
		return nil
	})
	if after.Offset <= before.Offset || after.State != cluster.StateMigration || q.Leader == old.Leader {
		t.Errorf("after the failover to %d: offset %d (before %d), state %s", q.Leader, after.Offset, before.Offset, after.State)
	}
}

func brokerPort(t *testing.T, address string) int {
	t.Helper()
	_, text, _ := strings.Cut(address, ":")
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return port
}
