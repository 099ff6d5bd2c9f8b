package canary

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A topic is ours when both of these are set on the topic itself. The odd
// values are the mark: it is made together with the topic, by one request,
// survives the copy to KRaft and the way back, and nobody sets both by chance.
// Retention bounds the disk a long soak takes to a day of records.
const (
	markRetention = "86400866" // retention.ms
	markSegment   = "3600866"  // segment.ms
)

const topicPoll = 200 * time.Millisecond

// ErrForeignTopic is wrapped when a topic of the wanted name is not ours. It
// is never written to and never deleted.
var ErrForeignTopic = errors.New("the topic was not made by this program")

func foreign(topic string) error {
	return fmt.Errorf("topic %q: %w (its retention.ms and segment.ms lack our mark): choose another canary topic", topic, ErrForeignTopic)
}

type admin struct {
	*kadm.Client
	client *kgo.Client
}

func newAdmin(cluster Cluster) (admin, error) {
	client, err := kgo.NewClient(clientOptions(cluster)...)
	if err != nil {
		return admin{}, fmt.Errorf("make admin client for %v: %w", cluster.Bootstrap, err)
	}
	return admin{Client: kadm.NewClient(client), client: client}, nil
}

// CreateTopic makes a topic of ours and waits until each partition has a
// leader. A topic of ours that exists is fine as it is; another's topic of
// that name is refused with ErrForeignTopic. With as many partitions as
// brokers, every broker leads one.
func CreateTopic(ctx context.Context, cluster Cluster, topic string, partitions int32, rf int16, minISR int) error {
	admin, err := newAdmin(cluster)
	if err != nil {
		return err
	}
	defer admin.Close()
	text := func(s string) *string { return &s }
	_, err = admin.CreateTopic(ctx, partitions, rf, map[string]*string{
		"retention.ms":        text(markRetention),
		"segment.ms":          text(markSegment),
		"cleanup.policy":      text("delete"),
		"min.insync.replicas": text(strconv.Itoa(minISR)),
	}, topic)
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return fmt.Errorf("create topic %q: %w", topic, err)
	}
	return awaitTopic(ctx, admin, topic)
}

