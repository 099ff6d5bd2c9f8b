package lab_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"migrator/internal/lab"
	"migrator/internal/status"
	"migrator/internal/zkread"
)

// epochLab is a cluster of brokers only, in ZooKeeper mode.
type epochLab struct {
	*lab.Cluster
	t      *testing.T
	ctx    context.Context
	reader *zkread.Reader
	conn   *zk.Conn
}

// partition is one partition of a topic.
type partition struct {
	topic  string
	number int32
}

// TestTheEdgeOfTheEpochMargin shows the rule of KAFKA-20488 that the margin
// stands on, without any KRaft: a controller refuses an election only where the
// partition's state carries an epoch greater than its own, and its epoch is
// /controller_epoch + 1. So margin 0 is safe, and -1 is not.
func TestTheEdgeOfTheEpochMargin(t *testing.T) {
	const edge, beyond = "at-the-edge", "beyond-it"
	c := startCluster(t, lab.Options{ExtraBroker: []string{"auto.leader.rebalance.enable=false", "controlled.shutdown.retry.backoff.ms=500"}})
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	l := &epochLab{Cluster: c, t: t, ctx: ctx, reader: openReader(t, c.ZooKeeperConnect()), conn: connectZooKeeper(t, c)}
	l.createTopics(edge, beyond)
	epoch := l.epoch()
	victim := l.notController()
	l.setEpochs(edge, epoch+1)
	l.setEpochs(beyond, epoch+2)

	l.electControllerOtherThan(victim, epoch+1)
	before := l.states(edge, beyond)
	took := l.stop(victim)
	after := l.states(edge, beyond)
	refused := l.refusals()
	for _, p := range ledBy(before, victim) {
		was, is := before[p], after[p]
		switch {
		case p.topic == edge && (is.Leader == victim || is.LeaderEpoch <= was.LeaderEpoch || is.ControllerEpoch != epoch+1):
			t.Errorf("%v at margin 0 elected nobody: %+v, was %+v", p, is, was)
		case p.topic == edge && refused[p] > 0:
			t.Errorf("%v at margin 0: %d elections refused", p, refused[p])
		case p.topic == beyond && (is.Leader != was.Leader || is.LeaderEpoch != was.LeaderEpoch || is.ControllerEpoch != epoch+2):
			t.Errorf("%v at margin -1 changed its state: %+v, was %+v", p, is, was)
		case p.topic == beyond && refused[p] == 0:
			t.Errorf("%v at margin -1: no election refused", p)
		}
	}
	t.Logf("controller at epoch %d: broker %d stopped in %s, elections refused: %v", epoch+1, victim, took, refused)

	l.comesBack(victim, edge, beyond)
	l.electControllerOtherThan(victim, epoch+2)
	before = l.states(edge, beyond)
	refused = l.refusals()
	took = l.stop(victim)
	after = l.states(edge, beyond)
	led := ledBy(before, victim)
	if !slices.ContainsFunc(led, func(p partition) bool { return p.topic == beyond && before[p].ControllerEpoch == epoch+2 }) {
		t.Errorf("no partition at epoch %d is left for the next controller: %+v", epoch+2, before)
	}
	for _, p := range led {
		if was, is := before[p], after[p]; is.Leader == victim || is.LeaderEpoch <= was.LeaderEpoch || is.ControllerEpoch != epoch+2 {
			t.Errorf("%v elected nobody under the next controller: %+v, was %+v", p, is, was)
		}
	}
	if now := l.refusals(); !maps.Equal(now, refused) {
		t.Errorf("the next controller refused elections too: %v, before it %v", now, refused)
	}
	t.Logf("controller at epoch %d: broker %d stopped in %s, none refused", epoch+2, victim, took)
}

func (l *epochLab) createTopics(names ...string) {
	l.t.Helper()
	admin := l.admin(l.Bootstrap()...)
	for _, name := range names {
		if _, err := admin.CreateTopic(l.ctx, 6, 3, nil, name); err != nil {
			l.t.Fatal(err)
		}
	}
	poll(l.ctx, l.t, "every partition has a full ISR", func() bool { return l.full(12, names...) })
}

func (l *epochLab) admin(seeds ...string) *kadm.Client {
	l.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(seeds...))
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(client.Close)
	return kadm.NewClient(client)
}

func (l *epochLab) full(partitions int, topics ...string) bool {
	states := l.states(topics...)
	for _, s := range states {
		if len(s.ISR) != 3 {
			return false
		}
	}
	return len(states) == partitions
}

func (l *epochLab) states(topics ...string) map[partition]zkread.PartitionState {
	l.t.Helper()
	found, err := l.reader.Topics(l.ctx, topics)
	if err != nil {
		l.t.Fatal(err)
	}
	states, err := l.reader.PartitionStates(l.ctx, found)
	if err != nil {
		l.t.Fatal(err)
	}
	out := map[partition]zkread.PartitionState{}
	for topic, of := range states {
		for number, s := range of {
			out[partition{topic, number}] = s
		}
	}
	return out
}

func ledBy(states map[partition]zkread.PartitionState, id int32) []partition {
	var out []partition
	for p, s := range states {
		if s.Leader == id {
			out = append(out, p)
		}
	}
	return out
}

func (l *epochLab) epoch() int32 {
	l.t.Helper()
	e, err := l.reader.ControllerEpoch(l.ctx)
	if err != nil || !e.Present {
		l.t.Fatalf("/controller_epoch %+v, %v", e, err)
	}
	return e.Value
}

