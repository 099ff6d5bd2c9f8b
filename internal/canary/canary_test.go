package canary

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const topic = "__canary"

func fakeCluster(t *testing.T) *kfake.Cluster {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(3))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return cluster
}

// started runs a quick canary on a fresh topic until the test ends.
func started(t *testing.T, cluster *kfake.Cluster, change func(*Options)) *Canary {
	t.Helper()
	opts := Options{
		Cluster: Cluster{Bootstrap: cluster.ListenAddrs()}, Topic: topic,
		Interval: 5 * time.Millisecond, MetadataInterval: 20 * time.Millisecond,
	}
	if change != nil {
		change(&opts)
	}
	for _, name := range append([]string{opts.Topic}, opts.Topics...) {
		if err := CreateTopic(t.Context(), opts.Cluster, name, 3, 3, 2); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, c) })
	return c
}

func stop(t *testing.T, c *Canary) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := c.Stop(ctx); err != nil {
		t.Error(err)
	}
}

// await polls the stats until they show what is wanted.
func await(t *testing.T, c *Canary, what string, shows func(Stats) bool) Stats {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		s := c.Stats()
		if shows(s) {
			return s
		}
		select {
		case <-deadline:
			t.Fatalf("never saw %s: %+v", what, s)
		case <-tick.C:
		}
	}
}

func TestHealthyClusterLosesNothing(t *testing.T) {
	cluster := fakeCluster(t)
	before := runtime.NumGoroutine()
	c := started(t, cluster, func(o *Options) { o.Topics = []string{"load-1", "load-2"} })
	await(t, c, "records of all topics read back", func(s Stats) bool { return s.Consumed >= 100 && s.MetadataAccepted >= 5 })
	if v, err := c.Verify(t.Context()); err != nil || v.Lost != 0 || v.ReadBack < 50 {
		t.Errorf("verified while running: %+v, %v", v, err)
	}
	stop(t, c)
	s := c.Stats()
	if s.Failed != 0 || s.Unknown != 0 || s.Lost != 0 || s.Acked != s.Sent || s.LastError != "" {
		t.Errorf("stats: %+v", s)
	}
	v, err := c.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Verification{Acked: s.Acked, ReadBack: s.Acked}, v); diff != "" {
		t.Error(diff)
	}
	settle(t, before)
}

// settle waits until the goroutines of clients are gone.
func settle(t *testing.T, before int) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for runtime.NumGoroutine() > before+6 { // the fake cluster's own connections end late
		select {
		case <-deadline:
			t.Fatalf("%d goroutines left of %d", runtime.NumGoroutine(), before)
		case <-tick.C:
		}
	}
}

// A broker that acknowledges without storing: the next record gets the same
// offset, and the claim on the first is found lost.
func TestAcknowledgedButNotStoredIsLost(t *testing.T) {
	cluster := fakeCluster(t)
	c := started(t, cluster, nil)
	await(t, c, "a few acknowledged records", func(s Stats) bool { return s.Acked >= 12 })
	cluster.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		return acknowledgeOnly(cluster, r.(*kmsg.ProduceRequest)), nil, true
	})
	s := await(t, c, "a lost record", func(s Stats) bool { return s.Lost > 0 })
	if s.Failed != 0 {
		t.Errorf("the producer failed: %+v", s)
	}
	stop(t, c)
	v, err := c.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if v.Lost != c.Stats().Lost || len(v.Missing) == 0 || v.Acked != v.ReadBack+v.Lost {
		t.Errorf("verification %+v, stats %+v", v, c.Stats())
	}
}

func acknowledgeOnly(cluster *kfake.Cluster, req *kmsg.ProduceRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	for _, rt := range req.Topics {
		name := rt.Topic
		if name == "" {
			name = cluster.TopicIDInfo(rt.TopicID).Topic
		}
		st := kmsg.NewProduceResponseTopic()
		st.Topic, st.TopicID = rt.Topic, rt.TopicID
		for _, rp := range rt.Partitions {
			sp := kmsg.NewProduceResponseTopicPartition()
			sp.Partition = rp.Partition
			sp.BaseOffset = cluster.PartitionInfo(name, rp.Partition).HighWatermark
			st.Partitions = append(st.Partitions, sp)
		}
		resp.Topics = append(resp.Topics, st)
	}
	return resp
}

func TestRecordsDeletedByRetentionAreNotLost(t *testing.T) {
	cluster := fakeCluster(t)
	c := started(t, cluster, nil)
	await(t, c, "records read back", func(s Stats) bool { return s.Consumed >= 30 })
	if err := cluster.DeleteRecords(topic, 0, 5); err != nil {
		t.Fatal(err)
	}
	stop(t, c)
	v, err := c.Verify(t.Context())
	if err != nil || v.Expired != 5 || v.Lost != 0 || v.ReadBack != v.Acked || v.Acked != c.Stats().Acked-5 {
		t.Errorf("%+v, %v, stats %+v", v, err, c.Stats())
	}
}

