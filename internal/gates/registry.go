package gates

// Info describes a gate, for people. Codes are stable: they are never given
// to another gate.
type Info struct {
	Name  string
	Code  string
	Kind  Kind
	Title string // a sentence that is true when the gate passes
	// DependsOn names gates whose failure explains this one's: it then reads unknown and names them.
	DependsOn []string
}

type gate struct {
	Info
	judge func(*look)
}

// All describes every gate, by code.
func All() []Info {
	out := make([]Info, 0, len(table))
	for _, g := range table {
		out = append(out, g.Info)
	}
	return out
}

// Describe finds a gate; ok is false for a name that is none.
func Describe(name string) (Info, bool) {
	g, ok := find(name)
	return g.Info, ok
}

func find(name string) (gate, bool) {
	g, ok := byName[name]
	return g, ok
}

func safety(name, code, title string, judge func(*look), dependsOn ...string) gate {
	return gate{Info{Name: name, Code: code, Kind: Safety, Title: title, DependsOn: dependsOn}, judge}
}

func availability(name, code, title string, judge func(*look), dependsOn ...string) gate {
	return gate{Info{Name: name, Code: code, Kind: Availability, Title: title, DependsOn: dependsOn}, judge}
}

// byName finds a row of the table: every gate is looked up in every round.
var byName = func() map[string]gate {
	out := make(map[string]gate, len(table))
	for _, g := range table {
		out[g.Name] = g
	}
	return out
}()

