package phases

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/facts"
	"migrator/internal/gates"
	"migrator/internal/kraftlog"
	"migrator/internal/plan"
)

// shape is a plan as stepID: stage actions | stage actions.
func shape(p plan.Plan) []string {
	var out []string
	for _, s := range p.Steps {
		line, stage := s.ID+":", 0
		sorted := slices.Clone(s.Actions)
		slices.SortStableFunc(sorted, func(a, b plan.Action) int { return a.Stage - b.Stage })
		for _, a := range sorted {
			for ; stage < a.Stage; stage++ {
				line += " |"
			}
			line += " " + a.ID
		}
		out = append(out, line)
	}
	return out
}

func TestBuildMakesThePlanOfEachPhase(t *testing.T) {
	tests := []struct {
		name string
		plan Built
		want []string
	}{
		{"initial provisions all controllers in one step", built(t, cluster.Initial, atRest()), []string{"canary-topic: create-topic", "backup: save-znodes",
			"provision: write-3001 write-3002 write-3003 | format-3001 format-3002 format-3003 | start-3001 start-3002 start-3003"}},
		{"initial without a canary", built(t, cluster.Initial, atRest(), func(in *Inputs) { in.Migration.Canary.Off = true }), []string{"backup: save-znodes",
			"provision: write-3001 write-3002 write-3003 | format-3001 format-3002 format-3003 | start-3001 start-3002 start-3003"}},
		{"load takes the holder of /controller last", built(t, cluster.Load, provisioned()), []string{"roll-broker-1: stop-1 | write-1 | start-1", "roll-broker-3: stop-3 | write-3 | start-3",
			"roll-broker-2: stop-2 | write-2 | start-2", "copy:", "elect: elect-preferred"}},
		{"load with a soak of its own", built(t, cluster.Load, provisioned(), func(in *Inputs) {
			in.Migration.Soaks = []config.Soak{{Phase: cluster.Load, Duration: time.Minute}}
		}), []string{"roll-broker-1: stop-1 | write-1 | start-1", "roll-broker-3: stop-3 | write-3 | start-3", "roll-broker-2: stop-2 | write-2 | start-2",
			"copy:", "elect: elect-preferred", "soak-begin:", "soak-end:"}},
		{"hybrid rolls every broker", built(t, cluster.Hybrid, loaded()), []string{"roll-broker-1: stop-1 | write-1 | start-1", "roll-broker-2: stop-2 | write-2 | start-2",
			"roll-broker-3: stop-3 | write-3 | start-3", "elect: elect-preferred"}},
		{"dual-write drills within its soak", built(t, cluster.DualWrite, dualWriting()), []string{"soak-begin:", "drill-clean: drill-clean", "drill-crash: drill-crash", "soak-end:"}},
		{"a drill that passed in this attempt is not asked for again", built(t, cluster.DualWrite, dualWriting(), func(in *Inputs) { in.DrillsPassed = []string{"clean"} }),
			[]string{"soak-begin:", "drill-crash: drill-crash", "soak-end:"}},
		{"finalize takes the active controller last", built(t, cluster.Finalize, dualWriting()), []string{"roll-controller-3001: stop-3001 | write-3001 | start-3001",
			"roll-controller-3003: stop-3003 | write-3003 | start-3003", "roll-controller-3002: stop-3002 | write-3002 | start-3002", "canary-remove: verify-canary | delete-topic"}},
		{"a cluster begun by others is taken over first", built(t, cluster.Hybrid, loaded(), func(in *Inputs) { in.Adopt = true }), []string{"adopt:", "canary-topic: create-topic",
			"roll-broker-1: stop-1 | write-1 | start-1", "roll-broker-2: stop-2 | write-2 | start-2", "roll-broker-3: stop-3 | write-3 | start-3", "elect: elect-preferred"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, shape(tt.plan.Plan)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if len(tt.plan.Plan.Digest) != 64 {
				t.Errorf("digest %q", tt.plan.Plan.Digest)
			}
		})
	}
}

func TestFormatNamesTheClustersOwnIDAndTheBrokersVersion(t *testing.T) {
	b := built(t, cluster.Initial, atRest())
	step, _ := b.Plan.Step("provision")
	for _, a := range step.Actions {
		if a.Kind != plan.FormatDirs {
			continue
		}
		if diff := cmp.Diff([]string{"format", "-t", testCluster, "--release-version", "3.9-IV0"}, a.Argv); diff != "" {
			t.Errorf("argv of %s (-want +got):\n%s", a.ID, diff)
		}
	}
}

