package findings

import (
	"fmt"
	"slices"
	"strings"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/configgen"
)

const (
	aclAuthorizer      = "kafka.security.authorizer.AclAuthorizer"
	simpleAuthorizer   = "kafka.security.auth.SimpleAclAuthorizer" // gone since Kafka 3.0
	standardAuthorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
)

const authorizerKey = "authorizer.class.name"

// authorizersThatCannot: each of the stock classes belongs to one mode.
func authorizersThatCannot(l *look) {
	for _, f := range l.zooKeeperBrokers() {
		switch f.value(authorizerKey) {
		case standardAuthorizer:
			l.found(f.at(authorizerKey), standardAuthorizer+" on a broker in ZooKeeper mode, where it never sees an ACL", "Use "+aclAuthorizer+" until the broker is in KRaft mode; migrator swaps it then. Leaving the authorizer out opens the cluster to everyone.")
		case simpleAuthorizer:
			l.found(f.at(authorizerKey), simpleAuthorizer+", which Kafka 3 does not have any more", "Use "+aclAuthorizer+", which reads the same ACLs.")
		}
	}
}

// foreignAuthorizers: only the stock authorizer's ACLs are copied.
func foreignAuthorizers(l *look) {
	for _, f := range l.brokerFiles() {
		class := f.value(authorizerKey)
		if class != "" && !slices.Contains([]string{aclAuthorizer, simpleAuthorizer, standardAuthorizer}, class) && !strings.Contains(class, "${") {
			l.found(f.at(authorizerKey), class, "Find out from its maker whether it works in KRaft mode and where its rules lie; its jar and settings must be on the controllers too. Then waive this with what you found out.")
		}
	}
}

func authorizersDisagree(l *look) {
	l.disagree(authorizerKey, "", "Give all brokers the same authorizer: the controllers take over one of them.")
}

// disagree notes brokers whose value of a key differs from the first broker's.
// A secret is compared and never shown.
func (l *look) disagree(key, alias, fix string) {
	value := func(f propertiesFile) string {
		if v := f.value(key); v != "" || alias == "" {
			return v
		}
		return f.value(alias)
	}
	files := l.zooKeeperBrokers()
	for _, f := range files[min(1, len(files)):] {
		if value(f) == value(files[0]) {
			continue
		}
		l.found(f.at(key), fmt.Sprintf("%s is %s, and %s on %s", key, shown(key, value(f)), shown(key, value(files[0])), files[0].node.Name()), fix)
	}
}

func shown(key, value string) string {
	if value == "" {
		return "not set"
	}
	return configgen.Redact(key, value)
}

// aclsElsewhere: the copy takes ACLs from the controllers' zookeeper.connect only.
func aclsElsewhere(l *look) {
	for _, f := range l.zooKeeperBrokers() {
		url := f.value("authorizer.zookeeper.url")
		if f.value(authorizerKey) == aclAuthorizer && url != "" && compareConnect(url, l.s.Migration.ZooKeeper.Connect) == otherTree {
			l.found(f.at("authorizer.zookeeper.url"), url, "Move the ACLs into the tree of zookeeper.connect first: list them with kafka-acls.sh, change the key on all brokers, add them again.")
		}
		if servers, _ := splitConnect(url); f.value(authorizerKey) == aclAuthorizer && len(servers) > 0 && !l.knowsAServer(servers) {
			l.found(f.at("authorizer.zookeeper.url"), url, "If these are names of the same ensemble, write them as in zookeeper.connect; else move the ACLs there first.")
		}
	}
}

func (l *look) knowsAServer(servers []string) bool {
	ours, _ := splitConnect(l.s.Migration.ZooKeeper.Connect)
	return slices.ContainsFunc(servers, func(s string) bool { return slices.Contains(ours, s) })
}

// noSuperUsers: StandardAuthorizer cannot look ACLs up before the log is
// readable, so whoever helps to make it readable must be a super user.
func noSuperUsers(l *look) {
	for _, f := range l.brokerFiles() {
		if f.value(authorizerKey) == "" || !slices.Contains([]string{aclAuthorizer, standardAuthorizer}, f.value(authorizerKey)) {
			continue
		}
		l.mustBeSuper(f, f.value("super.users"), f.at("super.users"))
	}
	for _, n := range l.s.Migration.Nodes {
		first := l.firstBroker()
		if v, ok := setting(n, "super.users"); n.Role == cluster.Controller && ok && first.doc != nil && first.value(authorizerKey) != "" {
			l.mustBeSuper(first, v, n.Name()+" settings in migrations.yaml")
		}
	}
	l.callersMustBeSuper()
}