var table = []gate{
	safety(ClusterID, "MIG101", "The znodes are those of the cluster this migration is bound to.", judgeClusterID),
	safety(OneDriver, "MIG102", "This service alone drives the cluster.", judgeOneDriver),
	safety(Inventory, "MIG103", "The registered nodes are those of migrations.yaml.", judgeInventory),
	safety(FilesOurs, "MIG104", "Every node's file has the content we know.", judgeFilesOurs),
	safety(FlagGuard, "MIG105", "No controller can end the migration by accident.", judgeFlagGuard),

	safety(BrokersZK, "MIG111", "Every broker runs in plain ZooKeeper mode and is registered.", judgeBrokersZK),
	safety(HolderBroker, "MIG112", "A broker holds /controller.", judgeHolderBroker),
	safety(NoMigration, "MIG113", "No /migration is left over from an earlier migration.", judgeNoMigration),
	safety(SameIBP, "MIG114", "All brokers have one inter.broker.protocol.version, and it can migrate.", judgeSameIBP),
	safety(FoldersFree, "MIG115", "The controllers' folders are free or formatted for them.", judgeFoldersFree),
	safety(ControllersOff, "MIG116", "No controller runs that is not ours.", judgeControllersOff),
	safety(Preflight, "MIG118", "Preflight found nothing that makes the migration stall, fail or lose data.", judgePreflight),
	availability(PreflightUse, "MIG119", "Preflight found nothing that costs availability.", judgePreflightUse),
	safety(NothingDeleting, "MIG117", "No topic is pending deletion.", judgeNothingDeleting),

	safety(QuorumFormed, "MIG121", "One controller leads and every controller is a voter that caught up.", judgeQuorumFormed),
	safety(ControllersReg, "MIG122", "Every controller registered as ready to migrate.", judgeControllersReg),
	safety(MetadataVersion, "MIG123", "The finalized metadata.version is the brokers' own.", judgeMetadataVersion),
	safety(PreMigration, "MIG124", "The migration state is PRE_MIGRATION.", judgePreMigration),
	safety(MigrationFresh, "MIG125", "/migration exists and no copy was done.", judgeMigrationFresh),

	availability(BrokersRegistered, "MIG131", "Every broker is in migration mode and in both registries.", judgeBrokersRegistered),
	availability(OthersReady, "MIG132", "Every broker outside the batch is in migration mode and in both registries.", judgeOthersReady),
	safety(StateMigration, "MIG133", "The copy is done and the migration state is MIGRATION.", judgeStateMigration),
	safety(HolderKRaft, "MIG134", "The active controller holds /controller.", judgeHolderKRaft, StateMigration),
	safety(DualWrite, "MIG135", "Metadata is written to ZooKeeper as well, and keeps up.", judgeDualWrite, StateMigration),
	safety(MetadataWrite, "MIG136", "The canary's metadata writes reach every store in use.", judgeMetadataWrite),
	safety(Parity, "MIG137", "ZooKeeper and the metadata log say the same of every topic.", judgeParity, StateMigration),

	availability(NoOtherDown, "MIG141", "No node outside the batch is down.", judgeNoOtherDown),
	availability(QuorumHeadroom, "MIG142", "The quorum can lose one more controller.", judgeQuorumHeadroom),
	availability(ISRWithout, "MIG143", "Partitions stay available without the batch.", judgeISRWithout),
	availability(ISRFull, "MIG144", "The ISR is full for the partitions the batch hosts.", judgeISRFull),
	availability(NoReassign, "MIG145", "No reassignment runs.", judgeNoReassign),
	safety(BatchFile, "MIG146", "The batch's files are those the plan was made from.", judgeBatchFile),

	safety(Running, "MIG151", "The batch's processes run.", judgeRunning),
	safety(Restarted, "MIG152", "The batch's processes are new ones and have registered.", judgeRestarted, Running),
	safety(ModeReached, "MIG153", "The batch runs in the wanted mode.", judgeModeReached, Running),
	safety(CaughtUp, "MIG154", "The batch has caught up with the metadata log.", judgeCaughtUp, Running, Restarted),
	availability(ISRAsBefore, "MIG155", "The ISR of the batch's partitions is as before.", judgeISRAsBefore, Running, Restarted),
	safety(Elections, "MIG156", "Partitions that the batch led have had an election.", judgeElections, Running, Restarted),
	safety(NoFatal, "MIG157", "The batch logged no fatal line.", judgeNoFatal),
	safety(SettingsPlanned, "MIG158", "The brokers of the batch run with what their files say.", judgeSettingsPlanned, ModeReached),

	availability(AllKRaft, "MIG161", "Every broker runs in KRaft mode.", judgeAllKRaft),
	safety(IDsEmpty, "MIG162", "No broker is registered in ZooKeeper.", judgeIDsEmpty),
	safety(FlagOn, "MIG163", "Every controller has the migration flag.", judgeFlagOn),
	safety(Ensemble, "MIG164", "A majority of ZooKeeper serves and takes writes.", judgeEnsemble),
	availability(EnsembleWhole, "MIG187", "Every configured ZooKeeper server serves.", judgeEnsembleWhole, Ensemble),
	availability(NoOffline, "MIG165", "Every partition has a leader.", judgeNoOffline),
	safety(CanaryHealthy, "MIG166", "Our own client loses nothing and is served.", judgeCanaryHealthy),
	safety(SameLeader, "MIG167", "The active controller is the one of the soak's begin.", judgeSameLeader),
	safety(BrokersSteady, "MIG168", "No broker restarted during the soak.", judgeBrokersSteady),
	availability(ISRWhole, "MIG169", "No partition was short for a minute.", judgeISRWhole),

	safety(Drained, "MIG181", "Dual write is past the last change that matters.", judgeDrained),
	safety(ControllersDown, "MIG182", "No controller runs and none answers.", judgeControllersDown),
	safety(StoresAgree, "MIG183", "ZooKeeper holds what the metadata log held as the controllers stopped.", judgeStoresAgree),
	safety(Follows, "MIG184", "Every live broker follows the ZooKeeper controller.", judgeFollows),

	safety(ControllerFree, "MIG191", "No old controller holds /controller after a revert.", judgeControllerFree),
	safety(SomeoneActs, "MIG192", "A controller acts, or the copy moves.", judgeSomeoneActs, ControllerFree),
	safety(MigrationOurs, "MIG193", "/migration is not left over from another quorum.", judgeMigrationOurs),

	safety(Rehearsed, "MIG178", "The migration was rehearsed as migrations.yaml asks.", judgeRehearsed),
	safety(SoakWhole, "MIG171", "The soak is whole.", judgeSoakWhole),
	safety(DrillPassed, "MIG172", "Every wanted drill passed.", judgeDrillPassed),
	safety(WayBack, "MIG173", "A way back exists.", judgeWayBack),
	safety(PostMigration, "MIG174", "The migration state is POST_MIGRATION.", judgePostMigration),
	safety(MigrationStill, "MIG175", "/migration stands still.", judgeMigrationStill),
	safety(LostUnregistered, "MIG177", "No lost broker is registered as ZooKeeper broker.", judgeLostUnregistered),
	safety(FlagOff, "MIG176", "No controller has the migration flag.", judgeFlagOff),
}
