package orchestrate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/gates"
	"migrator/internal/orchestrate"
	"migrator/internal/phases"
	"migrator/internal/simcluster"
	"migrator/internal/status"
)

const (
	chaosTime = 3 * time.Minute  // so long things go wrong
	calmLimit = 40 * time.Minute // so long the rest may take
	glance    = time.Second
)

// Nodes crash, some for good, replicas lag, ZooKeeper loses its majority,
// controllers fail over, facts are missing or old, files are edited, disks
// fill, the service is killed, and a person gives commands at odd moments.
// Whatever comes, no rule is broken, the status says why nothing moves, and
// once a person has repaired what is broken the migration ends.
//
// SIM_N is how many seeds are tried, SIM_SEED the only one or the first.
func TestWhateverGoesWrongNoRuleIsBroken(t *testing.T) {
	first, n := fromEnv(t, "SIM_SEED", 1), fromEnv(t, "SIM_N", defaultSeeds())
	for seed := first; seed < first+n; seed++ {
		t.Run(fmt.Sprintf("SIM_SEED=%d", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { newTrial(t, uint64(seed)).play() })
		})
	}
}

// trial is one seed: a cluster, a service that may die, and a person.
type trial struct {
	t     *testing.T
	rng   *rand.Rand
	c     *simcluster.Cluster
	s     *simcluster.Store
	r     *run
	born  time.Time
	log   []string    // what went wrong, for the one who reads a failure
	later []scheduled // ends of faults
	reopen,
	nextFault,
	nextVisit time.Time
	last    status.Status
	missing string       // what a status failed to explain
	told    phases.State // the fold of the journal, as far as it was read
	read    int
}

type scheduled struct {
	at time.Time
	do func()
}

func newTrial(t *testing.T, seed uint64) *trial {
	tr := &trial{told: phases.New(), t: t, rng: rand.New(rand.NewPCG(seed, 7)), c: simcluster.New(shape(seed)), s: simcluster.NewStore(), born: time.Now()}
	tr.r = begin(t, tr.c, tr.s, afterEntry, nil)
	tr.nextFault = time.Now().Add(tr.upTo(15 * time.Second))
	tr.nextVisit = time.Now().Add(tr.upTo(30 * time.Second))
	return tr
}

// shape varies the cluster with the seed.
func shape(seed uint64) simcluster.Options {
	o := simcluster.Options{Seed: seed, Brokers: 3 + int(seed%3), Controllers: 3}
	if seed%5 != 1 { // most clusters are read slowly: facts are older when they are judged
		o.Reading = time.Duration(300+seed*137%900) * time.Millisecond
	}
	if seed%4 == 0 {
		o.Controllers = 5
	}
	if seed%5 == 0 {
		o.Brokers, o.ByRack = 6, true
	}
	return o
}

func (tr *trial) upTo(d time.Duration) time.Duration { return time.Duration(tr.rng.Int64N(int64(d))) }

func (tr *trial) note(format string, args ...any) {
	tr.log = append(tr.log, time.Since(tr.born).Round(time.Second).String()+" "+fmt.Sprintf(format, args...))
}

func (tr *trial) play() {
	defer func() {
		if tr.r != nil {
			tr.r.end()
		}
	}()
	ticker := time.NewTicker(glance)
	defer ticker.Stop()
	for time.Since(tr.born) < chaosTime+calmLimit {
		<-ticker.C
		tr.due()
		tr.service()
		tr.look()
		if tr.last.RunStatus == status.Finished || tr.broken() {
			break
		}
		if time.Since(tr.born) < chaosTime {
			tr.chaos()
		}
		tr.person()
	}
	tr.verdict()
}

func (tr *trial) broken() bool { return tr.missing != "" || len(tr.c.Violations()) > 0 }

func (tr *trial) verdict() {
	tr.t.Helper()
	what := ""
	switch broken := tr.c.Violations(); {
	case len(broken) > 0:
		what = "rules broken: " + strings.Join(broken, "; ")
	case tr.missing != "":
		what = tr.missing
	case tr.last.RunStatus != status.Finished:
		what = fmt.Sprintf("never finished: %s %q\nnot passing:\n%s", tr.last.RunStatus, tr.last.Headline, notPassing(tr.last))
	default:
		return
	}
	tr.t.Errorf("%s\nwhat went wrong:\n%s\njournal:\n%s", what, strings.Join(tr.log, "\n"), tail(tr.s, 30))
}

// due lets faults end.
func (tr *trial) due() {
	for i := 0; i < len(tr.later); {
		if time.Now().Before(tr.later[i].at) {
			i++
			continue
		}
		do := tr.later[i].do
		tr.later = slices.Delete(tr.later, i, i+1)
		do()
	}
}

func (tr *trial) in(d time.Duration, do func()) {
	tr.later = append(tr.later, scheduled{time.Now().Add(d), do})
}

