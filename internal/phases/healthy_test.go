package phases

import (
	"fmt"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/facts"
	"migrator/internal/gates"
	"migrator/internal/kraftlog"
	"migrator/internal/plan"
)

// The builders make a healthy cluster of three brokers and three controllers;
// a test changes one thing of it.

var moment = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const testCluster = "abcDEFghiJKLmnoPQRstuA"

func ptr[T any](v T) *T { return &v }

func known[T any](v T) facts.Fact[T] { return facts.Known(v, "test", moment) }

func unknown[T any](cause string) facts.Fact[T] { return facts.Unknown[T](cause, "test", moment) }

func edit[T any](f *facts.Fact[T], change func(*T)) {
	v, _ := f.Get()
	change(&v)
	*f = known(v)
}

func brokerFile(id int32) []byte {
	return fmt.Appendf(nil, "broker.id=%d\nlisteners=PLAINTEXT://b%d:9092\ninter.broker.protocol.version=3.9\nzookeeper.connect=zk:2181\nlog.dirs=/data\n", id, id)
}

func brokers() []int32     { return []int32{1, 2, 3} }
func controllers() []int32 { return []int32{3001, 3002, 3003} }

func migration() config.Migration {
	m := config.Migration{Name: "payments",
		ZooKeeper: config.ZooKeeper{Connect: "zk:2181"},
		Kafka:     config.Kafka{Version: "3.9.2", Bootstrap: []string{"b1:9092"}},
		Quorum:    config.Quorum{Mode: "static", Listener: config.QuorumListener{Name: "CONTROLLER", Protocol: "PLAINTEXT", Port: 9093}},
		Gates:     config.Gates{GoodPolls: 3, PollInterval: 2 * time.Second, StepTimeout: 5 * time.Minute, MaxFactAge: 15 * time.Second},
		Soaks:     []config.Soak{{Phase: cluster.DualWrite, Duration: time.Hour}},
		Drill:     config.Drill{Phase: cluster.DualWrite, Kinds: []string{"clean", "crash"}, MaxUnavailable: 15 * time.Second},
		Roll:      config.Roll{Batch: "node"},
		Canary:    config.Canary{Topic: "__migrator_canary", Interval: 100 * time.Millisecond},
		Approve:   cluster.Phases(),
	}
	for _, id := range append(brokers(), controllers()...) {
		n := config.Node{Node: cluster.Node{ID: id, Role: cluster.Broker, Host: fmt.Sprintf("b%d", id)}, Properties: fmt.Sprintf("/etc/kafka/%d.properties", id)}
		n.Commands = config.Commands{Start: []string{"start", fmt.Sprint(id)}, Stop: []string{"stop", fmt.Sprint(id)}, Running: []string{"running", fmt.Sprint(id)}}
		if id > 3000 {
			n.Role, n.Host, n.Port = cluster.Controller, fmt.Sprintf("c%d", id), 9093
			n.Commands.Format = []string{"format", "-t", "{cluster_id}", "--release-version", "{metadata_version}"}
			n.Settings = []config.Setting{{Key: "log.dirs", Value: fmt.Sprintf("/meta/%d", id)}}
		}
		m.Nodes = append(m.Nodes, n)
	}
	return m
}

func inventory() cluster.Inventory { return migration().Inventory() }

// atRest is a cluster in ZooKeeper mode before anything was done; broker 2 holds /controller.
func atRest() facts.Snapshot {
	s := facts.Snapshot{Begun: moment, ClusterID: known(testCluster), Holder: known(facts.Holder{Present: true, ID: 2, Ephemeral: true}),
		Migration: known(facts.MigrationZnode{}), MinISR: known(map[string]int{"orders": 2}), Log: unknown[facts.Log]("no controller runs"),
		Quorum: map[int32]facts.Fact[facts.Quorum]{}, API: map[int32]facts.Fact[facts.API]{}, Files: map[int32]facts.Fact[facts.File]{}}
	var regs []facts.Registration
	var md facts.Metadata
	for _, id := range brokers() {
		regs = append(regs, facts.Registration{ID: id, Host: fmt.Sprintf("b%d", id), Port: 9092, Czxid: 100 + int64(id)})
		s.API[id] = known(facts.API{UpdateMetadata: true})
		file := brokerFile(id)
		s.Files[id] = known(facts.File{Exists: true, SHA256: hash(file), Content: file, Mode: cluster.ZK})
		md.Partitions = append(md.Partitions, facts.Partition{Topic: "orders", Partition: id, HasLeader: true, Leader: id, Replicas: brokers(), ISR: brokers()})
	}
	for _, id := range controllers() {
		s.Files[id] = known(facts.File{})
	}
	s.Registered, s.Metadata = known(regs), known(md)
	return s
}

