package configgen

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"migrator/internal/cluster"
)

// checkBefore refuses what must be put right by a person first.
func checkBefore(node cluster.Node, mode cluster.Mode, current []byte, doc *Document, s Settings, extra []Setting) error {
	if node.Role == cluster.Broker && current == nil {
		return errors.New("the broker has no properties file to start from")
	}
	if node.Role == cluster.Controller && current == nil && mode == cluster.KRaft {
		return errors.New("the controller has no properties file to finalize")
	}
	if err := checkMode(node.Role, mode, doc); err != nil {
		return err
	}
	if err := checkID(node, doc); err != nil {
		return err
	}
	if mode == cluster.ZK || node.Role == cluster.Controller && mode == cluster.KRaft {
		return nil
	}
	if err := checkSettings(node, mode, s); err != nil {
		return err
	}
	return checkExtra(extra)
}

// checkMode: a KRaft broker's file has lost its ZooKeeper settings; only the
// saved original has them.
func checkMode(role cluster.Role, wanted cluster.Mode, doc *Document) error {
	roles, _, err := plain(doc, "process.roles")
	if err != nil {
		return err
	}
	if role == cluster.Controller && strings.TrimSpace(roles) == "" && wanted == cluster.KRaftMigrating {
		return nil // made from nothing or from a prepared fragment
	}
	now, err := modeOf(doc, role)
	if err != nil {
		return err
	}
	if role == cluster.Broker && now == cluster.KRaft && wanted != cluster.KRaft {
		return errors.New("the file is a KRaft broker's and its ZooKeeper settings are gone: restore the saved original of the wanted mode")
	}
	return nil
}

func checkID(node cluster.Node, doc *Document) error {
	broker, hasBroker, err := number(doc, "broker.id")
	if err != nil {
		return err
	}
	id, hasNode, err := number(doc, "node.id")
	if err != nil {
		return err
	}
	switch {
	case hasBroker && hasNode && broker != id:
		return fmt.Errorf("broker.id is %d and node.id is %d: Kafka wants them equal, keep the one in meta.properties", broker, id)
	case hasBroker && broker != -1:
		id = broker
	case !hasNode || id == -1:
		return nil // generated, or not yet written: the mode's table writes it
	}
	if id != node.ID {
		return fmt.Errorf("the file has id %d, the configuration says %d: correct the one that differs from meta.properties", id, node.ID)
	}
	return nil
}

