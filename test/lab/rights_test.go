package lab_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"migrator/internal/status"
)

// guarded is the topic that the rights are about.
const guarded = "orders"

// user is somebody who acts all the time, with the right to or without.
type user struct {
	name string
	may  bool      // write to the topic and change its configuration
	opts []kgo.Opt // how he connects
}

// outcome of one act. What did not come to be judged by an authorizer proves
// neither that it was allowed nor that it was denied.
type outcome string

const (
	passed      outcome = "allowed"
	denied      outcome = "denied"
	unavailable outcome = "unavailable"
)

// rights lets users act at every broker, every 200 ms and whatever the cluster
// goes through: who may must never be denied, and who may not never be let in.
type rights struct {
	t      *testing.T
	cancel context.CancelFunc
	loops  sync.WaitGroup

	mu    sync.Mutex
	place string // where the migration is
	seen  map[string]map[string]int
	// judged are the acts of each user that an authorizer answered, by place.
	judged map[string]map[string]int
	done   map[string]int // acts that had their effect, by place
	wrong  []string
}

// watchRights begins; the test ends it. Brokers are asked directly, so that a
// single one that lets somebody in is found.
func watchRights(t *testing.T, brokers []string, users ...user) *rights {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &rights{t: t, cancel: cancel, place: "plain ZooKeeper", seen: map[string]map[string]int{}, judged: map[string]map[string]int{}, done: map[string]int{}}
	for _, u := range users {
		for _, broker := range brokers {
			for name, act := range acts() {
				client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(broker), kgo.DialTimeout(2 * time.Second), kgo.RequestRetries(0)}, u.opts...)...)
				if err != nil {
					t.Fatal(err)
				}
				r.loops.Go(func() {
					defer client.Close()
					r.keepActing(ctx, u, broker, name, func(ctx context.Context) (int16, error) { return act(ctx, client) })
				})
			}
		}
	}
	t.Cleanup(r.end)
	return r
}