// provisioned has its quorum, led by 3002, in PRE_MIGRATION.
func provisioned() facts.Snapshot {
	s := atRest()
	s.Migration = known(facts.MigrationZnode{Present: true})
	image := kraftlog.Image{HasState: true, State: cluster.StatePreMigration, Brokers: map[int32]kraftlog.Broker{}, Controllers: map[int32]kraftlog.Controller{}}
	for _, id := range controllers() {
		image.Controllers[id] = kraftlog.Controller{ID: id, Incarnation: fmt.Sprintf("inc-%d", id), ZkMigrationReady: true}
		s.API[id] = known(facts.API{DescribeQuorum: true, ZkMigrationReady: true})
		s.Quorum[id] = known(facts.Quorum{Epoch: 7, Leader: 3002, HasLeader: true, IsLeader: id == 3002})
		file := fmt.Appendf(nil, "process.roles=controller\nnode.id=%d\nlog.dirs=/meta/%d\ncontroller.listener.names=CONTROLLER\nlisteners=CONTROLLER://c%d:9093\n"+
			"controller.quorum.voters=3001@c3001:9093,3002@c3002:9093,3003@c3003:9093\nzookeeper.connect=zk:2181\nzookeeper.metadata.migration.enable=true\n", id, id, id)
		s.Files[id] = known(facts.File{Exists: true, SHA256: hash(file), Content: file, Mode: cluster.KRaftMigrating})
	}
	s.Log = known(facts.Log{Leader: 3002, Epoch: 7, HighWatermark: 500, Image: image})
	return s
}

// inMode gives brokers another mode, as their ApiVersions would show it.
func inMode(s facts.Snapshot, mode cluster.Mode, ids ...int32) facts.Snapshot {
	for _, id := range ids {
		switch mode {
		case cluster.KRaft:
			s.API[id] = known(facts.API{DescribeQuorum: true})
		case cluster.ZKMigrating:
			s.API[id] = known(facts.API{UpdateMetadata: true, ZkMigrationReady: true})
		default:
			s.API[id] = known(facts.API{UpdateMetadata: true})
		}
	}
	return s
}

func inState(s facts.Snapshot, state cluster.MigrationState) facts.Snapshot {
	edit(&s.Log, func(l *facts.Log) { l.Image.State = state })
	return s
}

// loaded has every broker in migration mode and the copy behind it.
func loaded() facts.Snapshot {
	s := inState(inMode(provisioned(), cluster.ZKMigrating, brokers()...), cluster.StateMigration)
	s.Holder = known(facts.Holder{Present: true, ID: 3002, KRaftEpoch: ptr(int32(7))})
	s.Migration = known(facts.MigrationZnode{Present: true, Offset: ptr(int64(498))})
	edit(&s.Log, func(l *facts.Log) {
		for _, id := range brokers() {
			l.Image.Brokers[id] = kraftlog.Broker{ID: id, Incarnation: fmt.Sprintf("inc-%d", id)}
		}
	})
	return s
}

// dualWriting has every broker in KRaft mode.
func dualWriting() facts.Snapshot {
	s := inMode(loaded(), cluster.KRaft, brokers()...)
	s.Registered = known([]facts.Registration{})
	return s
}

// passing is a judgement in which exactly these sets passed often enough.
func passing(keys ...string) gates.Judgement {
	j := gates.Judgement{At: moment, Sets: map[string]gates.SetState{}}
	for _, k := range keys {
		j.Sets[k] = gates.SetState{Passing: true, Good: 3, Need: 3}
	}
	return j
}