// service is opened again some time after it was killed.
func (tr *trial) service() {
	if tr.r == nil && time.Now().After(tr.reopen) {
		tr.note("the service starts")
		tr.s.Fill(false)
		tr.r = begin(tr.t, tr.c, tr.s, afterEntry, nil)
	}
}

func (tr *trial) kill() {
	if tr.r == nil {
		return
	}
	tr.note("the service is killed")
	tr.r.life.Kill()
	tr.r.end()
	tr.r, tr.reopen = nil, time.Now().Add(tr.upTo(20*time.Second))
}

// look checks that the newest status explains itself.
func (tr *trial) look() {
	if tr.r == nil {
		return
	}
	s := tr.r.m.Status()
	tr.last = s
	switch {
	case strings.TrimSpace(s.Headline) == "":
		tr.missing = fmt.Sprintf("status %s has no headline", s.RunStatus)
	case s.RunStatus == status.Blocked && (s.Blocked == nil || s.Blocked.What == "" || s.Blocked.ToDo == ""):
		tr.missing = fmt.Sprintf("blocked without saying what and what to do: %+v", s.Blocked)
	case strings.HasSuffix(strings.TrimSpace(s.Headline), ":"):
		tr.missing = fmt.Sprintf("status %s gives no reason: %q", s.RunStatus, s.Headline)
	case s.RunStatus != status.Finished && strings.TrimSpace(s.Next) == "":
		tr.missing = fmt.Sprintf("status %s does not say what comes next: %q", s.RunStatus, s.Headline)
	}
}

// person approves, repairs what is broken now and then, and lifts blocks.
func (tr *trial) person() {
	if tr.r == nil {
		return
	}
	if tr.last.RunStatus == status.NeedsApproval && tr.rng.IntN(3) == 0 {
		tr.command(orchestrate.Command{Verb: orchestrate.Advance, Digest: tr.last.Plan.Digest, Confirm: tr.last.Name})
	}
	if time.Now().Before(tr.nextVisit) {
		return
	}
	tr.nextVisit = time.Now().Add(15*time.Second + tr.upTo(30*time.Second))
	tr.repair()
	switch tr.last.RunStatus {
	case status.Blocked:
		if strings.Contains(tr.last.Headline, "journal: ") {
			tr.kill() // the disk is freed and the service restarted
			return
		}
		if strings.Contains(tr.last.Blocked.What, "have had no election") {
			tr.restartOne()
		}
		tr.command(orchestrate.Command{Verb: orchestrate.Retry})
	case status.Paused:
		tr.command(orchestrate.Command{Verb: orchestrate.Resume})
	case status.Executing:
		tr.command(orchestrate.Command{Verb: orchestrate.Resume})
	}
}

// restartOne follows what gate elections says: the batch was back before anybody
// was the controller again, so there was no election to see.
func (tr *trial) restartOne() {
	state := tr.state()
	step, ok := state.OpenStep()
	if !ok || len(step.Batch) == 0 || len(state.Stopped()) > 0 {
		return
	}
	id := step.Batch[tr.rng.IntN(len(step.Batch))]
	tr.note("a person restarts broker %d", id)
	tr.c.Crash(id, false)
	tr.in(12*time.Second, func() { tr.comesBack(id) })
}

// repair brings nodes back that nobody holds down on purpose, and puts back
// files that are not as the journal has them.
func (tr *trial) repair() {
	state := tr.state()
	tr.c.ZooKeeper(3)
	brokers, controllers := tr.c.NodeIDs()
	end := tr.c.End()
	for _, id := range slices.Concat(brokers, controllers) {
		if want := state.Files[id]; want != "" && end.Files[id] != want && !writing(state, id) {
			tr.note("a person puts the file of node %d back: %t", id, tr.c.PutBack(id, want))
		}
		if !slices.Contains(state.Stopped(), id) {
			tr.c.Repair(id)
		} else {
			tr.c.Mend(id)
		}
	}
}

// state is the state that the journal tells.
func (tr *trial) state() phases.State {
	tr.t.Helper()
	entries, err := tr.s.Read()
	if err != nil {
		tr.t.Fatal(err)
	}
	tr.told = foldOn(tr.t, tr.told, entries[tr.read:])
	tr.read = len(entries)
	return tr.told
}

// writing: a write of ours to the node's file is in doubt, the content is what it is.
func writing(s phases.State, id int32) bool {
	step, ok := s.OpenStep()
	if !ok {
		return false
	}
	for _, a := range step.Actions {
		if a.Node != nil && *a.Node == id && a.After != "" && s.Run.Actions[a.ID].Running {
			return true
		}
	}
	return false
}

