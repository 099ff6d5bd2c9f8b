package configgen

import (
	"fmt"
	"slices"
	"strings"

	"migrator/internal/cluster"
)

// notes lists what is legal but often a mistake. They never quote secrets.
func notes(before *Document, in input) []string {
	after, role := in.doc, in.node.Role
	out := append(saslNotes(in), tlsNotes(in)...)
	if role == cluster.Controller {
		out = append(out, elsewhereNotes(in)...)
	}
	for _, note := range []string{foreignNote(after), clientStoreNote(in)} {
		if note != "" {
			out = append(out, note)
		}
	}
	if g, ok := GeneratedBy("", before.raw); ok {
		out = append(out, g.String())
	}
	if before.HasBOM() {
		out = append(out, "the file begins with a byte order mark, which Java takes as part of the first key")
	}
	for _, key := range after.Keys() {
		if lines := after.Lines(key); len(lines) > 1 {
			out = append(out, fmt.Sprintf("%s is set on lines %s; the last one counts", bounded(key), joinLines(lines)))
		}
	}
	class, _ := after.Value("authorizer.class.name")
	switch trimmed := strings.TrimSpace(class); {
	case trimmed != class:
		out = append(out, "authorizer.class.name ends in a blank, which Kafka takes as part of the name")
	case trimmed != "" && trimmed != aclAuthorizer && trimmed != standardAuthorizer:
		out = append(out, fmt.Sprintf("authorizer.class.name %s is not Kafka's own: it must support KRaft itself, and its rules are not copied", bounded(trimmed)))
	case trimmed == standardAuthorizer:
		if users, ok := after.Value("super.users"); !ok || strings.TrimSpace(users) == "" {
			out = append(out, fmt.Sprintf("StandardAuthorizer without super.users: %ss cannot register before the ACLs are read", role))
		}
	}
	for _, key := range after.Keys() {
		value, _ := after.Value(key)
		if strings.HasPrefix(key, "ssl.") && strings.HasSuffix(key, ".location") && role == cluster.Controller {
			out = append(out, fmt.Sprintf("%s names a file that must exist on the controller", key))
		}
		if strings.HasPrefix(key, "super.users") && strings.Contains(value, ",User:") {
			out = append(out, "super.users has commas between users: Kafka separates them by semicolons")
		}
	}
	return out
}

// saslNotes: a controller listener with SASL needs settings of its own, or the
// node dies looking for the brokers' mechanism.
func saslNotes(in input) []string {
	name := in.settings.Quorum.ListenerName
	if !has(in, "controller.listener.names") || !strings.HasPrefix(in.settings.Quorum.ListenerProtocol, "SASL_") {
		return nil
	}
	var out []string
	if !has(in, "sasl.mechanism.controller.protocol") {
		out = append(out, "sasl.mechanism.controller.protocol is not set, so nodes log in to the controllers with GSSAPI")
	}
	key := "listener.name." + strings.ToLower(name) + ".sasl.enabled.mechanisms"
	if in.node.Role == cluster.Controller && !has(in, key) {
		out = append(out, key+" is not set, so the controllers' listener also wants every mechanism of sasl.enabled.mechanisms")
	}
	return out
}

// tlsNotes: with TLS on the controllers' listener a controller needs a key, and
// everybody who calls it a trust store; Kafka starts without either.
func tlsNotes(in input) []string {
	name := in.settings.Quorum.ListenerName
	if !has(in, "controller.listener.names") || !strings.HasSuffix(in.settings.Quorum.ListenerProtocol, "SSL") {
		return nil
	}
	set := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(key string) bool {
			return has(in, key) || has(in, "listener.name."+strings.ToLower(name)+"."+key)
		})
	}
	var out []string
	if in.node.Role == cluster.Controller && !set("ssl.keystore.location", "ssl.keystore.key") {
		out = append(out, "the controllers' listener has TLS, and this controller no ssl.keystore: nobody can connect to it")
	}
	if !set("ssl.truststore.location", "ssl.truststore.certificates") {
		out = append(out, "the controllers' listener has TLS, and the file no ssl.truststore: only what Java itself trusts is trusted")
	}
	return out
}

