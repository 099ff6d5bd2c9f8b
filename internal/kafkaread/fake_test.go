package kafkaread

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// withTimeout is long enough for a loaded machine; tests that wait for it fail.
func withTimeout(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func fakeCluster(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// control answers every request of one key.
func control[Req kmsg.Request](c *kfake.Cluster, key int16, answer func(Req) (kmsg.Response, error)) {
	c.ControlKey(key, func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		resp, err := answer(req.(Req))
		return resp, err, true
	})
}

// versions is an ApiVersions answer with keys at their newest version in 3.9.
func versions(req *kmsg.ApiVersionsRequest, keys map[int16]int16) *kmsg.ApiVersionsResponse {
	resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
	for key, newest := range keys {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MaxVersion = key, newest
		resp.ApiKeys = append(resp.ApiKeys, k)
	}
	return resp
}

// fakeController is one controller: what it does not advertise it answers by
// closing the connection, and Metadata is the test's failure.
type fakeController struct {
	addr    string
	cluster *kfake.Cluster

	mu      sync.Mutex
	fetches []kmsg.FetchRequestTopicPartition
}

func newController(t *testing.T) *fakeController {
	t.Helper()
	c := fakeCluster(t, kfake.NumBrokers(1))
	control(c, keyApiVersions, func(req *kmsg.ApiVersionsRequest) (kmsg.Response, error) {
		if req.Version > 4 {
			t.Errorf("ApiVersions version %d, which 3.9 does not know", req.Version)
		}
		if req.ClientSoftwareName == "" || req.ClientSoftwareVersion == "" {
			t.Error("ApiVersions without a software name and version")
		}
		resp := versions(req, map[int16]int16{1: 17, keyApiVersions: 4, keyDescribeQuorum: 2, 59: 1})
		resp.ZkMigrationReady = true
		feature := kmsg.NewApiVersionsResponseFinalizedFeature()
		feature.Name, feature.MaxVersionLevel = "metadata.version", 21
		resp.FinalizedFeatures = append(resp.FinalizedFeatures, feature)
		return resp, nil
	})
	control(c, keyMetadata, func(*kmsg.MetadataRequest) (kmsg.Response, error) {
		t.Error("a controller was asked for Metadata")
		return nil, errors.New("not served")
	})
	return &fakeController{addr: c.ListenAddrs()[0], cluster: c}
}

// onFetch answers Fetch, counting from 0, and notes what was asked.
func (f *fakeController) onFetch(answer func(n int, asked kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition)) {
	control(f.cluster, 1, func(req *kmsg.FetchRequest) (kmsg.Response, error) {
		asked := req.Topics[0].Partitions[0]
		f.mu.Lock()
		n := len(f.fetches)
		f.fetches = append(f.fetches, asked)
		f.mu.Unlock()
		resp := req.ResponseKind().(*kmsg.FetchResponse)
		topic := kmsg.NewFetchResponseTopic()
		topic.TopicID = req.Topics[0].TopicID
		p := kmsg.NewFetchResponseTopicPartition()
		answer(n, asked, &p)
		topic.Partitions = append(topic.Partitions, p)
		resp.Topics = append(resp.Topics, topic)
		return resp, nil
	})
}

func (f *fakeController) offsets() []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []int64
	for _, asked := range f.fetches {
		out = append(out, asked.FetchOffset)
	}
	return out
}

// openControllers opens clients for fakes with the ids 3001, 3002 and so on.
func openControllers(t *testing.T, addrs ...string) *Controllers {
	t.Helper()
	byID := map[int32]string{}
	for i, addr := range addrs {
		byID[int32(3001+i)] = addr
	}
	c, err := OpenControllers(byID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// deadAddr is an address where nothing listens.
func deadAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// hungAddr is an address that accepts connections and never answers, as a
// paused process does.
func hungAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

func hostPort(t *testing.T, addr string) (string, int) {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return host, n
}
