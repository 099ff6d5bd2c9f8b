package orchestrate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/cluster"
	"migrator/internal/orchestrate"
	"migrator/internal/phases"
	"migrator/internal/simcluster"
	"migrator/internal/status"
)

// The service dies at every kind of entry of every step and action, and so do
// its successors: some two hundred lives for one migration.
func TestKilledAtEveryEntryTheMigrationEndsTheSame(t *testing.T) {
	want := forward(t)
	for _, when := range []death{afterEntry, beforeEntry, meanwhile} {
		if testing.Short() && when != afterEntry {
			continue
		}
		t.Run(when.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { killedAlways(t, want, when, false) })
		})
	}
}

func killedAlways(t *testing.T, want whole, when death, back bool) {
	c, s := simcluster.New(simcluster.Options{Seed: 1}), simcluster.NewStore()
	died := map[string]bool{}
	dies := func(_ uint64, kind string, b phases.Body) bool {
		key := identity(kind, b)
		first := !died[key]
		died[key] = true
		return first
	}
	var last status.Status
	ok := false
	for lives := 0; !ok && lives < 2*want.entries; lives++ {
		r := begin(t, c, s, when, dies)
		r.back = back
		ok, last = r.follow(30 * time.Minute)
		if !ok && !r.life.Killed() {
			break
		}
		r.end()
	}
	same(t, want, judge(t, c, s, ok, last))
	if len(died) < want.entries/3 {
		t.Errorf("died at %d places of a journal of %d entries", len(died), want.entries)
	}
}

// identity names an entry so that each is died at once.
func identity(kind string, b phases.Body) string {
	switch {
	case b.Intent != nil:
		return kind + b.Intent.Step + b.Intent.Action + fmt.Sprint(b.Intent.Restore)
	case b.Outcome != nil:
		return kind + b.Outcome.Step + b.Outcome.Action
	case b.Opened != nil:
		return kind + b.Opened.Step
	case b.StepDone != nil:
		return kind + b.StepDone.Step
	case b.Soak != nil:
		return fmt.Sprint(kind, b.Soak.Elapsed.Truncate(3*time.Second))
	case b.Approved != nil:
		return kind + string(b.Approved.Plan.Phase)
	case b.Moved != nil:
		return kind + string(b.Moved.To)
	case b.Plan != nil:
		return kind + string(b.Plan.Phase)
	default:
		return kind
	}
}

// The service dies once, at any entry: before it is written, after it, and a
// moment later. Its successor ends the migration in the same way.
func TestKilledOnceTheMigrationEndsTheSame(t *testing.T) {
	var want whole
	var d *deaths
	synctest.Test(t, func(t *testing.T) {
		c, s := swept(), simcluster.NewStore()
		d = gather(c, s, true)
		r := open(t, c.Migration(), c, &book{Store: s, deaths: d}, nil)
		defer r.end()
		ok, last := r.follow(30 * time.Minute)
		want = judge(t, c, s, ok, last)
	})
	d.each(t, func(t *testing.T, w world) {
		r := begin(t, w.c, w.s, afterEntry, nil)
		defer r.end()
		ok, last := r.follow(30 * time.Minute)
		same(t, want, judge(t, w.c, w.s, ok, last))
	})
}

// A service that is really killed does no better and no worse than the copy of
// a cluster that it would leave behind: at every so manyth entry, at each with
// SIM_SWEEP=1.
func TestKilledForRealTheMigrationEndsTheSame(t *testing.T) {
	want := forward(t)
	stride := fromEnv(t, "SIM_SWEEP", 61)
	for k := 1 + 6%stride; k <= want.entries; k += stride {
		for _, when := range []death{afterEntry, beforeEntry, meanwhile} {
			t.Run(fmt.Sprintf("entry %d %s", k, when), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { killedOnce(t, want, uint64(k), when) })
			})
		}
	}
}

func killedOnce(t *testing.T, want whole, k uint64, when death) {
	c, s := simcluster.New(simcluster.Options{Seed: 1}), simcluster.NewStore()
	r := begin(t, c, s, when, func(seq uint64, _ string, _ phases.Body) bool { return seq == k })
	ok, last := r.follow(30 * time.Minute)
	r.end()
	if !ok || last.RunStatus != status.Finished {
		r = begin(t, c, s, when, nil)
		defer r.end()
		ok, last = r.follow(30 * time.Minute)
	}
	same(t, want, judge(t, c, s, ok, last))
}

// From dual-write all the way back to ZooKeeper mode, and forward again to the
// end: the second attempt finds nothing of the first.
func TestThereAndBackAgain(t *testing.T) {
	var want whole
	synctest.Test(t, func(t *testing.T) {
		c, s := simcluster.New(simcluster.Options{Seed: 1}), simcluster.NewStore()
		r := begin(t, c, s, afterEntry, nil)
		defer r.end()
		r.back = true
		ok, last := r.follow(30 * time.Minute)
		if want = judge(t, c, s, ok, last); last.Attempt != 2 {
			t.Errorf("finished in attempt %d, want 2", last.Attempt)
		}
		if w := fold(t, s).Window; w == nil || !w.Written || !w.Ended.After(w.Begun) {
			t.Errorf("window without a controller %+v, want one that an accepted write ended", w)
		}
	})
	if diff := cmp.Diff(forward(t).end, want.end); diff != "" {
		t.Errorf("the second attempt ends otherwise (-forward only +there and back):\n%s", diff)
	}
	if testing.Short() {
		return
	}
	t.Run("killed at every entry", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { killedAlways(t, want, afterEntry, true) })
	})
}

