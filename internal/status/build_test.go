package status

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/facts"
	"migrator/internal/gates"
	"migrator/internal/kraftlog"
	"migrator/internal/phases"
	"migrator/internal/plan"
)

var moment = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

func known[T any](v T) facts.Fact[T] { return facts.Known(v, "test", moment) }

func somePlan() plan.Plan {
	return plan.Plan{Phase: cluster.Hybrid, Digest: "d1", Limits: plan.Limits{Soak: time.Hour}, Steps: []plan.Step{
		{ID: "roll-broker-1", Kind: plan.Roll, Batch: []int32{1}, Mode: cluster.KRaft, Sentence: "restart broker 1", Expected: ptr(10.0), Actions: []plan.Action{{ID: "stop-1"}, {ID: "write-1"}}},
		{ID: "elect", Kind: plan.Elect, Sentence: "elect leaders", Expected: ptr(3.0)},
	}}
}

// resting is a loaded cluster of one broker and one controller, with a plan on offer.
func resting() Input {
	p := somePlan()
	s := facts.Snapshot{Begun: moment, Holder: known(facts.Holder{Present: true, ID: 3001, KRaftEpoch: ptr(int32(7))}), ZKEpoch: known(facts.ZKEpoch{Present: true, Value: 9}),
		Registered: known([]facts.Registration{{ID: 1}}), Metadata: known(facts.Metadata{Partitions: []facts.Partition{{Topic: "orders", Replicas: []int32{1}, ISR: []int32{1}}}}),
		API:     map[int32]facts.Fact[facts.API]{1: known(facts.API{UpdateMetadata: true, ZkMigrationReady: true}), 3001: known(facts.API{DescribeQuorum: true, ZkMigrationReady: true})},
		Quorum:  map[int32]facts.Fact[facts.Quorum]{3001: known(facts.Quorum{IsLeader: true, Leader: 3001, HasLeader: true, HighWatermark: 500, Observers: []facts.Replica{{ID: 1, LogEndOffset: 480}}})},
		Log:     known(facts.Log{Leader: 3001, Epoch: 7, Image: kraftlog.Image{Controllers: map[int32]kraftlog.Controller{3001: {}}}}),
		Running: map[int32]facts.Fact[bool]{1: known(true)}}
	state := phases.New()
	state.Phase, state.PhaseAt, state.ClusterID = cluster.Load, moment, "abc"
	return Input{Name: "payments", Config: config.Migration{Name: "payments", Approve: cluster.Phases(), Drill: config.Drill{Kinds: []string{"clean"}},
		Nodes: []config.Node{{Node: cluster.Node{ID: 1, Role: cluster.Broker}}, {Node: cluster.Node{ID: 3001, Role: cluster.Controller}}}},
		State: state, Snapshot: s, Seen: true, Decision: phases.Decision{Verb: phases.Ask, Offer: &p}, Offer: &p, Now: moment.Add(time.Minute)}
}

func executingPlan(in *Input, open string) {
	p := somePlan()
	in.State.Run = &phases.Run{Plan: p, Approved: moment, Open: open, OpenedAt: moment, Done: map[string]time.Time{}, OpenedAtOf: map[string]time.Time{}, Actions: map[string]phases.ActionState{}}
	in.Decision, in.Offer = phases.Decision{Verb: phases.Wait, Why: "caught-up fail: behind"}, nil
}

