package gates

// Names of the gates, as people read and accept them.
const (
	// Watched in every round.
	ClusterID = "cluster-id" // /cluster/id is the one this migration is bound to
	OneDriver = "one-driver" // this service alone drives the cluster
	Inventory = "inventory"  // registered nodes are those of migrations.yaml
	FilesOurs = "files"      // every file has the content we know
	FlagGuard = "flag-guard" // no controller without the migration flag while it must have it

	// Watched as well: what could be found at any time from the copy to the end of a way back.
	ControllerFree = "controller-free"   // no KRaft id at /controller after a revert
	SomeoneActs    = "someone-acts"      // the copy does not stand still with nobody as controller
	MigrationOurs  = "migration-is-ours" // /migration is no leftover of another quorum

	// Before provisioning.
	BrokersZK       = "brokers-zookeeper-mode"
	HolderBroker    = "controller-is-broker"   // /controller held by a broker
	Preflight       = "preflight"              // no finding about safety
	PreflightUse    = "preflight-availability" // no finding about availability
	NoMigration     = "migration-absent"       // no /migration left over
	SameIBP         = "same-protocol-version"  // all brokers agree on inter.broker.protocol.version and it is 3.9 capable
	FoldersFree     = "controller-folders"     // absent, empty or already formatted for this cluster and node
	ControllersOff  = "controllers-not-running"
	NothingDeleting = "no-pending-deletions"

	// After provisioning, and as long as the quorum is in use.
	QuorumFormed    = "quorum-formed"
	ControllersReg  = "controllers-registered"
	MetadataVersion = "metadata-version"
	PreMigration    = "state-pre-migration"
	MigrationFresh  = "migration-znode-fresh" // all -1

	// Load.
	BrokersRegistered = "brokers-registered"  // every broker, in migration mode, in both registries
	OthersReady       = "other-brokers-ready" // before the last batch of load
	StateMigration    = "state-migration"
	HolderKRaft       = "controller-is-kraft"
	DualWrite         = "dual-write"
	MetadataWrite     = "metadata-write" // the canary's newest metadata write is in both stores
	Parity            = "parity"

	// Rolls, before a batch.
	NoOtherDown    = "no-other-node-down"
	QuorumHeadroom = "quorum-headroom"
	ISRWithout     = "isr-without-batch"
	ISRFull        = "isr-full"
	NoReassign     = "no-reassignment"
	BatchFile      = "batch-file" // the files have the content the plan was made from

	// Rolls, after a batch.
	Running         = "running"
	Restarted       = "restarted"
	ModeReached     = "mode-reached"
	CaughtUp        = "caught-up"
	ISRAsBefore     = "isr-as-before"
	Elections       = "elections"
	NoFatal         = "no-fatal-line"
	SettingsPlanned = "settings-planned"

	// Dual write and soak.
	AllKRaft      = "all-brokers-kraft"
	IDsEmpty      = "no-zookeeper-brokers"
	FlagOn        = "flag-on"
	Ensemble      = "zookeeper-ensemble" // majority and writable
	EnsembleWhole = "zookeeper-whole"    // every configured server serves
	NoOffline     = "no-offline-partition"
	CanaryHealthy = "canary"
	SameLeader    = "no-unplanned-election"

	// BrokersSteady: no broker restarted since the soak's present span began: Soak.Incarnations
	// equals the image's. ISRWhole: every partition's ISR is full (v.Short excepted) or has been
	// short for less than a minute (Memory).
	BrokersSteady = "no-broker-restart"
	ISRWhole      = "isr-whole"

	// Revert.
	Drained         = "drained"          // /migration is at or past the last change that matters
	ControllersDown = "controllers-down" // seen by their own commands and by their ports
	StoresAgree     = "stores-agree"     // ZooKeeper holds what the log held as the controllers stopped
	Follows         = "brokers-follow"   // every live broker names the holder of /controller

	// Finalize.
	Rehearsed      = "rehearsed" // a green rehearsal of the same shape is registered, where one is asked for
	SoakWhole      = "soak-whole"
	DrillPassed    = "drill-passed"
	WayBack        = "way-back"
	PostMigration  = "state-post-migration"
	MigrationStill = "migration-znode-still"
	FlagOff        = "flag-off"
	// LostUnregistered holds finalize back while a lost broker is registered as ZooKeeper broker.
	LostUnregistered = "lost-unregistered"
)
