package orchestrate_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/cluster"
	"migrator/internal/orchestrate"
	"migrator/internal/phases"
	"migrator/internal/plan"
	"migrator/internal/simcluster"
	"migrator/internal/status"
)

// dying is a simulated migration in which a node dies.
type dying struct {
	t *testing.T
	c *simcluster.Cluster
	s *simcluster.Store
	r *run
}

func dies(t *testing.T, arrange func(*simcluster.Cluster)) *dying {
	d := &dying{t: t, c: simcluster.New(simcluster.Options{Seed: 1}), s: simcluster.NewStore()}
	arrange(d.c)
	d.r = begin(t, d.c, d.s, afterEntry, nil)
	return d
}

// blocked follows until a person is needed and answers what is said then.
func (d *dying) blocked(within time.Duration) status.Status {
	d.t.Helper()
	deadline := time.Now().Add(within)
	for time.Now().Before(deadline) {
		switch st := d.r.m.Status(); st.RunStatus {
		case status.Blocked:
			return st
		case status.NeedsApproval:
			d.r.answer(st)
		}
		time.Sleep(glance)
	}
	d.t.Fatalf("not blocked within %s: %s\njournal:\n%s", within, d.r.m.Status().Headline, tail(d.s, 20))
	return status.Status{}
}

// says follows until the headline holds a text.
func (d *dying) says(text string) {
	d.t.Helper()
	for range 1000 {
		st := d.r.m.Status()
		if strings.Contains(st.Headline, text) {
			return
		}
		if st.RunStatus == status.NeedsApproval {
			d.r.answer(st)
		}
		time.Sleep(glance)
	}
	d.t.Fatalf("the headline never said %q, last: %s", text, d.r.m.Status().Headline)
}

func (d *dying) retry() {
	d.t.Helper()
	if err := d.r.m.Do(d.t.Context(), orchestrate.Command{Verb: orchestrate.Retry, Actor: "alice"}); err != nil {
		d.t.Fatal(err)
	}
}

// goesOn approves until a phase's plan is offered and wants every node started
// as often as the plans before say, and one so much more often.
func (d *dying) goesOn(until cluster.Phase, id int32, more int) {
	d.t.Helper()
	deadline := time.Now().Add(15 * time.Minute)
	time.Sleep(glance) // a command before this is in the status by now
	for st := d.r.m.Status(); st.RunStatus != status.NeedsApproval || st.Plan.Phase != until; st = d.r.m.Status() {
		if time.Now().After(deadline) || st.RunStatus == status.Blocked {
			d.t.Fatalf("never offered %s: %s %q\njournal:\n%s", until, st.RunStatus, st.Headline, tail(d.s, 20))
		}
		if st.RunStatus == status.NeedsApproval {
			d.r.answer(st)
		}
		time.Sleep(glance)
	}
	want := map[int32]int{1: 1, 2: 1, 3: 1, 3001: 1, 3002: 1, 3003: 1}
	if until == cluster.Hybrid {
		want[1], want[2], want[3] = 2, 2, 2
	}
	want[id] += more
	if diff := cmp.Diff(want, d.c.Starts()); diff != "" {
		d.t.Errorf("starts (-want +got):\n%s", diff)
	}
	if broken := d.c.Violations(); len(broken) > 0 {
		d.t.Errorf("rules broken: %v", broken)
	}
}

// performed counts how often an action was performed, in all steps.
func (d *dying) performed(action string) (n int) {
	for _, e := range d.c.Effects() {
		if e.Action.ID == action {
			n++
		}
	}
	return n
}

// cursors are from where a node's log counted as its step began, and as it was
// started again.
func (d *dying) cursors(id int32) (opened, again string) {
	entries, _ := d.s.Read()
	for _, e := range entries {
		var b phases.Body
		if err := json.Unmarshal(e.Body, &b); err != nil {
			d.t.Fatal(err)
		}
		switch {
		case b.Opened != nil && again == "":
			opened = b.Opened.Baseline.Cursors[id]
		case b.Intent != nil && b.Intent.Again != nil:
			again = b.Intent.Again.Cursors[id]
		}
	}
	return opened, again
}

// retries are who went on by hand ("alice") or by itself ("migrator").
func (d *dying) retries() []string {
	entries, _ := d.s.Read()
	var out []string
	for _, e := range entries {
		if e.Kind == "retried" {
			out = append(out, e.Actor)
		}
	}
	return out
}

func wantWords(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q does not say %q", text, w)
		}
	}
}

// In one of twenty provisionings on real Kafka a controller halted in its first
// seconds, having led twice before its first records were committed. It lay
// there until step_timeout, then a person had to start it by hand.
func TestAControllerThatLosesTheStartUpRaceIsStartedAgainOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dies(t, func(c *simcluster.Cluster) { c.Race(3002, 1) })
		defer d.r.end()
		d.says("controller 3002 died of Kafka's start-up race")
		d.goesOn(cluster.Load, 3002, 1)
		if got := d.retries(); !slices.Equal(got, []string{"migrator"}) {
			t.Errorf("gone on by %v, want once by the service itself", got)
		}
		opened, again := d.cursors(3002)
		if again == "" || again == opened {
			t.Errorf("the log of 3002 counts from %q after its second start, want later than %q: the lines of its death would hold the step", again, opened)
		}
	})
}

