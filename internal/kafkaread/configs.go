package kafkaread

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// topicsPerQuestion keeps single answers small.
const topicsPerQuestion = 1000

// MinISR gives the effective min.insync.replicas of each topic, defaults of
// the answering broker included. A topic that is gone by then is left out.
func (b *Brokers) MinISR(ctx context.Context, topics []string) (map[string]int, error) {
	out := make(map[string]int, len(topics))
	for part := range slices.Chunk(topics, topicsPerQuestion) {
		found, err := first(ctx, b, func(ctx context.Context, n *node) (map[string]int, error) {
			return n.minISR(ctx, part)
		})
		if err != nil {
			return nil, err
		}
		for topic, value := range found {
			out[topic] = value
		}
	}
	return out, nil
}

func (n *node) minISR(ctx context.Context, topics []string) (map[string]int, error) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	for _, topic := range topics {
		resource := kmsg.NewDescribeConfigsRequestResource()
		resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeTopic, topic
		resource.ConfigNames = []string{"min.insync.replicas"}
		req.Resources = append(req.Resources, resource)
	}
	resp, err := ask[*kmsg.DescribeConfigsResponse](ctx, n, req)
	if err != nil {
		return nil, err
	}
	out := make(map[string]int, len(resp.Resources))
	for _, resource := range resp.Resources {
		value, err := minISROf(resource)
		if errors.Is(err, kerr.UnknownTopicOrPartition) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("DescribeConfigs at %s: topic %s: %w", n.addr, resource.ResourceName, err)
		}
		out[resource.ResourceName] = value
	}
	return out, nil
}

func minISROf(resource kmsg.DescribeConfigsResponseResource) (int, error) {
	if err := codeErr(resource.ErrorCode); err != nil {
		return 0, err
	}
	for _, config := range resource.Configs {
		if config.Name != "min.insync.replicas" || config.Value == nil {
			continue
		}
		value, err := strconv.Atoi(*config.Value)
		if err != nil {
			return 0, fmt.Errorf("min.insync.replicas: %w", err)
		}
		return value, nil
	}
	return 0, errors.New("answer has no min.insync.replicas")
}

// Reassignment is one partition whose replicas are being moved.
type Reassignment struct {
	Topic     string
	Partition int32
	Replicas  []int32
	Adding    []int32
	Removing  []int32
}

// Reassignments lists the moves that run. Only a controller knows: in
// ZooKeeper mode the other brokers refuse (NOT_CONTROLLER), later any broker
// forwards the question, so brokers are asked until one answers.
func (b *Brokers) Reassignments(ctx context.Context) ([]Reassignment, error) {
	return first(ctx, b, func(ctx context.Context, n *node) ([]Reassignment, error) {
		req := kmsg.NewPtrListPartitionReassignmentsRequest()
		req.TimeoutMillis = 5000
		req.Topics = nil // all of them
		resp, err := ask[*kmsg.ListPartitionReassignmentsResponse](ctx, n, req)
		if err != nil {
			return nil, err
		}
		if err := codeErr(resp.ErrorCode); err != nil {
			return nil, fmt.Errorf("ListPartitionReassignments at %s: %w", n.addr, err)
		}
		return reassignmentsOf(resp), nil
	})
}

func reassignmentsOf(resp *kmsg.ListPartitionReassignmentsResponse) []Reassignment {
	out := []Reassignment{}
	for _, topic := range resp.Topics {
		for _, p := range topic.Partitions {
			out = append(out, Reassignment{Topic: topic.Topic, Partition: p.Partition, Replicas: p.Replicas, Adding: p.AddingReplicas, Removing: p.RemovingReplicas})
		}
	}
	return out
}
