package lab_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/cluster"
	"migrator/internal/gates"
	"migrator/internal/journal"
	"migrator/internal/lab"
	"migrator/internal/orchestrate"
	"migrator/internal/phases"
	"migrator/internal/simcluster"
	"migrator/internal/status"
)

// TestTheSimulatorGivesTheVerdictsOfARealCluster lives through one scenario
// twice, in the simulator and on real Kafka: forward with a controller stopped,
// a file edited and a broker killed on the way, and back from dual-write. At
// each place where things stand still every gate must read the same, and each
// step must have begun and ended on the same verdicts. Where they differ, the
// simulator is wrong.
func TestTheSimulatorGivesTheVerdictsOfARealCluster(t *testing.T) {
	nightly(t)
	var simulated, real told
	synctest.Test(t, func(t *testing.T) { simulated = playSimulated(t) })
	real = playReal(t)
	if diff := cmp.Diff(simulated.stills, real.stills); diff != "" {
		t.Errorf("where things stand still (-simulated +real):\n%s", diff)
	}
	if diff := cmp.Diff(simulated.steps, real.steps); diff != "" {
		t.Errorf("at the begin and the end of steps (-simulated +real):\n%s", diff)
	}
	if len(real.stills) < 8 || len(real.steps) < 15 {
		t.Errorf("%d places and %d steps compared: the test lost its point", len(real.stills), len(real.steps))
	}
}

// told is what a play showed: verdicts by gate at each place, and those that
// the journal keeps of each step.
type told struct {
	stills []still
	steps  []string
}

type still struct {
	Place    string
	Verdicts []string
}

// stage is a cluster with a service on it, real or simulated.
type stage interface {
	status() status.Status
	do(c orchestrate.Command) // a refusal is tried again by who waits
	kill(id int32)
	start(id int32)
	edit(id int32) (restore func())
	pause(d time.Duration)
	fail(format string, args ...any)
}

// play is the scenario.
func play(s stage) []still {
	p := &player{stage: s}
	p.rest("plain ZooKeeper", atRest(cluster.Initial))
	p.approve(cluster.Initial)
	p.rest("controllers provisioned", complete(cluster.Initial))
	follower := p.follower()
	s.kill(follower)
	p.rest("a controller is down", gateReads(gates.QuorumFormed, "fail"))
	s.start(follower)
	p.await("the controller is back", complete(cluster.Initial))
	p.approve(cluster.Load)
	p.rest("load complete", complete(cluster.Load))
	p.approve(cluster.Hybrid)
	p.await("one broker in KRaft mode", func(st status.Status) bool { return len(st.BrokersIn(cluster.KRaft)) == 1 })
	s.do(orchestrate.Command{Verb: orchestrate.Pause})
	p.rest("paused with one broker in KRaft mode", func(st status.Status) bool { return st.RunStatus == status.Paused })
	restore := s.edit(s.status().BrokersIn(cluster.KRaft)[0])
	p.rest("somebody edited a file", func(st status.Status) bool { return st.RunStatus == status.Blocked })
	restore()
	p.await("the file is as it was", func(st status.Status) bool { return st.RunStatus == status.Paused })
	dead := s.status().BrokersIn(cluster.ZKMigrating)[1] // not the one whose turn is next
	s.kill(dead)
	p.rest("a broker died", func(st status.Status) bool { // and its sessions have ended
		return gateReads(gates.NoOtherDown, "fail")(st) && gateReads(gates.ISRFull, "fail")(st)
	})
	p.rest("the broker is back", func(st status.Status) bool {
		if i := slices.IndexFunc(st.Nodes, func(n status.Node) bool { return n.ID == dead }); st.Nodes[i].Running != nil && !*st.Nodes[i].Running {
			s.start(dead) // once more: it ends by itself while its old session lives
		}
		return gateReads(gates.NoOtherDown, "pass")(st) && gateReads(gates.ISRFull, "pass")(st) && len(st.BrokersIn(cluster.ZKMigrating)) == 2
	})
	s.do(orchestrate.Command{Verb: orchestrate.Resume})
	p.rest("all brokers in KRaft mode", atRest(cluster.DualWrite))
	p.revert(cluster.Initial)
	p.rest("back in plain ZooKeeper", atRest(cluster.Initial))
	return p.stills
}

