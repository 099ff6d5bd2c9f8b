package rehearse

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/canary"
	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/evidence"
	"migrator/internal/journal"
	"migrator/internal/phases"
	"migrator/internal/plan"
)

var start = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

// book writes a journal as the service would.
type book struct {
	t       *testing.T
	entries []journal.Entry
	now     time.Time
}

func (b *book) add(after time.Duration, kind phases.Kind, body phases.Body) {
	b.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		b.t.Fatal(err)
	}
	b.now = b.now.Add(after)
	b.entries = append(b.entries, journal.Entry{V: 1, Seq: uint64(len(b.entries) + 1), Time: b.now, Attempt: 1, Kind: string(kind), Actor: actor, Body: raw})
}

// plan approves a plan, runs its steps (each action takes a second, the gates
// after it two) and ends it.
func (b *book) plan(p plan.Plan, confirmed string, after map[string]func()) {
	b.add(time.Second, phases.KindApproved, phases.Body{Approved: &phases.Approved{Plan: p, Confirmed: confirmed}})
	for _, st := range p.Steps {
		b.add(0, phases.KindOpened, phases.Body{Opened: &phases.Opened{Step: st.ID}})
		for _, a := range st.Actions {
			b.add(0, phases.KindIntent, phases.Body{Intent: &phases.Intent{Step: st.ID, Action: a.ID, Try: 1}})
			detail := ""
			if a.Kind == plan.VerifyCanary {
				detail = "900 acknowledged, 900 read back, 0 lost"
			}
			b.add(time.Second, phases.KindOutcome, phases.Body{Outcome: &phases.Outcome{Step: st.ID, Action: a.ID, OK: true, Detail: detail}})
		}
		if f := after[st.ID]; f != nil {
			f()
		}
		b.add(2*time.Second, phases.KindStepDone, phases.Body{StepDone: &phases.StepDone{Step: st.ID}})
	}
	b.add(0, phases.KindPlanDone, phases.Body{Plan: &phases.PlanRef{Phase: p.Phase, Digest: p.Digest}})
}

func roll(id int32) plan.Step {
	return plan.Step{ID: "roll", Kind: plan.Roll, Batch: []int32{id}, Actions: []plan.Action{
		{ID: "stop", Kind: plan.Stop, Node: &id}, {ID: "start", Kind: plan.Start, Node: &id, Stage: 1}}}
}

// wholePack is the evidence of a short migration that went well.
func wholePack(t *testing.T) evidence.Pack {
	t.Helper()
	b := &book{t: t, now: start}
	b.add(0, phases.KindBound, phases.Body{Bound: &phases.Bound{ClusterID: "abc"}})
	b.add(0, phases.KindMoved, phases.Body{Moved: &phases.Moved{To: cluster.Initial, Why: "seen"}})
	ms := func(n int64) *int64 { return &n }
	b.plan(plan.Plan{Phase: cluster.Load, Digest: "d1", Steps: []plan.Step{roll(1), {ID: "copy", Kind: plan.Copy}}}, "", map[string]func(){
		"roll": func() {
			b.add(0, phases.KindDrill, phases.Body{Drill: &phases.DrillRun{Kind: "clean", Baseline: true, Node: 1, LeaderMS: ms(40), UnavailableMS: ms(310), Passed: true}})
		}})
	soaked := func() {
		b.add(0, phases.KindSoak, phases.Body{Soak: &phases.Soak{Phase: cluster.DualWrite, Required: 20 * time.Second, Elapsed: 20 * time.Second}})
	}
	drilled := func(kind string, leader, write, dual int64) func() {
		return func() {
			b.add(0, phases.KindDrill, phases.Body{Drill: &phases.DrillRun{Kind: kind, Node: 3001, LeaderMS: ms(leader), UnavailableMS: ms(write), DualWriteMS: ms(dual), Passed: true}})
		}
	}
	b.plan(plan.Plan{Phase: cluster.DualWrite, Digest: "d2", Steps: []plan.Step{{ID: "soak-begin", Kind: plan.SoakBegin}, {ID: "drill-clean", Kind: plan.DrillStep},
		{ID: "drill-crash", Kind: plan.DrillStep}, {ID: "soak-end", Kind: plan.SoakEnd}}}, "",
		map[string]func(){"drill-clean": drilled("clean", 240, 700, 1020), "drill-crash": drilled("crash", 3400, 3900, 3600), "soak-end": soaked})
	b.plan(plan.Plan{Phase: cluster.Finalize, Digest: "d3", Steps: []plan.Step{roll(3001),
		{ID: "canary-remove", Kind: plan.CanaryRemove, Actions: []plan.Action{{ID: "verify-canary", Kind: plan.VerifyCanary}}}}}, Name, nil)
	b.add(0, phases.KindFinished, phases.Body{})
	pack, err := evidence.Build(b.entries, config.Migration{Name: Name, Kafka: config.Kafka{Version: "3.9.2"}})
	if err != nil {
		t.Fatal(err)
	}
	return pack
}

func whole(t *testing.T) Seen {
	t.Helper()
	return Seen{Took: 150 * time.Second, Pack: wholePack(t), Alone: Alone{Records: 60, Writes: 2},
		Witness: canary.Verification{Acked: 8000, ReadBack: 8000},
		Stats:   canary.Stats{LongestProduceStall: 5400 * time.Millisecond, LongestMetadataStall: 2 * time.Second},
		Nodes: []Node{{ID: 1, Role: cluster.Broker, Starts: 3, Running: true, KRaft: true},
			{ID: 3001, Role: cluster.Controller, Starts: 4, Running: true, KRaft: true, State: cluster.StatePostMigration}}}
}

