package web

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/cluster"
	"migrator/internal/plan"
	"migrator/internal/status"
)

var update = flag.Bool("update", false, "rewrite the golden pages")

var now = time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

func before(d time.Duration) *time.Time { return ptr(now.Add(-d)) }

// asking is a migration in dual-write whose finalize waits for a person.
func asking() status.Status {
	return status.Status{
		Name: "payments", ClusterID: ptr("A43RsOKe"), Phase: ptr(cluster.DualWrite), PhaseComplete: true, RunStatus: status.NeedsApproval,
		Headline: "phase dual-write: the plan finalize is ready and waits for a person", Next: "`migrator advance payments` shows the plan and asks",
		Since: before(90 * time.Second), ETASeconds: ptr(30.0), Attempt: 1, Seq: 142, ObservedAt: before(2 * time.Second),
		Gates: []status.Gate{
			{Name: "isr-full", Kind: "availability", Verdict: "fail", Evidence: "scratch-0 has 2 of 3 replicas in its ISR", ToDo: "wait for broker 3", Since: before(time.Minute),
				Source: "Metadata", ObservedAt: before(2 * time.Second), Blocks: []string{"the plan finalize"}, Subjects: []string{"scratch-0"}},
			{Name: "parity", Kind: "safety", Verdict: "unknown", Evidence: "not known: the scan has not ended", ToDo: "wait", Source: "scan", Blocks: []string{"the plan finalize"}},
			{Name: "flag-on", Kind: "safety", Verdict: "pass", Evidence: "all have it", Since: before(time.Hour), ObservedAt: before(2 * time.Second), Source: "ApiVersions"}},
		Nodes: []status.Node{
			{ID: 1, Role: cluster.Broker, Host: "b1", Rack: "a", Mode: ptr(cluster.KRaft), WantedMode: ptr(cluster.KRaft), Registered: ptr(true), Lag: ptr(int64(0)), ISRFull: ptr(false), Running: ptr(true), LastRestart: before(time.Hour)},
			{ID: 3001, Role: cluster.Controller, Host: "c1", Leader: true, Unknown: "ApiVersions at c1:9093: i/o timeout"}},
		Soak:   &status.Soak{Phase: cluster.DualWrite, RequiredSeconds: 259200, ElapsedSeconds: 259200, RestartedBecause: ptr("parity: topic x differs")},
		Drill:  &status.Drill{Verdict: "pass", Runs: []status.DrillRun{{Kind: "clean", Node: 3001, UnavailableMS: ptr(int64(812)), LeaderMS: ptr(int64(640)), NewLeader: ptr(int32(3002)), EpochBefore: ptr(int32(4)), EpochAfter: ptr(int32(5)), Passed: true}}},
		Revert: status.Revert{Possible: true, Routes: []string{"e"}, Why: "two rolls"},
		Epochs: &status.Epochs{ZooKeeper: 6, KRaft: ptr(5), Margin: ptr(2)},
		Canary: &status.Canary{Sent: 100, Acked: 100, LongestStallMS: 310.5},
		Plan: &status.Plan{Phase: cluster.Finalize, Digest: "9c1b", Approval: true, Steps: []status.StepView{{State: "planned",
			Step: plan.Step{ID: "roll-controller-3002", Kind: plan.Roll, Sentence: "restart controller 3002 in kraft mode", Batch: []int32{3002}, Undo: "put the flag back", Expected: ptr(10.0),
				Diffs: []plan.Diff{{Node: 3002, Path: "/etc/kafka/controller.properties", Unified: "-zookeeper.metadata.migration.enable=true\n", Reasons: []plan.Reason{{Key: "zookeeper.metadata.migration.enable", Op: "remove", Reason: "ends the migration", Source: "manual"}}}}}}}},
	}
}