type player struct {
	stage
	stills []still
}

func (p *player) await(what string, holds func(status.Status) bool) status.Status {
	var last status.Status
	for range 5 * 60 * 5 {
		if last = p.status(); holds(last) {
			return last
		}
		p.pause(200 * time.Millisecond)
	}
	p.fail("never: %s; %s: %s", what, last.RunStatus, last.Headline)
	return last
}

// rest waits until the verdicts have not changed over some rounds.
func (p *player) rest(place string, holds func(status.Status) bool) {
	p.await(place, holds)
	var before []string
	var seen *time.Time
	same := 0
	p.await(place+", and nothing changes any more", func(st status.Status) bool {
		if st.ObservedAt == nil || seen != nil && st.ObservedAt.Equal(*seen) {
			return false
		}
		seen = st.ObservedAt
		now := verdicts(st)
		if !slices.Equal(now, before) || !holds(st) {
			before, same = now, 0
			return false
		}
		same++
		return same == 6
	})
	p.stills = append(p.stills, still{place, before})
}

func verdicts(st status.Status) []string {
	var out []string
	for _, g := range st.Gates {
		out = append(out, g.Name+" "+g.Verdict)
	}
	slices.Sort(out)
	return out
}

func (p *player) approve(phase cluster.Phase) {
	p.await("the plan "+string(phase)+" is begun", func(st status.Status) bool {
		if st.RunStatus == status.NeedsApproval && st.Plan.Phase == phase {
			p.do(orchestrate.Command{Verb: orchestrate.Advance, Digest: st.Plan.Digest})
		}
		return st.RunStatus == status.Executing
	})
}

func (p *player) revert(to cluster.Phase) {
	p.await("the way back is begun", func(st status.Status) bool {
		if st.RunStatus != status.Reverting {
			p.do(orchestrate.Command{Verb: orchestrate.Revert, To: to})
		}
		return st.RunStatus == status.Reverting
	})
}

func (p *player) follower() int32 {
	for _, n := range p.status().Nodes {
		if n.Role == cluster.Controller && !n.Leader {
			return n.ID
		}
	}
	p.fail("every controller leads")
	return 0
}

func gateReads(name, verdict string) func(status.Status) bool {
	return func(st status.Status) bool {
		return slices.ContainsFunc(st.Gates, func(g status.Gate) bool { return g.Name == name && g.Verdict == verdict })
	}
}

var numbers = regexp.MustCompile(`[0-9]+`)

// stepsOf is what the journal keeps of each step: the verdicts it began with
// and ended on. Which broker comes first is chance.
func stepsOf(t *testing.T, entries []journal.Entry) []string {
	t.Helper()
	var out []string
	note := func(what, step string, seen []phases.Seen) {
		by := map[string]string{}
		for _, v := range seen {
			by[v.Gate] = v.Verdict
		}
		line := what + " " + numbers.ReplaceAllString(step, "N") + ":"
		for _, gate := range slices.Sorted(maps.Keys(by)) {
			line += " " + gate + " " + by[gate]
		}
		out = append(out, line)
	}
	for _, e := range entries {
		var b phases.Body
		if err := e.Decode(&b); err != nil {
			t.Fatal(err)
		}
		switch {
		case b.Opened != nil:
			note("begin", b.Opened.Step, b.Opened.Verdicts)
		case b.StepDone != nil:
			note("end", b.StepDone.Step, b.StepDone.Verdicts)
		}
	}
	return out
}