func TestContentsHoldEveryFileThatAHashStandsFor(t *testing.T) {
	b := built(t, cluster.Hybrid, loaded())
	for _, s := range b.Plan.Steps {
		for _, a := range s.Actions {
			if a.Kind != plan.Write {
				continue
			}
			if hash(b.Contents[a.Before]) != a.Before || hash(b.Contents[a.After]) != a.After {
				t.Errorf("%s: a hash has no content of its own", a.ID)
			}
			if text := string(b.Contents[a.After]); strings.Contains(text, "zookeeper") || !strings.Contains(text, "process.roles=broker") {
				t.Errorf("%s would not start in KRaft mode:\n%s", a.ID, text)
			}
		}
	}
}

// behind gives a broker the file and the mode of a later phase, as after its batch.
func behind(t *testing.T, snap facts.Snapshot, p cluster.Phase, mode cluster.Mode, id int32) facts.Snapshot {
	t.Helper()
	b := built(t, p, snap)
	for _, s := range b.Plan.Steps {
		for _, a := range s.Actions {
			if a.Kind == plan.Write && *a.Node == id {
				snap.Files[id] = known(facts.File{Exists: true, SHA256: a.After, Content: b.Contents[a.After], Mode: mode})
				return inMode(snap, mode, id)
			}
		}
	}
	t.Fatalf("no write of node %d", id)
	return snap
}

func TestNodesThatRunWithTheWantedFileAreLeftOut(t *testing.T) {
	snap := behind(t, provisioned(), cluster.Load, cluster.ZKMigrating, 1)
	if got := shape(built(t, cluster.Load, snap).Plan)[:2]; !strings.HasPrefix(got[0], "roll-broker-3") || !strings.HasPrefix(got[1], "roll-broker-2") {
		t.Errorf("plan %v restarts broker 1 again, or the others in another order", got)
	}
	snap.API[1] = known(facts.API{UpdateMetadata: true}) // the file is there, the process is older
	if got := shape(built(t, cluster.Load, snap).Plan)[0]; got != "roll-broker-1: stop-1 | write-1 | start-1" {
		t.Errorf("first step %q: a broker that does not run with its file must be restarted", got)
	}
}

