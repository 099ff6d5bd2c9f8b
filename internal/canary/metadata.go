package canary

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// MetadataKey is the config that metadata writes set on the canary topic. Kafka
// reads it for compacted topics only, and ours is not one.
const MetadataKey = "delete.retention.ms"

const maxIdleClients = 4

// Marker is an accepted metadata write, to be looked for in ZooKeeper
// (/config/topics/TOPIC) and in the metadata log. Values are numbers that only
// rise, so a store that holds a higher one has seen this write or a later one.
type Marker struct {
	Key    string
	Value  string
	At     time.Time // when it was accepted
	number int64
}

// MetadataWriter makes metadata writes through the brokers. Where brokers run
// in plain ZooKeeper mode they write to ZooKeeper themselves; in migration and
// KRaft mode they forward to the controller, so there a stall is the controller's.
type MetadataWriter struct {
	cluster Cluster
	topic   string

	mu     sync.Mutex
	idle   []*kgo.Client
	last   int64
	closed bool
}

// NewMetadataWriter makes a writer for a topic of ours. Close it.
func NewMetadataWriter(cluster Cluster, topic string) *MetadataWriter {
	return &MetadataWriter{cluster: cluster, topic: topic}
}

// Write sets MetadataKey to a fresh value, bounded by ctx. Each write that
// runs at the same time has connections of its own, because a broker answers
// one connection in order: behind a request that hangs, none would be read.
func (w *MetadataWriter) Write(ctx context.Context) (Marker, error) {
	client, number, err := w.take()
	if err != nil {
		return Marker{}, err
	}
	value := strconv.FormatInt(number, 10)
	set := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: MetadataKey, Value: &value}}
	answers, err := kadm.NewClient(client).AlterTopicConfigs(ctx, set, w.topic)
	if err == nil {
		var answer kadm.AlterConfigsResponse
		if answer, err = answers.On(w.topic, nil); err == nil {
			err = answer.Err
		}
	}
	if err != nil {
		client.Close() // its connections may still wait for an answer
		return Marker{}, fmt.Errorf("set %s of topic %s through the brokers: %w", MetadataKey, w.topic, err)
	}
	accepted := time.Now()
	w.putBack(client)
	return Marker{Key: MetadataKey, Value: value, At: accepted, number: number}, nil
}

// take returns an idle client or a new one, and the next value: the time in
// milliseconds, so that values also rise from one run of the program to the next.
func (w *MetadataWriter) take() (*kgo.Client, int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, 0, errors.New("metadata writer is closed")
	}
	w.last = max(w.last+1, time.Now().UnixMilli())
	if n := len(w.idle); n > 0 {
		client := w.idle[n-1]
		w.idle = w.idle[:n-1]
		return client, w.last, nil
	}
	client, err := kgo.NewClient(clientOptions(w.cluster)...)
	if err != nil {
		return nil, 0, fmt.Errorf("make client for metadata writes: %w", err)
	}
	return client, w.last, nil
}

func (w *MetadataWriter) putBack(client *kgo.Client) {
	w.mu.Lock()
	keep := !w.closed && len(w.idle) < maxIdleClients
	if keep {
		w.idle = append(w.idle, client)
	}
	w.mu.Unlock()
	if !keep {
		client.Close()
	}
}

// Close ends the idle clients; one in use ends with its write.
func (w *MetadataWriter) Close() {
	w.mu.Lock()
	idle := w.idle
	w.idle, w.closed = nil, true
	w.mu.Unlock()
	for _, client := range idle {
		client.Close()
	}
}
