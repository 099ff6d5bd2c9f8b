package lab_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/configgen"
	"migrator/internal/lab"
)

// Whatever file people have for their broker, real Kafka takes what is made of
// it: in migration mode, in KRaft mode, and on the way back to plain ZooKeeper
// mode. One broker and one controller do; the controller calls the broker on
// its inter-broker listener, so a topic made at each place proves that.
func TestOriginalFilesInEveryMode(t *testing.T) {
	for _, o := range originals() {
		t.Run(strings.ReplaceAll(o.name, " ", "-"), func(t *testing.T) {
			if !o.always {
				nightly(t)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			began := time.Now()
			j := startJourney(ctx, t, o)
			j.thereAndBack(ctx)
			t.Logf("%s: there and back in %s", o.name, time.Since(began).Round(time.Second))
		})
	}
}

// original is a broker's file as somebody has it, and what goes with it.
type original struct {
	name   string
	always bool // in `make test` too
	id     int  // of the broker, 0 = 1
	// lines take the place of the lab's with the same key; {port} is the
	// listener of the test, {a} and {b} are two more ports, {dir} is the
	// cluster's folder, {zk} what the lab has for zookeeper.connect.
	lines      []string
	drop       []string // keys of the lab's file that this one lacks
	raw        func(file []byte) []byte
	chroot     string
	quorum     string // "" = static
	protocol   string // of the controllers' listener, "" = PLAINTEXT
	settings   []string
	partitions int                                         // of a topic that says nothing of it, 0 = 1
	before     func(context.Context, *journey) error       // ZooKeeper serves, the broker was never started
	check      func(context.Context, *testing.T, *journey) // at each place, beyond what everyone must do
}

// journey is one original on its way.
type journey struct {
	t          *testing.T
	o          original
	c          *lab.Cluster
	broker     cluster.Node
	controller cluster.Node
	ports      *strings.Replacer
	rendering  configgen.Settings
	place      string // where the broker is, for messages and topic names
	file       []byte // the broker's
}

func startJourney(ctx context.Context, t *testing.T, o original) *journey {
	t.Helper()
	j := &journey{t: t, o: o, place: "zk"}
	j.c = startCluster(t, lab.Options{Brokers: 1, FirstBroker: o.id, Chroot: o.chroot, BeforeBrokers: j.writeOriginal})
	j.knows(j.c.ZooKeeperConnect())
	j.works(ctx)
	return j
}

// knows fills in what is rendered from: the broker's file, and what
// migrations.yaml would say.
func (j *journey) knows(zookeeper string) {
	j.t.Helper()
	j.rendering = configgen.Settings{
		Quorum:           configgen.Quorum{Mode: or(j.o.quorum, "static"), ListenerName: "CONTROLLER", ListenerProtocol: or(j.o.protocol, "PLAINTEXT"), Voters: []cluster.Node{j.controller}},
		ZooKeeperConnect: zookeeper, KafkaVersion: lab.DefaultVersion,
	}
	var err error
	if j.rendering.MetadataVersion, err = configgen.EffectiveIBP(j.file, lab.DefaultVersion); err != nil {
		j.t.Fatal(err)
	}
	if j.rendering.InterBroker, err = configgen.FromBroker(j.file); err != nil {
		j.t.Fatal(err)
	}
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// writeOriginal is called between ZooKeeper's start and the broker's.
func (j *journey) writeOriginal(ctx context.Context, c *lab.Cluster) error {
	j.c = c
	file, err := config.Parse("migrations.yaml", []byte(c.MigrationsYAML(lab.YAMLOptions{})))
	if err != nil {
		return err
	}
	inventory := file.Migrations[0].Inventory()
	j.broker, j.controller = inventory.Brokers[0], inventory.Controllers[0]
	_, port, _ := strings.Cut(c.Bootstrap()[0], ":")
	j.ports = strings.NewReplacer("{port}", port, "{a}", strconv.Itoa(inventory.Controllers[1].Port), "{b}", strconv.Itoa(inventory.Controllers[2].Port),
		"{dir}", c.Dir(), "{zk}", c.ZooKeeperConnect())
	if j.o.before != nil {
		if err := j.o.before(ctx, j); err != nil {
			return err
		}
	}
	now, err := os.ReadFile(c.PropertiesPath(j.broker.ID))
	if err != nil {
		return err
	}
	if j.file, err = j.o.file(now, j.ports); err != nil {
		return err
	}
	return os.WriteFile(c.PropertiesPath(j.broker.ID), j.file, 0o600)
}

// file is the original made out of another file.
func (o original) file(now []byte, ports *strings.Replacer) ([]byte, error) {
	doc, err := configgen.Parse(now)
	if err != nil {
		return nil, err
	}
	for _, key := range o.drop {
		if _, err := doc.Remove(key); err != nil {
			return nil, err
		}
	}
	for _, line := range o.lines {
		if err := setLine(doc, ports.Replace(line)); err != nil {
			return nil, err
		}
	}
	if _, there := doc.Value("broker.id"); there && o.id != 0 {
		if err := doc.Set("broker.id", strconv.Itoa(o.id)); err != nil {
			return nil, err
		}
	}
	if o.raw != nil {
		return o.raw(doc.Bytes()), nil
	}
	return doc.Bytes(), nil
}

func setLine(doc *configgen.Document, line string) error {
	key, value, _ := strings.Cut(line, "=")
	if _, there := doc.Value(key); there {
		return doc.Set(key, value)
	}
	return doc.Append(key, value)
}

func (j *journey) thereAndBack(ctx context.Context) {
	j.startController(ctx)
	original := j.file
	j.roll(ctx, "zk-migrating", j.render(cluster.ZKMigrating, j.file))
	j.awaitLine(ctx, j.controller.ID, `Completed migration of metadata from Zoo[kK]eeper to KRaft`)
	j.works(ctx)
	migrating := j.file
	j.roll(ctx, "kraft", j.render(cluster.KRaft, j.file))
	j.works(ctx)
	j.roll(ctx, "zk-migrating-again", migrating)
	j.works(ctx)
	j.stopController(ctx)
	j.roll(ctx, "zk-again", j.render(cluster.ZK, j.file))
	j.works(ctx)
	j.roll(ctx, "original", original)
	j.works(ctx)
}

func (j *journey) render(mode cluster.Mode, now []byte) []byte {
	j.t.Helper()
	out, err := configgen.Render(j.broker, mode, now, j.rendering, j.extra())
	if err != nil {
		j.t.Fatal(err)
	}
	j.t.Logf("%s\n%s", strings.Join(out.Notes, "\n"), out.Unified(string(mode), false))
	return out.File
}

// extra are the settings of migrations.yaml that every node of a secured quorum
// needs.
func (j *journey) extra() []configgen.Setting {
	var out []configgen.Setting
	for _, line := range j.o.settings {
		key, value, _ := strings.Cut(j.ports.Replace(line), "=")
		out = append(out, configgen.Setting{Key: key, Value: value})
	}
	return out
}

func (j *journey) renderController(mode cluster.Mode, now []byte) []byte {
	j.t.Helper()
	data := configgen.Setting{Key: "log.dirs", Value: "{dir}/nodes/3001/data"}
	if j.c != nil {
		data.Value = j.c.DataDir(j.controller.ID)
	}
	out, err := configgen.Render(j.controller, mode, now, j.rendering, append(j.extra(), data))
	if err != nil {
		j.t.Fatal(err)
	}
	j.t.Logf("%s\n%s", strings.Join(out.Notes, "\n"), out.Unified("controller", now == nil))
	return out.File
}

func (j *journey) startController(ctx context.Context) {
	j.t.Helper()
	file := j.renderController(cluster.KRaftMigrating, nil)
	path := j.c.PropertiesPath(j.controller.ID)
	if err := os.WriteFile(path, file, 0o600); err != nil {
		j.t.Fatal(err)
	}
	name := strconv.Itoa(int(j.controller.ID))
	args := []string{"--cluster-id=" + j.clusterID(), "--release-version=" + j.rendering.MetadataVersion, "--config", path}
	if j.o.quorum == "dynamic" {
		args = append(args, fmt.Sprintf("--initial-controllers=%d@%s:%d:kvUZ-T0kQUSMZ0ygGJfRnw", j.controller.ID, j.controller.Host, j.controller.Port))
	}
	if exit, said, err := lab.Control(ctx, j.c.Dir(), "format", name, args...); exit != 0 {
		j.t.Fatalf("format the controller: exit %d, %s, %v", exit, said, err)
	}
	j.starts(ctx, name)
}

// clusterID is the one of the broker's own folder.
func (j *journey) clusterID() string {
	j.t.Helper()
	dirs, err := configgen.LogDirs(j.file)
	if err != nil {
		j.t.Fatal(err)
	}
	meta, err := os.ReadFile(filepath.Join(dirs[0], "meta.properties"))
	if err != nil {
		j.t.Fatal(err)
	}
	doc, err := configgen.Parse(meta)
	if err != nil {
		j.t.Fatal(err)
	}
	id, _ := doc.Value("cluster.id")
	return id
}

func (j *journey) starts(ctx context.Context, name string) {
	j.t.Helper()
	if err := errors.Join(j.c.Start(ctx, name), j.c.Ready(ctx, name)); err != nil {
		j.t.Fatalf("%s, %s: %v", j.o.name, j.place, err)
	}
}

// roll restarts the broker with another file.
func (j *journey) roll(ctx context.Context, place string, file []byte) {
	j.t.Helper()
	name := strconv.Itoa(int(j.broker.ID))
	if err := j.c.Stop(ctx, name); err != nil {
		j.t.Fatal(err)
	}
	j.place, j.file = place, file
	if err := os.WriteFile(j.c.PropertiesPath(j.broker.ID), file, 0o600); err != nil {
		j.t.Fatal(err)
	}
	j.starts(ctx, name)
}

// stopController is the way back as the manual has it. The broker must follow
// its new controller before it is stopped, or it hangs: a topic that this one
// has led somewhere shows that it does.
func (j *journey) stopController(ctx context.Context) {
	j.t.Helper()
	if err := j.c.Stop(ctx, strconv.Itoa(int(j.controller.ID))); err != nil {
		j.t.Fatal(err)
	}
	conn := connectAt(j.t, strings.TrimSuffix(j.c.ZooKeeperConnect(), j.o.chroot))
	for _, path := range []string{"/controller", "/migration"} {
		if err := conn.Delete(j.o.chroot+path, -1); err != nil {
			j.t.Fatalf("delete %s: %v", path, err)
		}
	}
	j.place = "zk-migrating-alone"
	j.works(ctx)
}

func (j *journey) awaitLine(ctx context.Context, id int32, text string) {
	j.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	found := make(chan error, 2)
	for _, file := range []string{"server.log", "controller.log"} {
		go func() {
			_, err := j.c.WaitLog(ctx, id, file, regexp.MustCompile(text))
			found <- err
		}()
	}
	if err := <-found; err != nil {
		j.t.Fatalf("%s, %s: node %d: %v", j.o.name, j.place, id, err)
	}
}

func (j *journey) client(opts ...kgo.Opt) *kgo.Client {
	j.t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(j.c.Bootstrap()...), kgo.MetadataMinAge(100 * time.Millisecond), kgo.RecordDeliveryTimeout(20 * time.Second)}, opts...)...)
	if err != nil {
		j.t.Fatal(err)
	}
	return client
}

