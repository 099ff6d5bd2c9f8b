// Package canary is a client of our own: a producer, a consumer and metadata
// writes that show what clients of the cluster feel. It holds every write to
// Kafka of the program.
//
// The producer is idempotent with acks=all, so an acknowledged record that
// cannot be read back is a lost record and nothing else. The consumer checks
// continuously, Verify reads everything once more.
package canary

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Cluster is where clients connect and how they get in.
type Cluster struct {
	Bootstrap []string  // host:port
	Login     []kgo.Opt // dialer and SASL user; nil = plaintext, nobody
}

// Options configure a Canary. Zero durations take the defaults named here.
type Options struct {
	Cluster          Cluster
	Topic            string        // the canary's own topic, made by CreateTopic
	Topics           []string      // further topics of ours to produce to and consume, such as a rehearsal's workload
	Interval         time.Duration // between two records of one topic; default 100 ms
	MetadataInterval time.Duration // between the begins of two metadata writes; default 1 s
	MetadataDeadline time.Duration // of each metadata write; default 2 s
	DeliveryTimeout  time.Duration // after which a record counts as failed; default 2 min, as clients have it
}

func (o Options) withDefaults() (Options, error) {
	o.Interval = orDefault(o.Interval, 100*time.Millisecond)
	o.MetadataInterval = orDefault(o.MetadataInterval, time.Second)
	o.MetadataDeadline = orDefault(o.MetadataDeadline, 2*time.Second)
	o.DeliveryTimeout = orDefault(o.DeliveryTimeout, 2*time.Minute)
	switch {
	case len(o.Cluster.Bootstrap) == 0:
		return o, errors.New("canary: no bootstrap address")
	case o.Topic == "":
		return o, errors.New("canary: no topic")
	case o.Interval < 0 || o.MetadataInterval < 0 || o.MetadataDeadline < 0 || o.DeliveryTimeout < 0:
		return o, errors.New("canary: a negative duration")
	}
	return o, nil
}

func orDefault(d, fallback time.Duration) time.Duration {
	if d == 0 {
		return fallback
	}
	return d
}

// Canary is a running client. Make it with Start and end it with Stop.
type Canary struct {
	opts     Options
	run      string
	producer *kgo.Client
	consumer *kgo.Client
	writer   *MetadataWriter
	cancel   context.CancelFunc
	loops    sync.WaitGroup
	stopOnce sync.Once
	stopErr  error

	mu   sync.Mutex
	book book
}

// Quiet stops or resumes the metadata writes; records go on.
func (c *Canary) Quiet(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.book.hold(on, time.Now())
}

func (c *Canary) quiet() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.book.held
}

// Start begins to produce, consume and write metadata. The topics must exist
// and be ours; ctx bounds only the start. An unreachable cluster or partition
// is an error: try again.
func Start(ctx context.Context, opts Options) (*Canary, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	ends, err := startOffsets(ctx, opts)
	if err != nil {
		return nil, err
	}
	c := &Canary{opts: opts, run: newRunID(), writer: NewMetadataWriter(opts.Cluster, opts.Topic)}
	c.book = newBook(ends, time.Now())
	if c.producer, err = newProducer(opts); err != nil {
		return nil, fmt.Errorf("canary: make producer: %w", err)
	}
	if c.consumer, err = newConsumer(opts.Cluster, ends); err != nil {
		c.producer.Close()
		return nil, fmt.Errorf("canary: make consumer: %w", err)
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.cancel = cancel
	c.loops.Go(func() { c.produce(running) })
	c.loops.Go(func() { c.consume(running) })
	c.loops.Go(func() { c.writeMetadata(running) })
	return c, nil
}

func newRunID() string {
	var id [8]byte
	rand.Read(id[:]) // never fails, says its documentation
	return hex.EncodeToString(id[:])
}

// startOffsets finds where each partition ends now: the consumer begins there.
func startOffsets(ctx context.Context, opts Options) (map[string]map[int32]int64, error) {
	admin, err := newAdmin(opts.Cluster)
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	topics := append([]string{opts.Topic}, opts.Topics...)
	for _, topic := range topics {
		exists, ours, err := lookTopic(ctx, admin, topic)
		if err != nil {
			return nil, err
		}
		if !exists {
			return nil, fmt.Errorf("start canary: topic %q does not exist", topic)
		}
		if !ours {
			return nil, fmt.Errorf("start canary: %w", foreign(topic))
		}
	}
	listed, err := admin.ListEndOffsets(ctx, topics...)
	if err = errors.Join(err, listed.Error()); err != nil {
		return nil, fmt.Errorf("start canary: list end offsets of %v: %w", topics, err)
	}
	return offsetMap(listed), nil
}

func offsetMap(listed kadm.ListedOffsets) map[string]map[int32]int64 {
	out := make(map[string]map[int32]int64)
	listed.Each(func(l kadm.ListedOffset) {
		if out[l.Topic] == nil {
			out[l.Topic] = make(map[int32]int64)
		}
		out[l.Topic][l.Partition] = l.Offset
	})
	return out
}

// Stop ends the canary: it waits for records in flight until ctx ends, then
// for all goroutines. Records without an outcome by then stay Unknown. It may
// be called twice; Stats and Verify go on working.
func (c *Canary) Stop(ctx context.Context) error {
	c.stopOnce.Do(func() { c.stopErr = c.stop(ctx) })
	return c.stopErr
}

func (c *Canary) stop(ctx context.Context) error {
	c.cancel()
	c.loops.Wait()
	err := c.producer.Flush(ctx)
	c.producer.Close()
	c.consumer.Close()
	c.writer.Close()
	if err != nil {
		return fmt.Errorf("stop canary: wait for records in flight: %w", err)
	}
	return nil
}

// Stats returns a copy of what was seen so far; cheap, safe at any time.
func (c *Canary) Stats() Stats {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.book.stats(now)
}

// Window measures the longest stalls from its creation on, such as within one step.
type Window struct {
	canary *Canary
	since  time.Time
}

// Window begins a window now. It needs no closing.
func (c *Canary) Window() Window { return Window{canary: c, since: time.Now()} }

// Longest returns the longest produce and metadata stall since the window's
// creation; one that began earlier counts from the creation, one that still
// lasts counts until now.
func (w Window) Longest() (produce, metadata time.Duration) {
	if w.canary == nil {
		return 0, 0
	}
	now := time.Now()
	w.canary.mu.Lock()
	defer w.canary.mu.Unlock()
	return w.canary.book.longestSince(w.since, now)
}

// RunID names this run; every record of it carries the name.
func (c *Canary) RunID() string { return c.run }