func TestEveryPromiseIsBrokenByWhatBreaksIt(t *testing.T) {
	ref := func(s *Seen) *evidence.Plan { return &s.Pack.Plans[len(s.Pack.Plans)-1] }
	for _, c := range []struct {
		name   string
		change func(*Seen)
		want   string // within the broken promise; empty: all hold
	}{
		{"all went well", func(*Seen) {}, ""},
		{"a broker runs in migration mode", func(s *Seen) { s.Nodes[0].KRaft = false }, "every broker runs in KRaft mode"},
		{"a broker is down", func(s *Seen) { s.Nodes[0].Running = false }, "every broker runs in KRaft mode"},
		{"nothing is known of brokers", func(s *Seen) { s.Nodes[0].Role = "" }, "there is none"},
		{"a controller is still at MIGRATION", func(s *Seen) { s.Nodes[1].State = cluster.StateMigration }, "every controller is at POST_MIGRATION"},
		{"a controller logged no state", func(s *Seen) { s.Nodes[1].State = "" }, "none at all"},
		{"nothing is accepted without ZooKeeper", func(s *Seen) { s.Alone = Alone{Why: "no answer"} }, "serves without ZooKeeper"},
		{"records flow without ZooKeeper, metadata writes do not", func(s *Seen) { s.Alone.Writes = 0 }, "serves without ZooKeeper"},
		{"one record is lost", func(s *Seen) { s.Witness.ReadBack, s.Witness.Lost = 7999, 1 }, "8000 acknowledged, 7999 read back, 1 lost"},
		{"no record was acknowledged", func(s *Seen) { s.Witness = canary.Verification{} }, "record of the workload"},
		{"records went by retention before they could be read", func(s *Seen) { s.Witness.Expired = 4 }, "4 deleted by retention"},
		{"the canary was never verified", func(s *Seen) { s.Pack.Steps = s.Pack.Steps[:len(s.Pack.Steps)-1] }, "no whole verification"},
		{"a broker was restarted a third time", func(s *Seen) { s.Nodes[0].Starts = 4 }, "broker 1: 3 restarts"},
		{"a broker was restarted once", func(s *Seen) { s.Nodes[0].Starts = 2 }, "broker 1: 1 restarts"},
		{"a drilled controller was started once more than needed", func(s *Seen) { s.Nodes[1].Starts = 5 }, "controller 3001: 4 restarts with 2 drills"},
		{"the crash drill did not pass", func(s *Seen) { s.Pack.Drill.Runs[2].Passed = false; s.Pack.Drill.Runs[2].Why = "too long" }, "did not pass: too long"},
		{"the crash drill did not run", func(s *Seen) { s.Pack.Drill.Runs = s.Pack.Drill.Runs[:2]; s.Nodes[1].Starts = 3 }, "crash failover drill"},
		{"the soak was not whole", func(s *Seen) { s.Pack.Soak.ElapsedSeconds = 19.5 }, "no whole soak"},
		{"finalize was approved without the name", func(s *Seen) { ref(s).Confirmed = "" }, `the name typed was ""`},
		{"finalize was approved before the soak ended", func(s *Seen) { ref(s).ApprovedAt = start }, "the soak was not done"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := whole(t)
			c.change(&s)
			broken := Broken(Judge(s))
			if c.want == "" {
				if len(broken) != 0 {
					t.Errorf("broken: %+v", broken)
				}
				return
			}
			if len(broken) == 0 || !strings.Contains(broken[0].Text+": "+broken[0].Seen, c.want) {
				t.Errorf("broken: %+v, want one with %q", broken, c.want)
			}
			text := Summary(s, Judge(s), "/out")
			if strings.Contains(text, "All promises held") || !strings.Contains(text, "BROKEN  "+broken[0].Text) {
				t.Errorf("the summary hides it:\n%s", text)
			}
		})
	}
}

func TestTheSummarySaysWhatWasMeasured(t *testing.T) {
	s := whole(t)
	want := `All promises held: Kafka 3.9.2, cluster abc, in 02:30

Time                                               took   stop  start  gates
  load, enter migration mode                       6.0s
    broker 1                                       4.0s   1.0s   1.0s   2.0s
    copy of the metadata                           2.0s
  dual-write, soak and drill                       8.0s
    soak gates pass                                2.0s
    clean drill                                    2.0s
    crash drill                                    2.0s
    soak                                           2.0s
  finalize                                         7.0s
    controller 3001                                4.0s   1.0s   1.0s   2.0s
    records read back, canary topic deleted        3.0s

Controller failover                       new leader  metadata writes  dual write  result
  before: ZooKeeper controller, broker 1  0.04s       0.31s            -           measured
  clean drill of controller 3001          0.24s       0.70s            1.02s       passed
  crash drill of controller 3001          3.40s       3.90s            3.60s       passed

Records: 8900 acknowledged, 8900 read back, 0 lost; 0 failed to be sent
Longest stall a client felt: produce 5.4s, metadata write 2.0s
`
	got, _, _ := strings.Cut(Summary(s, Judge(s), "/out"), "\nPromises\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
