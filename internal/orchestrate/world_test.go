package orchestrate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"crypto/sha256"
	"encoding/hex"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/execute"
	"migrator/internal/facts"
	"migrator/internal/journal"
	"migrator/internal/kraftlog"
	"migrator/internal/observe"
	"migrator/internal/plan"
)

// world is a cluster of three brokers in memory, its controllers provisioned,
// that obeys what a roll into migration mode needs: brokers come up in the mode
// of their file, register anew, and the copy begins when all are there.
type world struct {
	mu      sync.Mutex
	brokers map[int32]*broker
	holder  int32
	writes  int             // to ZooKeeper, by dual write
	hang    map[string]bool // actions that stay under way until their context ends
	fail    map[string]int  // actions that fail so often
	blind   map[int32]bool  // brokers that do not answer
	did     []string        // effects and looks, in order
	entries []journal.Entry // the journal
	full    int             // entries after which the journal's disk is full; 0: never
	blobs   map[string][]byte
}

type broker struct {
	file    []byte
	running bool
	mode    cluster.Mode
	czxid   int64
	epoch   int32 // of the partition it leads by preference
}

func newWorld() *world {
	w := &world{brokers: map[int32]*broker{}, holder: 2, blobs: map[string][]byte{}, hang: map[string]bool{}, fail: map[string]int{}, blind: map[int32]bool{}}
	for id := range int32(3) {
		id++
		w.brokers[id] = &broker{file: fmt.Appendf(nil, "broker.id=%d\nlisteners=PLAINTEXT://b%d:9092\ninter.broker.protocol.version=3.9\nzookeeper.connect=zk:2181\nlog.dirs=/data\n", id, id),
			running: true, mode: cluster.ZK, czxid: 100 + int64(id), epoch: 5}
	}
	return w
}

func settings() config.Migration {
	m := config.Migration{Name: "payments", ZooKeeper: config.ZooKeeper{Connect: "zk:2181"}, Kafka: config.Kafka{Version: "3.9.2", Bootstrap: []string{"b1:9092"}},
		Quorum:  config.Quorum{Mode: "static", Listener: config.QuorumListener{Name: "CONTROLLER", Protocol: "PLAINTEXT", Port: 9093}},
		Gates:   config.Gates{GoodPolls: 2, PollInterval: 2 * time.Second, StepTimeout: 5 * time.Minute, MaxFactAge: 15 * time.Second},
		Soaks:   []config.Soak{{Phase: cluster.DualWrite, Duration: time.Hour}},
		Drill:   config.Drill{Phase: cluster.DualWrite, Kinds: []string{"clean"}, MaxUnavailable: 15 * time.Second},
		Roll:    config.Roll{Batch: "node"},
		Canary:  config.Canary{Off: true},
		Approve: cluster.Phases()}
	for _, id := range []int32{1, 2, 3, 3001, 3002, 3003} {
		n := config.Node{Node: cluster.Node{ID: id, Role: cluster.Broker, Host: fmt.Sprintf("b%d", id)}, Properties: fmt.Sprintf("/etc/kafka/%d.properties", id)}
		n.Commands = config.Commands{Start: []string{"start", fmt.Sprint(id)}, Stop: []string{"stop", fmt.Sprint(id)}}
		if id > 3000 {
			n.Role, n.Host, n.Port = cluster.Controller, fmt.Sprintf("c%d", id), 9093
		}
		m.Nodes = append(m.Nodes, n)
	}
	return m
}

func ptr[T any](v T) *T { return &v }

func sha(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

var ids = []int32{1, 2, 3}

// change edits the world while others may look at it.
func (w *world) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// up says how a broker runs.
func (w *world) up(id int32) (bool, cluster.Mode) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.brokers[id].running, w.brokers[id].mode
}

// copied: every broker has registered in migration mode.
func (w *world) copied() bool {
	for _, b := range w.brokers {
		if b.mode != cluster.ZKMigrating {
			return false
		}
	}
	return true
}