func TestRunStatusIsTheFirstThatMatters(t *testing.T) {
	blocked := &phases.BlockedState{Blocked: phases.Blocked{What: "write failed"}, At: moment}
	tests := []struct {
		name     string
		change   func(*Input)
		want     RunStatus
		headline string
	}{
		{"a plan on offer needs a person", func(*Input) {}, NeedsApproval, "plan hybrid is ready"},
		{"gates that do not pass are waited for", func(in *Input) { in.Decision = phases.Decision{Verb: phases.Wait, Why: "isr-full fail: short"} }, Waiting, "isr-full fail: short"},
		{"nothing seen yet", func(in *Input) {
			in.Seen = false
			in.Decision = phases.Decision{Verb: phases.Wait, Why: "no snapshot yet"}
		}, Observing, "no snapshot yet"},
		{"a phase that nobody knows yet", func(in *Input) { in.State.Phase = "" }, Observing, "observing"},
		{"a pause", func(in *Input) { in.State.Paused, in.State.PausedAt = true, moment }, Paused, "paused for 1m0s"},
		{"a pause in hybrid warns", func(in *Input) { in.State.Paused, in.State.PausedAt, in.State.Phase = true, moment, cluster.Hybrid }, Paused, "do not rest here"},
		{"a plan that runs", func(in *Input) { executingPlan(in, "roll-broker-1") }, Executing, "restart broker 1; waiting: caught-up"},
		{"a pause while a step is open still executes", func(in *Input) { executingPlan(in, "roll-broker-1"); in.State.Paused = true }, Executing, "restart broker 1"},
		{"a pause between steps", func(in *Input) { executingPlan(in, ""); in.State.Paused, in.State.PausedAt = true, moment }, Paused, "paused"},
		{"a block counts more than the plan", func(in *Input) { executingPlan(in, "roll-broker-1"); in.State.Blocked = blocked }, Blocked, "write failed"},
		{"a journal that cannot be written counts more than anything", func(in *Input) { executingPlan(in, "roll-broker-1"); in.Broken = "disk full" }, Blocked, "journal: disk full"},
		{"the end counts most", func(in *Input) { in.State.Finished, in.State.Blocked = true, blocked }, Finished, "without ZooKeeper"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := resting()
			tt.change(&in)
			s := Build(in)
			if s.RunStatus != tt.want || !strings.Contains(s.Headline, tt.headline) {
				t.Errorf("%s %q, want %s and %q", s.RunStatus, s.Headline, tt.want, tt.headline)
			}
			if s.Next == "" {
				t.Error("the status does not say what comes next")
			}
		})
	}
}

// Scripts read null, not a missing key or an empty value.
func TestWhatIsAbsentIsNullAndNeverOmitted(t *testing.T) {
	raw, err := json.Marshal(Build(Input{Name: "payments", State: phases.New(), Now: moment}))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"phase", "since", "eta_seconds", "soak", "drill", "plan"} {
		if v, ok := got[key]; !ok || !bytes.Equal(v, []byte("null")) {
			t.Errorf("%s is %s (there: %v), want null", key, v, ok)
		}
	}
	for _, key := range []string{"gates", "nodes"} {
		if v := got[key]; !bytes.Equal(v, []byte("[]")) {
			t.Errorf("%s is %s, want an empty list", key, v)
		}
	}
	for _, key := range []string{"name", "phase_complete", "run_status", "headline", "next", "revert"} {
		if _, ok := got[key]; !ok {
			t.Errorf("%s is missing", key)
		}
	}
}

func TestNodesShowWhatIsKnownAndUnknownStaysNull(t *testing.T) {
	in := resting()
	b := Build(in).Nodes[0]
	if b.Mode == nil || *b.Mode != cluster.ZKMigrating || b.Registered == nil || !*b.Registered || b.Lag == nil || *b.Lag != 20 || b.ISRFull == nil || !*b.ISRFull {
		t.Errorf("broker 1: mode %v, registered %v, lag %v, isr_full %v", b.Mode, b.Registered, b.Lag, b.ISRFull)
	}
	in.Snapshot = facts.Snapshot{API: map[int32]facts.Fact[facts.API]{1: facts.Unknown[facts.API]("connection refused", "test", moment)}}
	for _, n := range Build(in).Nodes {
		if n.Mode != nil || n.Registered != nil || n.Lag != nil || n.ISRFull != nil || n.Running != nil {
			t.Errorf("node %d shows values that nobody read: %+v", n.ID, n)
		}
	}
	if got := Build(in).Nodes[0].Unknown; got != "connection refused" {
		t.Errorf("why unknown: %q", got)
	}
}

