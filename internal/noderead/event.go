// Package noderead turns what lies on a node, its log lines, properties and
// meta.properties, into typed values. All of it is hostile text: bounded,
// stripped, and matched by message text without case.
package noderead

import "time"

// Kind is one known log message of Kafka 3.4 to 3.9.
type Kind string

// Life of a process.
const (
	Starting         Kind = "starting"           // Fields: process, except from a broker in ZooKeeper or migration mode
	StartedZK        Kind = "started-zk"         // a broker without process.roles: ZooKeeper or migration mode. Fields: node
	StartedKRaft     Kind = "started-kraft"      // a KRaft broker or controller. Fields: node
	ShuttingDown     Kind = "shutting-down"      // Fields: process
	ShutDown         Kind = "shut-down"          // the last line of a clean stop. Fields: process, node
	ShutdownWaits    Kind = "shutdown-waits"     // controlled shutdown, the controller has not agreed yet
	ShutdownAgreed   Kind = "shutdown-agreed"    // the controller let the broker go
	ShutdownTimedOut Kind = "shutdown-timed-out" // goes down without the controller's consent
)

// Registration of brokers and controllers.
const (
	RegisteredZK         Kind = "registered-zk"         // in /brokers/ids. Fields: broker, czxid
	Registered           Kind = "registered"            // with the quorum. Fields: broker, epoch
	Unfenced             Kind = "unfenced"              // the lifecycle reached RUNNING
	ControllerRegistered Kind = "controller-registered" // our registration is in the metadata log
	Refused              Kind = "refused"               // Fields: reason; broker where the broker logs it
	RegistrationGivenUp  Kind = "registration-given-up" // a KRaft broker stops because no controller took it
	NewZKController      Kind = "new-zk-controller"     // Fields: node, channel: its name has "-forwarding-" where clients' changes go
	NewKRaftController   Kind = "new-kraft-controller"  // Fields: node, channel; repeats many times a second while no controller answers
)

// Quorum and migration driver.
const (
	StateChanged        Kind = "state-changed"         // Fields: from, to (cluster.MigrationState)
	DriverMoved         Kind = "driver-moved"          // Fields: node, from, to (driver states)
	BecameActive        Kind = "became-active"         // Fields: epoch
	Activated           Kind = "activated"             // any other activation summary
	ActivatedPre        Kind = "activated-pre"         // empty log with the flag: pre-migration mode
	ActivatedNone       Kind = "activated-none"        // empty log without the flag: born in KRaft
	ActivatedStaying    Kind = "activated-staying"     // failover or restart within the migration
	ActivatedCompleting Kind = "activated-completing"  // finalizes the migration
	WaitsForControllers Kind = "waits-for-controllers" // Fields: reason
	WaitsForBrokers     Kind = "waits-for-brokers"     // Fields: brokers, known ("metadata" for brokers only assignments name)
	CopyCompleted       Kind = "copy-completed"        // Fields: records, ms, batches, offset, epoch, brokers
	CopyFinished        Kind = "copy-finished"         // "Finished initial migration"
	ZKWrites            Kind = "zk-writes"             // Fields: one per operation, such as CreateTopic
	ImageBehind         Kind = "image-behind"          // normal for an instant; standing, it is a leftover /migration
	StrayFound          Kind = "stray-found"           // Fields: count
	PendingDeletes      Kind = "pending-deletes"       // Fields: count
	ZKFenced            Kind = "zk-fenced"             // another controller writes to ZooKeeper
	ElectionFailed      Kind = "election-failed"       // no leader for a partition; normal with one replica
	WithoutTransactions Kind = "without-transactions"  // IBP below 3.6-IV1: the copy will not begin
	ChannelDied         Kind = "channel-died"          // seen in 3.9.2: "A metric named ... already exists"; until its restart the broker sends none of these requests
	ZKErrorWillRetry    Kind = "zk-error-will-retry"
	ClaimFailed         Kind = "claim-failed" // /controller could not be taken
)

// The fatal list: after one of these the node, or the migration, does not
// recover by itself.
const (
	FatalFault     Kind = "fatal-fault"
	FatalExit      Kind = "fatal-exit"
	FatalStart     Kind = "fatal-start"
	MigrationFault Kind = "migration-fault"
	CopyAborted    Kind = "copy-aborted"
	CopyReadError  Kind = "copy-read-error"
	NotMigratable  Kind = "not-migratable" // flag on a cluster born in KRaft, or too old a metadata.version
	// StartRace is the death of a controller that led a fresh quorum, lost the lead
	// before its bootstrap records were committed, and was elected again. Giving up
	// the lead takes its features back to the last stable offset, and with them
	// metadata.version to the lowest, but not the mark that records were replayed
	// (QuorumController.renounce and LogReplayTracker, Kafka 3.6 to 3.9): it takes
	// the log for one written at 3.0-IV1, where the migration flag is an error
	// (ActivationRecordsGenerator.recordsForNonEmptyLog), and halts. A new process
	// begins without that mark.
	StartRace       Kind = "start-race"
	StateDisagrees  Kind = "state-disagrees"
	DriverBroken    Kind = "driver-broken"
	ListenerMissing Kind = "listener-missing" // inter.broker.listener.name wrong on controllers
	EpochTooHigh    Kind = "epoch-too-high"   // KAFKA-20488: elections refused after a revert
	LogDirFailed    Kind = "log-dir-failed"
	OutOfMemory     Kind = "out-of-memory"
)

// Severity says how a kind weighs by itself; gates know more.
type Severity string

const (
	Normal Severity = "normal"
	Watch  Severity = "watch" // alarming in some phase or when it repeats
	Fatal  Severity = "fatal"
)

// Event is one recognised log line.
type Event struct {
	Kind     Kind              `json:"kind"`
	Severity Severity          `json:"severity"`
	Time     time.Time         `json:"time"` // by the node's clock, taken to run in our own zone; zero when the line has none
	Text     string            `json:"text"` // the message, at most 500 bytes, without control characters
	Fields   map[string]string `json:"fields,omitempty"`
	File     string            `json:"file,omitempty"` // set by the Follower
}
