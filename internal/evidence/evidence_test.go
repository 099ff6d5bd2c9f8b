package evidence

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/gates"
	"migrator/internal/journal"
	"migrator/internal/phases"
	"migrator/internal/plan"
)

var start = time.Date(2027, 1, 2, 3, 0, 0, 0, time.UTC)

func at(minute int) time.Time { return start.Add(time.Duration(minute) * time.Minute) }

func ptr[T any](v T) *T { return &v }

const (
	oldFile = "broker.id=1\nlistener.name.sasl.plain.sasl.jaas.config=org.x.PlainLoginModule required password=\"hunter2\";\n"
	newFile = "node.id=1\n#ssl.key.password=hunter2\nssl.keystore.password=hunter2\n"
)

// recorded is a journal of one rolled broker: its start was in doubt once.
func recorded(t *testing.T) []journal.Entry {
	t.Helper()
	roll := plan.Step{ID: "roll-broker-1", Kind: plan.Roll, Sentence: "restart broker 1", Batch: []int32{1}, Actions: []plan.Action{
		{ID: "write-1", Kind: plan.Write, Node: ptr(int32(1)), Path: "/etc/kafka/server.properties", Before: "sha-old", After: "sha-new"},
		{ID: "start-1", Kind: plan.Start, Stage: 1, Node: ptr(int32(1))}}}
	seen := []phases.Seen{{Gate: "parity", Verdict: "pass", Evidence: "same", Source: "scan", ObservedAt: at(1)}}
	intent := func(a string, try int) phases.Body {
		return phases.Body{Intent: &phases.Intent{Step: "roll-broker-1", Action: a, Try: try}}
	}
	var out []journal.Entry
	add := func(minute int, kind phases.Kind, actor string, body phases.Body) {
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, journal.Entry{V: 1, Seq: uint64(len(out) + 1), Time: at(minute), Attempt: 1, Kind: string(kind), Actor: actor, Body: raw})
	}
	add(0, phases.KindBound, "migrator", phases.Body{Bound: &phases.Bound{ClusterID: "A43R"}})
	add(0, phases.KindMoved, "migrator", phases.Body{Moved: &phases.Moved{To: cluster.Initial, Why: "3 in ZooKeeper mode"}})
	add(1, phases.KindAccepted, "ann", phases.Body{Accepted: &phases.Accepted{Gate: "isr-full", Subjects: []string{"x-0"}, Reason: "scratch"}})
	add(2, phases.KindApproved, "ann", phases.Body{Approved: &phases.Approved{Plan: plan.Plan{Phase: cluster.Load, Digest: "d1", Steps: []plan.Step{roll}}, Verdicts: seen}})
	add(3, phases.KindOpened, "migrator", phases.Body{Opened: &phases.Opened{Step: "roll-broker-1", Verdicts: seen}})
	add(4, phases.KindIntent, "migrator", intent("write-1", 1))
	add(5, phases.KindOutcome, "migrator", phases.Body{Outcome: &phases.Outcome{Step: "roll-broker-1", Action: "write-1", OK: true, Detail: "written"}})
	add(6, phases.KindIntent, "migrator", intent("start-1", 1))
	add(7, phases.KindIntent, "migrator", intent("start-1", 2))
	add(8, phases.KindOutcome, "migrator", phases.Body{Outcome: &phases.Outcome{Step: "roll-broker-1", Action: "start-1", OK: true, Detail: "runs"}})
	add(9, phases.KindMoved, "migrator", phases.Body{Moved: &phases.Moved{From: cluster.Initial, To: cluster.Load, Why: "1 in migration mode"}})
	add(10, phases.KindBlocked, "migrator", phases.Body{Blocked: &phases.Blocked{What: "no progress", ToDo: "look"}})
	add(11, phases.KindRetried, "ben", phases.Body{})
	add(12, phases.KindStepDone, "migrator", phases.Body{StepDone: &phases.StepDone{Step: "roll-broker-1", Verdicts: seen}})
	add(13, phases.KindDrill, "migrator", phases.Body{Drill: &phases.DrillRun{Kind: "clean", Node: 3001, Passed: true, UnavailableMS: ptr(int64(700))}})
	add(13, phases.KindCanary, "migrator", phases.Body{Canary: &phases.Canary{Run: "a", Sent: 10, Acked: 9, LongestStall: 2 * time.Second}})
	add(14, phases.KindCanary, "migrator", phases.Body{Canary: &phases.Canary{Run: "a", Sent: 20, Acked: 19, Unchecked: 3, LongestStall: 2 * time.Second}})
	add(14, phases.KindCanary, "migrator", phases.Body{Canary: &phases.Canary{Run: "b", Sent: 5, Acked: 5, Lost: 1, LongestStall: time.Second}})
	add(14, phases.KindSoak, "migrator", phases.Body{Soak: &phases.Soak{Phase: cluster.Load, Required: time.Hour, Elapsed: time.Hour}})
	add(14, phases.KindRehearsed, "ann", phases.Body{Rehearsed: &gates.Rehearsal{Pack: "p", Name: "staging"}})
	add(15, phases.KindPlanDone, "migrator", phases.Body{Plan: &phases.PlanRef{Phase: cluster.Load, Digest: "d1"}})
	add(16, phases.KindFinished, "migrator", phases.Body{})
	return out
}