// Round answers what readers would see now.
func (w *world) Round(context.Context, observe.Want) facts.Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	s := facts.Snapshot{Begun: now, ClusterID: known("abcDEFghiJKLmnoPQRstuA"), ZKEpoch: known(facts.ZKEpoch{Present: true, Value: 4}), Writable: known(true),
		Driver: known(facts.Driver{Held: true}), Deleting: known([]string{}), Preflight: known(facts.Preflight{}), Reassigning: known([]string{}), MinISR: known(map[string]int{"orders": 2}),
		Ensemble: known([]facts.ZKMember{{Address: "zk", Serving: ptr(true)}}), Holder: known(facts.Holder{Present: true, ID: w.holder, Ephemeral: true}),
		Migration: known(facts.MigrationZnode{Present: true}), Quorum: map[int32]facts.Fact[facts.Quorum]{}, API: map[int32]facts.Fact[facts.API]{},
		Files: map[int32]facts.Fact[facts.File]{}, Running: map[int32]facts.Fact[bool]{}, Lines: map[int32]facts.Fact[facts.Lines]{}, Meta: map[int32]facts.Fact[[]facts.MetaProperties]{}}
	image := kraftlog.Image{HasState: true, State: cluster.StatePreMigration, Features: map[string]int16{"metadata.version": 21},
		Brokers: map[int32]kraftlog.Broker{}, Controllers: map[int32]kraftlog.Controller{}, Topics: map[string]kraftlog.Topic{}}
	leader := facts.Quorum{IsLeader: true, Leader: 3002, HasLeader: true, Epoch: 3, HighWatermark: 500}
	for _, id := range []int32{3001, 3002, 3003} {
		leader.Voters = append(leader.Voters, facts.Replica{ID: id, LogEndOffset: 500, LastFetch: now, LastCaughtUp: now})
		image.Controllers[id] = kraftlog.Controller{ID: id, Incarnation: fmt.Sprint(id), ZkMigrationReady: true}
		s.Quorum[id], s.API[id] = known(facts.Quorum{Epoch: 3, Leader: 3002, HasLeader: true}), known(facts.API{DescribeQuorum: true, ZkMigrationReady: true, MetadataVersion: ptr(int16(21))})
		file := fmt.Appendf(nil, "node.id=%d\nprocess.roles=controller\nzookeeper.metadata.migration.enable=true\n", id)
		s.Files[id] = known(facts.File{Exists: true, SHA256: sha(file), Content: file, Mode: cluster.KRaftMigrating})
		s.Running[id], s.Lines[id] = known(true), known(facts.Lines{Started: true})
		s.Meta[id] = known([]facts.MetaProperties{{Dir: "/meta", Exists: true, Version: 1, ClusterID: "abcDEFghiJKLmnoPQRstuA", NodeID: fmt.Sprint(id)}})
	}
	md := facts.Metadata{ClusterID: "abcDEFghiJKLmnoPQRstuA"}
	var regs []facts.Registration
	for _, id := range ids {
		b := w.brokers[id]
		s.Files[id] = known(facts.File{Exists: true, SHA256: sha(b.file), Content: b.file, Mode: modeOf(b.file)})
		s.Running[id], s.Lines[id] = known(b.running), known(facts.Lines{Started: b.running})
		s.Meta[id] = known([]facts.MetaProperties{{Dir: "/data", Exists: true, ClusterID: "abcDEFghiJKLmnoPQRstuA", NodeID: fmt.Sprint(id)}})
		s.API[id] = facts.Unknown[facts.API]("connection refused", "test", now)
		if !b.running {
			continue
		}
		md.Brokers = append(md.Brokers, facts.MetadataBroker{ID: id})
		regs = append(regs, facts.Registration{ID: id, Host: fmt.Sprintf("b%d", id), Port: 9092, Czxid: b.czxid})
		if !w.blind[id] {
			s.API[id] = known(facts.API{UpdateMetadata: true, ZkMigrationReady: b.mode == cluster.ZKMigrating})
		}
		if b.mode == cluster.ZKMigrating {
			image.Brokers[id] = kraftlog.Broker{ID: id, Incarnation: fmt.Sprint(b.czxid), MigratingZK: true}
			leader.Observers = append(leader.Observers, facts.Replica{ID: id, LogEndOffset: 500, LastFetch: now, LastCaughtUp: now})
		}
	}
	zk, log := map[int32]facts.ZKPartition{}, map[int32]kraftlog.Partition{}
	for _, id := range ids {
		p := facts.Partition{Topic: "orders", Partition: id, HasLeader: true, Leader: id, LeaderEpoch: w.brokers[id].epoch, Replicas: ids}
		for _, r := range ids {
			if w.brokers[r].running {
				p.ISR = append(p.ISR, r)
			}
		}
		if !w.brokers[id].running {
			p.Leader = p.ISR[0]
		}
		md.Partitions = append(md.Partitions, p)
		zk[id] = facts.ZKPartition{Replicas: ids, HasState: true, ISR: p.ISR, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch}
		log[id] = kraftlog.Partition{Replicas: ids, ISR: p.ISR, Leader: p.Leader, HasLeader: true, LeaderEpoch: p.LeaderEpoch}
	}
	if w.copied() {
		w.writes++
		image.State, image.Topics["orders"] = cluster.StateMigration, kraftlog.Topic{ID: "id", Partitions: log}
		s.Holder = known(facts.Holder{Present: true, ID: 3002, KRaftEpoch: ptr(int32(3))})
		s.Migration = known(facts.MigrationZnode{Present: true, ControllerID: ptr(int32(3002)), ControllerEpoch: ptr(int32(3)), Offset: ptr(int64(499)), Version: int32(w.writes)})
		s.ZKTopics = known(facts.ZKTopics{Topics: map[string]facts.ZKTopic{"orders": {ID: "id", HasID: true, Partitions: zk}}})
	}
	s.Quorum[3002] = known(leader)
	s.Log = known(facts.Log{Leader: 3002, Epoch: 3, HighWatermark: 500, Image: image})
	s.Metadata, s.Registered = known(md), known(regs)
	return s
}

