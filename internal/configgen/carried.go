package configgen

import (
	"slices"
	"strings"
)

// family is a group of broker keys that controllers take over.
type family struct {
	keys   []string             // exact, or a prefix when it ends in a dot
	when   func(*Document) bool // of the broker's file; nil is always
	own    bool                 // a value the controller's file has already is kept
	reason string
	source string
}

func (f family) has(key string) bool {
	return slices.ContainsFunc(f.keys, func(k string) bool {
		return key == k || strings.HasSuffix(k, ".") && strings.HasPrefix(key, k)
	})
}

// families is the whole list of what is carried over. Everything else of a
// broker's file stays with the broker: vendor keys and client listeners keep a
// controller from starting.
func families(listener, protocol string) []family {
	all := append(sharedFamilies(), evaluatedFamilies()...)
	if strings.HasPrefix(strings.ToUpper(protocol), "SASL_") {
		all = append(all, family{keys: []string{"sasl.mechanism.inter.broker.protocol", "sasl.enabled.mechanisms", "sasl.kerberos.service.name",
			"sasl.kerberos.kinit.cmd", "sasl.kerberos.min.time.before.relogin", "sasl.kerberos.ticket.renew.jitter", "sasl.kerberos.ticket.renew.window.factor",
			"sasl.client.callback.handler.class", "sasl.login.", "sasl.oauthbearer."},
			own: true, reason: "in hybrid mode the controller logs in to the brokers", source: "KAFKA-15670"})
	}
	if strings.HasSuffix(strings.ToUpper(protocol), "SSL") {
		all = append(all, family{keys: []string{"ssl."}, own: true, reason: "in hybrid mode the controller calls the brokers over TLS", source: "KAFKA-15670"})
	}
	return append(all, family{keys: []string{"listener.name." + strings.ToLower(listener) + "."},
		own: true, reason: "in hybrid mode the controller calls the brokers on this listener", source: "KAFKA-15670"})
}

// sharedFamilies must be the same on brokers and controllers.
func sharedFamilies() []family {
	return []family{
		{keys: zooKeeperClientKeys(), reason: "the controller reads and writes ZooKeeper until the migration is finalized", source: "KIP-866"},
		{keys: []string{"config.providers", "config.providers."}, reason: "placeholders in carried values need their providers", source: "KIP-421"},
		{keys: []string{"super.users", "allow.everyone.if.no.acl.found", "principal.builder.class", "ssl.principal.mapping.rules", "sasl.kerberos.principal.to.local.rules"},
			reason: "the controller authorizes forwarded requests and the brokers themselves", source: "KIP-801"},
		{keys: []string{"delegation.token."}, reason: "tokens are verified with the brokers' key on the controller", source: "KAFKA-15219"},
		{keys: []string{"password.encoder."}, reason: "the copy decodes encrypted settings of ZooKeeper with the brokers' secret", source: "Kafka 3.9 manual, migration"},
	}
}

// evaluatedFamilies decide on brokers in ZooKeeper mode, and on the active
// controller as soon as there is one: read from its own file, whatever the
// brokers' files say.
func evaluatedFamilies() []family {
	return []family{
		{keys: []string{"default.replication.factor", "num.partitions", "min.insync.replicas", "unclean.leader.election.enable", "unclean.leader.election.interval.ms",
			"auto.leader.rebalance.enable", "leader.imbalance.check.interval.seconds", "leader.imbalance.per.broker.percentage",
			"create.topic.policy.class.name", "alter.config.policy.class.name", "alter.config.policy.kraft.compatibility.enable",
			"controller.quota.window.num", "controller.quota.window.size.seconds"},
			reason: "KRaft evaluates this on the controller", source: "Kafka 3.9 ControllerServer"},
		{keys: []string{"delete.topic.enable"}, reason: "in KRaft mode the controller decides whether topics may be deleted, and its default is yes", source: "Kafka 3.9 ControllerApis"},
		{keys: []string{"remote.log.storage.system.enable"},
			reason: "without it the controller refuses topics with tiered storage", source: "Kafka 3.9 ControllerConfigurationValidator"},
		{keys: []string{"log.retention.ms", "log.retention.minutes", "log.retention.hours", "log.retention.bytes", "log.local.retention.ms", "log.local.retention.bytes"},
			when: tieredStorage, reason: "the controller compares a tiered topic's settings with these defaults", source: "Kafka 3.9 ControllerConfigurationValidator"},
	}
}

func tieredStorage(doc *Document) bool {
	value, _ := doc.Value("remote.log.storage.system.enable")
	return strings.EqualFold(strings.TrimSpace(value), "true")
}