// works makes a topic with nothing but the cluster's defaults, and writes and
// reads a record.
func (j *journey) works(ctx context.Context) {
	j.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	topic := "at-" + j.place
	client := j.client(kgo.ConsumeTopics(topic))
	defer client.Close()
	admin := kadm.NewClient(client)
	var last error
	poll(ctx, j.t, "a topic at "+j.place, func() bool {
		_, err := admin.CreateTopic(ctx, -1, -1, nil, topic)
		if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) && (last == nil || last.Error() != err.Error()) {
			j.t.Logf("%s: create a topic: %v", j.place, err)
			last = err
		}
		return err == nil || errors.Is(err, kerr.TopicAlreadyExists)
	})
	if err := client.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte(j.place)}).FirstErr(); err != nil {
		j.t.Fatalf("%s, %s: write: %v", j.o.name, j.place, err)
	}
	got := client.PollRecords(ctx, 1).Records()
	if len(got) != 1 || !bytes.Equal(got[0].Value, []byte(j.place)) {
		j.t.Fatalf("%s, %s: read back %v", j.o.name, j.place, got)
	}
	details, err := admin.ListTopics(ctx, topic)
	if err != nil || len(details[topic].Partitions) != max(j.o.partitions, 1) {
		j.t.Errorf("%s, %s: a topic by default has %d partitions, want %d (%v)", j.o.name, j.place, len(details[topic].Partitions), max(j.o.partitions, 1), err)
	}
	if j.o.check != nil {
		j.o.check(ctx, j.t, j)
	}
}