func (tr *trial) command(c orchestrate.Command) {
	if tr.r == nil {
		return
	}
	c.Actor = "alice"
	m := tr.r.m
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	ended := tr.r.ended
	go func() {
		defer cancel()
		done := make(chan struct{})
		go func() {
			defer close(done)
			err := m.Do(ctx, c)
			var refused *orchestrate.Refusal
			if err != nil && !errors.As(err, &refused) && ctx.Err() == nil {
				panic(fmt.Sprintf("%s: %v", c.Verb, err))
			}
		}()
		select {
		case <-done:
		case <-ended:
			cancel()
			<-done
		}
	}()
}

// defaultSeeds are as many as take half a minute, in a short run a second or
// two, or the one that was named.
func defaultSeeds() int {
	if os.Getenv("SIM_SEED") != "" {
		return 1
	}
	if testing.Short() {
		return 8
	}
	return 500
}

var availability = []string{gates.NoOtherDown, gates.ISRFull, gates.ISRWithout, gates.QuorumHeadroom, gates.NoOffline, gates.BrokersRegistered}

// chaos does one thing that hurts, now and then.
func (tr *trial) chaos() {
	if time.Now().Before(tr.nextFault) {
		return
	}
	tr.nextFault = time.Now().Add(time.Second + tr.upTo(15*time.Second))
	brokers, controllers := tr.c.NodeIDs()
	id := slices.Concat(brokers, controllers)[tr.rng.IntN(len(brokers)+len(controllers))]
	d := time.Second + tr.upTo(40*time.Second)
	switch tr.rng.IntN(13) {
	case 0:
		tr.note("node %d crashes, for %s", id, d)
		tr.c.Crash(id, false)
		tr.in(d, func() { tr.comesBack(id) })
	case 1:
		tr.note("node %d crashes for good", id)
		tr.c.Crash(id, true)
	case 2:
		b := brokers[tr.rng.IntN(len(brokers))]
		tr.note("broker %d lags, for %s", b, d)
		tr.c.Lag(b, true)
		tr.in(d, func() { tr.c.Lag(b, false) })
	case 3:
		serving := tr.rng.IntN(3)
		tr.note("%d ZooKeeper servers serve, for %s", serving, d)
		tr.c.ZooKeeper(serving)
		tr.in(d, func() { tr.c.ZooKeeper(3) })
	case 4:
		tr.note("failover")
		tr.c.Failover()
	case 5:
		kinds := simcluster.FactKinds()
		kind, stale := kinds[tr.rng.IntN(len(kinds))], tr.rng.IntN(2) == 0
		tr.note("%s hidden (stale %t), for %s", kind, stale, d)
		tr.c.Hide(kind, 0, stale, d)
	case 6:
		tr.note("node %d cannot be reached, for %s", id, d)
		tr.c.Hide(simcluster.Unreachable, id, false, d)
	case 7:
		tr.note("file of node %d edited", id)
		tr.c.Edit(id)
	case 8, 9:
		tr.kill()
	case 10:
		tr.note("the disk is full")
		tr.s.Fill(true)
	default:
		tr.odd()
	}
}

// comesBack: whoever supervises the node starts it, unless we hold it down.
func (tr *trial) comesBack(id int32) {
	if !slices.Contains(tr.state().Stopped(), id) {
		tr.c.Repair(id)
	}
}

// odd is a command at a moment nobody expects.
func (tr *trial) odd() {
	commands := []orchestrate.Command{{Verb: orchestrate.Pause}, {Verb: orchestrate.Resume}, {Verb: orchestrate.Retry},
		{Verb: orchestrate.Advance, Digest: strings.Repeat("0", 64), Confirm: tr.last.Name},
		{Verb: orchestrate.Drill, Kind: "clean"}, {Verb: orchestrate.Drill, Kind: "crash"},
		{Verb: orchestrate.Advance, Accept: availability[tr.rng.IntN(len(availability))], Reason: "known"}}
	if tr.last.Plan != nil {
		commands = append(commands, orchestrate.Command{Verb: orchestrate.Advance, Digest: tr.last.Plan.Digest})
	}
	if tr.rng.IntN(2) == 0 {
		tr.revert()
		return
	}
	c := commands[tr.rng.IntN(len(commands))]
	tr.note("command %s %s%s", c.Verb, c.Kind, c.Accept)
	tr.command(c)
}

// revert turns the migration around, if that is possible right now.
func (tr *trial) revert() {
	if tr.r == nil {
		return
	}
	to := []cluster.Phase{cluster.Initial, cluster.Load}[tr.rng.IntN(2)]
	tr.note("revert to %s", to)
	m, ended := tr.r.m, tr.r.ended
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	go func() {
		defer cancel()
		done := make(chan struct{})
		go func() { defer close(done); _ = turnBack(ctx, m, tr.c.Migration().Name, to) }()
		select {
		case <-done:
		case <-ended:
			cancel()
			<-done
		}
	}()
}
