package simcluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"migrator/internal/canary"
	"migrator/internal/facts"
)

// client is our own client as it would fare: it produces to its topic and
// writes a setting of it, twice a second.
type client struct {
	running bool
	quiet   bool // no metadata writes
	run     int
	stats   canary.Stats
}

func (c *Cluster) startClient() error {
	if c.topics[c.cfg.Canary.Topic] == nil {
		return fmt.Errorf("topic %s does not exist", c.cfg.Canary.Topic)
	}
	c.client.running = true
	c.client.run++
	c.client.stats = canary.Stats{Since: c.now}
	return nil
}

func (c *Cluster) stopClient() { c.client.running = false }

// clientBeat is half a second of the client's life.
func (c *Cluster) clientBeat() {
	t := c.topics[c.cfg.Canary.Topic]
	s := &c.client.stats
	if !c.client.running || t == nil {
		return
	}
	s.Sent += uint64(5 * len(t.partitions))
	from := s.LastAck
	if from.IsZero() {
		from = s.Since
	}
	s.LongestProduceStall = max(s.LongestProduceStall, c.now.Sub(from))
	if !slices.ContainsFunc(t.partitions, func(p *partition) bool { return !c.takes(p, t.minISR) }) {
		s.Acked, s.LastAck = s.Sent, c.now
	}
	if c.client.quiet {
		return
	}
	from = s.LastMetadataAccepted
	if from.IsZero() {
		from = s.Since
	}
	s.LongestMetadataStall = max(s.LongestMetadataStall, c.now.Sub(from))
	s.MetadataSent++
	if c.writeMetadata() {
		s.MetadataAccepted++
		s.LastMetadataAccepted = c.now
		s.LastMetadataWrite = canary.Marker{Key: markerKey, Value: t.marker, At: c.now}
	}
}

const markerKey = "file.delete.delay.ms"

// writeMetadata sets the marker if anybody can take it.
func (c *Cluster) writeMetadata() bool {
	t := c.topics[c.cfg.Canary.Topic]
	if t == nil || c.acting() == byNobody || !slices.ContainsFunc(c.brokers(), (*node).serves) {
		return false
	}
	t.marker = strconv.FormatInt(c.now.UnixMilli(), 10)
	c.changes++
	if c.acting() == byQuorum {
		c.quorum.record()
	}
	return true
}

// takes says that a record for the partition would be acknowledged by all.
func (c *Cluster) takes(p *partition, minISR int) bool {
	if p.leader == 0 || len(p.isr) < minISR {
		return false
	}
	return !slices.ContainsFunc(p.isr, func(id int32) bool { return !c.nodes[id].serves() })
}

func (c *Cluster) clientFact(begun time.Time) facts.Fact[facts.Canary] {
	s := c.client.stats
	if c.client.run == 0 {
		return facts.Unknown[facts.Canary]("the canary does not run yet", "canary", begun)
	}
	return facts.Known(facts.Canary{Sent: s.Sent, Acked: s.Acked, Failed: s.Failed, Lost: s.Lost, LongestStall: s.LongestProduceStall,
		LongestMetadataStall: s.LongestMetadataStall, LastAck: s.LastAck, MarkerKey: s.LastMetadataWrite.Key,
		MarkerValue: s.LastMetadataWrite.Value, MarkerAt: s.LastMetadataWrite.At}, "canary", begun)
}

// Start begins producing; it is an error when the topic does not exist.
func (l *Life) Start(context.Context) error {
	if l.Killed() {
		return errKilled
	}
	defer l.c.hold()()
	if err := l.c.startClient(); err != nil {
		return fmt.Errorf("start the canary: %w", err)
	}
	return nil
}

// Stop ends it; its figures stay.
func (l *Life) Stop(context.Context) error {
	defer l.c.hold()()
	l.c.stopClient()
	return nil
}

// Run names the newest run and what it saw; ok is false while nothing has run.
func (l *Life) Run() (id string, seen canary.Stats, ok bool) {
	defer l.c.still()()
	if l.c.client.run == 0 {
		return "", canary.Stats{}, false
	}
	return fmt.Sprintf("run-%d", l.c.client.run), l.c.client.stats, true
}

var errKilled = errors.New("the service was killed")

// Quiet stops its metadata writes, not its records, while it is on.
func (l *Life) Quiet(on bool) {
	defer l.c.still()()
	l.c.client.quiet = on
}