// clientStoreNote: like a key store, a trust store that is only a dynamic
// setting cannot be added to an open listener (SslFactory of 3.9.2), so the
// whole dynamic change is refused. Without clients' certificates none is needed.
func clientStoreNote(in input) string {
	names, err := listenerNames(in.doc, "listeners")
	if err != nil || in.node.Role != cluster.Broker || !has(in, "controller.listener.names") {
		return ""
	}
	text, err := mapText(in.doc)
	if err != nil {
		return ""
	}
	m, err := parseMap(text)
	if err != nil {
		return ""
	}
	for _, name := range names {
		of := func(key string) string {
			value, ok := in.doc.Value("listener.name." + strings.ToLower(name) + "." + key)
			if !ok {
				value, _ = in.doc.Value(key)
			}
			return strings.TrimSpace(value)
		}
		protocol, _ := m.protocol(name)
		asks := strings.HasSuffix(strings.ToUpper(protocol), "SSL") && (of("ssl.client.auth") == "required" || of("ssl.client.auth") == "requested")
		if asks && of("ssl.truststore.location") == "" && of("ssl.truststore.certificates") == "" && of("ssl.engine.factory.class") == "" {
			return fmt.Sprintf("listener %s asks clients for certificates, and the file has no ssl.truststore for it: one that is only a dynamic setting is lost in KRaft mode", bounded(name))
		}
	}
	return ""
}

// elsewhereNotes name what a controller needs beside its file.
func elsewhereNotes(in input) []string {
	var out []string
	providers := false
	for _, key := range in.doc.Keys() {
		value, _ := in.doc.Value(key)
		class := strings.TrimSpace(value)
		ours := strings.HasPrefix(class, "org.apache.kafka.") || strings.HasPrefix(class, "kafka.")
		if strings.Contains(key, ".class") && class != "" && !ours && key != "authorizer.class.name" {
			out = append(out, fmt.Sprintf("%s names %s: the controller needs its jar, and in its settings whatever keys it has of its own", bounded(key), bounded(Redact(key, class))))
		}
		providers = providers || strings.Contains(value, "${")
	}
	if providers && has(in, "config.providers") {
		out = append(out, "values come from config.providers: the files and variables that these read must exist on the controller")
	}
	ib := in.settings.InterBroker
	login := func(key string) bool {
		return strings.HasPrefix(key, "listener.name."+strings.ToLower(ib.Listener)+".") && strings.HasSuffix(key, ".sasl.jaas.config")
	}
	if strings.HasPrefix(strings.ToUpper(ib.Protocol), "SASL_") && !slices.ContainsFunc(in.doc.Keys(), login) {
		out = append(out, fmt.Sprintf("the controller logs in to the brokers on listener %s: the file has no login for that, so its JAAS file needs one", bounded(ib.Listener)))
	}
	if acl, err := boolean(in.doc, "zookeeper.set.acl"); err == nil && acl && !has(in, "zookeeper.ssl.client.enable") {
		out = append(out, "zookeeper.set.acl is true: the controller's JAAS file needs the Client section of the brokers")
	}
	return out
}

// foreignNote: a key that only begins like Kafka's is somebody else's, or a
// misspelt one that Kafka ignores without a word.
func foreignNote(doc *Document) string {
	var foreign []string
	for _, key := range doc.Keys() {
		if strings.HasPrefix(key, "zookeeper.") && key != migrationFlag && !slices.Contains(zooKeeperKeys(), key) {
			foreign = append(foreign, bounded(key))
		}
	}
	if len(foreign) == 0 {
		return ""
	}
	const shown = 5
	more := ""
	if len(foreign) > shown {
		more = fmt.Sprintf(" and %d more", len(foreign)-shown)
		foreign = foreign[:shown]
	}
	return fmt.Sprintf("Kafka has no setting %s%s: left alone", strings.Join(foreign, ", "), more)
}

func joinLines(lines []int) string {
	var items []string
	for _, n := range lines {
		items = append(items, fmt.Sprint(n))
	}
	return strings.Join(items, ", ")
}