// The service dies as it has just recorded that it starts the controller again.
func TestAServiceKilledMeanwhileStartsTheControllerAgainOnlyOnce(t *testing.T) {
	for _, when := range []death{afterEntry, meanwhile} {
		synctest.Test(t, func(t *testing.T) {
			d := &dying{t: t, c: simcluster.New(simcluster.Options{Seed: 1}), s: simcluster.NewStore()}
			d.c.Race(3002, 1)
			seen := false
			d.r = begin(t, d.c, d.s, when, func(_ uint64, kind string, b phases.Body) bool {
				seen = seen || kind == string(phases.KindRetried)
				return seen && (when == afterEntry || b.Intent != nil)
			})
			d.r.follow(10 * time.Minute)
			d.r.end()
			d.r = begin(t, d.c, d.s, afterEntry, nil)
			defer d.r.end()
			d.goesOn(cluster.Load, 3002, 1)
			if got := d.retries(); !slices.Equal(got, []string{"migrator"}) {
				t.Errorf("killed %s: gone on by %v, want once by the service itself", when, got)
			}
		})
	}
}

func TestAControllerThatDiesTwiceBlocksAndRetryStartsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dies(t, func(c *simcluster.Cluster) { c.Race(3002, 2) })
		defer d.r.end()
		st := d.blocked(3 * time.Minute)
		wantWords(t, st.Blocked.What, "controller 3002", "3.0-IV1", "lacks a voter")
		wantWords(t, st.Blocked.ToDo, "migrator retry")
		d.retry()
		d.goesOn(cluster.Load, 3002, 2)
		if got := d.retries(); !slices.Equal(got, []string{"migrator", "alice"}) {
			t.Errorf("gone on by %v, want once by the service itself, once by a person", got)
		}
	})
}

func TestAControllerThatDiesOfAnythingElseIsNotStartedByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dies(t, func(c *simcluster.Cluster) { c.DieAfterStart(3002, 1, 2*time.Second, "Encountered fatal fault: disk") })
		defer d.r.end()
		wantWords(t, d.blocked(time.Minute).Blocked.What, "controller 3002", "Encountered fatal fault: disk")
		d.retry()
		d.goesOn(cluster.Load, 3002, 1)
	})
}

// A broker that died after its start was waited for until step_timeout, and
// `retry` left it lying there.
func TestABrokerThatDiesAfterItsStartBlocksAtOnceAndRetryStartsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dies(t, func(c *simcluster.Cluster) {
			c.DieAfterStart(1, 1, 5*time.Second, "Encountered fatal fault: out of luck")
		})
		defer d.r.end()
		st := d.blocked(2 * time.Minute)
		wantWords(t, st.Blocked.What, "broker 1", "out of luck", "no other broker is restarted")
		wantWords(t, st.Blocked.ToDo, "migrator retry")
		if took := st.Blocked.At.Sub(startOf(d.c, 1)); took > 15*time.Second {
			t.Errorf("blocked %s after the start: nobody waits for a process that is gone", took)
		}
		time.Sleep(10 * time.Minute)
		if now := d.c.Starts(); now[1] != 2 {
			t.Errorf("broker 1 was started %d times before anybody asked, want 2", now[1])
		}
		d.retry()
		d.goesOn(cluster.Hybrid, 1, 1)
	})
}

// A service that had just been started again took a retry before it had seen
// that the node does not run: nothing was started, and it blocked once more.
func TestARetryRightAfterARestartStillStartsTheDeadNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dies(t, func(c *simcluster.Cluster) {
			c.DieAfterStart(1, 1, 5*time.Second, "Encountered fatal fault: out of luck")
		})
		d.blocked(2 * time.Minute)
		d.r.end()
		d.r = begin(t, d.c, d.s, afterEntry, nil)
		defer d.r.end()
		d.retry()
		d.goesOn(cluster.Hybrid, 1, 1)
		if got := d.retries(); !slices.Equal(got, []string{"alice"}) {
			t.Errorf("retried by %v, want once by a person", got)
		}
	})
}

// startOf is when a node's newest start was performed.
func startOf(c *simcluster.Cluster, id int32) (at time.Time) {
	for _, e := range c.Effects() {
		if e.Action.Kind == plan.Start && *e.Action.Node == id {
			at = e.At
		}
	}
	return at
}

// Somebody else was faster: a node that runs is not restarted.
func TestRetryLeavesANodeAloneThatRunsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dies(t, func(c *simcluster.Cluster) {
			c.DieAfterStart(1, 1, 5*time.Second, "Encountered fatal fault: out of luck")
		})
		defer d.r.end()
		d.blocked(2 * time.Minute)
		d.retry()
		d.c.Repair(1) // within the ten seconds that it is looked at
		d.goesOn(cluster.Hybrid, 1, 1)
		if n := d.performed("start-1"); n != 1 {
			t.Errorf("broker 1 was given its start command %d times, want once", n)
		}
	})
}

// A stop that ran out of time took effect minutes later: the start that was to
// bring the broker back had found it running, and it stayed down.
func TestABrokerWhoseStopTakesEffectLateIsBroughtBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := 4 * time.Minute
		d := dies(t, func(c *simcluster.Cluster) { c.SlowStop(1, late) })
		defer d.r.end()
		wantWords(t, d.blocked(6*time.Minute).Blocked.What, "stop-1", "does not stop")
		time.Sleep(2 * time.Minute)
		if st := d.r.m.Status(); st.RunStatus != status.Blocked || !d.c.Serves(1) {
			t.Errorf("status %s, broker 1 serves %t; want blocked with the broker back", st.RunStatus, d.c.Serves(1))
		}
		d.retry()
		d.goesOn(cluster.Hybrid, 1, 1)
	})
}