func TestBatchesFollowRollSettings(t *testing.T) {
	inRacks := func(snap facts.Snapshot, racks map[int32]string) facts.Snapshot {
		edit(&snap.Registered, func(regs *[]facts.Registration) {
			for i := range *regs {
				(*regs)[i].Rack = racks[(*regs)[i].ID]
			}
		})
		return snap
	}
	ab := map[int32]string{1: "a", 2: "b", 3: "a"}
	kraftRacks := loaded()
	edit(&kraftRacks.Log, func(l *facts.Log) {
		for id, rack := range ab {
			l.Image.Brokers[id] = kraftlog.Broker{ID: id, Rack: &rack}
		}
	})
	tests := []struct {
		name string
		roll config.Roll
		snap facts.Snapshot
		want [][]int32
	}{
		{"node by node in spite of racks", config.Roll{Batch: "node"}, inRacks(loaded(), ab), [][]int32{{1}, {2}, {3}}},
		{"a rack at once", config.Roll{Batch: "rack"}, inRacks(loaded(), ab), [][]int32{{1, 3}, {2}}},
		{"a rack at once, as the metadata log has it", config.Roll{Batch: "rack"}, kraftRacks, [][]int32{{1, 3}, {2}}},
		{"at most so many of a rack", config.Roll{Batch: "rack", MaxNodes: 1}, inRacks(loaded(), ab), [][]int32{{1}, {3}, {2}}},
		{"the first batch a single node", config.Roll{Batch: "rack", First: "node"}, inRacks(loaded(), ab), [][]int32{{1}, {3}, {2}}},
		{"brokers without a rack are no rack", config.Roll{Batch: "rack"}, inRacks(loaded(), nil), [][]int32{{1}, {2}, {3}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := built(t, cluster.Hybrid, tt.snap, func(in *Inputs) { in.Migration.Roll = tt.roll })
			var got [][]int32
			for _, s := range b.Plan.Steps {
				if s.Kind == plan.Roll {
					got = append(got, s.Batch)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("batches (-want +got):\n%s", diff)
			}
		})
	}
	fin := built(t, cluster.Finalize, dualWriting(), func(in *Inputs) {
		in.Migration.Roll = config.Roll{Batch: "rack"}
		for i := range in.Migration.Nodes {
			in.Migration.Nodes[i].Rack = "a"
		}
	})
	for _, s := range fin.Plan.Steps {
		if len(s.Batch) > 1 {
			t.Errorf("controllers %v at once", s.Batch)
		}
	}
}

func TestTheDigestStandsForWhatAnApprovalPromises(t *testing.T) {
	base := built(t, cluster.Load, provisioned()).Plan.Digest
	setting := func(f func(*config.Migration)) Built {
		return built(t, cluster.Load, provisioned(), func(in *Inputs) { f(&in.Migration) })
	}
	touched := provisioned()
	file := append(brokerFile(1), "num.io.threads=16\n"...)
	touched.Files[1] = known(facts.File{Exists: true, SHA256: hash(file), Content: file, Mode: cluster.ZK})
	shuffled := provisioned()
	edit(&shuffled.Metadata, func(m *facts.Metadata) { m.Partitions = slices.Clone(m.Partitions); slices.Reverse(m.Partitions) })
	edit(&shuffled.Registered, func(r *[]facts.Registration) { *r = slices.Clone(*r); slices.Reverse(*r) })
	later := provisioned()
	later.Begun = moment.Add(time.Hour)
	edit(&later.Log, func(l *facts.Log) { l.Epoch, l.HighWatermark = 99, 123456 })
	one := provisioned()
	edit(&one.Metadata, func(m *facts.Metadata) {
		m.Partitions = append(m.Partitions, facts.Partition{Topic: "orders", Partition: 9, Replicas: []int32{1}, ISR: []int32{1}})
	})
	tests := []struct {
		name string
		b    Built
		same bool
	}{
		{"again", built(t, cluster.Load, provisioned()), true},
		{"facts in another order", built(t, cluster.Load, shuffled), true},
		{"another holder of /controller", built(t, cluster.Load, heldBy(1)), true},
		{"later offsets and epochs", built(t, cluster.Load, later), true},
		{"times measured meanwhile", built(t, cluster.Load, provisioned(), func(in *Inputs) { in.Took = map[plan.StepKind][]float64{plan.Roll: {99}} }), true},
		{"another start command", setting(func(m *config.Migration) { m.Nodes[0].Commands.Start = []string{"start", "--fast", "1"} }), false},
		{"another file on a node", built(t, cluster.Load, touched), false},
		{"another properties path", setting(func(m *config.Migration) { m.Nodes[0].Properties = "/other" }), false},
		{"fewer good polls", setting(func(m *config.Migration) { m.Gates.GoodPolls = 1 }), false},
		{"another step timeout", setting(func(m *config.Migration) { m.Gates.StepTimeout = time.Hour }), false},
		{"another batch size", setting(func(m *config.Migration) {
			m.Roll.Batch = "rack"
			for i := range m.Nodes {
				m.Nodes[i].Rack = "a"
			}
		}), true}, // racks as registered count: none is
		{"another cluster", built(t, cluster.Load, provisioned(), func(in *Inputs) { in.ClusterID = "other" }), false},
		{"another name", setting(func(m *config.Migration) { m.Name = "billing" }), false},
		{"a partition that cannot stay available", built(t, cluster.Load, one), false},
		{"another phase", built(t, cluster.Hybrid, loaded()), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if same := tt.b.Plan.Digest == base; same != tt.same {
				t.Errorf("same digest: %v, want %v", same, tt.same)
			}
		})
	}
}

func TestThePlanNamesPartitionsThatCannotStayAvailable(t *testing.T) {
	snap := provisioned()
	snap.MinISR = known(map[string]int{"orders": 2, "logs": 1, "strict": 3})
	edit(&snap.Metadata, func(m *facts.Metadata) {
		m.Partitions = []facts.Partition{
			{Topic: "orders", Partition: 0, Replicas: brokers(), ISR: brokers()},
			{Topic: "logs", Partition: 1, Replicas: []int32{1}, ISR: []int32{1}},
			{Topic: "logs", Partition: 0, Replicas: []int32{3}, ISR: []int32{3}},
			{Topic: "strict", Partition: 0, Replicas: brokers(), ISR: brokers()},
		}
	})
	want := map[string][]string{"roll-broker-1": {"logs-1", "strict-0"}, "roll-broker-2": {"strict-0"}, "roll-broker-3": {"logs-0", "strict-0"}}
	for _, s := range built(t, cluster.Load, snap).Plan.Steps {
		if s.Kind == plan.Roll {
			if diff := cmp.Diff(want[s.ID], s.Impact); diff != "" {
				t.Errorf("impact of %s (-want +got):\n%s", s.ID, diff)
			}
		}
	}
}

