package canary

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// maxBuffered bounds the records in flight; beyond it a record fails at once.
const maxBuffered = 20_000

// clientOptions are shared by all clients. Metadata and retries are quick, so
// that a measured stall is the cluster's and not this client's patience.
func clientOptions(cluster Cluster) []kgo.Opt {
	return append([]kgo.Opt{
		kgo.SeedBrokers(cluster.Bootstrap...),
		kgo.ClientID("migrator-canary"),
		kgo.DialTimeout(2 * time.Second),
		kgo.MetadataMinAge(100 * time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 100 * time.Millisecond }),
		kgo.RequestTimeoutOverhead(5 * time.Second),
	}, cluster.Login...)
}

func newProducer(opts Options) (*kgo.Client, error) {
	return kgo.NewClient(append(clientOptions(opts.Cluster),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RecordDeliveryTimeout(opts.DeliveryTimeout),
		kgo.UnknownTopicRetries(-1), // a broker that just started may not know the topic yet
		kgo.ProducerLinger(0),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.MaxBufferedRecords(maxBuffered),
	)...)
}

func newConsumer(cluster Cluster, from map[string]map[int32]int64) (*kgo.Client, error) {
	at := make(map[string]map[int32]kgo.Offset, len(from))
	for topic, partitions := range from {
		at[topic] = make(map[int32]kgo.Offset, len(partitions))
		for p, offset := range partitions {
			at[topic][p] = kgo.NewOffset().At(offset)
		}
	}
	return kgo.NewClient(append(clientOptions(cluster),
		kgo.ConsumePartitions(at),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(500*time.Millisecond),
	)...)
}

// produce sends one record a topic each interval, to its partitions in turn.
func (c *Canary) produce(ctx context.Context) {
	tick := time.NewTicker(c.opts.Interval)
	defer tick.Stop()
	topics := c.book.topics()
	parts := make(map[string][]int32, len(topics))
	for _, topic := range topics {
		parts[topic] = c.book.partitions(topic)
	}
	for turn := 0; ; turn++ {
		for _, topic := range topics {
			c.send(ctx, topicPartition{topic, parts[topic][turn%len(parts[topic])]})
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (c *Canary) send(ctx context.Context, tp topicPartition) {
	now := time.Now()
	c.mu.Lock()
	seq := c.book.send(tp, now)
	c.mu.Unlock()
	value := record{run: c.run, seq: seq, sent: now}.encode(tp.topic, tp.partition)
	r := &kgo.Record{Topic: tp.topic, Partition: tp.partition, Value: value}
	// Not the loop's ctx: Stop waits for records in flight.
	c.producer.TryProduce(context.WithoutCancel(ctx), r, func(r *kgo.Record, err error) {
		c.outcome(tp, seq, r.Offset, err)
	})
}

func (c *Canary) outcome(tp topicPartition, seq, offset int64, err error) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.book.ack(tp, seq, offset, now)
	case errors.Is(err, kgo.ErrClientClosed):
		// Cut off by Stop: neither acknowledged nor failed.
	default:
		c.book.fail(tp, seq)
		c.book.fault(fmt.Errorf("produce to %s/%d: %w", tp.topic, tp.partition, err), now)
	}
}

func (c *Canary) consume(ctx context.Context) {
	for {
		fetches := c.consumer.PollFetches(ctx)
		if ctx.Err() != nil || fetches.IsClientClosed() {
			return
		}
		c.take(fetches)
	}
}

func (c *Canary) take(fetches kgo.Fetches) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	fetches.EachPartition(func(f kgo.FetchTopicPartition) {
		if f.Err != nil {
			c.book.fault(fmt.Errorf("consume %s/%d: %w", f.Topic, f.Partition, f.Err), now)
		}
		tp := topicPartition{f.Topic, f.Partition}
		for _, r := range f.Records {
			rec, whole := decodeRecord(r.Topic, r.Partition, r.Value)
			c.book.consume(tp, r.Offset, rec, whole && rec.run == c.run, f.LogStartOffset, now)
		}
	})
}

// writeMetadata begins an attempt each interval, whatever became of the ones
// before: a hanging attempt must not hide that a later one is accepted.
func (c *Canary) writeMetadata(ctx context.Context) {
	tick := time.NewTicker(c.opts.MetadataInterval)
	defer tick.Stop()
	var attempts sync.WaitGroup
	defer attempts.Wait()
	for {
		if c.quiet() {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				continue
			}
		}
		attempts.Go(func() {
			attempt, cancel := context.WithTimeout(ctx, c.opts.MetadataDeadline)
			defer cancel()
			if err := c.WriteMetadata(attempt); err != nil && ctx.Err() == nil {
				now := time.Now()
				c.mu.Lock()
				defer c.mu.Unlock()
				c.book.fault(err, now)
			}
		})
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// WriteMetadata makes one independent metadata write, bounded by ctx, and
// counts it. Any number may run side by side.
func (c *Canary) WriteMetadata(ctx context.Context) error {
	begun := time.Now()
	c.mu.Lock()
	c.book.metadataBegun(begun)
	c.mu.Unlock()
	m, err := c.writer.Write(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.book.metadataAccepted(m)
	return nil
}
