package gates

import (
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/plan"
)

func TestWhetherItWasRehearsed(t *testing.T) {
	turns := func(keys ...string) plan.Shape {
		return plan.Shape{KafkaVersion: "3.9.2", Batch: "node", Turns: []plan.Turn{{Plan: cluster.Hybrid, Role: cluster.Broker, Mode: cluster.KRaft, Keys: keys}}}
	}
	rehearsed := func(ago time.Duration, keys ...string) Rehearsal {
		return Rehearsal{Pack: "0123456789abcdef", Name: "staging", ClusterID: "s", Ended: moment.Add(-ago), Shape: turns(keys...)}
	}
	asked := func(list ...Rehearsal) func(*View) {
		return func(v *View) {
			v.Settings.NoRehearsal, v.Settings.RehearsedWithin, v.Rehearsals = false, 720*time.Hour, list
			v.Shape, v.ShapeKnown = turns("set a"), true
		}
	}
	run(t, []row{
		{name: "none is asked for", from: loaded, gate: Rehearsed, want: Pass, says: "asks for no rehearsal", edit: func(*View) {}},
		{name: "none is registered", from: loaded, gate: Rehearsed, want: Fail, says: "within 720h", doing: "migrator rehearsal add", edit: asked()},
		{name: "one of the same shape", from: loaded, gate: Rehearsed, want: Pass, says: "rehearsed on staging", edit: asked(rehearsed(time.Hour, "set a"))},
		{name: "one that is too old", from: loaded, gate: Rehearsed, want: Fail, says: "migrations.yaml allows", edit: asked(rehearsed(721*time.Hour, "set a"))},
		{name: "one of other keys", from: loaded, gate: Rehearsed, want: Fail, says: "only in the rehearsal: set b", edit: asked(rehearsed(time.Hour, "set a", "set b"))},
		{name: "an earlier one that counts beside a later one that does not", from: loaded, gate: Rehearsed, want: Pass, edit: asked(rehearsed(2*time.Hour, "set a"), rehearsed(time.Hour, "set b"))},
		{name: "the plan is not made yet", from: loaded, gate: Rehearsed, want: Unknown, edit: both(asked(rehearsed(time.Hour, "set a")), func(v *View) { v.ShapeKnown = false })},
		{name: "too old by now, with half of the brokers in KRaft mode", from: loaded, gate: Rehearsed, want: Pass, says: "begun already",
			edit: both(asked(rehearsed(721*time.Hour, "set a")), func(v *View) { v.Phase = cluster.Hybrid })},
	})
}
