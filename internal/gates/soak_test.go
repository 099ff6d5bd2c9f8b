package gates

import (
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/kraftlog"
)

func TestDuringTheSoak(t *testing.T) {
	serving := func(states ...*bool) func(*View) {
		return func(v *View) {
			var members []facts.ZKMember
			for _, s := range states {
				members = append(members, facts.ZKMember{Address: "zk", Serving: s})
			}
			v.Snapshot.Ensemble = known(members, moment)
		}
	}
	yes, no := ptr(true), ptr(false)
	stopped := func(v *View) {
		v.Snapshot.Running[3] = known(false, moment)
		v.Snapshot.API[3] = unknown[facts.API]()
		broker(v, 3, func(b *kraftlog.Broker) { b.Fenced = true })
	}
	run(t, []row{
		{name: "a ZooKeeper majority keeps dual write going", from: dualWriting, gate: Ensemble, want: Pass, edit: serving(yes, yes, no)},
		{name: "and stops the clock of the soak", from: dualWriting, gate: EnsembleWhole, want: Fail, says: "zk does not serve", doing: "clock waits", edit: serving(yes, yes, no)},
		{name: "a server that does not let itself be asked stops nothing", from: dualWriting, gate: EnsembleWhole, want: Pass, says: "not counted", edit: serving(yes, yes, nil)},
		{name: "a broker left in migration mode", from: dualWriting, gate: AllKRaft, want: Fail, says: "broker 2 runs in mode zk-migrating",
			edit: func(v *View) {
				v.Snapshot.API[2] = known(facts.API{UpdateMetadata: true, ZkMigrationReady: true}, moment)
			}},
		{name: "a broker registered as ZooKeeper broker", from: dualWriting, gate: AllKRaft, want: Fail, says: "broker 2 is registered as ZooKeeper broker", doing: "KAFKA-20960",
			edit: func(v *View) { broker(v, 2, func(b *kraftlog.Broker) { b.MigratingZK = true }) }},
		{name: "a dead KRaft broker may be left behind", from: dualWriting, gate: AllKRaft, want: Pass, says: "accepted",
			edit: both(stopped, accept(AllKRaft, "broker 3"))},
		{name: "a dead broker still registered as ZooKeeper broker may not", from: dualWriting, gate: AllKRaft, want: Fail,
			edit: both(stopped, accept(AllKRaft, "broker 3"), func(v *View) { broker(v, 3, func(b *kraftlog.Broker) { b.MigratingZK = true }) })},
		{name: "a broker that never registered", from: dualWriting, gate: AllKRaft, want: Fail, says: "broker 2 is not registered",
			edit: func(v *View) { change(&v.Snapshot.Log, func(l *facts.Log) { delete(l.Image.Brokers, 2) }) }},
		{name: "a fenced broker", from: dualWriting, gate: AllKRaft, want: Fail, says: "fenced",
			edit: func(v *View) { broker(v, 2, func(b *kraftlog.Broker) { b.Fenced = true }) }},
		{name: "a dead broker still in /brokers/ids may not be left behind", from: dualWriting, gate: AllKRaft, want: Fail,
			edit: both(stopped, accept(AllKRaft, "broker 3"), func(v *View) {
				v.Snapshot.Registered = known([]facts.Registration{{ID: 3}}, moment)
			})},
		{name: "a broker in /brokers/ids", from: dualWriting, gate: IDsEmpty, want: Fail, says: "still in /brokers/ids: 2",
			edit: func(v *View) { v.Snapshot.Registered = known([]facts.Registration{{ID: 2}}, moment) }},

		{name: "a controller that lost the flag", from: dualWriting, gate: FlagOn, want: Fail, says: "controller 3001 runs in mode kraft", doing: "cause no failover",
			edit: func(v *View) { setAt(v.Snapshot.API, 3001, func(a *facts.API) { a.ZkMigrationReady = false }) }},
		{name: "a file that lost it", from: dualWriting, gate: FlagOn, want: Fail, says: "controller 3001's file says mode kraft",
			edit: func(v *View) { setAt(v.Snapshot.Files, 3001, func(f *facts.File) { f.Mode = cluster.KRaft }) }},
		{name: "a file that is gone", from: dualWriting, gate: FlagOn, want: Fail, says: "controller 3001 has no file",
			edit: func(v *View) { v.Snapshot.Files[3001] = known(facts.File{}, moment) }},
		{name: "a file that says no mode", from: dualWriting, gate: FlagOn, want: Fail, says: "does not say a mode",
			edit: func(v *View) { setAt(v.Snapshot.Files, 3001, func(f *facts.File) { f.Mode = "" }) }},
		{name: "here a file alone is not enough", from: dualWriting, gate: FlagOn, want: Unknown,
			edit: func(v *View) { v.Snapshot.API[3001] = unknown[facts.API]() }},
		{name: "after the end one still has the flag", from: finalized, gate: FlagOff, want: Fail, says: "kraft-migrating",
			edit: func(v *View) { setAt(v.Snapshot.API, 3001, func(a *facts.API) { a.ZkMigrationReady = true }) }},

		{name: "two of three servers are a majority", from: dualWriting, gate: Ensemble, want: Pass, says: "2 of 3 servers serve", edit: serving(yes, yes, no)},
		{name: "one of three is none", from: dualWriting, gate: Ensemble, want: Fail, says: "1 of 3", edit: serving(yes, no, no)},
		{name: "a server that gives no readable answer is not counted", from: dualWriting, gate: Ensemble, want: Unknown, says: "1 of 3 servers are known", edit: serving(yes, no, nil)},
		{name: "a majority beside an unreadable one", from: dualWriting, gate: Ensemble, want: Pass, edit: serving(yes, yes, nil)},
		{name: "a majority that takes no writes", from: dualWriting, gate: Ensemble, want: Fail, says: "takes no writes",
			edit: func(v *View) { v.Snapshot.Writable = known(false, moment) }},
		{name: "no server configured", from: dualWriting, gate: Ensemble, want: Unknown, edit: serving()},

		{name: "an acknowledged record lost", from: dualWriting, gate: CanaryHealthy, want: Fail, says: "1 record was acknowledged and then lost",
			edit: func(v *View) { change(&v.Snapshot.CanaryStats, func(c *facts.Canary) { c.Lost = 1 }) }},
		{name: "nothing acknowledged for longer than allowed", from: dualWriting, gate: CanaryHealthy, want: Fail, says: "16s old, the limit is 15s",
			edit: func(v *View) {
				change(&v.Snapshot.CanaryStats, func(c *facts.Canary) { c.LastAck = moment.Add(-16 * time.Second) })
			}},
		{name: "nothing acknowledged ever", from: dualWriting, gate: CanaryHealthy, want: Unknown,
			edit: func(v *View) { change(&v.Snapshot.CanaryStats, func(c *facts.Canary) { c.LastAck = time.Time{} }) }},
		{name: "a canary that cannot be asked", from: dualWriting, gate: CanaryHealthy, want: Unknown,
			edit: func(v *View) { v.Snapshot.CanaryStats = unknown[facts.Canary]() }},
		{name: "a canary switched off by the operator", from: dualWriting, gate: CanaryHealthy, want: Pass, says: "not measured",
			edit: func(v *View) { v.Settings.CanaryOff = true; v.Snapshot.CanaryStats = unknown[facts.Canary]() }},

		{name: "another leader", from: dualWriting, gate: SameLeader, want: Fail, says: "controller 3002 leads at epoch 7; it was 3001",
			edit: func(v *View) { v.Soak.Leader = 3001 }},
		{name: "the same leader elected again", from: dualWriting, gate: SameLeader, want: Fail, says: "at epoch 6",
			edit: func(v *View) { v.Soak.LeaderEpoch = 6 }},
		{name: "nobody noted the leader", from: dualWriting, gate: SameLeader, want: Unknown,
			edit: func(v *View) { v.Soak.HasLeader = false }},
		{name: "a broker that restarted by itself", from: dualWriting, gate: BrokersSteady, want: Fail, says: "broker 2 has registered again",
			edit: func(v *View) { broker(v, 2, func(b *kraftlog.Broker) { b.Incarnation = "x" }) }},
		{name: "a broker that is gone", from: dualWriting, gate: BrokersSteady, want: Fail, says: "broker 2 is no longer registered",
			edit: func(v *View) { change(&v.Snapshot.Log, func(l *facts.Log) { delete(l.Image.Brokers, 2) }) }},
		{name: "nobody noted the brokers", from: dualWriting, gate: BrokersSteady, want: Unknown,
			edit: func(v *View) { v.Soak.Incarnations = nil }},
	})
}

