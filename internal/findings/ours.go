package findings

import (
	"fmt"
	"slices"
	"strings"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/facts"
)

// Us is who this program is to the cluster: the subject of the certificate that
// it shows (RFC 2253), empty when it shows none.
type Us struct {
	Brokers     facts.Fact[string]
	Controllers facts.Fact[string]
}

// us is our principal on the brokers' listener, or why it cannot be told.
func (l *look) us(f propertiesFile) (principal, why string) {
	m := l.s.Migration
	if m.Kafka.SASL != nil {
		return "User:" + m.Kafka.SASL.User, builderOf(f)
	}
	name := l.bootstrapListener(f)
	asks := f.onListener(name, "ssl.client.auth")
	if m.Kafka.TLS == nil || asks != "required" && asks != "requested" {
		return "User:ANONYMOUS", builderOf(f)
	}
	return byCertificate(f, l.s.Us.Brokers, f.onListener(name, "ssl.principal.mapping.rules"))
}

func byCertificate(f propertiesFile, subject facts.Fact[string], rules string) (principal, why string) {
	dn, ok := subject.Get()
	switch {
	case !ok:
		return "", "our certificate: " + subject.Cause()
	case rules != "" && rules != "DEFAULT":
		return "", "ssl.principal.mapping.rules makes another name of a certificate's"
	case dn == "":
		return "User:ANONYMOUS", builderOf(f)
	}
	return "User:" + dn, builderOf(f)
}

// builderOf: somebody else's class gives names as it likes.
func builderOf(f propertiesFile) string {
	if class := f.value("principal.builder.class"); class != "" && !strings.HasPrefix(class, "org.apache.kafka.") {
		return "principal.builder.class is " + class
	}
	return ""
}

// bootstrapListener is the listener with a port that we connect to.
func (l *look) bootstrapListener(f propertiesFile) string {
	for _, e := range append(listenersOf(f.value("advertised.listeners")), listenersOf(f.value("listeners"))...) {
		if slices.ContainsFunc(l.s.Migration.Kafka.Bootstrap, func(at string) bool { return at[strings.LastIndexByte(at, ':')+1:] == e.port }) {
			return e.name
		}
	}
	return ""
}

// onListener is a listener's own value of a key, else the file's.
func (f propertiesFile) onListener(name, key string) string {
	if v := f.value("listener.name." + strings.ToLower(name) + "." + key); v != "" {
		return v
	}
	return f.value(key)
}

// noSuperUserOfControllers: until the copy the metadata log has no ACL, so a
// controller answers nobody who is no super user: neither DescribeQuorum nor a
// fetch of the log, without which nothing can be proven.
func noSuperUserOfControllers(l *look) {
	f := l.firstBroker()
	if f.doc == nil || f.value(authorizerKey) == "" {
		return
	}
	us, why := l.usOfControllers(f)
	if why != "" || us == "User:ANONYMOUS" && l.s.Migration.Quorum.Listener.Protocol == "PLAINTEXT" {
		return // nodes have no other name there, and MIG325 says so
	}
	for _, n := range l.s.Migration.Nodes {
		if n.Role != cluster.Controller {
			continue
		}
		users, ok := setting(n, "super.users")
		if !ok {
			users = f.value("super.users")
		}
		if !strings.Contains(users, "${") && !slices.Contains(principals(users), us) {
			l.found(n.Name()+" settings in migrations.yaml", us+" is not in super.users", fmt.Sprintf("Add to the controllers' settings: {key: super.users, value: %q}. Brokers need not have it.", strings.Join(append(principals(users), us), ";")))
		}
	}
}

// usOfControllers is our principal on the controllers' listener.
func (l *look) usOfControllers(f propertiesFile) (principal, why string) {
	q := l.s.Migration.Quorum
	own := func(key string) string {
		for _, n := range l.s.Migration.Nodes {
			if n.Role != cluster.Controller {
				continue
			}
			for _, k := range []string{"listener.name." + strings.ToLower(q.Listener.Name) + "." + key, key} {
				if v, ok := setting(n, k); ok {
					return v
				}
			}
		}
		return f.value(key)
	}
	switch asks := own("ssl.client.auth"); {
	case q.SASL != nil:
		return "User:" + q.SASL.User, builderOf(f)
	case q.TLS == nil || asks != "required" && asks != "requested":
		return "User:ANONYMOUS", builderOf(f)
	}
	return byCertificate(f, l.s.Us.Controllers, own("ssl.principal.mapping.rules"))
}

// untoldPrincipal: without our name nobody can say what it may do.
func untoldPrincipal(l *look) {
	f := l.firstBroker()
	if f.doc == nil || f.value(authorizerKey) == "" {
		return
	}
	const how = "Give migrator's principal the rights of docs/secured.md, and make it a super user of the controllers."
	for _, of := range []func(propertiesFile) (string, string){l.us, l.usOfControllers} {
		if _, why := of(f); why != "" {
			l.unsure(why, how)
		}
	}
}

// noLogin: a SASL listener of the controllers is called by every node, with a
// login that no other setting gives.
func noLogin(l *look) {
	q := l.s.Migration.Quorum
	if !strings.HasPrefix(q.Listener.Protocol, "SASL_") {
		return
	}
	prefix := "listener.name." + strings.ToLower(q.Listener.Name) + "."
	in := func(key string) bool {
		return strings.HasPrefix(key, prefix) && strings.HasSuffix(key, "sasl.jaas.config")
	}
	mechanism := "MECHANISM"
	if q.SASL != nil {
		mechanism = strings.ToLower(q.SASL.Mechanism)
	}
	for _, n := range l.s.Migration.Nodes {
		_, doc, _ := readable(l.s.Snapshot.Files[n.ID], n.Role)
		if slices.ContainsFunc(n.Settings, func(s config.Setting) bool { return in(s.Key) }) || doc != nil && slices.ContainsFunc(doc.Keys(), in) {
			continue
		}
		l.found(n.Name()+" settings in migrations.yaml", "no "+prefix+mechanism+".sasl.jaas.config",
			"Add it to the node's settings: with username and password a node logs in to the controllers, and a controller lets in the user_NAME entries. If a JAAS file of the JVM has it (controller.KafkaServer or KafkaServer), waive this.")
	}
}