func migration() config.Migration {
	return config.Migration{Name: "payments", Kafka: config.Kafka{Version: "3.9.2"}, Waivers: []config.Waiver{{Code: "MIG283", Reason: "scratch topics"}}}
}

func fetch(sha string) ([]byte, error) {
	switch sha {
	case "sha-old":
		return []byte(oldFile), nil
	case "sha-new":
		return []byte(newFile), nil
	default:
		return nil, os.ErrNotExist
	}
}

func TestTheEvidenceTellsWhatTheJournalHolds(t *testing.T) {
	got, err := Build(recorded(t), migration())
	if err != nil {
		t.Fatal(err)
	}
	verdicts := []Verdict{{Gate: "parity", Verdict: "pass", Evidence: "same", Source: "scan", ObservedAt: at(1)}}
	want := Pack{
		Name: "payments", KafkaVersion: "3.9.2", ClusterID: "A43R", Started: ptr(at(0)), Finished: ptr(at(16)), Attempt: 1,
		Phases: []Phase{{Phase: cluster.Initial, Entered: at(0), Left: ptr(at(9)), Why: "3 in ZooKeeper mode"}, {Phase: cluster.Load, Entered: at(9), Why: "1 in migration mode"}},
		Plans: []Plan{{Phase: cluster.Load, Digest: "d1", ApprovedBy: "ann", ApprovedAt: at(2), Ended: ptr(at(15)), Verdicts: verdicts, Attempt: 1,
			Planned: []Planned{{ID: "roll-broker-1", Kind: plan.Roll, Sentence: "restart broker 1"}}}},
		Steps: []Step{{Plan: cluster.Load, Digest: "d1", ID: "roll-broker-1", Kind: plan.Roll, Sentence: "restart broker 1", Batch: []int32{1}, Opened: at(3), Done: ptr(at(12)),
			Actions: []Action{
				{ID: "write-1", Kind: plan.Write, Node: ptr(int32(1)), Attempts: 1, Tries: []Try{{Intent: at(4), Outcome: ptr(at(5)), OK: ptr(true), Detail: "written"}}},
				{ID: "start-1", Kind: plan.Start, Node: ptr(int32(1)), Attempts: 2, Tries: []Try{{Intent: at(6)}, {Intent: at(7), Outcome: ptr(at(8)), OK: ptr(true), Detail: "runs"}}}},
			Before: verdicts, After: verdicts, Diffs: []plan.Diff{}}},
		Rolls:       []Roll{},
		Windows:     []Window{},
		Drill:       Drill{Runs: []DrillRun{{Kind: "clean", Node: 3001, At: at(13), Passed: true, UnavailableMS: ptr(int64(700))}}},
		Soak:        &Soak{Phase: cluster.Load, RequiredSeconds: 3600, ElapsedSeconds: 3600},
		Canary:      Canary{Sent: 25, Acked: 24, Lost: 1, Unchecked: 3, LongestStallMS: 2000},
		Waivers:     []Waiver{{Code: "MIG283", Reason: "scratch topics"}},
		Accepted:    []Accepted{{At: at(1), By: "ann", Gate: "isr-full", Subjects: []string{"x-0"}, Reason: "scratch"}},
		Blocked:     []Blocked{{At: at(10), What: "no progress", ToDo: "look", Until: ptr(at(11)), By: "ben"}},
		Shape:       plan.Shape{KafkaVersion: "3.9.2", Turns: []plan.Turn{}},
		Rehearsals:  []Rehearsed{{At: at(14), By: "ann", Rehearsal: gates.Rehearsal{Pack: "p", Name: "staging"}}},
		Files:       []FileSums{{Node: 1, Path: "/etc/kafka/server.properties", Before: "sha-old", After: "sha-new"}},
		ToolVersion: got.ToolVersion,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pack (-want +got):\n%s", diff)
	}
}

