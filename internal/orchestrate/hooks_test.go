package orchestrate_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/execute"
	"migrator/internal/orchestrate"
	"migrator/internal/simcluster"
	"migrator/internal/status"
)

// Each kind of hook fails once, in the middle of a migration: the plan is held
// at that place with what the hook said, and goes on with a retry.
func TestAFailingHookHoldsThePlan(t *testing.T) {
	for _, hook := range []string{"freeze", "before-node-2", "after-node-2", "thaw"} {
		t.Run(hook, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := simcluster.New(simcluster.Options{Seed: 1, Hooks: true}), simcluster.NewStore()
				r := begin(t, c, s, afterEntry, nil)
				defer r.end()
				if ok, last := r.forth(turn{offered: cluster.Load}); !ok {
					t.Fatalf("never offered: %s %q", last.RunStatus, last.Headline)
				}
				c.FailHook(hook, 1)
				_, last := r.attend(10*time.Minute, func(st status.Status) bool { return st.RunStatus == status.Blocked }, r.onward)
				if last.Blocked == nil || !strings.Contains(last.Blocked.What, "the hook "+hook+": sim exited 1: no") || !strings.Contains(last.Blocked.ToDo, "retry") {
					t.Fatalf("blocked %+v, want by the hook %s with what to do", last.Blocked, hook)
				}
				if frozen, _ := c.Frozen(); frozen != (hook != "freeze") {
					t.Errorf("frozen %t while the hook %s holds the plan", frozen, hook)
				}
				stopped := 0
				for _, e := range c.Effects() {
					if strings.HasPrefix(e.Step, "roll-broker-2") && e.Action.ID == "stop-2" {
						stopped++
					}
				}
				if before := hook == "freeze" || hook == "before-node-2"; before != (stopped == 0) {
					t.Errorf("broker 2 was stopped %d times before the hook %s had succeeded", stopped, hook)
				}
				if err := r.m.Do(t.Context(), orchestrate.Command{Verb: orchestrate.Retry, Actor: "alice"}); err != nil {
					t.Fatal(err)
				}
				ok, last := r.follow(30 * time.Minute)
				judge(t, c, s, ok, last)
			})
		})
	}
}

// A plan held after before_node of a broker is left for a way back that does not
// touch that broker: its after_node and the thaw come with the end of that way.
func TestAWayBackRunsTheHooksThatAHeldPlanStillOwes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := simcluster.New(simcluster.Options{Seed: 1, Hooks: true}), simcluster.NewStore()
		r := open(t, c.Migration(), c, &book{Store: s}, func(d *orchestrate.Deps) { d.Executor = stopless{d.Executor} })
		defer r.end()
		_, last := r.attend(10*time.Minute, func(st status.Status) bool { return st.RunStatus == status.Blocked }, r.onward)
		if frozen, aside := c.Frozen(); !frozen || len(aside) != 1 || aside[0] != 1 {
			t.Fatalf("held with frozen %t and nodes aside %v, want true and 1: %q", frozen, aside, last.Headline)
		}
		p := turn{to: cluster.Initial}
		ok, last := r.turned(p, c.Migration().Name, "bob")
		for _, e := range c.Effects() {
			if e.Action.ID == "stop-1" {
				t.Error("the way back touched broker 1")
			}
		}
		judge(t, c, s, ok, last)
	})
}

// stopless cannot stop broker 1.
type stopless struct{ orchestrate.Executor }

func (e stopless) Do(ctx context.Context, t execute.Task) (execute.Result, error) {
	if t.Action.ID == "stop-1" {
		return execute.Result{}, errors.New("stop broker 1: sim exited 1: no such unit")
	}
	return e.Executor.Do(ctx, t)
}
