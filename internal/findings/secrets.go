package findings

import (
	"fmt"
	"slices"
	"strings"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/configgen"
)

// othersDisagree: in KRaft mode one value counts for all. Keys with a finding of
// their own are left to it.
func othersDisagree(l *look) {
	var files []configgen.BrokerFile
	for _, f := range l.zooKeeperBrokers() {
		files = append(files, configgen.BrokerFile{ID: f.node.ID, Content: f.file.Content})
	}
	list, err := configgen.Disagreements(files)
	if err != nil {
		l.unsure(err.Error(), "Correct the named file.")
	}
	own := []string{authorizerKey, "password.encoder.secret", "delegation.token.secret.key", "delegation.token.master.key", "inter.broker.protocol.version", "inter.broker.listener.name", "zookeeper.connect"}
	for _, d := range list {
		if !slices.Contains(own, d.Key) {
			l.found(d.Key, d.String(), "Make the brokers agree, or set the value you want in the controllers' settings and waive this: "+d.Reason+".")
		}
	}
}

func encoderSecretsDisagree(l *look) {
	l.disagree("password.encoder.secret", "", "Give all brokers the same secret: with password.encoder.old.secret a broker encodes its values anew at its restart. The controllers take over one of them to decode the copy.")
}

func tokenKeysDisagree(l *look) {
	l.disagree("delegation.token.secret.key", "delegation.token.master.key", "Give all brokers the same key: the controllers take over one of them.")
	for _, f := range l.brokerFiles() {
		a, b := f.value("delegation.token.secret.key"), f.value("delegation.token.master.key")
		if a != "" && b != "" && a != b {
			l.found(f.at("delegation.token.master.key"), "delegation.token.master.key differs from delegation.token.secret.key, its newer name", "Keep the newer name only.")
		}
	}
}

// principalBuilders: forwarded requests carry the principal in the builder's own form.
func principalBuilders(l *look) {
	for _, f := range l.brokerFiles() {
		if class := f.value("principal.builder.class"); class != "" && !strings.HasPrefix(class, "org.apache.kafka.") {
			l.found(f.at("principal.builder.class"), class, "Find out whether it implements KafkaPrincipalSerde, and put its jar on the controllers. Then waive this with what you found out.")
		}
	}
}

func policies(l *look) {
	for _, f := range l.brokerFiles() {
		for _, key := range []string{"create.topic.policy.class.name", "alter.config.policy.class.name"} {
			class := f.value(key)
			if class == "" {
				continue
			}
			fix := "Put its jar on every controller; migrator carries the key there, private settings of the policy belong into the controllers' settings."
			if strings.HasPrefix(key, "alter.") && f.value("alter.config.policy.kraft.compatibility.enable") == "" {
				fix += " In KRaft mode it sees other arguments for SUBTRACT, APPEND and DELETE; try it, or set alter.config.policy.kraft.compatibility.enable=true (3.9.2)."
			}
			l.found(f.at(key), class, fix)
		}
	}
}

// scramControllers: the credentials lie in the log that the quorum must first read.
func scramControllers(l *look) {
	const key, fix = "sasl.mechanism.controller.protocol", "Use TLS, PLAIN over TLS or GSSAPI between controllers, and give brokers such an identity towards them too."
	for _, n := range l.s.Migration.Nodes {
		if v, ok := setting(n, key); ok && strings.HasPrefix(strings.ToUpper(v), "SCRAM") {
			l.found(n.Name()+" settings in migrations.yaml", key+"="+v, fix)
		}
	}
	for _, f := range slices.Concat(l.brokerFiles(), l.controllerFiles()) {
		if v := f.value(key); strings.HasPrefix(strings.ToUpper(v), "SCRAM") {
			l.found(f.at(key), key+"="+v, fix)
		}
	}
}

// outsideLogins: a login in a JAAS file of the JVM's is seen in no properties file.
func outsideLogins(l *look) {
	f := l.firstBroker()
	if f.doc == nil {
		return
	}
	name, protocol, ok := interBroker(f)
	if ok && strings.HasPrefix(protocol, "SASL_") && !l.hasJAAS(f, name) {
		l.found(f.at("sasl.mechanism.inter.broker.protocol"), fmt.Sprintf("brokers log in to %s with a JAAS file that the JVM is given", name),
			"Give every controller the same login: the JAAS file by java.security.auth.login.config in its environment, or its listener.name.LISTENER.MECHANISM.sasl.jaas.config in the controllers' settings.")
	}
	if strings.EqualFold(f.value("zookeeper.set.acl"), "true") && !strings.EqualFold(f.value("zookeeper.ssl.client.enable"), "true") {
		l.found(f.at("zookeeper.set.acl"), "brokers log in to ZooKeeper with the section Client of a JAAS file",
			"Give every controller the same file and principal; without it the copy cannot read /config/users or write /migration.")
	}
}

// hasJAAS counts keys with the listener's prefix only: a bare sasl.jaas.config in
// a server's file is ignored with a warning (3.9, JaasContext).
func (l *look) hasJAAS(f propertiesFile, name string) bool {
	in := func(key string) bool {
		return strings.HasSuffix(key, ".sasl.jaas.config") && strings.HasPrefix(key, "listener.name."+strings.ToLower(name)+".")
	}
	if slices.ContainsFunc(f.doc.Keys(), in) {
		return true
	}
	for _, n := range l.s.Migration.Nodes {
		if n.Role == cluster.Controller && !slices.ContainsFunc(n.Settings, func(s config.Setting) bool { return in(s.Key) }) {
			return false
		}
	}
	return true
}

// keylessControllers: a TLS listener needs a key store, the controllers' own or
// one that comes along with the inter-broker settings.
func keylessControllers(l *look) {
	q := l.s.Migration.Quorum.Listener
	f := l.firstBroker()
	if !strings.HasSuffix(q.Protocol, "SSL") || f.doc == nil {
		return
	}
	_, protocol, _ := interBroker(f)
	own := "listener.name." + strings.ToLower(q.Name) + "."
	has := func(get func(string) bool) bool {
		return get("ssl.keystore.location") || get("ssl.keystore.key") || get(own+"ssl.keystore.location") || get(own+"ssl.keystore.key")
	}
	carried := strings.HasSuffix(protocol, "SSL") && has(func(key string) bool { return f.value(key) != "" })
	for _, n := range l.s.Migration.Nodes {
		if n.Role != cluster.Controller || carried || has(func(key string) bool { _, ok := setting(n, key); return ok }) || l.fileHas(n, has) {
			continue
		}
		l.found(n.Name()+" settings in migrations.yaml", "the controllers' listener is "+q.Protocol+" and nothing names a key store", "Add ssl.keystore.location and what belongs to it to the settings of the controllers.")
	}
}

func (l *look) fileHas(n config.Node, has func(func(string) bool) bool) bool {
	_, doc, _ := readable(l.s.Snapshot.Files[n.ID], n.Role)
	return doc != nil && has(func(key string) bool { return propertiesFile{node: n, doc: doc}.value(key) != "" })
}
