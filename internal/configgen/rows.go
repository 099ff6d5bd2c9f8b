package configgen

import (
	"fmt"
	"strings"

	"migrator/internal/cluster"
)

const (
	opAdd    = "add"
	opSet    = "set"
	opRename = "rename"
	opRemove = "remove"
)

const manual = "Kafka 3.9 manual, ZooKeeper to KRaft migration"

// row is one line of a mode's table. Rows apply in order, so new keys are
// appended in table order.
type row struct {
	op     string // opSet adds when absent; opRemove and opRename leave an absent key alone
	key    string
	to     string // opRename
	when   func(input) bool
	value  func(input) (string, error)
	own    bool // a value that the file has already is kept
	reason string
	source string
}

// input is what a row may look at.
type input struct {
	node     cluster.Node
	doc      *Document
	settings Settings
}

// table is the list for a role and mode; there is no other place that says
// what a mode means.
func table(role cluster.Role, mode cluster.Mode, s Settings) ([]row, error) {
	switch {
	case role == cluster.Broker && mode == cluster.ZK:
		return brokerZK(), nil
	case role == cluster.Broker && mode == cluster.ZKMigrating:
		return brokerZKMigrating(), nil
	case role == cluster.Broker && mode == cluster.KRaft:
		return brokerKRaft(), nil
	case role == cluster.Controller && mode == cluster.KRaftMigrating:
		return controllerKRaftMigrating(s), nil
	case role == cluster.Controller && mode == cluster.KRaft:
		return controllerKRaft(), nil
	}
	return nil, fmt.Errorf("a %s has no mode %q", bounded(string(role)), bounded(string(mode)))
}

// brokerZK is the last roll of a revert. The map entry and the protocol version
// stay: both are harmless and the version must not change on the way.
func brokerZK() []row {
	const why = "without the migration flag ZooKeeper mode refuses KRaft quorum settings"
	return []row{
		{op: opRemove, key: migrationFlag, reason: "the broker leaves migration mode", source: manual + ", reverting"},
		{op: opRemove, key: "controller.quorum.voters", reason: why, source: manual + ", reverting"},
		{op: opRemove, key: "controller.quorum.bootstrap.servers", reason: why, source: manual + ", reverting"},
		{op: opRemove, key: "controller.listener.names", reason: why, source: manual + ", reverting"},
	}
}

func brokerZKMigrating() []row {
	rows := []row{
		{op: opSet, key: "broker.id", when: lacksID, value: ownID,
			reason: "migration mode takes no generated id; this one is of migrations.yaml, and Kafka refuses it if meta.properties has another", source: "KAFKA-17543"},
		{op: opSet, key: "broker.id.generation.enable", when: reservedID, value: text("false"),
			reason: "while ids are generated, those above reserved.broker.max.id are refused in a file", source: "KAFKA-17543"},
		{op: opSet, key: migrationFlag, value: text("true"), reason: "the broker registers as ready for the migration", source: "KIP-866"},
	}
	rows = append(rows, quorumRows()...)
	return append(rows,
		row{op: opSet, key: "inter.broker.protocol.version", when: otherProtocolVersion,
			value:  func(in input) (string, error) { return in.settings.MetadataVersion, nil },
			reason: "must equal the metadata version the controllers are formatted with, else the registration is refused", source: "KAFKA-14529"})
}

func brokerKRaft() []row {
	const unused = "has no effect in KRaft mode"
	rows := []row{
		{op: opRename, key: "broker.id", to: "node.id", when: func(in input) bool { return !has(in, "node.id") },
			reason: "KRaft requires node.id; the number stays", source: manual},
		{op: opRemove, key: "broker.id", reason: "node.id has the same number", source: manual},
		{op: opSet, key: "node.id", when: lacksID, value: ownID, reason: "KRaft requires node.id and generates none", source: "KAFKA-17543"},
		{op: opSet, key: "process.roles", value: text("broker"), reason: "the node runs as a KRaft broker", source: manual},
	}
	rows = append(rows, quorumRows()...)
	rows = append(rows, removeEach(aclAuthorizerKeys(), row{when: usesACLAuthorizer, reason: "belongs to AclAuthorizer, which the broker no longer uses", source: manual})...)
	rows = append(rows,
		row{op: opSet, key: "authorizer.class.name", when: usesACLAuthorizer, value: text(standardAuthorizer),
			reason: "AclAuthorizer would go on serving the old ACLs of ZooKeeper, or not start", source: manual},
		row{op: opRemove, key: migrationFlag, reason: "with the flag a KRaft broker halts on any failed log directory", source: manual})
	rows = append(rows, removeEach(zooKeeperKeys(), row{reason: "a KRaft broker does not use ZooKeeper", source: manual})...)
	return append(rows,
		row{op: opRemove, key: "inter.broker.protocol.version", reason: "metadata.version takes its place", source: "KIP-778"},
		row{op: opRemove, key: "control.plane.listener.name", reason: "a KRaft broker refuses to start with it; the listener itself stays", source: "KAFKA-17790"},
		row{op: opRemove, key: "broker.id.generation.enable", reason: unused, source: manual},
		row{op: opRemove, key: "reserved.broker.max.id", reason: unused, source: manual},
	)
}