func TestBuildRefusesWhatItCannotKnow(t *testing.T) {
	tests := []struct {
		name  string
		phase cluster.Phase
		snap  func() facts.Snapshot
		edit  func(*Inputs)
		want  string
	}{
		{"brokers at different protocol versions", cluster.Initial, func() facts.Snapshot {
			s := atRest()
			file := []byte(strings.Replace(string(brokerFile(2)), "version=3.9", "version=3.8", 1))
			s.Files[2] = known(facts.File{Exists: true, SHA256: hash(file), Content: file})
			return s
		}, nil, "broker 2 runs at inter.broker.protocol.version 3.8"},
		{"a broker's file that cannot be read", cluster.Load, func() facts.Snapshot {
			s := provisioned()
			s.Files[3] = unknown[facts.File]("permission denied")
			return s
		}, nil, "broker 3 cannot be read: permission denied"},
		{"a controller's file that cannot be read", cluster.Initial, func() facts.Snapshot {
			s := atRest()
			s.Files[3002] = unknown[facts.File]("host unreachable")
			return s
		}, nil, "node 3002 cannot be read: host unreachable"},
		{"a broker's file that is not there", cluster.Load, func() facts.Snapshot { s := provisioned(); s.Files[3] = known(facts.File{}); return s }, nil, "broker 3"},
		{"partitions that are unknown", cluster.Load, func() facts.Snapshot {
			s := provisioned()
			s.Metadata = unknown[facts.Metadata]("no broker answers")
			return s
		}, nil, "partitions are unknown: no broker answers"},
		{"a topic whose min.insync.replicas is unknown", cluster.Load, func() facts.Snapshot { s := provisioned(); s.MinISR = known(map[string]int{}); return s }, nil, "min.insync.replicas of topic orders"},
		{"a soak without any drill", cluster.DualWrite, dualWriting, func(in *Inputs) { in.Migration.Drill.Kinds = nil }, "no drill kinds"},
		{"a phase that does not exist", "later", dualWriting, nil, `no such phase "later"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := inputs(tt.phase, tt.snap())
			if tt.edit != nil {
				tt.edit(&in)
			}
			_, err := Build(in)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one that says %q", err, tt.want)
			}
		})
	}
}

func TestSecretsReachNeitherTheDiffNorTheDigestedPlan(t *testing.T) {
	snap := provisioned()
	file := append(brokerFile(1), "ssl.keystore.password=hunter2\n"...)
	snap.Files[1] = known(facts.File{Exists: true, SHA256: hash(file), Content: file, Mode: cluster.ZK})
	for _, s := range built(t, cluster.Load, snap).Plan.Steps {
		if text := cmp.Diff(plan.Step{}, s); strings.Contains(text, "hunter2") {
			t.Errorf("step %s shows the password", s.ID)
		}
	}
}

func TestExpectedTimeIsWhatThisMigrationMeasured(t *testing.T) {
	b := built(t, cluster.Load, provisioned(), func(in *Inputs) { in.Took = map[plan.StepKind][]float64{plan.Roll: {20, 40}} })
	if got := *b.Plan.Steps[0].Expected; got != 30 {
		t.Errorf("expected %v s, want the average of 20 and 40", got)
	}
	soakEnd, _ := built(t, cluster.DualWrite, dualWriting()).Plan.Step("soak-end")
	if soakEnd.Expected != nil {
		t.Errorf("a soak's end has the typical time %v", *soakEnd.Expected)
	}
}

func TestADrillOnDemandIsGuardedAsThePlannedOne(t *testing.T) {
	p, err := BuildDrill(migration(), testCluster, "crash")
	if err != nil {
		t.Fatal(err)
	}
	planned, _ := built(t, cluster.DualWrite, dualWriting()).Plan.Step("drill-crash")
	if diff := cmp.Diff(planned, p.Steps[0]); diff != "" || !p.AdHoc {
		t.Errorf("drill on demand differs (-planned +got), ad hoc %v:\n%s", p.AdHoc, diff)
	}
	if !slices.Contains(p.Steps[0].Before, gates.QuorumHeadroom) || !slices.Contains(p.Steps[0].Before, gates.FlagOn) {
		t.Error("a failover without headroom, or to a controller without the flag, could end the migration")
	}
}

func TestConflictsNameWhatAnApprovedPlanNoLongerFits(t *testing.T) {
	b := begin(t).at(cluster.Initial).approved(built(t, cluster.Load, provisioned()).Plan)
	tests := []struct {
		name string
		tell func(*story) *story
		edit func(*config.Migration)
		want string
	}{
		{"nothing changed", nil, func(*config.Migration) {}, ""},
		{"another stop command", nil, func(m *config.Migration) { m.Nodes[0].Commands.Stop = []string{"kill", "1"} }, "the stop command of node 1 was approved as"},
		{"another start command", nil, func(m *config.Migration) { m.Nodes[1].Commands.Start = []string{"go"} }, "the start command of node 2"},
		{"another file", nil, func(m *config.Migration) { m.Nodes[2].Properties = "/other" }, "the file of node 3 was approved as"},
		{"a node that is gone", nil, func(m *config.Migration) { m.Nodes = m.Nodes[1:] }, "node 1 is no longer in migrations.yaml"},
		{"a command of a step that is done", func(b *story) *story { return b.closed("roll-broker-1") }, func(m *config.Migration) { m.Nodes[0].Commands.Stop = []string{"kill", "1"} }, ""},
		{"a command that the open step has behind it", func(b *story) *story { return b.opened("roll-broker-1").done("stop-1") },
			func(m *config.Migration) { m.Nodes[0].Commands.Stop = []string{"kill", "1"} }, ""},
		{"a command that the open step still needs", func(b *story) *story { return b.opened("roll-broker-1").done("stop-1") },
			func(m *config.Migration) { m.Nodes[0].Commands.Start = []string{"go"} }, "the start command of node 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			told := &story{t: t, s: b.s, all: slices.Clone(b.all)}
			if tt.tell != nil {
				told = tt.tell(told)
			}
			m := migration()
			tt.edit(&m)
			got := strings.Join(Conflicts(told.s, m), "\n")
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("conflicts %q, want %q", got, tt.want)
			}
		})
	}
	if got := Conflicts(New(), migration()); got != nil {
		t.Errorf("conflicts %v without a plan", got)
	}
}

// The first plan says that it saves every properties file; brokers' files were
// not kept, and one written over meanwhile could not be put back.
func TestTheFirstPlanKeepsTheBrokersFilesToo(t *testing.T) {
	snap := atRest()
	b := built(t, cluster.Initial, snap)
	for _, n := range inventory().Brokers {
		file, ok := snap.Files[n.ID].Get()
		if !ok || hash(b.Contents[file.SHA256]) != hash(file.Content) {
			t.Errorf("the file of broker %d is not kept", n.ID)
		}
	}
}

// After a restart of the service one machine did not answer, and the whole
// plan was void as if migrations.yaml had changed.
func TestAFileThatCannotBeReadDoesNotMakeThePlanVoid(t *testing.T) {
	snap := provisioned()
	b := begin(t).at(cluster.Load).approved(built(t, cluster.Load, snap).Plan)
	if got, sure := Rerendered(b.s, migration(), snap, nil); len(got) != 0 || !sure {
		t.Errorf("conflicts %q, sure %t, want none for sure", got, sure)
	}
	snap.Files[2] = facts.Unknown[facts.File]("connection timed out", "test", moment)
	if got, sure := Rerendered(b.s, migration(), snap, nil); len(got) != 0 || sure {
		t.Errorf("conflicts %q, sure %t, want none, to be asked again", got, sure)
	}
}

// Broker 2's file was cut short by somebody while the service was away. What is
// rendered for broker 1 takes the version from every broker's file, so its
// error read as an edited migrations.yaml, and the plan was void.
func TestABrokenFileOfAnotherBrokerDoesNotMakeThePlanVoid(t *testing.T) {
	snap := provisioned()
	approval := Approved{Plan: built(t, cluster.Load, snap).Plan, Files: map[int32]string{}}
	for id, f := range snap.Files {
		file, _ := f.Get()
		approval.Files[id] = file.SHA256
	}
	b := begin(t).at(cluster.Load).add(KindApproved, Body{Approved: &approval})
	if got, sure := Rerendered(b.s, migration(), snap, nil); len(got) != 0 || !sure {
		t.Fatalf("conflicts %q, sure %t, want none for sure", got, sure)
	}
	cut := []byte("broker.id=2\ninter.broker.protocol.version=thr")
	snap.Files[2] = known(facts.File{Exists: true, SHA256: hash(cut), Content: cut})
	if got, sure := Rerendered(b.s, migration(), snap, nil); len(got) != 0 || sure {
		t.Errorf("conflicts %q, sure %t, want none, to be asked again", got, sure)
	}
}
