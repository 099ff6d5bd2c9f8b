package gates

import (
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/kraftlog"
)

func TestGuardsOfEveryRound(t *testing.T) {
	run(t, []row{
		{name: "another cluster's znodes are refused", from: atRest, gate: ClusterID, want: Fail, says: "bound to " + testCluster,
			edit: func(v *View) { change(&v.Snapshot.ClusterID, func(id *string) { *id = "other" }) }},
		{name: "before the first observation any cluster id will be bound", from: atRest, gate: ClusterID, want: Pass, says: "will be bound",
			edit: func(v *View) { v.Settings.ClusterID = "" }},
		{name: "an unreadable cluster id is no match", from: atRest, gate: ClusterID, want: Unknown, says: "connection refused",
			edit: func(v *View) { v.Snapshot.ClusterID = unknown[string]() }},

		{name: "a second service is named", from: atRest, gate: OneDriver, want: Fail, says: "host-7", doing: "Stop the other one",
			edit: func(v *View) { v.Snapshot.Driver = known(facts.Driver{Owner: "host-7"}, moment) }},

		{name: "a broker outside migrations.yaml is named", from: loaded, gate: Inventory, want: Fail, says: "9",
			edit: func(v *View) {
				change(&v.Snapshot.Registered, func(r *[]facts.Registration) { *r = append(*r, facts.Registration{ID: 9}) })
			}},
		{name: "a stranger in the metadata log is named too", from: loaded, gate: Inventory, want: Fail, says: "metadata log but not in migrations.yaml: 3009",
			edit: func(v *View) {
				change(&v.Snapshot.Log, func(l *facts.Log) { l.Image.Controllers[3009] = kraftlog.Controller{ID: 3009} })
				observers(v, func(o []facts.Replica) []facts.Replica { return append(o, facts.Replica{ID: 3009, LastFetch: moment}) })
			}},
		{name: "while nobody leads a strange controller may be there or not", from: loaded, gate: Inventory, want: Unknown, says: "active controller",
			edit: func(v *View) {
				change(&v.Snapshot.Log, func(l *facts.Log) { l.Image.Controllers[3009] = kraftlog.Controller{ID: 3009} })
				v.Snapshot.Quorum[3002] = unknown[facts.Quorum]()
			}},
		{name: "a strange controller that was stopped again leaves its registration for good", from: loaded, gate: Inventory, want: Pass, says: "3009",
			edit: func(v *View) {
				change(&v.Snapshot.Log, func(l *facts.Log) { l.Image.Controllers[3009] = kraftlog.Controller{ID: 3009} })
				setAt(v.Snapshot.Quorum, 3002, func(q *facts.Quorum) {
					q.Observers = append(q.Observers, facts.Replica{ID: 3009, LastFetch: moment.Add(-time.Minute)})
				})
			}},
		{name: "before load every broker of migrations.yaml must be registered", from: atRest, gate: Inventory, want: Fail, says: "not in /brokers/ids: 3",
			edit: func(v *View) {
				change(&v.Snapshot.Registered, func(r *[]facts.Registration) { *r = (*r)[:2] })
			}},
		{name: "a way back begins with the broker that died", from: atRest, gate: Inventory, want: Pass,
			edit: func(v *View) {
				change(&v.Snapshot.Registered, func(r *[]facts.Registration) { *r = (*r)[:2] })
				v.Plan, v.Revert = cluster.Initial, true
			}},
		{name: "during a roll a broker may be out of /brokers/ids", from: rolling, gate: Inventory, want: Pass,
			edit: func(v *View) {
				change(&v.Snapshot.Registered, func(r *[]facts.Registration) { *r = (*r)[:2] })
			}},
		{name: "the way back from a copy that halted the controllers waits for no quorum", from: loaded, gate: Inventory, want: Pass,
			edit: func(v *View) { v.Plan, v.Snapshot.Log = cluster.Initial, unknown[facts.Log]() }},
		{name: "once the quorum is in use its registrations must be known", from: loaded, gate: Inventory, want: Unknown, says: "metadata log",
			edit: func(v *View) { v.Snapshot.Log = unknown[facts.Log]() }},

		{name: "a file that somebody else wrote is named with both hashes", from: provisioned, gate: FilesOurs, want: Fail, says: "controller 3002's file is puppet, wanted is controller-f", doing: "configuration management",
			edit: func(v *View) { setAt(v.Snapshot.Files, 3002, func(f *facts.File) { f.SHA256 = "puppet" }) }},
		{name: "a file that vanished is not ours either", from: provisioned, gate: FilesOurs, want: Fail, says: "no file",
			edit: func(v *View) { v.Snapshot.Files[3002] = known(facts.File{}, moment) }},
		{name: "the open batch's file is being written", from: rolling, gate: FilesOurs, want: Pass,
			edit: func(v *View) { setAt(v.Snapshot.Files, 1, func(f *facts.File) { f.SHA256 = "half" }) }},
		{name: "a batch that is only next is still watched", from: rolling, gate: FilesOurs, want: Fail, says: "broker 1's file",
			edit: func(v *View) {
				v.Step.Opened = false
				setAt(v.Snapshot.Files, 1, func(f *facts.File) { f.SHA256 = "half" })
			}},
		{name: "a file that cannot be read is unknown", from: provisioned, gate: FilesOurs, want: Unknown, says: "controller 3001's file: connection refused",
			edit: func(v *View) { v.Snapshot.Files[3001] = unknown[facts.File]() }},
	})
}