func TestAnEmptyJournalIsAnEmptyPackWithNothingMissing(t *testing.T) {
	pack, err := Build(nil, migration())
	if err != nil {
		t.Fatal(err)
	}
	files, err := Files(pack, nil, fetch)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(find(t, files, "evidence.json"), &doc); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"started", "finished", "soak"} {
		if v, ok := doc[key]; !ok || v != nil {
			t.Errorf("%s is %v, want null", key, v)
		}
	}
	for _, key := range []string{"phases", "plans", "steps"} {
		if v, ok := doc[key].([]any); !ok || len(v) != 0 {
			t.Errorf("%s is %v, want an empty list", key, doc[key])
		}
	}
}

func TestAJournalThatDoesNotFitIsNoEvidence(t *testing.T) {
	entries := recorded(t)
	if _, err := Build(entries[4:], migration()); err == nil {
		t.Error("a journal without its approval made evidence")
	}
}

func TestNoSecretLeavesWithThePack(t *testing.T) {
	entries := recorded(t)
	pack, err := Build(entries, migration())
	if err != nil {
		t.Fatal(err)
	}
	files, err := Files(pack, entries, fetch)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if bytes.Contains(f.Data, []byte("hunter2")) {
			t.Errorf("%s holds a secret:\n%s", f.Name, f.Data)
		}
	}
	want := "node.id=1\n#ssl.key.password=[redacted]\nssl.keystore.password=[redacted]\n"
	if diff := cmp.Diff(want, string(find(t, files, "files/1-server.properties.after"))); diff != "" {
		t.Errorf("file after (-want +got):\n%s", diff)
	}
	if before := find(t, files, "files/1-server.properties.before"); !bytes.HasPrefix(before, []byte("broker.id=1\n")) {
		t.Errorf("file before is %q", before)
	}
}

func TestAFileThatCannotBeHadIsAnError(t *testing.T) {
	entries := recorded(t)
	pack, err := Build(entries, migration())
	if err != nil {
		t.Fatal(err)
	}
	_, err = Files(pack, entries, func(string) ([]byte, error) { return nil, os.ErrNotExist })
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("files without contents: %v", err)
	}
}

func TestAPackSurvivesItsStream(t *testing.T) {
	files := []File{{"evidence.json", []byte("{}")}, {"files/1-a.before", []byte("x")}, {"SHA256SUMS", []byte("s")}}
	var stream bytes.Buffer
	if err := WriteTar(&stream, files); err != nil {
		t.Fatal(err)
	}
	whole := bytes.Clone(stream.Bytes())
	dir := filepath.Join(t.TempDir(), "new")
	if err := ReadTar(&stream, dir); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		got, err := os.ReadFile(filepath.Join(dir, f.Name))
		if err != nil || !bytes.Equal(got, f.Data) {
			t.Errorf("%s: %q, %v", f.Name, got, err)
		}
	}
	if err := ReadTar(bytes.NewReader(whole[:700]), t.TempDir()); err == nil {
		t.Error("half a stream is a whole pack")
	}
}

