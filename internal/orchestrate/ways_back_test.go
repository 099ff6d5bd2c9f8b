package orchestrate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/cluster"
	"migrator/internal/orchestrate"
	"migrator/internal/simcluster"
	"migrator/internal/status"
)

// turn is a point on the way forward, or on an earlier way back, and the
// command to turn around that a person gives there.
type turn struct {
	offered cluster.Phase              // this plan is offered
	pause   func(s status.Status) bool // or: paused after the step in which this is so
	blocked bool                       // or: an alarm was raised
	to      cluster.Phase
	route   string // as the service names it
}

// way is a way back of section 10 of the design.
type way struct {
	name      string
	copyFails bool
	turns     []turn
}

func ways() []way {
	toInitial, toLoad := cluster.Initial, cluster.Load
	first, second := rolling(cluster.Load, "roll-", cluster.ZKMigrating, 0), rolling(cluster.Hybrid, "roll-", cluster.KRaft, 1)
	flagless := rolling(cluster.Finalize, "roll-", cluster.KRaft, 3)
	return []way{
		{name: "a to initial", turns: []turn{{offered: cluster.Load, to: toInitial, route: "a"}}},
		{name: "b to initial", turns: []turn{{pause: first, to: toInitial, route: "b"}}},
		{name: "b' to initial", copyFails: true, turns: []turn{{blocked: true, to: toInitial, route: "b'"}}},
		{name: "c to initial", turns: []turn{{offered: cluster.Hybrid, to: toInitial, route: "c"}}},
		{name: "d to load", turns: []turn{{pause: second, to: toLoad, route: "d"}}},
		{name: "d to initial", turns: []turn{{pause: second, to: toInitial, route: "d"}}},
		{name: "e to load", turns: []turn{{offered: cluster.DualWrite, to: toLoad, route: "e"}}},
		{name: "e to initial", turns: []turn{{offered: cluster.DualWrite, to: toInitial, route: "e"}}},
		{name: "g to initial, the brokers' second roll begun", turns: []turn{{offered: cluster.Hybrid, to: toInitial, route: "c"},
			{pause: rolling(cluster.Initial, "back-to-zookeeper-", cluster.ZK, 0), to: toInitial, route: "g"}}},
		{name: "g to initial, by another person on the way to load", turns: []turn{{offered: cluster.DualWrite, to: toLoad, route: "e"},
			{pause: rolling(cluster.Load, "back-to-migration-", cluster.ZKMigrating, 0), to: toInitial, route: "d"}}},
		{name: "h to load", turns: []turn{{pause: flagless, to: toLoad, route: "h"}}},
		{name: "h to initial", turns: []turn{{pause: flagless, to: toInitial, route: "h"}}},
	}
}

// rolling: the plan of a phase rolls a node, and so many brokers run in a mode.
func rolling(p cluster.Phase, prefix string, mode cluster.Mode, n int) func(status.Status) bool {
	return func(s status.Status) bool {
		if s.Plan == nil || !s.Plan.Running || s.Plan.Phase != p || s.Step == nil || !strings.HasPrefix(s.Step.ID, prefix) {
			return false
		}
		return len(s.BrokersIn(mode)) == n
	}
}

// here says that the point was reached.
func (p turn) here(s status.Status) bool {
	switch {
	case p.blocked:
		return s.RunStatus == status.Blocked
	case p.pause != nil:
		return s.RunStatus == status.Paused
	default:
		return s.RunStatus == status.NeedsApproval && s.Plan.Phase == p.offered
	}
}

// back says that a way back to a phase has ended there.
func back(to cluster.Phase) func(status.Status) bool {
	return func(s status.Status) bool {
		if s.RunStatus != status.NeedsApproval || s.Phase == nil || *s.Phase != to {
			return false
		}
		return to == cluster.Load && s.Plan.Phase == cluster.Hybrid || to == cluster.Initial && s.Attempt > 1
	}
}

// deed is one command of a person, or none.
type deed func(ctx context.Context) error

// attend lets a person act on each status until it is good.
func (r *run) attend(limit time.Duration, good func(status.Status) bool, act func(status.Status) deed) (bool, status.Status) {
	box, back := r.m.Subscribe()
	defer back()
	late := time.After(limit)
	var last status.Status
	for {
		select {
		case last = <-box:
			if good(last) {
				return true, last
			}
			if do := act(last); do != nil {
				r.command(do)
			}
		case <-r.ended:
			return false, last
		case <-late:
			return false, last
		}
	}
}

// command gives it and waits for the answer; a refused one may be tried again
// after a while.
func (r *run) command(do deed) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		if do(ctx) != nil {
			time.Sleep(2 * time.Second)
		}
	}()
	select {
	case <-answered:
	case <-r.ended:
		cancel()
		<-answered
	}
}

func (r *run) advance(s status.Status) deed {
	return func(ctx context.Context) error {
		return r.m.Do(ctx, orchestrate.Command{Verb: orchestrate.Advance, Actor: "alice", Digest: s.Plan.Digest, Confirm: s.Name})
	}
}

// forth goes forward until a turn is reached.
func (r *run) forth(p turn) (bool, status.Status) {
	paused := false
	return r.attend(30*time.Minute, p.here, func(s status.Status) deed {
		switch {
		case !paused && p.pause != nil && p.pause(s):
			paused = true
			return func(ctx context.Context) error {
				return r.m.Do(ctx, orchestrate.Command{Verb: orchestrate.Pause, Actor: "alice"})
			}
		case s.RunStatus == status.NeedsApproval:
			return r.advance(s)
		default:
			return nil
		}
	})
}

