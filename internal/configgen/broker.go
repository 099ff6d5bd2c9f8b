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
			if !f.has(key) || taken[key] || f.when != nil && !f.when(doc) {
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
