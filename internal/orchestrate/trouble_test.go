package orchestrate

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/cluster"
	"migrator/internal/status"
)

func is(rs status.RunStatus) func(status.Status) bool {
	return func(s status.Status) bool { return s.RunStatus == rs }
}

func TestAFailedWriteBringsTheBrokerBackThenBlocksAndRetryGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.fail["write-3"] = 1
		s := start(t, w, settings(), 0)
		defer s.end()
		s.approve("load")
		st := s.until("blocked", is(status.Blocked))
		if running, mode := w.up(3); !running || mode != cluster.ZK {
			t.Error("broker 3 was not started with the file it had")
		}
		if st.Blocked == nil || !strings.Contains(st.Blocked.What, "write-3: exit status 1") {
			t.Errorf("blocked %+v does not say what failed", st.Blocked)
		}
		before := len(w.effects())
		if err := s.m.Do(t.Context(), Command{Verb: Retry, Actor: "alice"}); err != nil {
			t.Fatal(err)
		}
		s.until("offering hybrid", offers("hybrid"))
		want := []string{"stop-3", "write-3", "start-3", "stop-2", "write-2", "start-2", "elect-preferred"}
		if diff := cmp.Diff(want, w.effects()[before:]); diff != "" {
			t.Errorf("after the retry (-want +got):\n%s", diff)
		}
	})
}

// What cannot be recorded must not happen: whichever entry is the one that no
// longer fits on the disk, the service performs nothing after it.
func TestAFullJournalBlocksAndNothingMoreIsExecuted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for full := 4; full < 12; full++ {
			w := newWorld()
			w.full = full
			s := start(t, w, settings(), 0)
			box, back := s.m.Subscribe()
			approved := false
			for st := range box {
				if st.RunStatus == status.Blocked {
					if !strings.Contains(st.Headline, "journal") {
						t.Errorf("headline %q does not name the journal", st.Headline)
					}
					break
				}
				if !approved && offers("load")(st) {
					approved = true
					go func() { _ = s.advance(st.Plan.Digest) }()
				}
			}
			back()
			did := len(w.all())
			time.Sleep(time.Minute)
			if now := len(w.all()); now != did {
				t.Errorf("disk full after %d entries: %v was performed afterwards", full, w.all()[did:])
			}
			err := s.m.Do(context.Background(), Command{Verb: Retry})
			refused(t, err, "journal", 3)
			s.end()
			intents := strings.Count(w.kinds(), "intent")
			if did > intents {
				t.Errorf("disk full after %d entries: %d effects for %d intents", full, did, intents)
			}
		}
	})
}

func TestAnActionThatHangsHoldsTheRollAndTheServiceStillAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.hang["start-1"] = true
		s := start(t, w, settings(), 0)
		s.approve("load")
		s.until("performing the start", func(st status.Status) bool {
			return st.Step != nil && len(st.Step.Actions) == 3 && st.Step.Actions[2].State == "running"
		})
		time.Sleep(5 * time.Minute)
		if err := s.m.Do(t.Context(), Command{Verb: Pause, Actor: "alice"}); err != nil {
			t.Errorf("pause: %v", err)
		}
		if diff := cmp.Diff([]string{"stop-1", "write-1"}, w.effects()); diff != "" {
			t.Errorf("effects (-want +got):\n%s", diff)
		}
		s.end()
	})
}

func TestApprovalsThatAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := start(t, w, settings(), 0)
		defer s.end()
		st := s.until("offering load", offers("load"))
		digest := st.Plan.Digest
		do := func(c Command) error { c.Verb, c.Actor = Advance, "alice"; return s.m.Do(t.Context(), c) }
		refused(t, do(Command{}), "no-digest", 4)
		refused(t, do(Command{Digest: strings.Repeat("0", 64)}), "stale-digest", 4)
		refused(t, do(Command{Digest: digest, Confirm: "billing"}), "wrong-name", 3)
		refused(t, do(Command{Accept: "parity", Reason: "fine"}), "no-gate", 3)
		refused(t, do(Command{Accept: "quorum-formed", Reason: "fine"}), "safety-gate", 3)
		refused(t, s.m.Do(t.Context(), Command{Verb: Retry}), "not-blocked", 3)
		refused(t, s.m.Do(t.Context(), Command{Verb: Drill, Kind: "clean"}), "not-now", 3)
		refused(t, s.m.Do(t.Context(), Command{Verb: "explode"}), "usage", 2)
		if got := w.effects(); len(got) > 0 {
			t.Errorf("refused commands performed %v", got)
		}
		if err := do(Command{Digest: digest}); err != nil {
			t.Fatalf("the right digest: %v", err)
		}
		if err := do(Command{Digest: digest}); err != nil {
			t.Errorf("approving the running plan again: %v", err)
		}
		refused(t, do(Command{Digest: strings.Repeat("0", 64)}), "plan-runs", 3)
	})
}