func known[T any](v T) facts.Fact[T] { return facts.Known(v, "test", time.Now()) }

func modeOf(file []byte) cluster.Mode {
	if bytes.Contains(file, []byte("zookeeper.metadata.migration.enable=true")) {
		return cluster.ZKMigrating
	}
	return cluster.ZK
}

// MarkLogs and RestoreLogs: this world's logs begin at each stop.
func (w *world) MarkLogs(context.Context, []int32) (map[int32]string, error) { return nil, nil }
func (w *world) RestoreLogs(map[int32]string) error                          { return nil }

// Put keeps contents for the executor.
func (w *world) Put(data []byte) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.blobs[sha(data)] = slices.Clone(data)
	return sha(data), nil
}

func (w *world) Get(sha string) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	data, ok := w.blobs[sha]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return slices.Clone(data), nil
}

// life is the world as one run of the service reaches it: nothing once it was killed.
type life struct {
	*world
	mu   sync.Mutex
	dead bool
}

func (l *life) kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = true
}

func (l *life) killed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

var errKilled = errors.New("the service was killed")

// Do performs an action on the world.
func (l *life) Do(ctx context.Context, t execute.Task) (execute.Result, error) {
	if l.killed() {
		return execute.Result{}, errKilled
	}
	w := l.world
	w.mu.Lock()
	hangs := w.hang[t.Action.ID]
	w.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return execute.Result{}, ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.did = append(w.did, t.Action.ID)
	if w.fail[t.Action.ID] > 0 {
		w.fail[t.Action.ID]--
		return execute.Result{}, errors.New("exit status 1")
	}
	if t.Action.Node == nil {
		return execute.Result{}, nil
	}
	b := w.brokers[*t.Action.Node]
	switch t.Action.Kind {
	case plan.Stop:
		b.running = false
		b.epoch++
	case plan.Write:
		b.file = w.blobs[t.Action.After]
	case plan.Start:
		b.running, b.mode = true, modeOf(b.file)
		b.czxid += 100
		b.epoch++
	}
	return execute.Result{Detail: "done"}, nil
}

// Probe looks at the world.
func (l *life) Probe(_ context.Context, t execute.Task) (execute.Probed, string, error) {
	if l.killed() {
		return execute.ProbedUnknown, "", errKilled
	}
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	l.did = append(l.did, "look at "+t.Action.ID)
	if t.Action.Node == nil {
		return execute.ProbedNotDone, "", nil
	}
	b := l.brokers[*t.Action.Node]
	done := map[plan.ActionKind]bool{plan.Stop: !b.running, plan.Start: b.running, plan.Write: sha(b.file) == t.Action.After}[t.Action.Kind]
	if done {
		return execute.ProbedDone, "as wanted", nil
	}
	return execute.ProbedNotDone, "", nil
}

// Append writes to the journal unless the service is dead or the disk full.
func (l *life) Append(kind, actor string, attempt int, body any) (journal.Entry, error) {
	if l.killed() {
		return journal.Entry{}, errKilled
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return journal.Entry{}, err
	}
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	if l.full > 0 && len(l.entries) >= l.full {
		return journal.Entry{}, errors.New("no space left on device")
	}
	e := journal.Entry{V: 1, Seq: uint64(len(l.entries) + 1), Time: time.Now(), Attempt: attempt, Kind: kind, Actor: actor, Body: raw}
	l.entries = append(l.entries, e)
	return e, nil
}

// Read answers the whole journal.
func (l *life) Read() ([]journal.Entry, error) {
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	return slices.Clone(l.entries), nil
}

// effects are the actions performed, without the looks.
func (w *world) effects() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.did), func(d string) bool { return strings.HasPrefix(d, "look at ") })
}

func (w *world) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.did)
}

// kinds are the journal's kinds in order, for messages.
func (w *world) kinds() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, e := range w.entries {
		out = append(out, strconv.FormatUint(e.Seq, 10)+" "+e.Kind)
	}
	return strings.Join(out, ", ")
}