func rolling() status.Status {
	s := asking()
	s.Phase, s.PhaseComplete, s.RunStatus, s.Headline = ptr(cluster.Load), false, status.Executing, "plan load: restart broker 1"
	s.Soak, s.Drill = nil, nil
	s.Plan.Phase, s.Plan.Running = cluster.Load, true
	s.Plan.Steps[0].State, s.Plan.Steps[0].Opened = "running", before(4*time.Second)
	s.Plan.Steps[0].Impact = []string{"single-0"}
	s.Plan.Steps[0].Warnings = []string{`broker 1's file was changed by somebody. Lost with it: "num.io.threads=<9>".`}
	s.Manual = []status.Errand{
		{Node: 1, Step: "roll-broker-1", Action: plan.Write, Path: "/etc/kafka/server.properties", File: "/api/v1/migrations/payments/files/c0ffee", SHA256: "c0ffee", Folder: "/srv/by-hand/1", Now: true,
			Do: "put the planned file in place of /etc/kafka/server.properties on b1", Seen: `the copy of its file is not the planned one: "<key>" is missing`},
		{Node: 1, Step: "roll-broker-1", Action: plan.Start, Argv: []string{"systemctl", "start", "kafka"}, Folder: "/srv/by-hand/1", Do: "start broker 1 on b1"}}
	s.Plan.Steps[0].Actions = []status.Action{{ID: "stop-1", State: "done"}, {ID: "write-1", State: "failed", Error: "no space left"}}
	return s
}

func stuck() status.Status {
	s := rolling()
	s.RunStatus, s.Blocked = status.Blocked, &status.Reason{What: "write-1: no space left", ToDo: "free the disk, then `migrator retry`", At: now}
	s.ObservedAt = before(5 * time.Minute)
	s.Window = &status.Window{Begun: *before(40 * time.Second), Seconds: ptr(40.0), Open: true, Text: "no controller for 40s"}
	return s
}

func TestThePageOfEachFixtureIsTheGoldenOne(t *testing.T) {
	for name, s := range map[string]status.Status{"asking": asking(), "rolling": rolling(), "blocked-and-old": stuck(), "just-started": {Name: "payments", RunStatus: status.Observing, Headline: "observing: no snapshot yet"}} {
		t.Run(name, func(t *testing.T) {
			got := draw(t, NewView(&s, []status.Status{s}, nil, now))
			golden := filepath.Join("testdata", name+".html")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("page (-want +got); read it, then run with -update:\n%s", diff)
			}
		})
	}
}

func draw(t *testing.T, v View) string {
	t.Helper()
	page, err := New()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := page.Whole(&out, v); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTheApprovalFormStandsBelowTheDiffsAndNamesItsDigest(t *testing.T) {
	s := asking()
	page := draw(t, NewView(&s, []status.Status{s}, nil, now))
	diff, form := strings.LastIndex(page, "<pre>"), strings.Index(page, `name="digest" value="9c1b"`)
	if diff < 0 || form < diff {
		t.Errorf("last diff at %d, form at %d", diff, form)
	}
	if !strings.Contains(page, `name="confirm"`) {
		t.Error("finalize does not ask for the name")
	}
}

func TestEachButtonShowsItsCommandLine(t *testing.T) {
	for name, row := range map[string]struct {
		run  status.RunStatus
		line string
	}{
		"approve": {status.NeedsApproval, "migrator advance payments --digest 9c1b --confirm payments"},
		"pause":   {status.Executing, "migrator pause payments"},
		"resume":  {status.Paused, "migrator resume payments"},
		"retry":   {status.Blocked, "migrator retry payments"},
	} {
		t.Run(name, func(t *testing.T) {
			s := asking()
			s.RunStatus = row.run
			if page := draw(t, NewView(&s, []status.Status{s}, nil, now)); !strings.Contains(page, "</button> <code>"+row.line+"</code>") {
				t.Errorf("no button with %q", row.line)
			}
		})
	}
}

func TestUnknownLooksUnlikeFailedWithoutColour(t *testing.T) {
	s := asking()
	page := draw(t, NewView(&s, []status.Status{s}, nil, now))
	for _, mark := range []string{"<strong>✗ fail</strong> isr-full", "<strong>? unknown</strong> parity", "<strong>✓ pass</strong> flag-on"} {
		if !strings.Contains(page, mark) {
			t.Errorf("no %q", mark)
		}
	}
}

func TestNothingComesFromElsewhere(t *testing.T) {
	s := asking()
	page := draw(t, NewView(&s, []status.Status{s}, nil, now))
	for _, outside := range []string{"http://", "https://", "style=", "onclick", "<script>"} {
		if strings.Contains(page, outside) {
			t.Errorf("the page has %q, which its policy forbids", outside)
		}
	}
}