// The file changes while a person reads the plan: what was reviewed is not what
// would be written.
func TestAFileThatChangedSinceThePlanWasReadMakesTheDigestStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := start(t, w, settings(), 0)
		defer s.end()
		st := s.until("offering load", offers("load"))
		w.change(func() { w.brokers[3].file = append(w.brokers[3].file, "num.io.threads=16\n"...) })
		refused(t, s.advance(st.Plan.Digest), "stale-digest", 4)
		fresh := s.until("offering the new plan", func(now status.Status) bool { return offers("load")(now) && now.Plan.Digest != st.Plan.Digest })
		if err := s.advance(fresh.Plan.Digest); err != nil {
			t.Errorf("the new digest: %v", err)
		}
	})
}

func TestAnApprovalWaitsForFactsReadAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := start(t, w, settings(), 0)
		defer s.end()
		st := s.until("offering load", offers("load"))
		w.change(func() { w.blind[3] = true }) // the snapshot on the table still shows it
		err := s.advance(st.Plan.Digest)
		var r *Refusal
		if !errors.As(err, &r) || r.Exit != 3 {
			t.Errorf("answer %v, want a refusal with exit 3: broker 3 no longer answers", err)
		}
		if got := w.effects(); len(got) > 0 {
			t.Errorf("performed %v", got)
		}
	})
}

func TestAPauseTakesEffectAfterTheStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := start(t, w, settings(), 0)
		defer s.end()
		s.approve("load")
		s.until("rolling broker 1", func(st status.Status) bool { return st.Step != nil && st.Step.ID == "roll-broker-1" })
		if err := s.m.Do(t.Context(), Command{Verb: Pause, Actor: "alice"}); err != nil {
			t.Fatal(err)
		}
		st := s.until("paused", is(status.Paused))
		if running, mode := w.up(1); st.Step != nil || !running || mode != cluster.ZKMigrating {
			t.Errorf("paused within step %v", st.Step)
		}
		time.Sleep(5 * time.Minute)
		if diff := cmp.Diff(wholeRoll[:3], w.effects()); diff != "" {
			t.Errorf("effects while paused (-want +got):\n%s", diff)
		}
		if err := s.m.Do(t.Context(), Command{Verb: Resume, Actor: "alice"}); err != nil {
			t.Fatal(err)
		}
		s.until("offering hybrid", offers("hybrid"))
	})
}

