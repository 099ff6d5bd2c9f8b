// Package phases is the phase machine: one table, a fold of the journal
// (Apply), what the facts alone show (Locate), what to do next (Decide) and the
// soak clock (Account). All pure.
package phases

import (
	"slices"

	"migrator/internal/cluster"
	"migrator/internal/gates"
)

// Row is one phase of the table.
type Row struct {
	Phase    cluster.Phase
	Where    string   // where the cluster is
	Enter    []string // gates before the plan of that name is offered
	Work     string   // what that plan does
	Done     []string // gates for leaving the phase
	WayBack  string
	Approval string
	Rest     string // whether a person may rest here
}

var healthy = []string{gates.ClusterID, gates.OneDriver, gates.Inventory, gates.Ensemble, gates.NoOffline, gates.NoReassign}

// Table lists the phases in order.
func Table() []Row {
	return []Row{{
		Phase:    cluster.Initial,
		Where:    "all brokers in ZooKeeper mode, controllers up or not",
		Enter:    gatesOf(healthy, gates.BrokersZK, gates.HolderBroker, gates.Preflight, gates.PreflightUse, gates.NoMigration, gates.SameIBP, gates.FoldersFree, gates.ControllersOff, gates.NothingDeleting),
		Work:     "provision controllers: save znodes and files; write, format and start all controllers with the migration flag",
		Done:     gatesOf(nil, gates.ClusterID, gates.QuorumFormed, gates.ControllersReg, gates.MetadataVersion, gates.PreMigration, gates.MigrationFresh),
		WayBack:  "stop the controllers, delete /migration",
		Approval: "as configured", Rest: "yes, with the controllers up",
	}, {
		Phase:    cluster.Load,
		Where:    "some or all brokers in migration mode, none in KRaft mode; copy done or not",
		Enter:    gatesOf(healthy, gates.QuorumFormed, gates.ControllersReg, gates.MetadataVersion, gates.PreMigration, gates.MigrationFresh, gates.FlagOn, gates.NothingDeleting),
		Work:     "enter migration mode: roll every broker, the holder of /controller last; then Kafka copies the metadata",
		Done:     gatesOf(nil, gates.ClusterID, gates.QuorumFormed, gates.BrokersRegistered, gates.StateMigration, gates.HolderKRaft, gates.FlagOn, gates.DualWrite, gates.MetadataWrite, gates.Parity),
		WayBack:  "stop the controllers, delete /controller and /migration, roll the brokers once",
		Approval: "as configured", Rest: "yes, when complete",
	}, {
		Phase:    cluster.Hybrid,
		Where:    "some brokers in KRaft mode, some not",
		Enter:    gatesOf(healthy, gates.QuorumFormed, gates.StateMigration, gates.HolderKRaft, gates.FlagOn, gates.DualWrite, gates.MetadataWrite, gates.Parity, gates.Rehearsed),
		Work:     "migrate brokers: roll every broker to KRaft",
		Done:     gatesOf(nil, gates.AllKRaft, gates.IDsEmpty, gates.StateMigration, gates.DualWrite, gates.NoOffline),
		WayBack:  "roll the KRaft brokers back into migration mode, then as from load",
		Approval: "as configured", Rest: "no: only while the roll takes; pause works and warns",
	}, {
		Phase:    cluster.DualWrite,
		Where:    "all brokers in KRaft mode, state MIGRATION",
		Enter:    gatesOf(healthy, gates.AllKRaft, gates.IDsEmpty, gates.QuorumFormed, gates.StateMigration, gates.HolderKRaft, gates.FlagOn, gates.DualWrite, gates.MetadataWrite),
		Work:     "soak and drill: a required healthy time with deliberate controller failovers inside",
		Done:     gatesOf(nil, gates.AllKRaft, gates.IDsEmpty, gates.StateMigration, gates.FlagOn, gates.SoakWhole, gates.DrillPassed, gates.WayBack, gates.LostUnregistered),
		WayBack:  "two rolls: back into migration mode, then as from load",
		Approval: "as configured", Rest: "yes",
	}, {
		Phase:    cluster.Finalize,
		Where:    "POST_MIGRATION",
		Enter:    gatesOf(healthy, gates.AllKRaft, gates.IDsEmpty, gates.QuorumFormed, gates.StateMigration, gates.HolderKRaft, gates.FlagOn, gates.DualWrite, gates.Parity, gates.CanaryHealthy, gates.SoakWhole, gates.DrillPassed, gates.WayBack, gates.LostUnregistered),
		Work:     "finalize: roll the controllers without the flag, the active one last",
		Done:     gatesOf(nil, gates.ClusterID, gates.PostMigration, gates.FlagOff, gates.QuorumFormed, gates.AllKRaft, gates.MigrationStill),
		WayBack:  "none: POST_MIGRATION is the point of no return",
		Approval: "always, with the cluster's name typed", Rest: "the end",
	}}
}

// RowOf finds the row of a phase; ok is false for a name that is no phase.
func RowOf(p cluster.Phase) (Row, bool) {
	rows := Table()
	i := slices.IndexFunc(rows, func(r Row) bool { return r.Phase == p })
	if i < 0 {
		return Row{}, false
	}
	return rows[i], true
}

// Next is the phase after p; ok is false after the last.
func Next(p cluster.Phase) (cluster.Phase, bool) {
	all := cluster.Phases()
	i := slices.Index(all, p)
	if i < 0 || i+1 >= len(all) {
		return "", false
	}
	return all[i+1], true
}

func gatesOf(base []string, more ...string) []string {
	return append(slices.Clone(base), more...)
}