// In a trial one controller restarted without the flag won the next election:
// the migration was over, the broker still on ZooKeeper was cut off, and a
// producer stalled for 42 s. Before that only this gate could have told.
func TestNoControllerMayEndTheMigrationByAccident(t *testing.T) {
	const wait = "Do not restart or fail over any controller"
	run(t, []row{
		{name: "a controller that runs without the flag", from: loaded, gate: FlagGuard, want: Fail, says: "controller 3003 runs without the migration flag", doing: wait,
			edit: func(v *View) { setAt(v.Snapshot.API, 3003, func(a *facts.API) { a.ZkMigrationReady = false }) }},
		{name: "a controller whose next start would be without it", from: loaded, gate: FlagGuard, want: Fail, says: "controller 3003's file has no migration flag", doing: wait,
			edit: func(v *View) { setAt(v.Snapshot.Files, 3003, func(f *facts.File) { f.Mode = cluster.KRaft }) }},
		{name: "a controller that is down is judged by its file, and that is said", from: loaded, gate: FlagGuard, want: Pass, says: "controller 3003 does not answer, judged by its file only",
			edit: func(v *View) { v.Snapshot.API[3003] = unknown[facts.API]() }},
		{name: "neither answer nor file", from: loaded, gate: FlagGuard, want: Unknown, says: "3003",
			edit: func(v *View) {
				v.Snapshot.API[3003], v.Snapshot.Files[3003] = unknown[facts.API](), unknown[facts.File]()
			}},
		{name: "an ApiVersions answer without keys is no answer", from: loaded, gate: FlagGuard, want: Pass, says: "judged by its file only",
			edit: func(v *View) { v.Snapshot.API[3003] = known(facts.API{}, moment) }},
		{name: "unread state does not lift the guard", from: loaded, gate: FlagGuard, want: Fail,
			edit: func(v *View) {
				v.Snapshot.Log = unknown[facts.Log]()
				setAt(v.Snapshot.API, 3003, func(a *facts.API) { a.ZkMigrationReady = false })
			}},
		{name: "in the finalize plan the flag goes on purpose", from: finalized, gate: FlagGuard, want: Pass, says: "finalize"},
		{name: "after the end it means nothing", from: finalized, gate: FlagGuard, want: Pass, says: "POST_MIGRATION",
			edit: func(v *View) { v.Plan = "" }},
		{name: "before provisioning there is nothing to guard", from: atRest, gate: FlagGuard, want: Pass, says: "no quorum yet"},
		{name: "before provisioning a controller that cannot be asked is unknown", from: atRest, gate: FlagGuard, want: Unknown,
			edit: func(v *View) {
				v.Snapshot.Running[3001], v.Snapshot.Files[3001] = unknown[bool](), unknown[facts.File]()
				for _, id := range []int32{3002, 3003} {
					v.Snapshot.Files[id] = known(facts.File{Exists: true, Mode: cluster.KRaftMigrating}, moment)
				}
			}},
		{name: "a controller that a revert holds down is left out", from: loaded, gate: FlagGuard, want: Pass, says: "held down by the plan",
			edit: func(v *View) {
				v.Stopped = []int32{3003}
				v.Snapshot.API[3003], v.Snapshot.Files[3003] = unknown[facts.API](), unknown[facts.File]()
			}},
	})
}