func TestAPackThatWasAlteredByAByteIsNoneAnyMore(t *testing.T) {
	entries := recorded(t)
	pack, err := Build(entries, migration())
	if err != nil {
		t.Fatal(err)
	}
	files, err := Files(pack, entries, fetch)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := Write(dir, files); err != nil {
		t.Fatal(err)
	}
	if back, err := Read(dir); err != nil || back.ClusterID != "A43R" {
		t.Fatalf("as it was written: %q, %v", back.ClusterID, err)
	}
	var altered *AlteredError
	for _, f := range files[:len(files)-1] {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		for what, data := range map[string][]byte{"a bit changed": append([]byte{f.Data[0] ^ 1}, f.Data[1:]...), "a byte more": append(bytes.Clone(f.Data), '\n')} {
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := Read(dir); !errors.As(err, &altered) || !strings.Contains(err.Error(), f.Name) {
				t.Errorf("%s in %s: %v", what, f.Name, err)
			}
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(dir); !errors.As(err, &altered) || !strings.Contains(err.Error(), "missing") {
			t.Errorf("without %s: %v", f.Name, err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAStreamCannotLeaveItsFolder(t *testing.T) {
	for _, name := range []string{"../evil", "/etc/evil", "a/../../evil"} {
		var stream bytes.Buffer
		if err := WriteTar(&stream, []File{{name, []byte("x")}}); err != nil {
			t.Fatal(err)
		}
		if err := ReadTar(&stream, filepath.Join(t.TempDir(), "out")); err == nil || !strings.Contains(err.Error(), "not a file of a pack") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func find(t *testing.T, files []File, name string) []byte {
	t.Helper()
	for _, f := range files {
		if f.Name == name {
			return f.Data
		}
	}
	t.Fatalf("no %s", name)
	return nil
}

func TestThePackHasTheTimeWithoutAController(t *testing.T) {
	p := plan.Plan{Phase: cluster.Initial, Revert: true, Digest: "d2", Steps: []plan.Step{
		{ID: "stop-controllers", Kind: plan.StopControllers, Batch: []int32{3001}, Actions: []plan.Action{{ID: "stop-3001", Kind: plan.Stop, Node: ptr(int32(3001))}}},
		{ID: "follow", Kind: plan.Follow, Actions: []plan.Action{{ID: "write-metadata", Kind: plan.MetadataWrite}}}}}
	var entries []journal.Entry
	add := func(minute int, kind phases.Kind, body phases.Body) {
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, journal.Entry{V: 1, Seq: uint64(len(entries) + 1), Time: at(minute), Attempt: 1, Kind: string(kind), Body: raw})
	}
	did := func(minute int, step, action string) {
		add(minute, phases.KindOpened, phases.Body{Opened: &phases.Opened{Step: step}})
		add(minute, phases.KindIntent, phases.Body{Intent: &phases.Intent{Step: step, Action: action, Try: 1}})
		add(minute+1, phases.KindOutcome, phases.Body{Outcome: &phases.Outcome{Step: step, Action: action, OK: true}})
		add(minute+2, phases.KindStepDone, phases.Body{StepDone: &phases.StepDone{Step: step}})
	}
	add(0, phases.KindApproved, phases.Body{Approved: &phases.Approved{Plan: p}})
	did(1, "stop-controllers", "stop-3001")
	unfinished, err := Build(entries, migration())
	if err != nil {
		t.Fatal(err)
	}
	did(4, "follow", "write-metadata")
	whole, err := Build(entries, migration())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Window{{Begun: at(2)}}, unfinished.Windows); diff != "" {
		t.Errorf("while it is open (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Window{{Begun: at(2), Ended: ptr(at(5)), Seconds: ptr(180.0), Written: true}}, whole.Windows); diff != "" {
		t.Errorf("at the end (-want +got):\n%s", diff)
	}
	if page, err := Report(whole); err != nil || !bytes.Contains(page, []byte("180 s")) {
		t.Errorf("the report does not show it: %v", err)
	}
}