func TestBeforeThePointOfNoReturn(t *testing.T) {
	run(t, []row{
		{name: "a soak one second short", from: dualWriting, gate: SoakWhole, want: Fail, says: "59m59s of 1h0m0s",
			edit: func(v *View) { v.Soak.Elapsed -= time.Second }},
		{name: "no required time is no whole soak", from: dualWriting, gate: SoakWhole, want: Unknown,
			edit: func(v *View) { v.Soak = Soak{} }},
		{name: "load may ask for none", from: loaded, gate: SoakWhole, want: Pass, says: "no soak in load"},
		{name: "a drill that has not passed", from: dualWriting, gate: DrillPassed, want: Fail, says: "drill crash",
			edit: func(v *View) { v.DrillsPassed = []string{"clean"} }},
		{name: "no drill wanted is no drill passed", from: dualWriting, gate: DrillPassed, want: Unknown,
			edit: func(v *View) { v.DrillsWanted = nil }},

		{name: "a replacement broker formatted during the migration", from: dualWriting, gate: WayBack, want: Fail, says: "broker 2: folder /data has meta.properties version 1", doing: "KAFKA-20762",
			edit: func(v *View) {
				setAt(v.Snapshot.Meta, 2, func(m *[]facts.MetaProperties) {
					*m = []facts.MetaProperties{{Dir: "/data", Exists: true, Version: 1}}
				})
			}},
		{name: "a folder nobody could look into", from: dualWriting, gate: WayBack, want: Unknown, says: "broker 2",
			edit: func(v *View) { v.Snapshot.Meta[2] = unknown[[]facts.MetaProperties]() }},
		{name: "no epoch for a ZooKeeper controller to build on", from: dualWriting, gate: WayBack, want: Fail, says: "/controller_epoch is absent",
			edit: func(v *View) { v.Snapshot.ZKEpoch = known(facts.ZKEpoch{}, moment) }},

		{name: "the end is not written yet", from: finalized, gate: PostMigration, want: Fail, says: "state is MIGRATION",
			edit: func(v *View) { change(&v.Snapshot.Log, func(l *facts.Log) { l.Image.State = cluster.StateMigration }) }},
		{name: "a controller has logged less", from: finalized, gate: PostMigration, want: Fail, says: "controller 3001 logged state MIGRATION",
			edit: func(v *View) { v.Snapshot.Lines[3001] = known(facts.Lines{State: cluster.StateMigration}, moment) }},
		{name: "the end cannot be read", from: finalized, gate: PostMigration, want: Unknown,
			edit: func(v *View) { v.Snapshot.Log = unknown[facts.Log]() }},
	})
}
