package findings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// defaultEntity is what ZooKeeper calls the default of a kind.
const defaultEntity = "<default>"

// entity is one znode with settings, below /config.
type entity struct {
	kind, name, path string // name as the znode spells it; "u/clients/c" for a user's client
	null             bool
	fault            string            // why Kafka reads no settings from it
	values           map[string]string // as text
	wrong            []string          // keys whose value is no text
}

// entities are the znodes of one kind, a user's clients included.
func (l *look) entities(kind string) []entity {
	root := "/config/" + kind
	var out []entity
	l.below(root, func(name string, z Znode) {
		out = append(out, readEntity(kind, name, z))
		if kind == "users" {
			l.below(z.Path+"/clients", func(client string, z Znode) {
				out = append(out, readEntity(kind, name+"/clients/"+client, z))
			})
		}
	})
	return out
}

// readEntity reads what Kafka reads (ConfigEntityZNode): no data and no
// "config" are no settings, a value that is no text throws.
func readEntity(kind, name string, z Znode) entity {
	out := entity{kind: kind, name: name, path: z.Path, null: z.Data == nil, values: map[string]string{}}
	fields, fault := object(z.Data)
	if fault != "" {
		out.fault = fault
		return out
	}
	var config map[string]json.RawMessage
	if json.Unmarshal(fields["config"], &config) != nil || config == nil {
		out.fault = `it has no "config" of the form {"key":"value"}`
		return out
	}
	for _, key := range sortedKeys(config) {
		var text *string
		if json.Unmarshal(config[key], &text) != nil || text == nil {
			out.wrong = append(out.wrong, key)
			continue
		}
		out.values[key] = *text
	}
	return out
}

func configKinds() []string { return []string{"brokers", "clients", "ips", "topics", "users"} }

// unreadConfigs are znodes that Kafka takes for no settings. A user without
// data is the usual parent of its clients.
func unreadConfigs(l *look) {
	for _, kind := range configKinds() {
		for _, e := range l.entities(kind) {
			if e.fault != "" && (kind != "users" || !e.null) {
				l.found(e.path, e.fault, "Set what was meant again with kafka-configs.sh, or delete the znode.")
			}
		}
	}
}

func wrongConfigs(l *look) {
	for _, kind := range configKinds() {
		for _, e := range l.entities(kind) {
			if len(e.wrong) > 0 {
				l.found(e.path, "values that are no text, of "+some(e.wrong), `Every value is a text: {"version":1,"config":{"key":"value"}}. Correct the znode, or delete it and set the values again with kafka-configs.sh.`)
			}
		}
	}
}

// orphanedConfigs belong to topics that are not there.
func orphanedConfigs(l *look) {
	t, ok := l.tree()
	if !ok {
		return
	}
	for _, name := range t.Children("/config/topics") {
		if _, there := t.Get("/brokers/topics/" + name); !there {
			l.found("/config/topics/"+name, "no topic has this name", "Nothing to do: it is not copied, and deleted when ZooKeeper is first brought up to KRaft's state.")
		}
	}
}

// oddBrokerConfigs stop the copy: Kafka reads the name as a number.
func oddBrokerConfigs(l *look) {
	for _, e := range l.entities("brokers") {
		if _, ok := plainID(e.name); !ok && e.name != defaultEntity {
			l.found(e.path, "neither a broker's id nor "+defaultEntity, "Set its values again under the right id with kafka-configs.sh if they are wanted, and delete the znode.")
		}
	}
}

// strangersConfigs belong to brokers that are not there.
func strangersConfigs(l *look) {
	live, ok := l.liveIDs()
	if !ok {
		return
	}
	for _, e := range l.entities("brokers") {
		id, ok := plainID(e.name)
		if _, ours := l.s.Migration.Node(id); ok && !ours && !live[id] && len(e.values) > 0 {
			l.found(e.path, "settings of a broker that does not exist: "+some(sortedKeys(e.values)), "Delete them with kafka-configs.sh unless the broker comes back; a new broker of this id would take them over.")
		}
	}
}

