package noderead

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

const stamp = "[2026-11-30 07:24:48,708] INFO "

func TestKnownMessages(t *testing.T) {
	type fields = map[string]string
	tests := []struct {
		line string
		kind Kind
		want fields
	}{
		{"[KafkaServer id=1] started (kafka.server.KafkaServer)", StartedZK, fields{"node": "1"}},
		{"[KafkaRaftServer nodeId=3001] Kafka Server started (kafka.server.KafkaRaftServer)", StartedKRaft, fields{"node": "3001"}},
		{"[KafkaServer id=1] starting (kafka.server.KafkaServer)", Starting, fields{"process": "KafkaServer"}},
		{"starting (kafka.server.KafkaServer)", Starting, nil},
		{"[BrokerServer id=1] Starting broker (kafka.server.BrokerServer)", Starting, fields{"process": "BrokerServer"}},
		{"[ControllerServer id=3001] Starting controller (kafka.server.ControllerServer)", Starting, fields{"process": "ControllerServer"}},
		{"[ControllerServer id=3001] shutting down (kafka.server.ControllerServer)", ShuttingDown, fields{"process": "ControllerServer"}},
		{"[KafkaServer id=1] shut down completed (kafka.server.KafkaServer)", ShutDown, fields{"process": "KafkaServer", "node": "1"}},
		{"[BrokerServer id=1] shut down completed (kafka.server.BrokerServer)", ShutDown, fields{"process": "BrokerServer", "node": "1"}},
		{"App info kafka.server for 3001 unregistered (org.apache.kafka.common.utils.AppInfoParser)", ShutDown, fields{"node": "3001"}},
		{"Registered broker 1 at path /brokers/ids/1 with addresses: PLAINTEXT://127.0.0.1:20001, czxid (broker epoch): 1609 (kafka.zk.KafkaZkClient)", RegisteredZK, fields{"broker": "1", "czxid": "1609"}},
		{"[BrokerLifecycleManager id=1 isZkBroker=true] Successfully registered broker 1 with broker epoch 19 (kafka.server.BrokerLifecycleManager)", Registered, fields{"broker": "1", "epoch": "19"}},
		{"[BrokerLifecycleManager id=1] The broker has been unfenced. Transitioning from RECOVERY to RUNNING. (kafka.server.BrokerLifecycleManager)", Unfenced, nil},
		{"[BrokerLifecycleManager id=1] The controller has asked us to exit controlled shutdown. (kafka.server.BrokerLifecycleManager)", ShutdownAgreed, nil},
		{"[QuorumController id=3001] Replayed a ZkMigrationStateRecord changing the migration state from PRE_MIGRATION to MIGRATION. (org.apache.kafka.controller.FeatureControlManager)", StateChanged, fields{"from": "PRE_MIGRATION", "to": "MIGRATION"}},
		{"[KRaftMigrationDriver id=3001] 3001 transitioning from SYNC_KRAFT_TO_ZK to KRAFT_CONTROLLER_TO_BROKER_COMM state (org.apache.kafka.metadata.migration.KRaftMigrationDriver)", DriverMoved, fields{"node": "3001", "from": "SYNC_KRAFT_TO_ZK", "to": "KRAFT_CONTROLLER_TO_BROKER_COMM"}},
		{"[KRaftMigrationDriver id=3001] Completed migration of metadata from ZooKeeper to KRaft. 406 records were generated in 927 ms across 3 batches. The average time spent waiting on a batch was 20.33 ms. The record types were {TOPIC_RECORD=101, CONFIG_RECORD=2}. The current metadata offset is now 446 with an epoch of 1. Saw 3 brokers in the migrated metadata [1, 2, 3]. (org.apache.kafka.metadata.migration.KRaftMigrationDriver)", CopyCompleted,
			fields{"records": "406", "ms": "927", "batches": "3", "offset": "446", "epoch": "1", "brokers": "1, 2, 3"}},
		{"[KRaftMigrationDriver id=3001] Completed migration of metadata from Zookeeper to KRaft (org.apache.kafka.metadata.migration.KRaftMigrationDriver)", CopyCompleted, nil},
		{"[KRaftMigrationDriver id=3001] Finished initial migration of ZK metadata to KRaft in 927 ns. Transitioned migration state from A to B (org.apache.kafka.metadata.migration.KRaftMigrationDriver)", CopyFinished, nil},
		{"[KRaftMigrationDriver id=3001] Made the following ZK writes when reconciling with KRaft state: {DeleteTopic=30, UpdateAcl=2} (org.apache.kafka.metadata.migration.KRaftMigrationDriver)", ZKWrites, fields{"DeleteTopic": "30", "UpdateAcl": "2"}},
		{"[KRaftMigrationDriver id=3001] Still waiting for ZK brokers [9, 12] found in metadata to register with KRaft. (org.apache.kafka.metadata.migration.KRaftMigrationDriver)", WaitsForBrokers, fields{"brokers": "9, 12", "known": "metadata"}},
		{"[KRaftMigrationDriver id=3001] Still waiting for ZK brokers [3] to register with KRaft. (org.apache.kafka.metadata.migration.KRaftMigrationDriver)", WaitsForBrokers, fields{"brokers": "3"}},
		{"[KRaftMigrationDriver id=3001] Still waiting for all controller nodes ready to begin the migration. Not ready due to:No registration found for controller 3001 (x.Y)", WaitsForControllers, fields{"reason": "No registration found for controller 3001"}},
		{"[QuorumController id=3001] Performing controller activation. Loaded ZK migration state of MIGRATION. Staying in ZK migration mode since 'zookeeper.metadata.migration.enable' is still 'true'. (x.Y)", ActivatedStaying, nil},
		{"[QuorumController id=3001] Performing controller activation. Loaded ZK migration state of MIGRATION. Staying in the ZK migration mode since it is still 'true'. (x.Y)", ActivatedStaying, nil},
		{"[QuorumController id=3001] Performing controller activation. Loaded ZK migration state of MIGRATION. Completing the ZK migration since this controller was configured with 'zookeeper.metadata.migration.enable' set to 'false'. (x.Y)", ActivatedCompleting, nil},
		{"[QuorumController id=3001] Performing controller activation. The metadata log appears to be empty. Setting the ZK migration state to NONE since this is a de-novo KRaft cluster. (x.Y)", ActivatedNone, nil},
		{"[QuorumController id=3001] Performing controller activation. Loaded ZK migration state of POST_MIGRATION. (x.Y)", Activated, nil},
		{"[QuorumController id=3001] registerBroker: event failed with BrokerIdNotRegisteredException in 98 microseconds. Exception message: Controller does not support registering ZK brokers. (x.Y)", Refused, fields{"reason": "Controller does not support registering ZK brokers."}},
		{"[BrokerLifecycleManager id=1 isZkBroker=true] Unable to register broker 1 because the controller returned error UNSUPPORTED_VERSION (x.Y)", Refused, fields{"broker": "1", "reason": "UNSUPPORTED_VERSION"}},
		{"[NodeToControllerChannelManager id=1 name=forwarding] Recorded new KRaft controller, from now on will use node c1:9093 (id: 3001 rack: null) (x.Y)", NewKRaftController, fields{"channel": "NodeToControllerChannelManager id=1 name=forwarding", "node": "c1:9093 (id: 3001 rack: null)"}},
		{"[zk-broker-1-to-controller-forwarding-channel-manager]: Recorded new ZK controller, from now on will use node b1:9092 (id: 1 rack: null) (x.Y)", NewZKController, fields{"channel": "zk-broker-1-to-controller-forwarding-channel-manager", "node": "b1:9092 (id: 1 rack: null)"}},
		{"While handling full LeaderAndIsr request from KRaft controller 3001 with correlation id 4, found 2 stray partition(s). (x.Y)", StrayFound, fields{"count": "2"}},
		{"Encountered fatal fault: exception while completing controller activation (x.Y)", FatalFault, nil},
		{"Encountered zk migration fault: Unhandled error in SyncKRaftMetadataEvent (x.Y)", MigrationFault, nil},
		{"Exiting Kafka due to fatal exception during startup. (kafka.Kafka$)", FatalExit, nil},
		{"[KafkaServer id=1] Fatal error during KafkaServer startup. Prepare to shutdown (kafka.server.KafkaServer)", FatalStart, nil},
		{"Shutdown broker because some log directory has failed during migration mode: /a (kafka.server.ReplicaManager)", LogDirFailed, nil},
		{"[KRaftMigrationDriver id=3001] Aborting the metadata migration from ZooKeeper to KRaft. 3 records. (x.Y)", CopyAborted, nil},
	}
	for _, tt := range tests {
		t.Run(string(tt.kind)+" "+cut(tt.line, 60), func(t *testing.T) {
			for _, line := range []string{tt.line, strings.ToUpper(tt.line[:1]) + tt.line[1:]} {
				e, ok := Parse([]byte(stamp + line + "\r\n"))
				if !ok || e.Kind != tt.kind {
					t.Fatalf("got %v %+v", ok, e)
				}
				if diff := cmp.Diff(tt.want, e.Fields); diff != "" {
					t.Error(diff)
				}
				if want := time.Date(2026, 11, 30, 7, 24, 48, 708e6, time.Local); !e.Time.Equal(want) {
					t.Errorf("time %v, want %v", e.Time, want)
				}
			}
		})
	}
}