func controllerKRaftMigrating(s Settings) []row {
	rows := []row{
		{op: opSet, key: "process.roles", value: text("controller"), reason: "a dedicated controller", source: manual},
		{op: opRename, key: "broker.id", to: "node.id", when: func(in input) bool { return !has(in, "node.id") }, reason: "KRaft requires node.id", source: manual},
		{op: opRemove, key: "broker.id", reason: "node.id has the same number", source: manual},
		{op: opSet, key: "node.id", value: ownID,
			when: func(in input) bool { return !has(in, "node.id") }, reason: "its id in the quorum, different from all broker ids", source: manual},
	}
	rows = append(rows, quorumRows()...)
	rows = append(rows, mechanismRows(s)...)
	rows = append(rows,
		row{op: opSet, key: "listeners", value: controllerListeners, reason: "the address the other nodes reach it at", source: manual},
		row{op: opRemove, key: "security.inter.broker.protocol", reason: "Kafka takes it or inter.broker.listener.name, not both", source: "KAFKA-15670"},
		row{op: opSet, key: "inter.broker.listener.name", value: func(in input) (string, error) { return in.settings.InterBroker.Listener, nil },
			reason: "in hybrid mode the controller calls the brokers on this listener", source: "KAFKA-15670"},
		row{op: opSet, key: migrationFlag, value: text("true"), reason: "the controller copies from ZooKeeper and writes back to it", source: "KIP-866"},
		row{op: opSet, key: "zookeeper.connect", value: func(in input) (string, error) { return in.settings.ZooKeeperConnect, nil },
			reason: "the ensemble to copy from", source: manual},
	)
	return append(rows, carriedRows(s.InterBroker)...)
}

// controllerKRaft is the finalize step. The first controller that becomes
// active without the flag ends the migration, so nothing else changes with it.
func controllerKRaft() []row {
	flag := row{op: opRemove, key: migrationFlag, reason: "a controller without the flag ends the migration for good", source: "KIP-866"}
	return append([]row{flag}, removeEach(zooKeeperKeys(), row{reason: "the cluster no longer uses ZooKeeper", source: manual})...)
}

// quorumRows are what every node of the new quorum's cluster needs. The
// controller listener never goes into a broker's listeners.
func quorumRows() []row {
	static := func(in input) bool { return in.settings.Quorum.Mode == StaticQuorum }
	dynamic := func(in input) bool { return in.settings.Quorum.Mode == DynamicQuorum }
	return []row{
		{op: opSet, key: "controller.quorum.voters", when: static, value: func(in input) (string, error) { return voters(in.settings.Quorum.Voters), nil },
			reason: "the controllers that vote", source: manual},
		{op: opRemove, key: "controller.quorum.bootstrap.servers", when: static, reason: "the quorum is static", source: "KIP-853"},
		{op: opSet, key: "controller.quorum.bootstrap.servers", when: dynamic, value: func(in input) (string, error) { return bootstrapServers(in.settings.Quorum.Voters), nil },
			reason: "where to find the controllers", source: "KIP-853"},
		{op: opRemove, key: "controller.quorum.voters", when: dynamic, reason: "the quorum is dynamic", source: "KIP-853"},
		{op: opSet, key: "controller.listener.names", value: func(in input) (string, error) { return in.settings.Quorum.ListenerName, nil },
			reason: "the listener of the controllers", source: manual},
		{op: opSet, key: "listener.security.protocol.map", when: mapLacksListener, value: listenerMap,
			reason: "a written map switches off Kafka's default, so it names every listener", source: "KAFKA-15670"},
		{op: opSet, key: "sasl.mechanism.controller.protocol", when: logsIn, own: true, value: controllerMechanism,
			reason: "how everybody logs in to the controllers; Kafka's default is GSSAPI", source: manualSASL},
	}
}

const manualSASL = "Kafka 3.9 manual, authentication using SASL"

// logsIn: the controllers' listener has SASL, and it is known which.
func logsIn(in input) bool {
	mechanism, err := controllerMechanism(in)
	return strings.HasPrefix(in.settings.Quorum.ListenerProtocol, "SASL_") && (err != nil || mechanism != "")
}

// controllerMechanism is the file's, or the one that migrations.yaml knows.
func controllerMechanism(in input) (string, error) {
	now, there, err := plain(in.doc, "sasl.mechanism.controller.protocol")
	if err != nil || there {
		return now, err
	}
	return in.settings.Quorum.Mechanism, nil
}

// mechanismRows keep the controllers' listener from asking for every mechanism
// of sasl.enabled.mechanisms, the brokers' own among them: a controller without
// a login for each of them does not start.
func mechanismRows(s Settings) []row {
	return []row{{op: opSet, key: "listener.name." + strings.ToLower(s.Quorum.ListenerName) + ".sasl.enabled.mechanisms", when: logsIn, own: true, value: controllerMechanism,
		reason: "else this listener also wants every mechanism of sasl.enabled.mechanisms", source: manualSASL}}
}

func carriedRows(ib InterBroker) []row {
	var rows []row
	for _, c := range ib.Carried {
		r := row{op: opSet, key: c.Key, value: text(c.Value), reason: "same as on the brokers"}
		if c.Key == "authorizer.class.name" {
			r.reason, r.source = "the controller authorizes forwarded requests, by the ACLs of the metadata log", "KIP-801"
		}
		for _, f := range families(ib.Listener, ib.Protocol) {
			if f.has(c.Key) {
				r.reason, r.source, r.own = f.reason, f.source, f.own
				break
			}
		}
		rows = append(rows, r)
	}
	return rows
}

func text(value string) func(input) (string, error) {
	return func(input) (string, error) { return value, nil }
}