// dynamicOverrides are settings of brokers that win over their files.
func dynamicOverrides(l *look) {
	for _, e := range l.entities("brokers") {
		for _, key := range sortedKeys(e.values) {
			for _, f := range l.brokerFiles() {
				if _, inFile := f.doc.Value(key); inFile && (e.name == defaultEntity || e.name == fmt.Sprint(f.node.ID)) {
					l.found(f.at(key), fmt.Sprintf("%s is overridden by %s", key, e.path), "Nothing to do: the copy carries it over. Know that the file's value is not in force.")
				}
			}
		}
	}
}

// dynamicEndpoints: a KRaft broker checks its file before it has read the
// dynamic settings, and some it never reads.
func dynamicEndpoints(l *look) {
	for _, e := range l.entities("brokers") {
		var keys []string
		for _, key := range sortedKeys(e.values) {
			last := key[strings.LastIndex(key, ".ssl.")+1:]
			if key == "listeners" || key == "advertised.listeners" || key == "listener.security.protocol.map" || strings.HasPrefix(last, "ssl.") {
				keys = append(keys, key)
			}
		}
		if len(keys) > 0 {
			l.found(e.path, "dynamic settings of listeners or TLS: "+some(keys), "Write the values in force into the broker's file before the roll to KRaft, so that the file is valid on its own.")
		}
	}
}

// dynamicPlaceholders are resolved on every node that reads them, controllers included.
func dynamicPlaceholders(l *look) {
	for _, kind := range []string{"brokers", "topics"} {
		for _, e := range l.entities(kind) {
			var keys []string
			for _, key := range sortedKeys(e.values) {
				if strings.Contains(e.values[key], "${") {
					keys = append(keys, key)
				}
			}
			if len(keys) > 0 {
				l.found(e.path, "placeholders in "+some(keys), "Every node that reads them needs the config provider, its jars and its files; without them the value is dropped. Write the value itself.")
			}
		}
	}
}

// passwordKeys end the names of settings of type password that can be dynamic
// (Kafka 3.9 DynamicBrokerConfig).
func passwordKeys() []string {
	return []string{"ssl.keystore.password", "ssl.key.password", "ssl.keystore.key", "ssl.keystore.certificate.chain",
		"ssl.truststore.password", "ssl.truststore.certificates", "sasl.jaas.config"}
}

// passwords are the keys of an entity that hold one, by whether it is encoded.
func (e entity) passwords() (encoded, clear []string) {
	for _, key := range sortedKeys(e.values) {
		if !slices.ContainsFunc(passwordKeys(), func(end string) bool { return strings.HasSuffix(key, end) }) {
			continue
		}
		switch value := e.values[key]; {
		case strings.Contains(value, "encryptedPassword:"):
			encoded = append(encoded, key)
		case value != "":
			clear = append(clear, key)
		}
	}
	return encoded, clear
}

const encoderSecret = "password.encoder.secret"

// passwordsWithoutSecret: a controller without the secret copies the encoded
// text as if it were the password.
func passwordsWithoutSecret(l *look) {
	for _, kind := range []string{"brokers", "topics"} {
		for _, e := range l.entities(kind) {
			encoded, _ := e.passwords()
			if len(encoded) == 0 {
				continue
			}
			for _, f := range l.brokerFiles() {
				if f.value(encoderSecret) == "" {
					l.found(e.path, fmt.Sprintf("encoded %s, and %s has no %s", some(encoded), f.at(encoderSecret), encoderSecret),
						"Put the secret that they were encoded with into every broker's file: controllers are given the brokers' own. Or delete the dynamic settings.")
				}
			}
		}
	}
}

// clearPasswords: a controller with the secret cannot decode what was never encoded.
func clearPasswords(l *look) {
	secret := slices.ContainsFunc(l.brokerFiles(), func(f propertiesFile) bool { return f.value(encoderSecret) != "" })
	if !secret {
		return
	}
	for _, kind := range []string{"brokers", "topics"} {
		for _, e := range l.entities(kind) {
			if _, clear := e.passwords(); len(clear) > 0 {
				l.found(e.path, "not encoded, though brokers have a "+encoderSecret+": "+some(clear), "Set it again with kafka-configs.sh, which encodes it, or delete it.")
			}
		}
	}
}
