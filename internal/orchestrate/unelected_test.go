package orchestrate_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/orchestrate"
	"migrator/internal/phases"
	"migrator/internal/simcluster"
	"migrator/internal/status"
)

// The holder of /controller crashed while a broker restarted, which was back
// before another one had taken over: nobody had elected leaders for it, and its
// step waited for ever for elections, without a word of what to do.
func TestABrokerThatWasBackBeforeAnybodyElectedIsRestartedOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := simcluster.New(simcluster.Options{Seed: 1}), simcluster.NewStore()
		var holder, batch int32
		r := begin(t, c, s, afterEntry, func(_ uint64, _ string, b phases.Body) bool {
			if b.Intent != nil && strings.HasPrefix(b.Intent.Action, "stop-") && batch == 0 {
				step, _ := fold(t, s).OpenStep()
				batch = step.Batch[0]
				time.AfterFunc(150*time.Millisecond, func() { c.Crash(holder, false) }) // before its leaders have moved
				time.AfterFunc(9*time.Second, func() { c.Repair(holder) })
			}
			return false
		})
		defer r.end()
		_, offered := r.forth(turn{offered: cluster.Load})
		for _, n := range offered.Nodes {
			if n.Leader && n.Role == cluster.Broker {
				holder = n.ID
			}
		}
		ok, last := r.attend(10*time.Minute, turn{blocked: true}.here, r.onward)
		if !ok || !strings.Contains(last.Headline, "have had no election") {
			t.Fatalf("%s %q, want blocked by elections that nobody held", last.RunStatus, last.Headline)
		}
		for _, g := range last.Gates {
			if g.Name == "elections" && !strings.Contains(g.ToDo, "restart the batch's brokers once more") {
				t.Errorf("gate elections says to do: %q", g.ToDo)
			}
		}
		c.Crash(batch, false)
		time.Sleep(12 * time.Second)
		c.Repair(batch)
		if err := r.m.Do(t.Context(), orchestrate.Command{Verb: orchestrate.Retry, Actor: "alice"}); err != nil {
			t.Fatal(err)
		}
		ok, last = r.follow(30 * time.Minute)
		judge(t, c, s, ok && last.RunStatus == status.Finished, last)
	})
}