func (l *epochLab) holder() zkread.Controller {
	l.t.Helper()
	h, err := l.reader.Controller(l.ctx)
	if err != nil {
		l.t.Fatal(err)
	}
	return h
}

func (l *epochLab) notController() int32 {
	if l.holder().BrokerID == 1 {
		return 2
	}
	return 1
}

// setEpochs writes the controller epoch of every partition state of a topic, as
// a KRaft controller of that epoch would have left it.
func (l *epochLab) setEpochs(topic string, epoch int32) {
	l.t.Helper()
	for p := range l.states(topic) {
		setStateEpoch(l.t, l.conn, p, epoch)
	}
}

func setStateEpoch(t *testing.T, conn *zk.Conn, p partition, epoch int32) {
	t.Helper()
	path := fmt.Sprintf("/brokers/topics/%s/partitions/%d/state", p.topic, p.number)
	raw, stat, err := conn.Get(path)
	if err != nil {
		t.Fatal(err)
	}
	state := map[string]any{}
	if err := json.Unmarshal(raw, &state); err != nil {
		t.Fatal(err)
	}
	state["controller_epoch"] = epoch
	if raw, err = json.Marshal(state); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Set(path, raw, stat.Version); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// electControllerOtherThan deletes /controller while the broker cannot run for it.
func (l *epochLab) electControllerOtherThan(id, epoch int32) {
	l.t.Helper()
	name := strconv.Itoa(int(id))
	if err := l.Pause(l.ctx, name); err != nil {
		l.t.Fatal(err)
	}
	if err := l.conn.Delete("/controller", -1); err != nil {
		l.t.Fatal(err)
	}
	poll(l.ctx, l.t, "another broker holds /controller", func() bool { return l.holder().Present && l.epoch() == epoch })
	if err := l.Resume(l.ctx, name); err != nil {
		l.t.Fatal(err)
	}
	admin := l.admin(l.Bootstrap()[id-1])
	poll(l.ctx, l.t, "the broker follows the new controller", func() bool {
		md, err := admin.Metadata(l.ctx)
		return err == nil && md.Controller == l.holder().BrokerID
	})
}

// stop asks for a clean shutdown and says how long it took.
func (l *epochLab) stop(id int32) time.Duration {
	l.t.Helper()
	began := time.Now()
	if err := l.Stop(l.ctx, strconv.Itoa(int(id))); err != nil {
		l.t.Fatal(err)
	}
	return time.Since(began).Round(100 * time.Millisecond)
}

func (l *epochLab) comesBack(id int32, topics ...string) {
	l.t.Helper()
	name := strconv.Itoa(int(id))
	if err := l.Start(l.ctx, name); err != nil {
		l.t.Fatal(err)
	}
	if err := l.Ready(l.ctx, name); err != nil {
		l.t.Fatal(err)
	}
	poll(l.ctx, l.t, "every partition has a full ISR again", func() bool { return l.full(12, topics...) })
}

// refusals counts aborted elections by partition in every broker's log.
func (l *epochLab) refusals() map[partition]int {
	l.t.Helper()
	line := regexp.MustCompile(`StateChangeFailedException: Aborted leader election for partition (\S+)-(\d+) since the LeaderAndIsr path was already written by another controller`)
	out := map[partition]int{}
	for _, id := range l.BrokerIDs() {
		for _, file := range []string{"server.log", "controller.log", "state-change.log"} {
			raw, err := os.ReadFile(l.LogPath(id, file))
			if err != nil && !os.IsNotExist(err) {
				l.t.Fatal(err)
			}
			for _, m := range line.FindAllStringSubmatch(string(raw), -1) {
				number, err := strconv.Atoi(m[2])
				if err != nil {
					l.t.Fatal(err)
				}
				out[partition{m[1], int32(number)}]++
			}
		}
	}
	return out
}

// showsTheEdge lets a partition state carry the epochs of margin 0 and of -1:
// the first way back is safe, the second with one more step. It answers the
// /controller_epoch that stood before that step.
func (op *operator) showsTheEdge(p partition) int {
	op.t.Helper()
	conn := connectZooKeeper(op.t, op.c)
	before := op.status().Epochs
	if before == nil || before.Margin == nil || *before.Margin < 0 {
		op.t.Fatalf("epochs %+v: the margin is to be lowered to 0 and -1", before)
	}
	for _, tt := range []struct {
		margin int
		says   string
	}{{0, "the epoch margin is 0"}, {-1, "with one more step: the epoch margin is -1, so /controller_epoch is raised"}} {
		setStateEpoch(op.t, conn, p, int32(before.ZooKeeper+1-tt.margin))
		var s status.Status
		op.until(fmt.Sprintf("the margin reads %d", tt.margin), time.Minute, func() bool {
			s = op.status()
			return s.Epochs != nil && s.Epochs.Margin != nil && *s.Epochs.Margin == tt.margin
		})
		if s.Revert.Safe == nil || !*s.Revert.Safe || !strings.Contains(s.Revert.Why, tt.says) {
			op.t.Errorf("at margin %d the way back is safe %v, why %q; want it safe, %q", tt.margin, s.Revert.Safe, s.Revert.Why, tt.says)
		}
	}
	return before.ZooKeeper
}