func TestTheEstimateIsWhatIsLeftOrNothing(t *testing.T) {
	in := resting()
	if eta := Build(in).ETASeconds; eta == nil || *eta != 13 {
		t.Errorf("offered: %v, want 13", eta)
	}
	executingPlan(&in, "roll-broker-1")
	in.Now = moment.Add(4 * time.Second)
	if eta := Build(in).ETASeconds; eta == nil || *eta != 9 {
		t.Errorf("four seconds into the step: %v, want 9", eta)
	}
	in.Now = moment.Add(time.Hour)
	if eta := Build(in).ETASeconds; eta == nil || *eta != 3 {
		t.Errorf("a step that takes too long: %v, want 3 and never less than the rest", eta)
	}
	in.State.Run.Plan.Steps[1].Expected = nil
	if eta := Build(in).ETASeconds; eta != nil {
		t.Errorf("with a step nobody can estimate: %v, want none", *eta)
	}
	in.State.Run = nil
	if eta := Build(in).ETASeconds; eta != nil {
		t.Errorf("without a plan: %v, want none", *eta)
	}
}

func TestStepsAndActionsShowHowFarTheyAre(t *testing.T) {
	in := resting()
	executingPlan(&in, "roll-broker-1")
	in.State.Run.Actions["stop-1"] = phases.ActionState{OK: true, Begun: moment, Ended: moment}
	in.State.Run.Actions["write-1"] = phases.ActionState{Failed: true, Detail: "disk full", Begun: moment, Ended: moment}
	s := Build(in)
	if s.Step == nil || s.Step.State != "failed" || s.Step.Actions[0].State != "done" || s.Step.Actions[1].Error != "disk full" {
		t.Errorf("open step %+v", s.Step)
	}
	if !s.Plan.Running || s.Plan.Steps[1].State != "planned" {
		t.Errorf("plan %+v", s.Plan)
	}
}

func TestALongActionShowsHowFarItIs(t *testing.T) {
	in := resting()
	executingPlan(&in, "roll-broker-1")
	in.Busy, in.Doing = []string{"save-znodes"}, "saved 1024 of 4000 znodes seen"
	if h := Build(in).Headline; !strings.Contains(h, "save-znodes: saved 1024 of 4000 znodes seen") {
		t.Errorf("headline %q", h)
	}
}

func TestADrillByHandSaysWhomItWaitsFor(t *testing.T) {
	in := resting()
	executingPlan(&in, "roll-broker-1")
	in.Busy, in.Asked = []string{"drill-clean"}, &plan.Action{ID: "kill", Kind: plan.Kill, Node: ptr(int32(3001))}
	if h := Build(in).Headline; !strings.Contains(h, "a person is asked to kill controller 3001") {
		t.Errorf("headline %q", h)
	}
}

func TestGatesCarryTheirEvidence(t *testing.T) {
	in := resting()
	in.Judgement = gates.Judgement{Verdicts: []gates.Judged{{Verdict: gates.Verdict{Gate: "parity", Evidence: "not read", Source: "scan"}, Blocks: []string{"the soak"}, Sets: []string{phases.WatchSet}}}}
	g := Build(in).Gates[0]
	if g.Verdict != "unknown" || g.Evidence != "not read" || g.ObservedAt != nil || g.Subjects == nil || g.Blocks[0] != "the soak" {
		t.Errorf("gate %+v: the zero verdict reads unknown, absent times are null", g)
	}
}

func TestAPersonWhoIsAskedSeesNoGateThatOnlyALaterPlanNeeds(t *testing.T) {
	in := resting()
	later := gates.Judged{Verdict: gates.Verdict{Gate: "flag-on", Result: gates.Fail}, Sets: []string{phases.EnterKey("finalize")}}
	now := gates.Judged{Verdict: gates.Verdict{Gate: "parity", Result: gates.Fail}, Sets: []string{phases.EnterKey(in.Decision.Offer.Phase)}}
	in.Judgement.Verdicts = []gates.Judged{later, now}
	if got := Build(in).Gates; len(got) != 1 || got[0].Name != "parity" {
		t.Errorf("asked for %s, gates %+v", in.Decision.Offer.Phase, got)
	}
	in.Decision = phases.Decision{Verb: phases.Wait}
	if got := Build(in).Gates; len(got) != 2 {
		t.Errorf("waiting, gates %+v", got)
	}
}