// turned gives the command at the turn, unless it was given already, and waits
// until the way back has ended.
func (r *run) turned(p turn, name, actor string) (bool, status.Status) {
	return r.attend(30*time.Minute, back(p.to), func(s status.Status) deed {
		under := s.Plan != nil && s.Plan.Running && s.Plan.Revert && s.RunStatus == status.Reverting
		if under || s.RunStatus != status.NeedsApproval && s.RunStatus != status.Paused && s.RunStatus != status.Blocked {
			return nil
		}
		return func(ctx context.Context) error { return turnBackAs(ctx, r.m, name, p.to, actor) }
	})
}

// From every phase back to load or to initial: the service dies at every entry
// of the way back, its successor ends it in the same way, and afterwards a
// second migration ends as the first would have.
func TestKilledAtAnyEntryAWayBackEndsTheSame(t *testing.T) {
	end := forward(t).end
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			var want whole
			var d *deaths
			synctest.Test(t, func(t *testing.T) { want, d = w.take(t, end) })
			last := w.turns[len(w.turns)-1]
			d.each(t, func(t *testing.T, left world) {
				r := begin(t, left.c, left.s, afterEntry, nil)
				defer r.end()
				ok, st := r.turned(last, left.c.Migration().Name, "bob")
				same(t, want, judge(t, left.c, left.s, ok, st))
			})
		})
	}
}

// take goes the way without a death and then forward to the end; it answers
// how the cluster stood at the end of the way back.
func (w way) take(t *testing.T, end simcluster.End) (whole, *deaths) {
	c, s := swept(), simcluster.NewStore()
	original, name := c.End().Files, c.Migration().Name
	c.FailCopy(w.copyFails)
	d := gather(c, s, false)
	r := open(t, c.Migration(), c, &book{Store: s, deaths: d}, nil)
	defer r.end()
	if ok, st := r.forth(w.turns[0]); !ok {
		judge(t, c, s, false, st)
	}
	want := w.goBack(t, r, d, c, s)
	if last := w.turns[len(w.turns)-1]; last.to == cluster.Initial {
		isAsBefore(t, want.end, original)
	}
	d.on = false
	c.FailCopy(false)
	ok, st := r.follow(30 * time.Minute)
	if diff := cmp.Diff(end, judge(t, c, s, ok, st).end); diff != "" {
		t.Errorf("the second migration of %s ends otherwise (-first +second):\n%s", name, diff)
	}
	return want, d
}

// goBack turns at each turn; at all but the last it goes back only as far as the next one.
func (w way) goBack(t *testing.T, r *run, d *deaths, c *simcluster.Cluster, s *simcluster.Store) whole {
	t.Helper()
	name := c.Migration().Name
	for i, p := range w.turns {
		if got := r.routeTo(t, p.to); got != p.route {
			t.Errorf("the way back to %s is route %s, want %s", p.to, got, p.route)
		}
		if i == len(w.turns)-1 {
			break
		}
		if err := turnBackAs(t.Context(), r.m, name, p.to, "alice"); err != nil {
			t.Fatal(err)
		}
		if ok, st := r.forth(w.turns[i+1]); !ok {
			judge(t, c, s, false, st)
		}
	}
	d.on = true
	ok, st := r.turned(w.turns[len(w.turns)-1], name, "bob")
	return judge(t, c, s, ok, st)
}

// routeTo asks which way the service would go, without going it.
func (r *run) routeTo(t *testing.T, to cluster.Phase) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := r.m.Do(ctx, orchestrate.Command{Verb: orchestrate.Revert, Actor: "bob", To: to})
	var shown *orchestrate.Refusal
	if !errors.As(err, &shown) || shown.Code != "no-digest" {
		t.Fatalf("asked for the way back to %s: %v", to, err)
	}
	_, rest, _ := strings.Cut(shown.Message, "by route ")
	route, _, _ := strings.Cut(rest, " ")
	return route
}

// isAsBefore: the cluster is what it was before anything began.
func isAsBefore(t *testing.T, got simcluster.End, files map[int32]string) {
	t.Helper()
	for id, sha := range files {
		if got.Files[id] != sha || got.Modes[id] != cluster.ZK {
			t.Errorf("broker %d runs in mode %s with file %.8s, want %s with %.8s", id, got.Modes[id], got.Files[id], cluster.ZK, sha)
		}
	}
	if got.Migration || got.Holder != cluster.Broker || got.Short > 0 {
		t.Errorf("/migration exists: %t, /controller is held by a %q, %d partitions are short; want false, a broker, 0", got.Migration, got.Holder, got.Short)
	}
	for id, mode := range got.Modes {
		if _, broker := files[id]; !broker {
			t.Errorf("controller %d still runs, in mode %s", id, mode)
		}
	}
}

func turnBackAs(ctx context.Context, m *orchestrate.Machine, name string, to cluster.Phase, actor string) error {
	c := orchestrate.Command{Verb: orchestrate.Revert, Actor: actor, To: to}
	err := m.Do(ctx, c)
	var shown *orchestrate.Refusal
	if !errors.As(err, &shown) || shown.Plan == nil {
		return fmt.Errorf("no way back is shown: %w", err)
	}
	c.Digest, c.Confirm = shown.Plan.Digest, name
	return m.Do(ctx, c)
}