// Between the start of the last broker and the end of its step the journal still
// says hybrid. A revert given then was blocked for ever: the facts lay beyond it.
func TestARevertMayBeginBeforeTheLastStepOfHybridHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := simcluster.New(simcluster.Options{Seed: 1}), simcluster.NewStore()
		r := begin(t, c, s, afterEntry, nil)
		defer r.end()
		turned := make(chan error, 1)
		go func() { turned <- r.turnBackInLastStep(t.Context()) }()
		ok, last := r.follow(30 * time.Minute)
		if err := <-turned; err != nil {
			t.Fatal(err)
		}
		judge(t, c, s, ok, last)
	})
}

// turnBackInLastStep reverts to load as soon as every broker runs in KRaft mode.
func (r *run) turnBackInLastStep(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-r.ended:
			return errors.New("ended before the last step of hybrid")
		case <-tick.C:
		}
		st := r.m.Status()
		if len(st.BrokersIn(cluster.KRaft)) == 3 && st.Phase != nil && *st.Phase == cluster.Hybrid {
			return turnBack(ctx, r.m, st.Name, cluster.Load)
		}
	}
}

// A stop command that changed in migrations.yaml makes the rest of a plan void.
// In hybrid the new plan was never offered: its gate parity waited for a scan
// of ZooKeeper that nobody made.
func TestAPlanThatBecameVoidInHybridIsOfferedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := simcluster.New(simcluster.Options{Seed: 1}), simcluster.NewStore()
		r := begin(t, c, s, afterEntry, func(_ uint64, kind string, b phases.Body) bool {
			return kind == string(phases.KindMoved) && b.Moved.To == cluster.Hybrid
		})
		r.follow(30 * time.Minute)
		r.end()
		cfg := c.Migration()
		cfg.Nodes = slices.Clone(cfg.Nodes)
		for i := range cfg.Nodes {
			cfg.Nodes[i].Commands.Stop = []string{"sim", "stop", "--gently", fmt.Sprint(cfg.Nodes[i].ID)}
		}
		r = beginWith(t, cfg, c, s, afterEntry, nil)
		defer r.end()
		blocked, last := r.until(status.Blocked, 10*time.Minute)
		if !blocked || !strings.Contains(last.Headline, "changed since the approval") {
			t.Fatalf("%s %q, want blocked by the change", last.RunStatus, last.Headline)
		}
		if err := r.m.Do(t.Context(), orchestrate.Command{Verb: orchestrate.Retry, Actor: "alice"}); err != nil {
			t.Fatal(err)
		}
		ok, last := r.follow(30 * time.Minute)
		judge(t, c, s, ok, last)
	})
}

// A partition with one replica elects nobody while its broker restarts fast
// enough; a step that waited for its election never ended.
func TestOnlyPartitionsThatAnotherReplicaCanTakeOverMustShowAnElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := simcluster.New(simcluster.Options{Seed: 1}), simcluster.NewStore()
		r := begin(t, c, s, afterEntry, nil)
		defer r.end()
		ok, last := r.follow(30 * time.Minute)
		judge(t, c, s, ok, last)
		entries, err := s.Read()
		if err != nil {
			t.Fatal(err)
		}
		sampled := 0
		for _, e := range entries {
			var b phases.Body
			if err := json.Unmarshal(e.Body, &b); err != nil {
				t.Fatal(err)
			}
			if b.Opened == nil {
				continue
			}
			for _, led := range b.Opened.Baseline.Led {
				sampled++
				if led.Topic == "scratch" { // the topic with one replica
					t.Errorf("step %s waits for an election of %s-%d", b.Opened.Step, led.Topic, led.Partition)
				}
			}
		}
		if sampled == 0 {
			t.Error("no partition was sampled")
		}
	})
}

// The page may ask before the loop has begun; it was told nothing then.
func TestTheStatusExplainsItselfBeforeTheLoopRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := simcluster.New(simcluster.Options{}), simcluster.NewStore()
		life := c.Live(s, s)
		m, err := orchestrate.New(c.Migration(), orchestrate.Deps{Observer: life, Executor: life, Journal: s, Blobs: s, Canary: life,
			Log: slog.New(slog.DiscardHandler), Now: time.Now, Claim: func(string) error { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Status(); got.RunStatus != status.Observing || got.Name != "simulated" || strings.TrimSpace(strings.TrimPrefix(got.Headline, "observing:")) == "" {
			t.Errorf("status %q of %q with headline %q, want observing with a reason", got.RunStatus, got.Name, got.Headline)
		}
	})
}