func checkSettings(node cluster.Node, mode cluster.Mode, s Settings) error {
	q := s.Quorum
	switch {
	case q.Mode != StaticQuorum && q.Mode != DynamicQuorum:
		return fmt.Errorf("quorum mode %q is neither static nor dynamic", bounded(q.Mode))
	case len(q.Voters) == 0:
		return errors.New("the quorum has no controllers")
	case q.ListenerName == "" || q.ListenerName != strings.ToUpper(q.ListenerName) || strings.ContainsAny(q.ListenerName, ",: "):
		// Kafka folds names in listeners but not in controller.listener.names.
		return fmt.Errorf("the controllers' listener name %q must be one word in upper case", bounded(q.ListenerName))
	case !slices.Contains([]string{"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}, q.ListenerProtocol):
		return fmt.Errorf("the controllers' listener protocol %q is not one of Kafka's", bounded(q.ListenerProtocol))
	}
	voter := slices.ContainsFunc(q.Voters, func(n cluster.Node) bool { return n.ID == node.ID })
	if node.Role == cluster.Broker && voter {
		// A ZooKeeper broker does not reject this; it would act as a voter.
		return errors.New("its id is also a controller's: give the controller another id")
	}
	if node.Role == cluster.Broker {
		return checkVersions(mode, s)
	}
	switch {
	case !voter:
		return errors.New("it is not among the quorum's controllers")
	case s.ZooKeeperConnect == "":
		return errors.New("zookeeper.connect is not known")
	case s.InterBroker.Listener == "" || s.InterBroker.Protocol == "":
		return errors.New("the brokers' inter-broker listener is not known")
	case strings.EqualFold(s.InterBroker.Listener, q.ListenerName):
		return fmt.Errorf("%s is the brokers' own listener: choose another name for the controllers'", q.ListenerName)
	}
	return nil
}

func checkVersions(mode cluster.Mode, s Settings) error {
	if mode != cluster.ZKMigrating {
		return nil
	}
	if _, err := NormalVersion(s.MetadataVersion); err != nil {
		return fmt.Errorf("metadata version: %w", err)
	}
	if _, err := NormalVersion(s.KafkaVersion); err != nil {
		return fmt.Errorf("kafka version: %w", err)
	}
	return nil
}

// checkExtra: what decides a node's role in the migration is not for settings.
func checkExtra(extra []Setting) error {
	fixed := []string{"process.roles", "node.id", "broker.id", migrationFlag, "controller.quorum.voters", "controller.quorum.bootstrap.servers", "controller.listener.names"}
	for _, e := range extra {
		if e.Key == "" || slices.Contains(fixed, e.Key) {
			return fmt.Errorf("an extra setting must not set %q: it follows from the mode and the inventory", bounded(e.Key))
		}
	}
	return nil
}

// checkAfter refuses a result that Kafka would refuse, or worse, run with.
func checkAfter(node cluster.Node, mode cluster.Mode, doc *Document, s Settings) error {
	class, _ := doc.Value("authorizer.class.name")
	if (mode == cluster.KRaft || mode == cluster.KRaftMigrating) && strings.TrimSpace(class) == aclAuthorizer {
		// It starts as long as it finds ZooKeeper, and then serves old ACLs.
		return fmt.Errorf("authorizer.class.name is AclAuthorizer, which reads ACLs from ZooKeeper: a KRaft node needs %s", standardAuthorizer)
	}
	if node.Role == cluster.Controller {
		return checkController(mode, doc)
	}
	if mode == cluster.ZK {
		return nil
	}
	for _, key := range []string{"listeners", "advertised.listeners"} {
		names, err := listenerNames(doc, key)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, s.Quorum.ListenerName) }) {
			return fmt.Errorf("%s has a listener %s, the name meant for the controllers: choose another name in quorum.listener", key, s.Quorum.ListenerName)
		}
	}
	if err := checkStores(doc); err != nil {
		return err
	}
	connect, ok := doc.Value("zookeeper.connect")
	if mode == cluster.ZKMigrating && (!ok || strings.TrimSpace(connect) == "") {
		return errors.New("zookeeper.connect is not set: a broker in ZooKeeper mode needs it")
	}
	return nil
}

// checkStores: a broker in ZooKeeper mode can have the key store of a listener
// from its dynamic settings alone. In KRaft mode the listener is opened by the
// file first, and then Kafka 3.9.2 says "Cannot add SSL keystore to an existing
// listener for which no keystore was configured": the broker runs and registers,
// and every handshake on that listener fails (KAFKA-17431).
func checkStores(doc *Document) error {
	names, err := listenerNames(doc, "listeners")
	if err != nil {
		return err
	}
	text, err := mapText(doc)
	if err != nil {
		return err
	}
	m, err := parseMap(text)
	if err != nil {
		return err
	}
	for _, name := range names {
		protocol, _ := m.protocol(name)
		if !strings.HasSuffix(strings.ToUpper(protocol), "SSL") {
			continue
		}
		prefix := "listener.name." + strings.ToLower(name) + "."
		if !slices.ContainsFunc([]string{"ssl.keystore.location", "ssl.keystore.key", "ssl.engine.factory.class"}, func(key string) bool {
			return filled(doc, key) || filled(doc, prefix+key)
		}) {
			return fmt.Errorf("listener %s has TLS and the file no key store for it: one that is only a dynamic setting is lost in KRaft mode, and clients of this listener with it. "+
				"Write its ssl.keystore settings into the file, or remove the listener", bounded(name))
		}
	}
	return nil
}

func filled(doc *Document, key string) bool {
	value, _ := doc.Value(key)
	return strings.TrimSpace(value) != ""
}

func checkController(mode cluster.Mode, doc *Document) error {
	if mode == cluster.KRaft {
		return nil
	}
	_, dirs := doc.Value("log.dirs")
	_, dir := doc.Value("log.dir")
	if !dirs && !dir {
		return errors.New("neither log.dirs nor log.dir is set, so Kafka would use /tmp/kafka-logs: add log.dirs to the controller's settings")
	}
	mechanism, _ := doc.Value("sasl.mechanism.controller.protocol")
	if strings.HasPrefix(strings.ToUpper(mechanism), "SCRAM") {
		// KAFKA-15513: the credentials lie in the log that the quorum must first read.
		return errors.New("sasl.mechanism.controller.protocol is SCRAM, with which a stopped quorum never forms again: use TLS, PLAIN or GSSAPI between controllers")
	}
	return nil
}
