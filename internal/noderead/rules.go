package noderead

import "regexp"

// rule recognises one message. needle is its lower-case constant part, which
// spares most lines the expressions. No expression counts repetitions: on a
// long hostile line those cost time by the product.
type rule struct {
	kind     Kind
	severity Severity
	needle   string
	strict   *regexp.Regexp // where the line's layout shows where the message begins
	loose    *regexp.Regexp // where it does not; named groups of both become fields
}

// ident is the bracketed name most Kafka classes put before a message.
const ident = `(?:\[[^\[\]]+\]:? )?`

// start is where a message begins in a line of known layout; some patterns
// put the thread's name before it.
const start = `^(?:\[[^\[\]]+\] )??`

// match is a message from its start on, whatever follows.
func match(severity Severity, kind Kind, needle, message string) rule {
	return rule{kind, severity, needle, regexp.MustCompile(`(?i)` + start + message), regexp.MustCompile(`(?i)` + message)}
}

// exactly is a message from its start to its end.
func exactly(severity Severity, kind Kind, needle, message string) rule {
	r := match(severity, kind, needle, message)
	r.strict = regexp.MustCompile(`(?i)` + start + message + `$`)
	return r
}

// anywhere is bad news that also comes inside an exception's text.
func anywhere(severity Severity, kind Kind, needle, message string) rule {
	expression := regexp.MustCompile(`(?i)` + message)
	return rule{kind, severity, needle, expression, expression}
}

