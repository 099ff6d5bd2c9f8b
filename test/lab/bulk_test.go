package lab_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"migrator/internal/lab"
	"migrator/internal/zkread"
	"migrator/internal/zkread/zkconnect"
	"migrator/internal/zkread/zkwire"
	"migrator/internal/znodebackup"
)

// benchRoot is beside the cluster's chroot, so that no broker looks at it.
const benchRoot = "/bulk"

// One tree of 4,040 znodes, read by two clients that share no code.
func checkBulk(ctx context.Context, t *testing.T, c *lab.Cluster) {
	loadTree(ctx, t, c, 20, 100)
	plain, bulk := plainTree(ctx, t, c, 2), bulkTree(ctx, t, c)
	if len(plain) != 4040+1 || len(bulk) != len(plain) {
		t.Errorf("%d znodes read plainly, %d in bulk", len(plain), len(bulk))
	}
	for path, want := range plain {
		if got := bulk[path]; string(got.Data) != string(want.Data) || got.Stat != want.Stat {
			t.Errorf("%s: in bulk %+v, plainly %+v", path, got, want)
		}
	}
}

// BenchmarkBulkReading reads 404,000 znodes as a snapshot in memory, by
// go-zookeeper over eight connections and by zkwire, in turn; then as a backup,
// which has every ACL too and keeps nothing in memory.
func BenchmarkBulkReading(b *testing.B) {
	c := startCluster(b, lab.Options{Chroot: "/kafka", Brokers: 1, Heap: "1500m"})
	loadTree(b.Context(), b, c, 2000, 100)
	var plain, bulk, backup time.Duration
	var plainPeak, bulkPeak, backupPeak int
	for b.Loop() {
		began := resetPeak(b)
		n := len(plainTree(b.Context(), b, c, 8))
		plain, plainPeak = plain+time.Since(began), max(plainPeak, peakMiB(b))
		began = resetPeak(b)
		if m := len(bulkTree(b.Context(), b, c)); m != n {
			b.Errorf("%d znodes in bulk, %d plainly", m, n)
		}
		bulk, bulkPeak = bulk+time.Since(began), max(bulkPeak, peakMiB(b))
		began = resetPeak(b)
		takeBackup(b, c)
		backup, backupPeak = backup+time.Since(began), max(backupPeak, peakMiB(b))
	}
	b.ReportMetric(plain.Seconds()/float64(b.N), "s-plain")
	b.ReportMetric(bulk.Seconds()/float64(b.N), "s-bulk")
	b.ReportMetric(plain.Seconds()/bulk.Seconds(), "times-faster")
	b.ReportMetric(float64(plainPeak), "MiB-plain")
	b.ReportMetric(float64(bulkPeak), "MiB-bulk")
	b.ReportMetric(backup.Seconds()/float64(b.N), "s-backup")
	b.ReportMetric(float64(backupPeak), "MiB-backup")
}

// loadTree makes topics as Kafka does: each partition's state below its own znode.
func loadTree(ctx context.Context, t testing.TB, c *lab.Cluster, topics, partitions int) {
	t.Helper()
	conn := connectAt(t, member(c))
	create := func(path, data string) any {
		return &zk.CreateRequest{Path: path, Data: []byte(data), Acl: zk.WorldACL(zk.PermAll)}
	}
	if _, err := conn.Multi(create(benchRoot, "")); err != nil {
		t.Fatal(err)
	}
	group, _ := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := range topics {
		group.Go(func() error {
			topic := benchRoot + "/topic-" + strconv.Itoa(i)
			ops := []any{create(topic, `{"version":3,"partitions":{}}`), create(topic+"/partitions", "")}
			for p := range partitions {
				partition := topic + "/partitions/" + strconv.Itoa(p)
				ops = append(ops, create(partition, ""), create(partition+"/state", fmt.Sprintf(`{"controller_epoch":1,"leader":%d,"version":1,"leader_epoch":0,"isr":[1,2,3]}`, p%3)))
			}
			_, err := conn.Multi(ops...)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// member is the address of the ensemble's first member, without a chroot.
func member(c *lab.Cluster) string {
	hosts, _, _ := strings.Cut(c.ZooKeeperConnect(), "/")
	first, _, _ := strings.Cut(hosts, ",")
	return first
}

func bulkTree(ctx context.Context, t testing.TB, c *lab.Cluster) map[string]zkwire.Node {
	t.Helper()
	client := zkwire.New(zkconnect.Address{Servers: []string{member(c)}}, zkwire.Options{})
	defer client.Close()
	out := map[string]zkwire.Node{}
	window, err := client.Walk(ctx, zkwire.Walk{Root: benchRoot, Visit: func(n zkwire.Node) error {
		out[n.Path] = n
		return nil
	}})
	if err != nil || window.Moved != 0 {
		t.Fatalf("%d moved, %v", window.Moved, err)
	}
	return out
}

func takeBackup(t testing.TB, c *lab.Cluster) {
	t.Helper()
	r, err := zkread.Open(member(c)+benchRoot, 10*time.Second, zkread.Login{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if s, err := znodebackup.Take(t.Context(), io.Discard, r, znodebackup.Head{}, nil); err != nil || s.Moved != 0 {
		t.Fatalf("%d moved, %v", s.Moved, err)
	}
}

// plainTree reads one znode a request, 64 of them on the way on each connection.
func plainTree(ctx context.Context, t testing.TB, c *lab.Cluster, conns int) map[string]zkwire.Node {
	t.Helper()
	var clients []*zk.Conn
	for range conns {
		clients = append(clients, connectAt(t, member(c)))
	}
	var mu sync.Mutex
	out := map[string]zkwire.Node{}
	for level := []string{benchRoot}; len(level) > 0; {
		var next []string
		group, _ := errgroup.WithContext(ctx)
		group.SetLimit(64 * conns)
		for i, path := range level {
			group.Go(func() error {
				n, below, err := plainNode(clients[i%conns], path)
				mu.Lock()
				defer mu.Unlock()
				out[path] = n
				next = append(next, below...)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
		level = next
	}
	for _, client := range clients {
		client.Close()
	}
	return out
}

func plainNode(client *zk.Conn, path string) (zkwire.Node, []string, error) {
	data, stat, err := client.Get(path)
	if err != nil {
		return zkwire.Node{}, nil, err
	}
	n := zkwire.Node{Path: path, Readable: true, Data: data, Stat: zkwire.Stat(*stat)}
	if stat.NumChildren == 0 {
		return n, nil, nil
	}
	names, _, err := client.Children(path)
	for i := range names {
		names[i] = path + "/" + names[i]
	}
	return n, names, err
}

// resetPeak begins a new peak of this process's memory.
func resetPeak(t testing.TB) time.Time {
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
	return time.Now()
}

// peakMiB is the greatest resident size since resetPeak.
func peakMiB(t testing.TB) int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			if err != nil {
				t.Fatal(errors.Join(err, fmt.Errorf("line %q", line)))
			}
			return kib >> 10
		}
	}
	t.Fatal("/proc/self/status has no VmHWM")
	return 0
}