// callersMustBeSuper: whoever calls the controllers by a login that
// migrations.yaml gives it must be one of their super users.
func (l *look) callersMustBeSuper() {
	first := l.firstBroker()
	if first.doc == nil || first.value(authorizerKey) == "" || !strings.HasPrefix(l.s.Migration.Quorum.Listener.Protocol, "SASL_") {
		return
	}
	prefix := "listener.name." + strings.ToLower(l.s.Migration.Quorum.Listener.Name) + "."
	for _, controller := range l.s.Migration.Nodes {
		users, ok := setting(controller, "super.users")
		if !ok {
			users = first.value("super.users")
		}
		if controller.Role != cluster.Controller || strings.Contains(users, "${") {
			continue
		}
		for _, n := range l.s.Migration.Nodes {
			for _, s := range n.Settings {
				if !strings.HasPrefix(s.Key, prefix) || !strings.HasSuffix(s.Key, "sasl.jaas.config") {
					continue
				}
				if user := userOf(s.Value); user != "" && !slices.Contains(principals(users), "User:"+user) {
					l.found(controller.Name()+" settings in migrations.yaml", n.Name()+" logs in to the controllers as User:"+user+", which is not in super.users",
						"Add it to super.users of every controller, and of every broker.")
				}
			}
		}
	}
}

func (l *look) mustBeSuper(f propertiesFile, users, where string) {
	if strings.Contains(users, "${") {
		return
	}
	list := principals(users)
	const fix = "Add the principals of all brokers and all controllers to super.users on every node, separated by semicolons."
	if len(list) == 0 {
		l.found(where, "an authorizer and no super.users", fix)
		return
	}
	_, protocol, _ := interBroker(f)
	for _, listener := range []struct{ what, protocol string }{{"the controllers' listener", l.s.Migration.Quorum.Listener.Protocol}, {"the inter-broker listener", protocol}} {
		if listener.protocol == "PLAINTEXT" && !slices.Contains(list, "User:ANONYMOUS") {
			l.found(where, listener.what+" is PLAINTEXT, so nodes are User:ANONYMOUS there, which is no super user", "Give the listener SASL or TLS and make those names super users, or add User:ANONYMOUS knowingly: it makes everybody on a PLAINTEXT listener a super user.")
		}
	}
	user := f.loginName()
	if user != "" && !slices.Contains(list, "User:"+user) {
		l.found(where, "brokers log in as User:"+user+", which is no super user", fix)
	}
}

func principals(users string) []string {
	var out []string
	for p := range strings.SplitSeq(users, ";") {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// loginName is the user of a SASL/PLAIN or SCRAM login between brokers, when
// the file itself has it.
func (f propertiesFile) loginName() string {
	name, protocol, ok := interBroker(f)
	mechanism := f.value("sasl.mechanism.inter.broker.protocol")
	if !ok || !strings.HasPrefix(protocol, "SASL_") || mechanism != "PLAIN" && !strings.HasPrefix(mechanism, "SCRAM-") {
		return ""
	}
	return userOf(f.value("listener.name." + strings.ToLower(name) + "." + strings.ToLower(mechanism) + ".sasl.jaas.config"))
}

// userOf is the user of a JAAS entry; "" when it says none or hides it.
func userOf(jaas string) string {
	for field := range strings.FieldsSeq(jaas) {
		if user, ok := strings.CutPrefix(field, "username="); ok && !strings.Contains(user, "${") {
			return strings.Trim(strings.TrimSuffix(user, ";"), `"'`)
		}
	}
	return ""
}

// oddSuperUsers: the list is separated by semicolons and compared letter by letter.
func oddSuperUsers(l *look) {
	for _, f := range l.brokerFiles() {
		users := f.value("super.users")
		switch {
		case strings.Contains(users, ",User:"), strings.Contains(users, ", User:"):
			l.found(f.at("super.users"), "commas between users, which make one long name of them", "Separate users by semicolons.")
		case strings.Contains(users, "user:"):
			l.found(f.at("super.users"), "user: in lower case, which is another type of principal", "Write User:.")
		}
		for _, p := range principals(users) {
			if strings.HasPrefix(p, "User:CN=") && strings.Contains(p, ", ") {
				l.found(f.at("super.users"), p+" has blanks after its commas", "Write the name as Kafka builds it, without blanks: User:CN=b1,OU=X,O=Y. The authorizer's log shows it.")
			}
		}
	}
}

// setting is an extra setting of a node in migrations.yaml; the last one counts.
func setting(n config.Node, key string) (string, bool) {
	for _, s := range slices.Backward(n.Settings) {
		if s.Key == key {
			return strings.TrimSpace(s.Value), true
		}
	}
	return "", false
}

// firstBroker is the file that the controllers' settings are taken from.
func (l *look) firstBroker() propertiesFile {
	if files := l.brokerFiles(); len(files) > 0 {
		return files[0]
	}
	return propertiesFile{}
}
