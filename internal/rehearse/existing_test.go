package rehearse

import (
	"context"
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/evidence"
	"migrator/internal/execute"
	"migrator/internal/journal"
	"migrator/internal/junit"
	"migrator/internal/orchestrate"
	"migrator/internal/service"
	"migrator/internal/simcluster"
	"migrator/internal/status"
)

// staging is a simulated cluster in real time, fast, and a rehearsal of it.
func staging(t *testing.T) (*simcluster.Cluster, Existing) {
	t.Helper()
	sim := simcluster.New(simcluster.Options{Name: "staging", Soak: 300 * time.Millisecond, Seed: 1, Speed: 50, Reading: time.Millisecond})
	m := sim.Migration()
	m.Rehearsal = true
	m.Gates.PollInterval, m.Gates.GoodPolls = 20*time.Millisecond, 1
	m.RehearsalAt = config.Problem{Path: "migrations[0].rehearsal", Line: 2}
	open := func(o service.Options) (*service.Service, error) {
		return service.OpenWith(o, func(_ config.Migration, record func() ([]journal.Entry, error), blobs execute.Blobs) orchestrate.Deps {
			life := sim.Live(simcluster.RecordFunc(record), blobs)
			return orchestrate.Deps{Observer: life, Executor: life, Canary: life}
		})
	}
	return sim, Existing{File: config.File{Path: "staging.yaml", Migrations: []config.Migration{m}}, Name: "staging", Out: filepath.Join(t.TempDir(), "out"),
		Again: "migrator rehearse --config staging.yaml --name staging", Stderr: logTo{t}, Open: open}
}

type logTo struct{ t *testing.T }

func (l logTo) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

func exitOf(err error) int {
	var coded interface{ ExitCode() int }
	if err == nil {
		return 0
	}
	if !errors.As(err, &coded) {
		return -1
	}
	return coded.ExitCode()
}

func suiteOf(t *testing.T, path string) junit.Suite {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var s junit.Suite
	if err := xml.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAStagingClusterIsMigratedToTheEnd(t *testing.T) {
	t.Parallel() // they mostly wait
	_, o := staging(t)
	r, err := o.Rehearse(t.Context())
	if err != nil || r.Result != Green {
		t.Fatalf("%s: %v", r.Result, err)
	}
	pack, err := evidence.Read(r.Folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pack.Plans {
		if p.ApprovedBy != "rehearsal" {
			t.Errorf("the plan %s was approved by %q, want the rehearsal", p.Phase, p.ApprovedBy)
		}
	}
	if broken := Broken(Whole(pack)); len(broken) > 0 {
		t.Errorf("the pack alone does not show it: %+v", broken)
	}
	s := suiteOf(t, r.JUnit)
	if s.Failures+s.Errors+s.Skipped != 0 || s.Tests < 100 {
		t.Errorf("%d cases, %d failures, %d errors, %d skipped", s.Tests, s.Failures, s.Errors, s.Skipped)
	}
	seen := map[string]bool{}
	for _, c := range s.Cases {
		if seen[c.Class+c.Name] {
			t.Errorf("two cases are %s %s", c.Class, c.Name)
		}
		seen[c.Class+c.Name] = true
	}
	if _, err := o.Rehearse(t.Context()); exitOf(err) != 2 || !strings.Contains(err.Error(), "another folder") {
		t.Errorf("once more into the same folder: %v", err)
	}
}

func TestAStagingClusterGoesBackToZooKeeper(t *testing.T) {
	t.Parallel() // they mostly wait
	sim, o := staging(t)
	o.Revert = true
	r, err := o.Rehearse(t.Context())
	if err != nil || r.Result != Green || *r.Phase != cluster.Initial {
		t.Fatalf("%s: %v", r.Result, err)
	}
	if broken := Broken(Whole(r.Pack)); len(broken) > 0 {
		t.Errorf("the pack alone does not show it: %+v", broken)
	}
	if got := sim.Violations(); len(got) > 0 {
		t.Errorf("rules of Kafka were broken: %v", got)
	}
}

// Killed by Ctrl-C at any moment, the same command comes to the same end.
func TestTheSameCommandGoesOnAfterAnInterrupt(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 15 s: make test runs it")
	}
	t.Parallel() // they mostly wait
	sim, o := staging(t)
	o.Revert = true
	interrupts := 0
	for run := 1; ; run++ {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(run)*500*time.Millisecond)
		r, err := o.Rehearse(ctx)
		cancel()
		if err == nil {
			if r.Result != Green || interrupts == 0 {
				t.Errorf("%s after %d interrupts", r.Result, interrupts)
			}
			break
		}
		interrupts++
		if exitOf(err) != 1 || r.Result != Interrupted || !strings.Contains(err.Error(), o.Again) {
			t.Fatalf("run %d: %s, exit %d: %v", run, r.Result, exitOf(err), err)
		}
		if s := suiteOf(t, r.JUnit); s.Errors == 0 {
			t.Errorf("run %d: the JUnit file shows no error", run)
		}
	}
	if got := sim.Violations(); len(got) > 0 {
		t.Errorf("rules of Kafka were broken: %v", got)
	}
}