// rules in the order they are tried: the first match wins. Messages are those
// of Kafka 3.9; older spellings are noted where they differ.
var rules = []rule{
	// Broker and controller processes (KafkaServer, KafkaRaftServer, BrokerServer, ControllerServer).
	exactly(Normal, StartedZK, "] started", `\[KafkaServer id=(?P<node>\d+)\] started`),
	exactly(Normal, StartedKRaft, "kafka server started", `\[KafkaRaftServer nodeId=(?P<node>\d+)\] Kafka Server started`),
	exactly(Normal, Starting, "] starting", `\[(?P<process>KafkaServer|BrokerServer|ControllerServer)[^\]]*\] starting(?: broker| controller)?`),
	// A ZooKeeper-mode broker has no name yet when it says so.
	{Starting, Normal, "starting", regexp.MustCompile(`(?i)^starting$`), regexp.MustCompile(`(?i)starting \(kafka\.server\.KafkaServer\)`)},
	exactly(Normal, ShuttingDown, "] shutting down", `\[(?P<process>KafkaServer|BrokerServer|ControllerServer)[^\]]*\] shutting down`),
	exactly(Normal, ShutDown, "] shut down completed", `\[(?P<process>KafkaServer|BrokerServer) id=(?P<node>\d+)\] shut down completed`),
	// A KRaft controller has no line of its own at the end; this is the last thing KafkaRaftServer does.
	exactly(Normal, ShutDown, "app info kafka.server for", `App info kafka\.server for (?P<node>\d+) unregistered`),

	// Controlled shutdown.
	match(Normal, ShutdownWaits, "still waiting for the active controller", ident+`The broker is in PENDING_CONTROLLED_SHUTDOWN state, still waiting for the active controller`),
	match(Normal, ShutdownAgreed, "asked us to exit controlled shutdown", ident+`The controller has asked us to exit controlled shutdown`),
	match(Normal, ShutdownAgreed, "controlled shutdown request returned successfully", ident+`Controlled shutdown request returned successfully`),
	match(Watch, ShutdownTimedOut, "approve controlled shutdown", ident+`Timed out waiting for the controller to approve controlled shutdown`),
	match(Watch, ShutdownTimedOut, "proceeding to do an unclean shutdown", ident+`Proceeding to do an unclean shutdown`),

	// Registration.
	match(Normal, RegisteredZK, "at path /brokers/ids/", ident+`Registered broker (?P<broker>\d+) at path /brokers/ids/\d+ .*czxid \(broker epoch\): (?P<czxid>\d+)`),
	match(Normal, Registered, "successfully registered broker", ident+`Successfully registered broker (?P<broker>\d+) with broker epoch (?P<epoch>\d+)`),
	match(Normal, Unfenced, "has been unfenced", ident+`The broker has been unfenced\. Transitioning from RECOVERY to RUNNING`),
	match(Normal, ControllerRegistered, "our registration has been persisted", ident+`Our registration has been persisted to the metadata log`),
	match(Watch, Refused, "registerbroker: event", ident+`registerBroker: event (?:failed with|unable to start processing because of) .*?Exception message: (?P<reason>.+)`),
	match(Watch, Refused, "unable to register broker", ident+`Unable to register broker (?P<broker>\d+) because the controller returned error (?P<reason>\w+)`),
	match(Watch, Refused, "unable to register the broker because", ident+`Unable to register the broker because (?:of )?(?P<reason>.+)`),
	match(Fatal, RegistrationGivenUp, "unable to register with the controller quorum", ident+`Shutting down because we were unable to register with the controller quorum`),
	match(Normal, NewZKController, "recorded new zk controller", `(?:\[(?P<channel>[^\[\]]+)\]:? )?Recorded new ZK controller, from now on will use node (?P<node>.+)`),
	match(Normal, NewKRaftController, "recorded new kraft controller", `(?:\[(?P<channel>[^\[\]]+)\]:? )?Recorded new KRaft controller, from now on will use node (?P<node>.+)`),

	// The thread that carries a broker's requests to the controller ends as it
	// changes from one kind of controller to the other, and nothing starts it again.
	match(Watch, ChannelDied, "-channel-manager]: error due to", `\[(?P<channel>[\w-]+)-channel-manager\]: Error due to`),

	// QuorumController (controller.log). The activation summary is one line.
	match(Normal, StateChanged, "zkmigrationstaterecord changing", ident+`Replayed a ZkMigrationStateRecord changing the migration state from (?P<from>\w+) to (?P<to>\w+)`),
	match(Normal, BecameActive, "becoming the active controller", ident+`Becoming the active controller at epoch (?P<epoch>\d+)`),
	match(Normal, ActivatedCompleting, "completing the zk migration", ident+`Performing controller activation\..*Completing the ZK migration`),
	match(Normal, ActivatedStaying, "zk migration mode", ident+`Performing controller activation\..*Staying in (?:the )?ZK migration`),
	match(Normal, ActivatedPre, "into pre-migration mode", ident+`Performing controller activation\..*Putting the controller into pre-migration mode`),
	match(Fatal, ActivatedNone, "migration state to none", ident+`Performing controller activation\..*Setting the ZK migration state to NONE`),
	match(Normal, Activated, "performing controller activation", ident+`Performing controller activation\.`),

	// KRaftMigrationDriver (server.log).
	match(Normal, DriverMoved, "transitioning from", `(?:\[KRaftMigrationDriver id=\d+\] )(?P<node>\d+) transitioning from (?P<from>\w+) to (?P<to>\w+) state`),
	match(Watch, WaitsForControllers, "still waiting for all controller nodes", ident+`Still waiting for all controller nodes ready to begin the migration\. Not ready due to: ?(?P<reason>.+)`),
	match(Normal, WaitsForBrokers, "still waiting for zk brokers", ident+`Still waiting for ZK brokers \[(?P<brokers>[\d, ]*)\] (?:found in (?P<known>metadata) )?to register with KRaft`),
	match(Normal, WaitsForBrokers, "waiting for brokers to register", ident+`No brokers are (?:known to KRaft|registered in ZK), waiting for brokers to register`),
	match(Normal, CopyCompleted, "completed migration of metadata from zookeeper", ident+`Completed migration of metadata from ZooKeeper to KRaft\.?(?: (?P<records>\d+) records were generated in (?P<ms>\d+) ms across (?P<batches>\d+) batches.*?current metadata offset is now (?P<offset>\d+) with an epoch of (?P<epoch>\d+)\. Saw \d+ brokers in the migrated metadata \[(?P<brokers>[\d, ]*)\])?`),
	match(Normal, CopyFinished, "finished initial migration", ident+`Finished initial migration of ZK metadata to KRaft`),
	match(Watch, PendingDeletes, "pending topic deletions", ident+`Found (?P<count>\d+) pending topic deletions`),
	match(Watch, ImageBehind, "superset of the metadata in zk", ident+`Ignoring image .*which does not contain a superset of the metadata in ZK`),
	match(Watch, ZKErrorWillRetry, "encountered zookeeper error during event", ident+`Encountered ZooKeeper error during event .*Will retry`),
	match(Watch, ClaimFailed, "unable to claim leadership", ident+`Unable to claim leadership`),
	match(Normal, ZKWrites, "made the following zk writes", ident+`Made the following ZK writes when [\w ]+: \{(?P<writes>[^}]*)\}`),

	// Replicas that a controller no longer knows.
	match(Watch, StrayFound, "stray partition(s)", ident+`.*found (?P<count>[1-9]\d*) stray partition\(s\)`),
	match(Watch, StrayFound, "stray and renamed to", ident+`Log for partition .+ is marked as stray and renamed to`),
	match(Watch, StrayFound, "found stray partitions", ident+`Found stray partitions`),

	// The fatal list and what is close to it.
	anywhere(Fatal, StartRace, "running metadata.version 3.0-iv1", `Should not have ZK migrations enabled on a cluster running metadata\.version 3\.0-IV1`),
	anywhere(Fatal, NotMigratable, "should not have zk migrations enabled", `Should not have ZK migrations enabled`),
	anywhere(Fatal, NotMigratable, "does not support zk migrations", `The bootstrap metadata\.version .+ does not support ZK migrations`),
	match(Fatal, NotMigratable, "this cluster should not be migrated", ident+`The controller's ZkMigrationState is NONE`),
	match(Fatal, StateDisagrees, "active migration, but the zk state does not", ident+`KRaft controller indicates an active migration, but the ZK state does not`),
	match(Fatal, StateDisagrees, "migration driver is somehow active", ident+`KRaft controller indicates a completed migration, but the migration driver is somehow active`),
	anywhere(Fatal, DriverBroken, "invalid transition in migration driver", `Invalid transition in migration driver`),
	match(Fatal, CopyAborted, "aborting the metadata migration", ident+`Aborting the metadata migration from ZooKeeper to KRaft`),
	match(Fatal, CopyAborted, "could not start the migration", ident+`Could not start the migration`),
	match(Fatal, CopyReadError, "consumer. ", ident+`Error in (?:topic|partition|broker config|topic config|ACL) consumer\. `),
	match(Fatal, CopyReadError, "error in client quota visitor", ident+`Error in client quota visitor`),
	anywhere(Fatal, ListenerMissing, "end point with listener name", `End point with listener name .+ not found for broker`),
	anywhere(Watch, ZKFenced, "on kraft migration znode", `(?:Conditional update|Check op) on KRaft Migration ZNode failed`),
	anywhere(Watch, ZKFenced, "zkversion check fails", `Controller epoch zkVersion check fails`),
	anywhere(Watch, ZKFenced, "cannot register kraft controller", `Cannot register KRaft controller`),
	match(Fatal, FatalFault, "encountered fatal fault", ident+`Encountered fatal fault`),
	match(Fatal, MigrationFault, "encountered zk migration fault", ident+`Encountered zk migration fault`),
	match(Fatal, FatalExit, "exiting kafka due to fatal exception", ident+`Exiting Kafka due to fatal exception`),
	match(Fatal, FatalExit, "halting kafka", ident+`Halting Kafka`),
	match(Fatal, FatalStart, "startup. prepare to shutdown", ident+`Fatal error during (?:KafkaServer|broker|controller) startup`),
	match(Fatal, FatalStart, "received a fatal error while waiting for", ident+`Received a fatal error while waiting for`),
	match(Fatal, LogDirFailed, "shutdown broker because", ident+`Shutdown broker because (?:some log directory has failed|none of the specified log dirs|all log dirs|the metadata log dir)`),
	anywhere(Fatal, EpochTooHigh, "written by another controller", `(?:Leader ?And ?Isr path (?:was already )?written by another controller)`),
	anywhere(Watch, ElectionFailed, "statechangefailedexception", `StateChangeFailedException`),
	anywhere(Fatal, OutOfMemory, "outofmemoryerror", `OutOfMemoryError`),
	match(Watch, WithoutTransactions, "without metadata transactions support", ident+`Caution! Enabled ZooKeeper migration without metadata transactions support`),
}
