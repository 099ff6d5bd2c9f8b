package configgen

import (
	"strconv"
	"strings"

	"migrator/internal/cluster"
)

func has(in input, key string) bool {
	_, ok := in.doc.Value(key)
	return ok
}

func ownID(in input) (string, error) { return strconv.Itoa(int(in.node.ID)), nil }

// lacksID is a broker whose id Kafka generated.
func lacksID(in input) bool {
	for _, key := range []string{"broker.id", "node.id"} {
		if id, ok, err := number(in.doc, key); err != nil || ok && id != -1 {
			return false
		}
	}
	return true
}

// reservedID: ids above reserved.broker.max.id belong to generation while that
// is on, which it is by default.
func reservedID(in input) bool {
	limit, ok, err := number(in.doc, "reserved.broker.max.id")
	if err != nil {
		return false
	}
	if !ok {
		limit = 1000
	}
	_, written, err := plain(in.doc, "broker.id.generation.enable")
	if err != nil {
		return false
	}
	generates, err := boolean(in.doc, "broker.id.generation.enable")
	return err == nil && in.node.ID > limit && (generates || !written)
}

func usesACLAuthorizer(in input) bool {
	value, _ := in.doc.Value("authorizer.class.name")
	return strings.TrimSpace(value) == aclAuthorizer
}

// otherProtocolVersion: an absent key means the software's default, so it is
// written only where that differs. Versions compare by level, not by spelling.
func otherProtocolVersion(in input) bool {
	now, err := effectiveIBP(in.doc, in.settings.KafkaVersion)
	if err != nil {
		return true
	}
	wanted, err := NormalVersion(in.settings.MetadataVersion)
	return err != nil || now != wanted
}

// mapLacksListener is false only where Kafka's default already says it all.
func mapLacksListener(in input) bool {
	now, err := mapText(in.doc)
	if err != nil {
		return true
	}
	wanted, err := listenerMap(in)
	return err != nil || now != wanted
}

// listenerMap adds the controllers' listener, and on a controller the brokers'.
// A broker without the key keeps the names of Kafka's default.
func listenerMap(in input) (string, error) {
	now, _, err := plain(in.doc, "listener.security.protocol.map")
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(now) == "" && in.node.Role == cluster.Broker {
		now = defaultMap
	}
	now, err = withEntry(now, in.settings.Quorum.ListenerName, in.settings.Quorum.ListenerProtocol)
	if err != nil || in.node.Role == cluster.Broker {
		return now, err
	}
	return withEntry(now, in.settings.InterBroker.Listener, in.settings.InterBroker.Protocol)
}

// controllerListeners keeps an address that listens on the right name and port:
// which interface to bind is the operator's choice.
func controllerListeners(in input) (string, error) {
	now, _, err := plain(in.doc, "listeners")
	if err != nil {
		return "", err
	}
	name := in.settings.Quorum.ListenerName
	if strings.HasPrefix(now, name+"://") && !strings.Contains(now, ",") && strings.HasSuffix(strings.TrimSpace(now), ":"+strconv.Itoa(in.node.Port)) {
		return now, nil
	}
	return name + "://" + HostPort(in.node), nil
}