func TestRefusedProducingIsAFailureAndAStall(t *testing.T) {
	cluster := fakeCluster(t)
	c := started(t, cluster, func(o *Options) { o.DeliveryTimeout = time.Second })
	await(t, c, "acknowledged records", func(s Stats) bool { return s.Acked >= 12 })
	w := c.Window()
	refuse := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: topic, Partitions: []int32{1}, Err: kerr.NotEnoughReplicas, Count: -1})
	s := await(t, c, "failed records", func(s Stats) bool { return s.Failed > 0 && s.CurrentProduceStall > 400*time.Millisecond })
	if s.LastError == "" {
		t.Error("no error told")
	}
	refuse.Remove()
	s = await(t, c, "the end of the stall", func(s Stats) bool { return s.CurrentProduceStall < 300*time.Millisecond })
	if produce, _ := w.Longest(); produce < 400*time.Millisecond || s.LongestProduceStall < produce {
		t.Errorf("window %v, stats %+v", produce, s)
	}
	if s.Lost != 0 {
		t.Errorf("refused records counted as lost: %+v", s)
	}
	if produce, _ := c.Window().Longest(); produce > 300*time.Millisecond {
		t.Errorf("a window made afterwards shows %v", produce)
	}
}

func TestMetadataWriteStallEndsWithTheFirstAcceptedAttempt(t *testing.T) {
	cluster := fakeCluster(t)
	c := started(t, cluster, nil)
	await(t, c, "an accepted write", func(s Stats) bool { return s.MetadataAccepted >= 2 })
	w := c.Window()
	refuse := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.IncrementalAlterConfigs}, Err: kerr.PolicyViolation, Count: -1})
	await(t, c, "refused writes", func(s Stats) bool { return refuse.Hits() >= 3 && s.CurrentMetadataStall > 200*time.Millisecond })
	stale := c.Stats().LastMetadataWrite
	refuse.Remove()
	s := await(t, c, "an accepted write again", func(s Stats) bool { return s.LastMetadataWrite.Value != stale.Value })
	if _, metadata := w.Longest(); metadata < 150*time.Millisecond || s.LongestMetadataStall < metadata {
		t.Errorf("window %v, stats %+v", metadata, s)
	}
	was, _ := strconv.ParseInt(stale.Value, 10, 64)
	if is, err := strconv.ParseInt(s.LastMetadataWrite.Value, 10, 64); err != nil || is <= was || s.LastMetadataWrite.Key != MetadataKey {
		t.Errorf("marker went from %+v to %+v", stale, s.LastMetadataWrite)
	}
}

func TestHangingMetadataWriteDoesNotHideALaterOne(t *testing.T) {
	cluster := fakeCluster(t)
	c := started(t, cluster, func(o *Options) { o.MetadataInterval = time.Hour })
	await(t, c, "the first write", func(s Stats) bool { return s.MetadataAccepted == 1 })
	release, asked := make(chan struct{}), make(chan struct{})
	var held atomic.Bool
	cluster.ControlKey(int16(kmsg.IncrementalAlterConfigs), func(kmsg.Request) (kmsg.Response, error, bool) {
		if held.Swap(true) {
			return nil, nil, false
		}
		cluster.SleepControl(func() { close(asked); <-release })
		return nil, errors.New("closed"), true
	})
	hanging := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		hanging <- c.WriteMetadata(ctx)
	}()
	<-asked
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := c.WriteMetadata(ctx); err != nil {
		t.Errorf("the later write: %v", err)
	}
	select {
	case err := <-hanging:
		t.Errorf("the first write ended before it was let go: %v", err)
	default:
	}
	close(release)
	<-hanging
}

func TestRecordsCutOffByStopAreUnknownNotFailed(t *testing.T) {
	cluster := fakeCluster(t)
	c := started(t, cluster, nil)
	await(t, c, "acknowledged records", func(s Stats) bool { return s.Acked >= 6 })
	cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		return nil, errors.New("connection closed without an answer"), true
	})
	await(t, c, "records in flight", func(s Stats) bool { return s.Unknown >= 5 })
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	first := c.Stop(ctx)
	if !errors.Is(first, context.DeadlineExceeded) {
		t.Errorf("stopping with records in flight: %v", first)
	}
	if s := c.Stats(); s.Failed != 0 || s.Unknown < 5 || s.Lost != 0 || s.Sent != s.Acked+s.Unknown {
		t.Errorf("%+v", s)
	}
	c.stopErr = nil // the clean-up stops it a second time
}
