package configgen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// BrokerFile is one broker's properties file.
type BrokerFile struct {
	ID      int32
	Content []byte
}

// Disagreement is a setting on which the brokers' files differ although, with
// the migration, one value counts for all: the controllers take the first file's.
type Disagreement struct {
	Key    string
	Held   []Held // in the order of the files; the first is what the controllers get
	Reason string // why it comes to count for all
	Source string
}

// Held is one value and the brokers that have it.
type Held struct {
	Value   string // as it may be shown
	Default bool   // no file says so: it is Kafka's default, or nothing
	Brokers []int32
}

// String is one line for a person, without secrets.
func (d Disagreement) String() string {
	var parts []string
	for _, h := range d.Held {
		value := h.Value
		switch {
		case value == "":
			value = "nothing"
		case h.Default:
			value += " by default"
		}
		parts = append(parts, fmt.Sprintf("%s on broker %s", bounded(value), joinIDs(h.Brokers)))
	}
	return fmt.Sprintf("%s: %s; the controllers get the first", d.Key, strings.Join(parts, ", "))
}

func joinIDs(ids []int32) string {
	var out []string
	for _, id := range ids {
		out = append(out, strconv.Itoa(int(id)))
	}
	return strings.Join(out, ", ")
}

// Disagreements compares the brokers' files in the order of the inventory,
// whose first one the controllers' settings are taken from. A written default
// equals an absent key. A file that cannot be read is an error: unknown is no
// agreement.
func Disagreements(files []BrokerFile) ([]Disagreement, error) {
	var docs []*Document
	for _, f := range files {
		doc, err := Parse(f.Content)
		if err != nil {
			return nil, fmt.Errorf("the file of broker %d: %w", f.ID, err)
		}
		docs = append(docs, doc)
	}
	var out []Disagreement
	compared := []family{
		{keys: []string{"authorizer.class.name"}, reason: "the controller authorizes what brokers forward, by one authorizer", source: "KIP-801"},
		{keys: []string{"sasl.mechanism.inter.broker.protocol"}, reason: "in hybrid mode the controller logs in to all brokers alike", source: "KAFKA-15670"},
	}
	for _, f := range slices.Concat(compared, sharedFamilies(), evaluatedFamilies()) {
		for _, key := range f.present(docs) {
			if d := compare(key, files, docs); len(d.Held) > 1 {
				d.Reason, d.Source = f.reason, f.source
				out = append(out, d)
			}
		}
	}
	d, err := compareListeners(files)
	if err != nil {
		return nil, err
	}
	if len(d.Held) > 1 {
		out = append([]Disagreement{d}, out...)
	}
	return out, nil
}

// present are the family's keys that some file has, in the family's order;
// where each node's own value is right, as with a key store, none.
func (f family) present(docs []*Document) []string {
	var keys []string
	for _, doc := range docs {
		if f.when != nil && !f.when(doc) {
			continue
		}
		for _, key := range doc.Keys() {
			if f.has(key) && !nodesOwn(key) && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// nodesOwn: stores, their passwords and what a provider reads lie on each node.
func nodesOwn(key string) bool {
	return strings.Contains(key, "store.") || strings.HasPrefix(key, "config.providers.")
}

func compare(key string, files []BrokerFile, docs []*Document) Disagreement {
	d := Disagreement{Key: key}
	var seen []string
	for i, doc := range docs {
		value, written := doc.Value(key)
		if !written {
			value = defaultOf(key)
		}
		d.hold(&seen, alike(key, value), Held{Value: Redact(key, value), Default: !written}, files[i].ID)
	}
	return d
}

// compareListeners: a controller knows one inter-broker listener. A broker on
// another one hears nothing in hybrid mode.
func compareListeners(files []BrokerFile) (Disagreement, error) {
	d := Disagreement{Key: "inter.broker.listener.name", Reason: "in hybrid mode the controller calls all brokers on one listener", Source: "KAFKA-15670"}
	var seen []string
	for _, f := range files {
		ib, err := FromBroker(f.Content)
		if err != nil {
			return d, fmt.Errorf("the file of broker %d: %w", f.ID, err)
		}
		is := ib.Listener + " (" + ib.Protocol + ")"
		d.hold(&seen, strings.ToUpper(is), Held{Value: is}, f.ID)
	}
	return d, nil
}

// hold adds a broker to those with the same value.
func (d *Disagreement) hold(seen *[]string, value string, h Held, broker int32) {
	i := slices.Index(*seen, value)
	if i < 0 {
		*seen = append(*seen, value)
		h.Brokers = []int32{broker}
		d.Held = append(d.Held, h)
		return
	}
	d.Held[i].Brokers = append(d.Held[i].Brokers, broker)
}

// alike folds what Kafka folds: blanks around a value, and the case of true
// and false. Names of classes and users are taken as they are (KAFKA-14962).
func alike(key, value string) string {
	if key == "authorizer.class.name" || key == "super.users" {
		return value
	}
	value = strings.TrimSpace(value)
	if lower := strings.ToLower(value); lower == "true" || lower == "false" {
		return lower
	}
	return value
}

// defaultOf is Kafka 3.9's own value of a key that is compared, empty where it
// has none.
func defaultOf(key string) string {
	return map[string]string{
		"allow.everyone.if.no.acl.found":                  "false",
		"alter.config.policy.kraft.compatibility.enable":  "false",
		"auto.leader.rebalance.enable":                    "true",
		"controller.quota.window.num":                     "11",
		"controller.quota.window.size.seconds":            "1",
		"default.replication.factor":                      "1",
		"delegation.token.expiry.check.interval.ms":       "3600000",
		"delegation.token.expiry.time.ms":                 "86400000",
		"delegation.token.max.lifetime.ms":                "604800000",
		"delete.topic.enable":                             "true",
		"leader.imbalance.check.interval.seconds":         "300",
		"leader.imbalance.per.broker.percentage":          "10",
		"log.local.retention.bytes":                       "-2",
		"log.local.retention.ms":                          "-2",
		"log.retention.bytes":                             "-1",
		"log.retention.hours":                             "168",
		"min.insync.replicas":                             "1",
		"num.partitions":                                  "1",
		"password.encoder.cipher.algorithm":               "AES/CBC/PKCS5Padding",
		"password.encoder.iterations":                     "4096",
		"password.encoder.key.length":                     "128",
		"remote.log.storage.system.enable":                "false",
		"ssl.principal.mapping.rules":                     "DEFAULT",
		"sasl.kerberos.principal.to.local.rules":          "DEFAULT",
		"unclean.leader.election.enable":                  "false",
		"unclean.leader.election.interval.ms":             "300000",
		"zookeeper.max.in.flight.requests":                "10",
		"zookeeper.session.timeout.ms":                    "18000",
		"zookeeper.set.acl":                               "false",
		"zookeeper.ssl.client.enable":                     "false",
		"zookeeper.ssl.crl.enable":                        "false",
		"zookeeper.ssl.endpoint.identification.algorithm": "HTTPS",
		"zookeeper.ssl.ocsp.enable":                       "false",
		"zookeeper.ssl.protocol":                          "TLSv1.2",
	}[key]
}