func TestCaseAndLayoutDoNotMatter(t *testing.T) {
	for name, line := range map[string]string{
		"lower case":       "[2026-11-30 07:24:48,708] INFO [kafkaserver id=1] STARTED (kafka.server.KafkaServer)",
		"thread name":      "[2026-11-30 07:24:48,708] INFO [main] [KafkaServer id=1] started (kafka.server.KafkaServer)",
		"logger, thread":   "2026-11-30 07:24:48,708 INFO [KafkaServer id=1] started (kafka.server.KafkaServer) [main]",
		"no logger":        "[2026-11-30 07:24:48,708] INFO [KafkaServer id=1] started",
		"iso time, thread": "2026-11-30T07:24:48.708Z INFO [main] k.s.KafkaServer - [KafkaServer id=1] started",
		"json":             `{"ts":"2026-11-30","level":"INFO","message":"[KafkaServer id=1] started"}`,
	} {
		if e, ok := Parse([]byte(line)); !ok || e.Kind != StartedZK {
			t.Errorf("%s: %v %+v", name, ok, e)
		}
	}
}

func TestTextInsideAMessageCannotPretend(t *testing.T) {
	for name, line := range map[string]string{
		"quoted in a message":    stamp + "Client said: [KafkaServer id=1] started (x.Y)",
		"more after the message": stamp + "[KafkaServer id=1] started by mistake (x.Y)",
		"continuation line":      "[KafkaServer id=1] started",
		"config value":           stamp + "[QuorumController id=3001] Replayed ConfigRecord for ConfigResource(type=TOPIC, name='t') which set configuration x to Finished initial migration of ZK metadata to KRaft (x.Y)",
		"no stray partitions":    stamp + "While handling full LeaderAndIsr request from KRaft controller 3001 with correlation id 4, found 0 stray partition(s). (x.Y)",
		"another thing starts":   stamp + "[ThrottledChannelReaper-Fetch]: Starting (kafka.server.ClientQuotaManager$ThrottledChannelReaper)",
		"empty":                  "",
		"stamp only":             stamp,
	} {
		if e, ok := Parse([]byte(line)); ok {
			t.Errorf("%s: taken for %+v", name, e)
		}
	}
}