func (r *rights) keepActing(ctx context.Context, u user, broker, name string, act func(context.Context) (int16, error)) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		begun := time.Now()
		r.mu.Lock()
		place := r.place
		r.mu.Unlock()
		acting, cancel := context.WithTimeout(ctx, 5*time.Second)
		code, err := act(acting)
		cancel()
		if ctx.Err() == nil {
			r.note(u, place, fmt.Sprintf("%s %s at %s", u.name, name, broker), begun, code, err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (r *rights) note(u user, place, what string, begun time.Time, code int16, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	got := judge(code, err)
	if r.seen[place] == nil {
		r.seen[place] = map[string]int{}
	}
	r.seen[place][u.name+" "+string(got)]++
	if r.judged[place] == nil {
		r.judged[place] = map[string]int{}
	}
	if got != unavailable {
		r.judged[place][u.name]++
	} else if r.seen[place][u.name+" "+string(unavailable)] > 50 {
		r.judged[place][u.name] += 0 // asked often: it must have been answered some time
	}
	if got == passed && code == 0 {
		r.done[place]++
	}
	if got == passed && !u.may || got == denied && u.may {
		r.wrong = append(r.wrong, fmt.Sprintf("%s, %s: %s was %s: code %d, %v", begun.Format("15:04:05.000"), place, what, got, code, err))
	}
}

// judge reads an answer. An authorizer is asked before anything else, so every
// code that speaks of the thing itself says that it let the user in.
func judge(code int16, err error) outcome {
	if err != nil {
		if errors.Is(err, kerr.SaslAuthenticationFailed) || strings.Contains(err.Error(), "tls: ") {
			return denied
		}
		return unavailable
	}
	switch kerr.ErrorForCode(code) {
	case kerr.TopicAuthorizationFailed, kerr.ClusterAuthorizationFailed:
		return denied
	case kerr.NotController, kerr.RequestTimedOut, kerr.UnknownServerError, kerr.NetworkException, kerr.CoordinatorNotAvailable, kerr.BrokerNotAvailable:
		return unavailable
	}
	return passed
}

// at says where the migration is now, for messages and counts.
func (r *rights) at(s status.Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.Phase != nil {
		r.place = fmt.Sprintf("%s, %s", *s.Phase, s.RunStatus)
	}
}

// end stops everybody and judges: nobody got what is not his, nobody was kept
// from what is, and both were tried in every phase that lasted.
func (r *rights) end() {
	r.t.Helper()
	r.cancel()
	r.loops.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.wrong[:min(len(r.wrong), 20)] {
		r.t.Error(w)
	}
	if len(r.wrong) > 20 {
		r.t.Errorf("and %d more", len(r.wrong)-20)
	}
	places := make([]string, 0, len(r.seen))
	for place := range r.seen {
		places = append(places, place)
	}
	slices.Sort(places)
	for _, place := range places {
		for who, n := range r.judged[place] {
			if n == 0 {
				r.t.Errorf("%s: nothing that %s tried was judged: the test lost its point", place, who)
			}
		}
		r.t.Logf("%s: %v, %d acts had their effect", place, r.seen[place], r.done[place])
	}
	r.wrong = nil
}

// acts are what everybody tries: to write a record, and to change the topic.
func acts() map[string]func(context.Context, *kgo.Client) (int16, error) {
	return map[string]func(context.Context, *kgo.Client) (int16, error){"writes": writeRecord, "configures": alterConfig}
}

func writeRecord(ctx context.Context, client *kgo.Client) (int16, error) {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 9, -1, 3000
	partition := kmsg.NewProduceRequestTopicPartition()
	partition.Records = batch("x")
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic, topic.Partitions = guarded, []kmsg.ProduceRequestTopicPartition{partition}
	req.Topics = []kmsg.ProduceRequestTopic{topic}
	answer, err := client.SeedBrokers()[0].Request(ctx, req)
	if err != nil {
		return 0, err
	}
	topics := answer.(*kmsg.ProduceResponse).Topics
	if len(topics) != 1 || len(topics[0].Partitions) != 1 {
		return 0, errors.New("an answer without a partition")
	}
	return topics[0].Partitions[0].ErrorCode, nil
}

// batch is one record as a broker takes it.
func batch(value string) []byte {
	record := kmsg.Record{Value: []byte(value)}
	record.Length = int32(len(record.AppendTo(nil)) - 1) // less its own length of one byte
	b := kmsg.RecordBatch{PartitionLeaderEpoch: -1, Magic: 2, ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, NumRecords: 1,
		FirstTimestamp: time.Now().UnixMilli(), MaxTimestamp: time.Now().UnixMilli(), Records: record.AppendTo(nil)}
	const untilLength, untilCRC = 12, 21
	raw := b.AppendTo(nil)
	b.Length = int32(len(raw) - untilLength)
	b.CRC = int32(crc32.Checksum(raw[untilCRC:], crc32.MakeTable(crc32.Castagnoli)))
	return b.AppendTo(nil)
}

func alterConfig(ctx context.Context, client *kgo.Client) (int16, error) {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeTopic, guarded
	config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	config.Name, config.Value = "delete.retention.ms", kmsg.StringPtr("86400000")
	resource.Configs = []kmsg.IncrementalAlterConfigsRequestResourceConfig{config}
	req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{resource}
	answer, err := client.SeedBrokers()[0].Request(ctx, req)
	if err != nil {
		return 0, err
	}
	resources := answer.(*kmsg.IncrementalAlterConfigsResponse).Resources
	if len(resources) != 1 {
		return 0, errors.New("an answer without a resource")
	}
	return resources[0].ErrorCode, nil
}

// grant makes the guarded topic and the rights that go with it, as a super user.
func grant(t *testing.T, admin *kadm.Client, replicas int16, rules ...*kadm.ACLBuilder) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := admin.CreateTopic(ctx, 1, replicas, nil, guarded); err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules {
		made, err := admin.CreateACLs(ctx, rule)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range made {
			if m.Err != nil {
				t.Fatalf("%+v: %v", m, m.Err)
			}
		}
	}
}