func TestADrainBringsTheOpenBatchBackAndBeginsNoOther(t *testing.T) {
	for _, at := range []string{"stop-1", "write-1", "start-1"} {
		t.Run(at, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				s := start(t, w, settings(), 0)
				s.approve("load")
				s.until("performing "+at, func(st status.Status) bool {
					if st.Step == nil {
						return false
					}
					for _, a := range st.Step.Actions {
						if a.ID == at && a.State != "planned" {
							return true
						}
					}
					return false
				})
				s.m.Drain()
				if err := <-s.ended; err != nil {
					t.Errorf("the drained run ended with %v", err)
				}
				s.ended <- nil
				if diff := cmp.Diff(wholeRoll[:3], w.effects()); diff != "" {
					t.Errorf("effects (-want +got):\n%s", diff)
				}
				if running, _ := w.up(1); !running {
					t.Error("broker 1 stays down")
				}
				next := start(t, w, settings(), 0)
				defer next.end()
				next.until("offering hybrid", offers("hybrid"))
				if diff := cmp.Diff(wholeRoll, w.effects()); diff != "" {
					t.Errorf("effects of both runs (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A broker that does not come back had kept the service from ever ending.
func TestADrainEndsEvenIfABrokerCannotBeBroughtBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.fail["start-1"] = 1
		s := start(t, w, settings(), 0)
		s.approve("load")
		s.until("blocked", is(status.Blocked))
		s.m.Drain()
		select {
		case err := <-s.ended:
			s.ended <- err
		case <-time.After(10 * time.Minute):
			t.Error("the drained service still runs after ten minutes, although nothing is left that it could do")
		}
		s.end()
	})
}

// The first thing a new service hears may be a command: its clock of time
// without progress must not count the time in which it did not exist.
func TestACommandBeforeTheFirstSnapshotDoesNotBlockAStepThatWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := start(t, w, settings(), 0)
		s.approve("load")
		s.until("rolling broker 1", func(st status.Status) bool {
			return st.Step != nil && len(st.Step.Actions) == 3 && st.Step.Actions[2].State == "done"
		})
		s.end()
		time.Sleep(24 * time.Hour)
		m, err := New(settings(), depsOf(s, slowEye{w}))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		if err := m.Do(ctx, Command{Verb: Pause, Actor: "alice"}); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if st := m.Status(); st.RunStatus == status.Blocked {
			t.Errorf("blocked before anything was seen: %s", st.Headline)
		}
		cancel()
		<-ended
	})
}

func TestAChangedCommandVoidsThePlanAndOffersTheRestAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.hang["write-1"] = true
		s := start(t, w, settings(), 0)
		s.approve("load")
		s.until("writing", func(st status.Status) bool {
			return st.Step != nil && len(st.Step.Actions) == 3 && st.Step.Actions[1].State == "running"
		})
		synctest.Wait() // the write is really under way
		s.end()
		w.change(func() { w.hang["write-1"] = false })
		changed := settings()
		for i := range changed.Nodes {
			changed.Nodes[i].Commands.Stop = append(changed.Nodes[i].Commands.Stop, "--gently")
		}
		next := start(t, w, changed, 0)
		defer next.end()
		st := next.until("blocked", is(status.Blocked))
		if running, _ := w.up(1); !running {
			t.Error("the broker that the void plan had stopped stays down")
		}
		if !strings.Contains(st.Blocked.What, "migrations.yaml") {
			t.Errorf("blocked %q does not say that the configuration changed", st.Blocked.What)
		}
		if err := next.m.Do(t.Context(), Command{Verb: Retry, Actor: "alice"}); err != nil {
			t.Fatal(err)
		}
		next.approve("load")
		next.until("offering hybrid", offers("hybrid"))
	})
}

func TestASecondMigrationOfTheSameClusterIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		claimed := errors.New("the cluster belongs to migration billing")
		deps := depsOf(&process{life: &life{world: w}}, w)
		deps.Claim = func(string) error { return claimed }
		m, err := New(settings(), deps)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		time.Sleep(time.Minute)
		st := m.Status()
		if st.RunStatus != status.Blocked || !strings.Contains(st.Headline, "billing") {
			t.Errorf("status %s %q, want blocked and the other migration named", st.RunStatus, st.Headline)
		}
		if len(w.entries) > 0 {
			t.Errorf("journalled %s of a cluster that is another's", w.kinds())
		}
		cancel()
		<-ended

		// Once bound, the claim is made before anything runs.
		first := start(t, w, settings(), 0)
		first.until("bound", func(st status.Status) bool { return st.ClusterID != nil })
		first.end()
		if _, err := New(settings(), deps); !errors.Is(err, claimed) {
			t.Errorf("a second machine of the bound cluster: %v, want refused", err)
		}
	})
}

// A contract of the command: when advance answers 0, an earlier pause or block
// is lifted. With no plan under way it was refused instead.
func TestAdvanceLiftsAPauseBetweenPlans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := start(t, w, settings(), 0)
		defer s.end()
		st := s.until("offering load", offers("load"))
		if err := s.m.Do(t.Context(), Command{Verb: Pause, Actor: "alice"}); err != nil {
			t.Fatal(err)
		}
		s.until("paused", is(status.Paused))
		if err := s.advance(st.Plan.Digest); err != nil {
			t.Fatalf("advance while paused: %v", err)
		}
		s.until("offering hybrid", offers("hybrid"))
	})
}
