package gates

import (
	"testing"

	"migrator/internal/facts"
	"migrator/internal/kraftlog"
)

func TestOnTheWayBack(t *testing.T) {
	run(t, []row{
		{name: "dual write behind the last change", from: loaded, gate: Drained, want: Fail, says: "/migration is at offset 498, the last change is at 499", doing: "lost",
			edit: func(v *View) { change(&v.Snapshot.Log, func(l *facts.Log) { l.Image.LastChange = 499 }) }},
		{name: "no-ops after the last change do not matter", from: loaded, gate: Drained, want: Pass, says: "past the last change at 490"},
		{name: "the last change is not known", from: loaded, gate: Drained, want: Unknown,
			edit: func(v *View) { change(&v.Snapshot.Log, func(l *facts.Log) { l.Image.HasChange = false }) }},

		{name: "a controller that runs", from: controllersGone, gate: ControllersDown, want: Fail, says: "controller 3002 runs",
			edit: func(v *View) { v.Snapshot.Running[3002] = known(true, moment) }},
		{name: "a controller whose command says no and that still answers", from: controllersGone, gate: ControllersDown, want: Fail, says: "still answers",
			edit: func(v *View) { v.Snapshot.API[3002] = known(facts.API{DescribeQuorum: true}, moment) }},
		{name: "a controller nobody asked", from: controllersGone, gate: ControllersDown, want: Unknown,
			edit: func(v *View) { delete(v.Snapshot.API, 3003) }},
		{name: "a controller whose command gives no answer", from: controllersGone, gate: ControllersDown, want: Unknown,
			edit: func(v *View) { v.Snapshot.Running[3003] = unknown[bool]() }},

		{name: "a topic that only the log had", from: controllersGone, gate: StoresAgree, want: Fail, says: "topic payments is only in the metadata log", doing: "Start the controllers again",
			edit: func(v *View) {
				v.Kept = map[string]kraftlog.Topic{"orders": v.Kept["orders"], "payments": {ID: "another"}}
			}},
		{name: "nothing kept to compare with", from: controllersGone, gate: StoresAgree, want: Unknown,
			edit: func(v *View) { v.Kept = nil }},

		{name: "a broker that still names anybody", from: handedBack, gate: Follows, want: Fail, says: "broker 3 does not yet name broker 2", doing: "shutdown hangs",
			edit: func(v *View) { v.Snapshot.Named[3] = known([]int32{2, 2, 1, 2, 2, 2, 2, 2, 2, 2}, moment) }},
		{name: "a broker that does not answer", from: handedBack, gate: Follows, want: Unknown,
			edit: func(v *View) { v.Snapshot.Named[3] = unknown[[]int32]() }},
		{name: "nobody holds /controller yet", from: handedBack, gate: Follows, want: Fail, says: "no broker holds",
			edit: func(v *View) { v.Snapshot.Holder = known(facts.Holder{}, moment) }},
	})
}
