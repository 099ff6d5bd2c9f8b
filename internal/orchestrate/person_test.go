package orchestrate_test

import (
	"fmt"
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

// person drives nodes by hand: reads the status, does the first errand that is
// due, takes some time over it, and looks again.
type person struct {
	c *simcluster.Cluster
	s *simcluster.Store
	// odd, if set, may do something else than it was asked; false: it did nothing special.
	odd func(e status.Errand) bool
}

// work goes on in the background until the run ends.
func (p person) work(r *run) {
	go func() {
		for {
			select {
			case <-r.ended:
				return
			case <-time.After(3 * time.Second):
			}
			p.once(r.m.Status())
		}
	}()
}

func (p person) once(s status.Status) {
	for _, e := range s.Manual {
		if e.Now && e.Action == plan.Start && strings.Contains(e.Seen, "stop it") {
			_ = p.c.Run(status.Errand{Node: e.Node, Action: plan.Stop}, nil)
			return
		}
		if e.Now && (p.odd == nil || !p.odd(e)) {
			_ = p.c.Run(e, p.s.Get)
			return
		}
	}
}

func everyNode() []int32 { return []int32{1, 2, 3, 3001, 3002, 3003} }

// A person does the whole of it, forward, back, and forward again; and some nodes
// by hand while the service does the others. All ends as if the service had done it.
func TestAPersonMigratesByHand(t *testing.T) {
	end := forward(t).end
	for name, nodes := range map[string][]int32{"every node": everyNode(), "mixed kinds": {2, 3002}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := simcluster.New(simcluster.Options{Seed: 1, Manual: nodes, Hooks: true}), simcluster.NewStore()
				r := begin(t, c, s, afterEntry, nil)
				defer r.end()
				person{c: c, s: s}.work(r)
				r.back = true
				ok, last := r.follow(2 * time.Hour)
				got := judge(t, c, s, ok, last)
				if diff := cmp.Diff(end, got.end); diff != "" {
					t.Errorf("ends otherwise than without a person (-service +person):\n%s", diff)
				}
				for _, e := range c.Effects() {
					if a := e.Action; a.Node != nil && slices.Contains(nodes, *a.Node) && !a.Kind.Hook() {
						t.Errorf("the service itself performed %s of node %d", a.ID, *a.Node)
					}
				}
			})
		})
	}
}