// awaitTopic waits until the topic is there, ours and led everywhere; brokers
// learn of a new topic one after the other.
func awaitTopic(ctx context.Context, admin admin, topic string) error {
	for {
		exists, ours, err := lookTopic(ctx, admin, topic)
		switch {
		case err == nil && exists && !ours:
			return foreign(topic)
		case err == nil && exists:
			if err = leaderless(ctx, admin, topic); err == nil {
				return nil
			}
		case err == nil:
			err = errors.New("brokers do not know it yet")
		}
		if waitErr := pause(ctx, topicPoll); waitErr != nil {
			return fmt.Errorf("wait for topic %q: %w", topic, errors.Join(waitErr, err))
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// leaderless is an error while a partition of the topic has no leader.
func leaderless(ctx context.Context, admin admin, topic string) error {
	topics, err := admin.ListTopics(ctx, topic)
	if err != nil {
		return err
	}
	for _, p := range topics[topic].Partitions.Sorted() {
		if p.Err != nil || p.Leader < 0 {
			return fmt.Errorf("partition %d has no leader: %w", p.Partition, errors.Join(p.Err))
		}
	}
	return nil
}

// TopicExists says whether the topic exists, and whether it is ours.
func TopicExists(ctx context.Context, cluster Cluster, topic string) (exists, ours bool, err error) {
	admin, err := newAdmin(cluster)
	if err != nil {
		return false, false, err
	}
	defer admin.Close()
	return lookTopic(ctx, admin, topic)
}

func lookTopic(ctx context.Context, admin admin, topic string) (exists, ours bool, err error) {
	topics, err := admin.ListTopics(ctx, topic)
	if err != nil {
		return false, false, fmt.Errorf("look for topic %q: %w", topic, err)
	}
	found, ok := topics[topic]
	switch {
	case !ok || errors.Is(found.Err, kerr.UnknownTopicOrPartition):
		return false, false, nil
	case found.Err != nil:
		return false, false, fmt.Errorf("look for topic %q: %w", topic, found.Err)
	}
	answers, err := admin.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return true, false, fmt.Errorf("read configs of topic %q: %w", topic, err)
	}
	answer, err := answers.On(topic, nil)
	if err = errors.Join(err, answer.Err); err != nil {
		return true, false, fmt.Errorf("read configs of topic %q: %w", topic, err)
	}
	return true, marked(answer.Configs), nil
}

func marked(configs []kadm.Config) bool {
	want := map[string]string{"retention.ms": markRetention, "segment.ms": markSegment}
	for _, c := range configs {
		if c.Source == kmsg.ConfigSourceDynamicTopicConfig && c.Value != nil && want[c.Key] == *c.Value {
			delete(want, c.Key)
		}
	}
	return len(want) == 0
}

// DeleteTopic deletes a topic of ours and waits until brokers no longer know
// it. A missing topic is fine; another's is refused with ErrForeignTopic.
func DeleteTopic(ctx context.Context, cluster Cluster, topic string) error {
	admin, err := newAdmin(cluster)
	if err != nil {
		return err
	}
	defer admin.Close()
	exists, ours, err := lookTopic(ctx, admin, topic)
	switch {
	case err != nil:
		return err
	case !exists:
		return nil
	case !ours:
		return fmt.Errorf("delete %w", foreign(topic))
	}
	answers, err := admin.DeleteTopics(ctx, topic)
	if err = errors.Join(err, answers.Error()); err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
		return fmt.Errorf("delete topic %q: %w", topic, err)
	}
	for exists {
		topics, err := admin.ListTopics(ctx, topic)
		exists = err != nil || topics[topic].Err == nil
		if !exists {
			return nil
		}
		if waitErr := pause(ctx, topicPoll); waitErr != nil {
			return fmt.Errorf("wait for topic %q to be gone: %w", topic, errors.Join(waitErr, err))
		}
	}
	return nil
}

// ElectPreferred elects the preferred leader of every partition but those in
// except ("topic-partition", such as were led by another replica on purpose)
// and returns how many changed. away counts those whose preferred leader is not
// in sync, as on a lost broker: they keep the leader they have.
func ElectPreferred(ctx context.Context, cluster Cluster, except []string) (elected, away int, err error) {
	admin, err := newAdmin(cluster)
	if err != nil {
		return 0, 0, err
	}
	defer admin.Close()
	wanted, err := allBut(ctx, admin, except)
	if err != nil {
		return 0, 0, fmt.Errorf("elect preferred leaders: %w", err)
	}
	results, err := admin.ElectLeaders(ctx, kadm.ElectPreferredReplica, wanted)
	if err != nil {
		return 0, 0, fmt.Errorf("elect preferred leaders: %w", err)
	}
	var failed int
	var first error
	for topic, partitions := range results {
		for p, r := range partitions {
			switch {
			case r.Err == nil:
				elected++
			case errors.Is(r.Err, kerr.ElectionNotNeeded):
			case errors.Is(r.Err, kerr.PreferredLeaderNotAvailable):
				away++
			default:
				failed++
				first = fmt.Errorf("%s/%d: %w", topic, p, r.Err)
			}
		}
	}
	if failed > 0 {
		return elected, away, fmt.Errorf("elect preferred leaders: %d of %d partitions refused, such as %w", failed, failed+elected, first)
	}
	return elected, away, nil
}

// allBut lists every partition without the excepted ones; nil, which Kafka
// takes as all, when nothing is excepted.
func allBut(ctx context.Context, admin admin, except []string) (kadm.TopicsSet, error) {
	if len(except) == 0 {
		return nil, nil
	}
	md, err := admin.Metadata(ctx)
	if err != nil {
		return nil, err
	}
	left := make(map[string]bool, len(except))
	for _, name := range except {
		left[name] = true
	}
	wanted := kadm.TopicsSet{}
	md.Topics.EachPartition(func(p kadm.PartitionDetail) {
		if !left[fmt.Sprintf("%s-%d", p.Topic, p.Partition)] {
			wanted.Add(p.Topic, p.Partition)
		}
	})
	return wanted, nil
}