// simulatedStage is the orchestrator on a cluster in memory, in virtual time.
type simulatedStage struct {
	t *testing.T
	c *simcluster.Cluster
	m *orchestrate.Machine
}

func playSimulated(t *testing.T) told {
	t.Helper()
	c, store := simcluster.New(simcluster.Options{Seed: 1, Soak: time.Hour}), simcluster.NewStore()
	life := c.Live(store, store)
	m, err := orchestrate.New(c.Migration(), orchestrate.Deps{Observer: life, Executor: life, Journal: store, Blobs: store, Canary: life,
		Log: slog.New(slog.DiscardHandler), Now: time.Now, Claim: func(string) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = m.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	out := told{stills: play(&simulatedStage{t: t, c: c, m: m})}
	entries, err := store.Read()
	if err != nil {
		t.Fatal(err)
	}
	out.steps = stepsOf(t, entries)
	return out
}

func (s *simulatedStage) status() status.Status { return s.m.Status() }
func (s *simulatedStage) pause(d time.Duration) { time.Sleep(d) }
func (s *simulatedStage) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("simulated: "+format, args...)
}
func (s *simulatedStage) kill(id int32)  { s.c.Crash(id, true) }
func (s *simulatedStage) start(id int32) { s.c.Repair(id) }

func (s *simulatedStage) edit(id int32) (restore func()) {
	before := s.c.End().Files[id]
	s.c.Edit(id)
	return func() {
		if !s.c.PutBack(id, before) {
			s.t.Fatalf("node %d's file was never edited", id)
		}
	}
}

func (s *simulatedStage) do(c orchestrate.Command) {
	s.t.Helper()
	c.Actor = "alice"
	err := s.m.Do(s.t.Context(), c)
	var refused *orchestrate.Refusal
	if errors.As(err, &refused) && refused.Plan != nil && c.Verb == orchestrate.Revert {
		c.Digest, c.Confirm = refused.Plan.Digest, s.m.Status().Name
		err = s.m.Do(s.t.Context(), c)
	}
	if err != nil && !errors.As(err, &refused) {
		s.t.Fatal(err)
	}
}

// realStage is the service as a process on real Kafka, driven by its commands.
type realStage struct{ *operator }

func playReal(t *testing.T) told {
	t.Helper()
	c := startCluster(t, lab.Options{})
	op := newOperator(t, c, lab.YAMLOptions{Name: "payments", Soak: "1h", PollInterval: "500ms", GoodPolls: 2, StepTimeout: "3m"})
	out := told{stills: play(realStage{op})}
	op.kill()
	store, err := journal.Open(op.data, func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	entries, err := store.Read(op.name, 0)
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	out.steps = stepsOf(t, entries)
	return out
}

func (s realStage) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("real: "+format, args...)
}

func (s realStage) kill(id int32) {
	s.t.Helper()
	if err := s.c.Kill(s.t.Context(), strconv.Itoa(int(id))); err != nil {
		s.t.Fatal(err)
	}
}

func (s realStage) start(id int32) { s.startsAll([]int32{id}) }

func (s realStage) edit(id int32) (restore func()) {
	s.t.Helper()
	path := s.c.PropertiesPath(id)
	before, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	write(s.t, path, string(before)+"# edited\n")
	return func() { write(s.t, path, string(before)) }
}

func (s realStage) do(c orchestrate.Command) {
	s.t.Helper()
	args := []string{strings.ToLower(string(c.Verb)), s.name}
	switch c.Verb {
	case orchestrate.Advance:
		args = append(args, "--digest", c.Digest, "--confirm", s.name)
	case orchestrate.Revert:
		args = append(args, "--to", string(c.To), "--digest", s.wayBack(c.To).Digest, "--confirm", s.name)
	}
	if exit, out, errs := s.run(args...); exit != 0 && exit != 3 && exit != 4 {
		s.t.Fatal(fmt.Sprintf("%v exited %d: %s%s", args, exit, out, errs))
	}
}