// A mistake with broker 2's file is noticed as soon as the broker runs again, named,
// and nothing goes on; once the person has done it right, a retry goes on.
func TestAPersonsMistakeIsNamedAndHoldsEverything(t *testing.T) {
	wrong := func(planned []byte) []byte {
		return []byte(strings.Replace(string(planned), "3002@controller2:9093", "3002@controller2:9099", 1))
	}
	for _, tt := range []struct {
		name string
		file func(planned []byte) []byte // what is put in its place; nil: nothing
		says string
	}{
		{"the file was forgotten", nil, "node 2 runs again, and the copy of its file is still the one from before"},
		{"one value is mistyped", wrong, `node 2 runs again, and the copy of its file is not the planned one: controller.quorum.voters is "3001@controller1:9093,3002@controller2:9099,3003@controller3:9093", planned is "3001@controller1:9093,3002@controller2:9093,3003@controller3:9093"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := simcluster.New(simcluster.Options{Seed: 1, Manual: everyNode()}), simcluster.NewStore()
				r := begin(t, c, s, afterEntry, nil)
				defer r.end()
				right := false
				person{c: c, s: s, odd: func(e status.Errand) bool {
					if right || e.Node != 2 || e.Action != plan.Write || e.Step != "roll-broker-2" {
						return false
					}
					if planned, err := s.Get(e.SHA256); err == nil && tt.file != nil {
						_ = c.PutFile(2, tt.file(planned))
					}
					_ = c.Run(status.Errand{Node: 2, Action: plan.Start}, nil)
					return true
				}}.work(r)
				_, last := r.attend(30*time.Minute, func(st status.Status) bool { return st.RunStatus == status.Blocked }, r.onward)
				if last.Blocked == nil || last.Blocked.What != tt.says {
					t.Fatalf("blocked %+v, want by %q", last.Blocked, tt.says)
				}
				time.Sleep(10 * time.Minute)
				if now := r.m.Status(); now.RunStatus != status.Blocked || now.Step == nil || now.Step.ID != "roll-broker-2" {
					t.Errorf("it went on to %s %v", now.RunStatus, now.Headline)
				}
				right = true
				if ok, last := r.attend(30*time.Minute, func(st status.Status) bool { return len(st.Manual) == 0 }, func(status.Status) deed { return nil }); !ok {
					t.Fatalf("what was done right is not seen: %+v", last.Manual)
				}
				if err := r.m.Do(t.Context(), orchestrate.Command{Verb: orchestrate.Retry, Actor: "alice"}); err != nil {
					t.Fatal(err)
				}
				ok, last := r.follow(2 * time.Hour)
				judge(t, c, s, ok, last)
			})
		})
	}
}

// While a person is waited for nothing holds the service: it stops at once, its
// successor waits on, and the person may go back instead.
func TestWaitingForAPersonHoldsNeitherTheServiceNorAWayBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := simcluster.New(simcluster.Options{Seed: 1, Manual: []int32{1, 2, 3}}), simcluster.NewStore()
		before := c.End().Files
		r := begin(t, c, s, afterEntry, nil)
		waits := func(st status.Status) bool { return len(st.Manual) > 0 && st.Manual[0].Now }
		if ok, last := r.attend(30*time.Minute, waits, r.onward); !ok {
			t.Fatalf("never waits for a person: %s %q", last.RunStatus, last.Headline)
		}
		time.Sleep(24 * time.Hour)
		if st := r.m.Status(); st.RunStatus != status.Executing || st.Manual[0].Seen != "it still answers" {
			t.Errorf("after a day: %s, seen %q; want executing, and what is seen", st.RunStatus, st.Manual[0].Seen)
		}
		r.m.Drain()
		select {
		case <-r.ended:
		case <-time.After(time.Minute):
			t.Fatal("the service does not stop")
		}
		r = begin(t, c, s, afterEntry, nil)
		defer r.end()
		if ok, last := r.attend(time.Minute, waits, r.onward); !ok {
			t.Fatalf("its successor does not wait: %s %q", last.RunStatus, last.Headline)
		}
		if err := turnBack(t.Context(), r.m, c.Migration().Name, cluster.Initial); err != nil {
			t.Fatal(err)
		}
		person{c: c, s: s}.work(r)
		ok, last := r.attend(30*time.Minute, back(cluster.Initial), func(status.Status) deed { return nil })
		isAsBefore(t, judge(t, c, s, ok, last).end, before)
	})
}

// The service dies at any entry of a migration by hand; the person works on
// meanwhile, and nobody is asked to restart a node twice.
func TestKilledWhileAPersonWorksTheMigrationEndsTheSame(t *testing.T) {
	var want whole
	live := func(t *testing.T, dies func(uint64, string, phases.Body) bool) (whole, bool) {
		c, s := simcluster.New(simcluster.Options{Seed: 1, Manual: everyNode()}), simcluster.NewStore()
		r := begin(t, c, s, meanwhile, dies)
		person{c: c, s: s}.work(r)
		ok, last := r.follow(2 * time.Hour)
		r.end()
		if died := r.life.Killed(); died {
			time.Sleep(20 * time.Second)
			r = begin(t, c, s, afterEntry, nil)
			person{c: c, s: s}.work(r)
			ok, last = r.follow(2 * time.Hour)
			r.end()
		}
		return judge(t, c, s, ok, last), true
	}
	synctest.Test(t, func(t *testing.T) { want, _ = live(t, nil) })
	stride := 7
	if testing.Short() {
		stride = 41
	}
	for k := 3; k <= want.entries; k += stride {
		t.Run(fmt.Sprintf("entry %d", k), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				got, _ := live(t, func(seq uint64, _ string, _ phases.Body) bool { return seq == uint64(k) })
				same(t, want, got)
			})
		})
	}
}
