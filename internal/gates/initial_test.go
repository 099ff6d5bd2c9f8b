package gates

import (
	"testing"

	"migrator/internal/facts"
)

func TestBeforeProvisioning(t *testing.T) {
	run(t, []row{
		{name: "a broker already in migration mode", from: atRest, gate: BrokersZK, want: Fail, says: "broker 2 runs in mode zk-migrating",
			edit: func(v *View) { setAt(v.Snapshot.API, 2, func(a *facts.API) { a.ZkMigrationReady = true }) }},
		{name: "a broker that answers but is not registered", from: atRest, gate: BrokersZK, want: Fail, says: "broker 1 is not in /brokers/ids",
			edit: func(v *View) {
				change(&v.Snapshot.Registered, func(r *[]facts.Registration) { *r = (*r)[1:] })
			}},
		{name: "a broker whose mode cannot be told", from: atRest, gate: BrokersZK, want: Unknown, says: "broker 2's mode",
			edit: func(v *View) { v.Snapshot.API[2] = unknown[facts.API]() }},

		{name: "a stale KRaft registration in /controller", from: atRest, gate: HolderBroker, want: Fail, says: "KRaft controller 3001 at epoch 9",
			edit: func(v *View) {
				v.Snapshot.Holder = known(facts.Holder{Present: true, ID: 3001, KRaftEpoch: ptr(int32(9))}, moment)
			}},
		{name: "nobody holds /controller", from: atRest, gate: HolderBroker, want: Fail, says: "absent",
			edit: func(v *View) { v.Snapshot.Holder = known(facts.Holder{}, moment) }},
		{name: "a persistent /controller has no session behind it", from: atRest, gate: HolderBroker, want: Fail, says: "persistent",
			edit: func(v *View) { change(&v.Snapshot.Holder, func(h *facts.Holder) { h.Ephemeral = false }) }},
		{name: "a holder outside the inventory", from: atRest, gate: HolderBroker, want: Fail, says: "no broker of migrations.yaml",
			edit: func(v *View) { change(&v.Snapshot.Holder, func(h *facts.Holder) { h.ID = 8 }) }},

		// A fresh quorum beside a left over offset deleted all topics after three minutes.
		{name: "an offset left over would delete every topic", from: atRest, gate: NoMigration, want: Fail, says: "at offset 244", doing: "every topic is deleted",
			edit: func(v *View) {
				v.Snapshot.Migration = known(facts.MigrationZnode{Present: true, Offset: ptr(int64(244)), ControllerID: ptr(int32(3001))}, moment)
			}},
		{name: "an empty znode would hang the controllers", from: atRest, gate: NoMigration, want: Fail, says: "without data", doing: "KAFKA-19480",
			edit: func(v *View) { v.Snapshot.Migration = known(facts.MigrationZnode{Present: true, Null: true}, moment) }},
		{name: "a leftover without an offset is harmless", from: atRest, gate: NoMigration, want: Pass, says: "harmless",
			edit: func(v *View) { v.Snapshot.Migration = known(facts.MigrationZnode{Present: true}, moment) }},

		{name: "one broker behind in protocol version", from: atRest, gate: SameIBP, want: Fail, says: "brokers 3 are at level 20",
			edit: func(v *View) { ibp(v, 3, "3.8") }},
		{name: "all brokers too old for a migration", from: atRest, gate: SameIBP, want: Fail, says: "older than 3.6-IV1",
			edit: func(v *View) { ibp(v, 1, "3.5"); ibp(v, 2, "3.5"); ibp(v, 3, "3.5"); v.Settings.MetadataVersion = nil }},
		{name: "the lowest version that can migrate", from: atRest, gate: SameIBP, want: Pass, says: "level 13",
			edit: func(v *View) {
				for id := int32(1); id <= 3; id++ {
					ibp(v, id, "3.6-IV1")
				}
				v.Settings.MetadataVersion = nil
			}},
		{name: "two spellings of one version agree", from: atRest, gate: SameIBP, want: Pass,
			edit: func(v *View) { ibp(v, 2, "3.9-IV0") }},
		{name: "brokers agree with each other but not with what was agreed", from: atRest, gate: SameIBP, want: Fail, says: "agreed is level 20",
			edit: func(v *View) { v.Settings.MetadataVersion = ptr(int16(20)) }},
		{name: "a version nobody knows is unknown", from: atRest, gate: SameIBP, want: Unknown, says: "broker 2",
			edit: func(v *View) { ibp(v, 2, "soon") }},
		{name: "a file that cannot be read", from: atRest, gate: SameIBP, want: Unknown, says: "broker 2's file",
			edit: func(v *View) { v.Snapshot.Files[2] = unknown[facts.File]() }},

		{name: "another cluster's folder is named with both ids", from: provisioned, gate: FoldersFree, want: Fail, says: "folder /meta belongs to cluster other, node 3002; wanted are cluster " + testCluster, doing: "never formatted again",
			edit: func(v *View) {
				setAt(v.Snapshot.Meta, 3002, func(m *[]facts.MetaProperties) {
					*m = []facts.MetaProperties{{Dir: "/meta", Exists: true, ClusterID: "other", NodeID: "3002"}}
				})
			}},
		{name: "another node's folder", from: provisioned, gate: FoldersFree, want: Fail, says: "node 3001; wanted",
			edit: func(v *View) {
				setAt(v.Snapshot.Meta, 3002, func(m *[]facts.MetaProperties) {
					*m = []facts.MetaProperties{{Dir: "/meta", Exists: true, ClusterID: testCluster, NodeID: "3001"}}
				})
			}},
		{name: "a folder already formatted for this node", from: provisioned, gate: FoldersFree, want: Pass},
		{name: "no folder known at all", from: atRest, gate: FoldersFree, want: Unknown, says: "no folder is known",
			edit: func(v *View) { v.Snapshot.Meta[3001] = known([]facts.MetaProperties{}, moment) }},

		{name: "a controller somebody else started", from: atRest, gate: ControllersOff, want: Fail, says: "controller 3001 runs and was not provisioned by us",
			edit: func(v *View) { v.Snapshot.Running[3001] = known(true, moment) }},
		{name: "controllers of an earlier try of ours", from: provisioned, gate: ControllersOff, want: Pass, says: "0 of 3"},
		{name: "one that a revert stopped for good, folder back in place", from: provisioned, gate: ControllersOff, want: Fail, says: "controller 3001 runs although a revert stopped it",
			edit: func(v *View) { v.Stopped = []int32{3001, 3002, 3003} }},
		{name: "one of ours with another file", from: provisioned, gate: ControllersOff, want: Fail, says: "controller 3002's file",
			edit: func(v *View) { setAt(v.Snapshot.Files, 3002, func(f *facts.File) { f.SHA256 = "x" }) }},
		{name: "one of ours whose folder is gone", from: provisioned, gate: ControllersOff, want: Fail, says: "not formatted",
			edit: func(v *View) {
				setAt(v.Snapshot.Meta, 3002, func(m *[]facts.MetaProperties) { *m = []facts.MetaProperties{{Dir: "/meta"}} })
			}},
		{name: "whether a controller runs cannot be told", from: atRest, gate: ControllersOff, want: Unknown,
			edit: func(v *View) { v.Snapshot.Running[3001] = unknown[bool]() }},

		{name: "a topic pending deletion", from: atRest, gate: NothingDeleting, want: Fail, says: "old-topic",
			edit: func(v *View) { v.Snapshot.Deleting = known([]string{"old-topic"}, moment) }},
	})
}

func ibp(v *View, id int32, version string) {
	setAt(v.Snapshot.Files, id, func(f *facts.File) {
		f.Content = []byte("broker.id=1\ninter.broker.protocol.version=" + version + "\nzookeeper.connect=zk:2181\n")
	})
}