// refuses adds a gate that does not pass to a set.
func refuses(j gates.Judgement, key, gate string, r gates.Result) gates.Judgement {
	j.Sets[key] = gates.SetState{Need: 3}
	j.Verdicts = append(j.Verdicts, gates.Judged{Verdict: gates.Verdict{Gate: gate, Result: r, Evidence: "evidence of " + gate}, Sets: []string{key}})
	return j
}

// story folds journal entries one after another, a second apart.
type story struct {
	t   *testing.T
	s   State
	all []Event
}

func begin(t *testing.T) *story { return &story{t: t, s: New()} }

func (b *story) add(kind Kind, body Body) *story {
	b.t.Helper()
	seq := uint64(len(b.all) + 1)
	e := Event{Seq: seq, Time: moment.Add(time.Duration(seq) * time.Second), Attempt: b.s.Attempt, Actor: "alice", Kind: kind, Body: body}
	next, err := Apply(b.s, e)
	if err != nil {
		b.t.Fatal(err)
	}
	b.s, b.all = next, append(b.all, e)
	return b
}

func (b *story) at(p cluster.Phase) *story {
	return b.add(KindMoved, Body{Moved: &Moved{From: b.s.Phase, To: p}})
}

func (b *story) approved(p plan.Plan) *story {
	return b.add(KindApproved, Body{Approved: &Approved{Plan: p}})
}

func (b *story) opened(step string) *story {
	return b.add(KindOpened, Body{Opened: &Opened{Step: step}})
}

func (b *story) intent(action string) *story {
	return b.add(KindIntent, Body{Intent: &Intent{Step: b.s.Run.Open, Action: action, Try: b.s.Run.Actions[action].Tries + 1}})
}

func (b *story) ended(action string, o Outcome) *story {
	o.Step, o.Action = b.s.Run.Open, action
	return b.add(KindOutcome, Body{Outcome: &o})
}

// done are actions that were intended and succeeded; failed is one that did not.
func (b *story) done(actions ...string) *story {
	for _, a := range actions {
		b.intent(a).ended(a, Outcome{OK: true})
	}
	return b
}

func (b *story) failed(action string) *story {
	return b.intent(action).ended(action, Outcome{Detail: "exit status 1"})
}

func (b *story) blocked() *story {
	return b.add(KindBlocked, Body{Blocked: &Blocked{Step: b.s.Run.Open, What: "it failed"}})
}

func (b *story) retried() *story { return b.add(KindRetried, Body{}) }

func (b *story) closed(steps ...string) *story {
	for _, id := range steps {
		if b.s.Run.Open == "" {
			b.opened(id)
		}
		b.add(KindStepDone, Body{StepDone: &StepDone{Step: id}})
	}
	return b
}

func (b *story) planDone() *story {
	return b.add(KindPlanDone, Body{Plan: &PlanRef{Phase: b.s.Run.Plan.Phase, Digest: b.s.Run.Plan.Digest}})
}

// built is the real plan of a phase for a snapshot.
func built(t *testing.T, p cluster.Phase, snap facts.Snapshot, change ...func(*Inputs)) Built {
	t.Helper()
	b, err := Build(inputs(p, snap, change...))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func inputs(p cluster.Phase, snap facts.Snapshot, change ...func(*Inputs)) Inputs {
	in := Inputs{Migration: migration(), Snapshot: snap, ClusterID: testCluster, Phase: p, Located: p}
	for _, f := range change {
		f(&in)
	}
	return in
}

// rackPlan rolls brokers 1 and 2 as one batch, then broker 3.
func rackPlan(t *testing.T) plan.Plan {
	snap := provisioned()
	edit(&snap.Registered, func(regs *[]facts.Registration) {
		for i := range *regs {
			(*regs)[i].Rack = "a"
		}
		(*regs)[2].Rack = "b"
	})
	return built(t, cluster.Load, snap, func(in *Inputs) { in.Migration.Roll.Batch = "rack" }).Plan
}
