package configgen

import (
	"fmt"
	"strings"
)

const (
	aclAuthorizer      = "kafka.security.authorizer.AclAuthorizer"
	standardAuthorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
)

// InterBroker is what controllers need to know of the brokers: in hybrid mode a
// controller calls the brokers on their own listener (KAFKA-15670), and some
// broker settings are evaluated on the controller in KRaft.
type InterBroker struct {
	Listener string // name of the inter-broker listener
	Protocol string // its security protocol
	Carried  []Setting
}

// FromBroker derives it from one broker's file, in any mode.
func FromBroker(file []byte) (InterBroker, error) {
	doc, err := Parse(file)
	if err != nil {
		return InterBroker{}, err
	}
	name, protocol, err := interBrokerListener(doc)
	if err != nil {
		return InterBroker{}, err
	}
	ib := InterBroker{Listener: name, Protocol: protocol}
	taken := map[string]bool{}
	for _, f := range families(name, protocol) {
		for _, key := range doc.Keys() {
			if !f.has(key) || taken[key] {
				continue
			}
			taken[key] = true
			value, _ := doc.Value(key)
			ib.Carried = append(ib.Carried, Setting{key, value})
		}
	}
	value, _, err := plain(doc, "authorizer.class.name")
	if err != nil {
		return InterBroker{}, err
	}
	if class := strings.TrimSpace(value); class != "" {
		ib.Carried = append(ib.Carried, Setting{"authorizer.class.name", kraftAuthorizer(class)})
	}
	return ib, nil
}

// kraftAuthorizer swaps the stock class; a class of somebody else must itself
// support KRaft and is kept.
func kraftAuthorizer(class string) string {
	if class == aclAuthorizer {
		return standardAuthorizer
	}
	return class
}

// interBrokerListener follows KafkaConfig: the listener's name, or one named
// like the protocol when only security.inter.broker.protocol is given.
func interBrokerListener(doc *Document) (string, string, error) {
	name, _, err := plain(doc, "inter.broker.listener.name")
	if err != nil {
		return "", "", err
	}
	protocol, hasProtocol, err := plain(doc, "security.inter.broker.protocol")
	if err != nil {
		return "", "", err
	}
	name, protocol = strings.TrimSpace(name), strings.TrimSpace(protocol)
	if name != "" && hasProtocol {
		return "", "", fmt.Errorf("inter.broker.listener.name and security.inter.broker.protocol are both set: Kafka takes only one, remove the second")
	}
	if name == "" {
		if protocol == "" {
			protocol = "PLAINTEXT"
		}
		return protocol, protocol, nil
	}
	text, err := mapText(doc)
	if err != nil {
		return "", "", err
	}
	m, err := parseMap(text)
	if err != nil {
		return "", "", err
	}
	protocol, ok := m.protocol(name)
	if !ok {
		return "", "", fmt.Errorf("inter.broker.listener.name=%s is not in listener.security.protocol.map", bounded(name))
	}
	return name, protocol, nil
}

// family is a group of broker keys that controllers take over.
type family struct {
	keys   []string // exact, or a prefix when it ends in a dot
	own    bool     // a value the controller's file has already is kept
	reason string
	source string
}

func (f family) has(key string) bool {
	if key == "zookeeper.connect" || key == migrationFlag {
		return false
	}
	for _, k := range f.keys {
		if key == k || strings.HasSuffix(k, ".") && strings.HasPrefix(key, k) {
			return true
		}
	}
	return false
}

// families is the whole list of what is carried over. Everything else of a
// broker's file stays with the broker: vendor keys and client listeners keep a
// controller from starting.
func families(listener, protocol string) []family {
	all := []family{
		{keys: []string{"zookeeper."}, reason: "the controller reads and writes ZooKeeper until the migration is finalized", source: "KIP-866"},
		{keys: []string{"config.providers", "config.providers."}, reason: "placeholders in carried values need their providers", source: "KIP-421"},
		{keys: []string{"super.users", "allow.everyone.if.no.acl.found", "principal.builder.class", "ssl.principal.mapping.rules", "sasl.kerberos.principal.to.local.rules"},
			reason: "the controller authorizes forwarded requests and the brokers themselves", source: "KIP-801"},
		{keys: []string{"default.replication.factor", "num.partitions", "min.insync.replicas", "unclean.leader.election.enable", "auto.leader.rebalance.enable",
			"leader.imbalance.", "create.topic.policy.class.name", "alter.config.policy.class.name", "alter.config.policy.kraft.compatibility.enable", "controller.quota.window."},
			reason: "KRaft evaluates this on the controller", source: "Kafka 3.9 ControllerServer"},
		{keys: []string{"delegation.token."}, reason: "tokens are verified with the brokers' key on the controller", source: "KAFKA-15219"},
		{keys: []string{"password.encoder."}, reason: "the copy decodes encrypted settings of ZooKeeper with the brokers' secret", source: "Kafka 3.9 manual, migration"},
	}
	if strings.HasPrefix(strings.ToUpper(protocol), "SASL_") {
		all = append(all, family{keys: []string{"sasl.mechanism.inter.broker.protocol", "sasl.enabled.mechanisms", "sasl.kerberos.service.name"},
			own: true, reason: "in hybrid mode the controller logs in to the brokers", source: "KAFKA-15670"})
	}
	if strings.HasSuffix(strings.ToUpper(protocol), "SSL") {
		all = append(all, family{keys: []string{"ssl."}, own: true, reason: "in hybrid mode the controller calls the brokers over TLS", source: "KAFKA-15670"})
	}
	return append(all, family{keys: []string{"listener.name." + strings.ToLower(listener) + "."},
		own: true, reason: "in hybrid mode the controller calls the brokers on this listener", source: "KAFKA-15670"})
}