func TestAGateThatHoldsEndsItUntilItsCauseIsGone(t *testing.T) {
	t.Parallel() // they mostly wait
	sim, o := staging(t)
	o.Patience = 500 * time.Millisecond
	sim.Crash(2, true)
	r, err := o.Rehearse(t.Context())
	if exitOf(err) != 3 || r.Result != Held || len(r.Gates) == 0 {
		t.Fatalf("%s, exit %d: %v", r.Result, exitOf(err), err)
	}
	s := suiteOf(t, r.JUnit)
	if s.Failures == 0 || s.Skipped != len(cluster.Phases()) {
		t.Errorf("%d failures, %d skipped: want the gates, and every plan as not reached", s.Failures, s.Skipped)
	}
	sim.Repair(2)
	o.Patience = 0
	if r, err = o.Rehearse(t.Context()); err != nil || r.Result != Green {
		t.Fatalf("after the repair: %s: %v", r.Result, err)
	}
}

func TestABlockedStepIsTriedAgainByTheSameCommand(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 15 s: make test runs it")
	}
	t.Parallel() // they mostly wait
	sim, o := staging(t)
	sim.DieAfterStart(1, 1, 10*time.Millisecond, "out of memory")
	r, err := o.Rehearse(t.Context())
	if exitOf(err) != 3 || r.Result != Held {
		t.Fatalf("%s, exit %d: %v", r.Result, exitOf(err), err)
	}
	failed := 0
	for _, c := range suiteOf(t, r.JUnit).Cases {
		if c.Failure != nil && strings.HasPrefix(c.Name, "step ") {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d steps failed in the JUnit file, want the one that was held", failed)
	}
	sim.Mend(1)
	if r, err = o.Rehearse(t.Context()); err != nil || r.Result != Green {
		t.Fatalf("after the repair: %s: %v", r.Result, err)
	}
}

func TestOnlyAnEntryThatSaysSoIsRehearsedOn(t *testing.T) {
	for name, change := range map[string]func(*Existing){
		"staging.yaml:2: migrations[0].rehearsal": func(o *Existing) { o.File.Migrations[0].Rehearsal = false },
		"no migration \"prod\"":                   func(o *Existing) { o.Name = "prod" },
		"no way back from finalize":               func(o *Existing) { o.To, o.Revert = cluster.Finalize, true },
		"does not rest":                           func(o *Existing) { o.To = cluster.Hybrid },
		"not empty": func(o *Existing) {
			if err := errors.Join(os.MkdirAll(o.Out, 0o755), os.WriteFile(filepath.Join(o.Out, "thesis.txt"), nil, 0o644)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, o := staging(t)
			o.Open = func(service.Options) (*service.Service, error) { t.Fatal("it was opened"); return nil, nil }
			change(&o)
			if _, err := o.Rehearse(t.Context()); exitOf(err) != 2 || !strings.Contains(err.Error(), name) {
				t.Errorf("exit %d: %v", exitOf(err), err)
			}
		})
	}
}

func TestTheReportShowsOnlyWhatHolds(t *testing.T) {
	got := standsStill(status.Status{Gates: []status.Gate{{Name: "a", Verdict: "pass", Blocks: []string{"x"}}, {Name: "b", Verdict: "fail", Blocks: []string{"x"}},
		{Name: "c", Verdict: "unknown"}, {Name: "d", Verdict: "fail", Blocks: []string{"x"}, Accepted: true}}})
	if len(got) != 1 || got[0].Name != "b" {
		t.Errorf("%+v", got)
	}
}