func TestTheDrillPassesOnlyWithEveryWantedKind(t *testing.T) {
	tests := []struct {
		name string
		runs []phases.DrillRun
		want string
	}{
		{"none yet", nil, "pending"},
		{"one of two", []phases.DrillRun{{Kind: "clean", Passed: true}}, "pending"},
		{"one failed", []phases.DrillRun{{Kind: "clean", Passed: true}, {Kind: "crash"}}, "fail"},
		{"failed, then passed", []phases.DrillRun{{Kind: "crash"}, {Kind: "clean", Passed: true}, {Kind: "crash", Passed: true}}, "pass"},
		{"the baseline is no drill", []phases.DrillRun{{Kind: "clean", Passed: true}, {Kind: "crash", Passed: true, Baseline: true}}, "pending"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := resting()
			in.Config.Drill.Kinds = []string{"clean", "crash"}
			in.State.Soak, in.State.Drills = &phases.Soak{Phase: cluster.DualWrite}, tt.runs
			if got := Build(in).Drill; got == nil || got.Verdict != tt.want || len(got.Runs) != len(tt.runs) {
				t.Errorf("drill %+v, want %s", got, tt.want)
			}
		})
	}
}

func TestTheSoakShowsItsClock(t *testing.T) {
	in := resting()
	in.State.Soak = &phases.Soak{Phase: cluster.DualWrite, Required: time.Hour, Elapsed: 10 * time.Minute}
	in.Clock = phases.Clock{Soak: phases.Soak{Elapsed: 11 * time.Minute}}
	if k := Build(in).Soak; k.ElapsedSeconds != 660 || k.RequiredSeconds != 3600 || k.RestartedBecause != nil {
		t.Errorf("soak %+v, want the running clock", k)
	}
	in.Clock = phases.Clock{Soak: phases.Soak{RestartedBecause: "parity: differs"}}
	if k := Build(in).Soak; k.ElapsedSeconds != 0 || k.RestartedBecause == nil {
		t.Errorf("soak %+v, want it begun again with the reason", k)
	}
}

// The margin is /controller_epoch + 1 - the largest epoch a later ZooKeeper
// controller must beat (KAFKA-20488).
func TestTheEpochMarginCountsEveryPartition(t *testing.T) {
	in := resting()
	if e := Build(in).Epochs; e == nil || e.Margin == nil || *e.Margin != 3 {
		t.Errorf("epochs %+v, want margin 9+1-7", e)
	}
	in.Snapshot.ZKTopics = known(facts.ZKTopics{Topics: map[string]facts.ZKTopic{"orders": {Partitions: map[int32]facts.ZKPartition{0: {HasState: true, ControllerEpoch: 12}, 1: {ControllerEpoch: 99}}}}})
	if e := Build(in).Epochs; *e.Margin != -2 {
		t.Errorf("margin %d, want 9+1-12: a partition was last written at a higher epoch", *e.Margin)
	}
	in.Snapshot.Log = facts.Unknown[facts.Log]("no leader", "test", moment)
	if e := Build(in).Epochs; e == nil || e.Margin != nil {
		t.Errorf("epochs %+v: without the quorum's epoch there is no margin", e)
	}
}

func TestThereIsNoWayBackAfterTheEnd(t *testing.T) {
	in := resting()
	in.State.Phase = cluster.Finalize
	if r := Build(in).Revert; r.Possible || r.Safe == nil || *r.Safe || len(r.Routes) > 0 {
		t.Errorf("revert %+v after POST_MIGRATION", r)
	}
	in.State.Phase = ""
	if r := Build(in).Revert; r.Possible || r.Why == "" {
		t.Errorf("revert %+v before the phase is known", r)
	}
}