func TestBadNewsCountsWithoutATime(t *testing.T) {
	for line, want := range map[string]Kind{
		"java.lang.OutOfMemoryError: Java heap space": OutOfMemory,
		"java.lang.RuntimeException: Should not have ZK migrations enabled on a cluster running metadata.version 3.0-IV1": StartRace,
		"java.lang.RuntimeException: Should not have ZK migrations enabled on a cluster running metadata.version 3.3-IV0": NotMigratable,
		"java.lang.RuntimeException: Should not have ZK migrations enabled on a cluster that was created in KRaft":        NotMigratable,
		"kafka.common.StateChangeFailedException: Failed to elect leader for partition a-0 under strategy X":              ElectionFailed,
	} {
		if e, ok := Parse([]byte(line)); !ok || e.Kind != want {
			t.Errorf("%q: %v %+v", line, ok, e)
		}
	}
}

// Real logs of Kafka 3.9.2: how many events of each kind each excerpt holds.
func TestRealLogs(t *testing.T) {
	tests := []struct {
		file string
		want map[Kind]int
	}{
		{"cut-off-broker.log", map[Kind]int{NewKRaftController: 1, ChannelDied: 1}},
		{"epoch-hazard-broker.log", map[Kind]int{EpochTooHigh: 3}},
		{"flagless-follower-wins-controller.log", map[Kind]int{ControllerRegistered: 1, StartedKRaft: 1, BecameActive: 1, ActivatedCompleting: 1, StateChanged: 1, Refused: 2}},
		{"ghost-broker-controller.log", map[Kind]int{StartedKRaft: 1, ControllerRegistered: 1, DriverMoved: 3, WaitsForControllers: 2, WaitsForBrokers: 8}},
		{"ibp-below-broker.log", map[Kind]int{RegisteredZK: 2, StartedZK: 2, Refused: 2}},
		{"ibp-below-controller.log", map[Kind]int{StartedKRaft: 1, BecameActive: 1, ActivatedPre: 1, StateChanged: 1, ControllerRegistered: 1, DriverMoved: 3, WaitsForControllers: 1, WaitsForBrokers: 2, Refused: 2}},
		{"leftover-migration-controller.log", map[Kind]int{DriverMoved: 3, ImageBehind: 2, ZKWrites: 1}},
		{"started-without-flag-controller.log", map[Kind]int{StartedKRaft: 1, BecameActive: 2, ActivatedNone: 1, ControllerRegistered: 1, FatalFault: 1}},
		{"whole-migration-controller-3001.log", map[Kind]int{
			Starting: 2, StartedKRaft: 2, ShuttingDown: 1, ShutDown: 2, ControllerRegistered: 2, NewKRaftController: 3,
			BecameActive: 1, ActivatedPre: 1, StateChanged: 4, DriverMoved: 13, WaitsForControllers: 3, WaitsForBrokers: 7,
			CopyCompleted: 1, CopyFinished: 1, ZKWrites: 11}},
		{"whole-migration-broker-1.log", map[Kind]int{
			Starting: 3, StartedZK: 2, StartedKRaft: 1, ShuttingDown: 2, ShutdownWaits: 2, ShutdownAgreed: 2, ShutDown: 4,
			RegisteredZK: 2, Registered: 2, Unfenced: 2, NewZKController: 4, NewKRaftController: 9}},
		{"forward-broker-1.log", map[Kind]int{RegisteredZK: 2, StartedZK: 2, Registered: 2, Unfenced: 2, ShutdownWaits: 2, ShutdownAgreed: 1, StartedKRaft: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", tt.file))
			if err != nil {
				t.Fatal(err)
			}
			got := map[Kind]int{}
			for _, e := range parseAll(data, tt.file) {
				got[e.Kind]++
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What a good migration prints must not alarm anybody.
func TestAWholeMigrationHasNoFatalLine(t *testing.T) {
	for _, file := range []string{"whole-migration-controller-3001.log", "whole-migration-broker-1.log", "forward-broker-1.log"} {
		data, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		var s Summary
		s.Add(parseAll(data, file))
		if l := s.Lines(); len(l.Fatal) > 0 || !l.Started {
			t.Errorf("%s: started %v, fatal %q", file, l.Started, l.Fatal)
		}
	}
}

func TestRulesAreReachable(t *testing.T) {
	for _, r := range rules {
		if r.needle != strings.ToLower(r.needle) || r.needle == "" {
			t.Errorf("%s: needle %q must be lower case and not empty", r.kind, r.needle)
		}
	}
}

// A node may print anything; a line that names every known message, thousands
// of times over, must not hold up the reader.
func BenchmarkHostileLine(b *testing.B) {
	var all strings.Builder
	for all.Len() < maxLine {
		for _, r := range rules {
			all.WriteString("[a " + r.needle + " ")
		}
	}
	for name, prefix := range map[string]string{"known layout": stamp, "foreign layout": "2026-11-30 07:24:48 ", "no time": ""} {
		b.Run(name, func(b *testing.B) {
			line := []byte(prefix + all.String())
			for b.Loop() {
				Parse(line)
			}
		})
	}
}

func BenchmarkOrdinaryLine(b *testing.B) {
	line := []byte(stamp + "[QuorumController id=3001] Replayed ConfigRecord for ConfigResource(type=TOPIC, name='canary') which set configuration segment.ms to 600442 (org.apache.kafka.controller.ConfigurationControlManager)")
	for b.Loop() {
		Parse(line)
	}
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.log")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			f.Add(line)
		}
	}
	f.Add([]byte(stamp + "[KRaftMigrationDriver id=1] Made the following ZK writes when x: {\x1b[31m=1,=,a=} \xff"))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, ok := Parse(line)
		if !ok {
			return
		}
		texts := []string{e.Text}
		for k, v := range e.Fields {
			texts = append(texts, k, v)
		}
		for _, text := range texts {
			if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
				t.Errorf("unclean text %q", text)
			}
		}
		if len(e.Text) > maxText || e.Severity == "" {
			t.Errorf("event %+v", e)
		}
	})
}

// A broker that died of a quota was said to have died of "Exiting Kafka due to
// fatal exception during startup.", which helps nobody.
func TestAFatalLineCarriesWhatItWasAbout(t *testing.T) {
	log := "[2026-11-30 21:37:52,158] ERROR Exiting Kafka due to fatal exception during startup. (kafka.Kafka$)\n" +
		"java.lang.NumberFormatException: For input string: \"plenty\"\n\tat java.base/java.lang.Long.parseLong(Long.java:711)\n" +
		"java.lang.IllegalStateException: of another line\n"
	events := parseAll([]byte(log), "server.log")
	if len(events) != 1 || !strings.HasSuffix(events[0].Text, `NumberFormatException: For input string: "plenty"`) {
		t.Errorf("%+v", events)
	}
}
