package lab_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	saslscram "github.com/twmb/franz-go/pkg/sasl/scram"

	"migrator/internal/lab"
)

// tlsBetweenAll: certificates everywhere, AclAuthorizer with rules.
func tlsBetweenAll(t *testing.T) secured {
	nodes := []string{"1", "2", "3", "3001", "3002", "3003"}
	a := newAuthority(t, append(nodes, "alice", "bob", "mallory", "migrator", "admin")...)
	as := func(name string) []kgo.Opt { return []kgo.Opt{kgo.DialTLSConfig(a.client(name))} }
	yaml := quick()
	yaml.ControllerProtocol = "SSL"
	yaml.Kafka = []string{fmt.Sprintf("tls: {ca: %q, cert: %q, key: %q}", a.path("ca.pem"), a.path("migrator.crt"), a.path("migrator.key"))}
	return secured{
		options: lab.Options{Brokers: 2,
			ExtraBroker: append(a.stores("ssl.", "{id}"), "listeners=SSL://127.0.0.1:{port}", "advertised.listeners=SSL://127.0.0.1:{port}",
				"security.inter.broker.protocol=SSL", "ssl.client.auth=required",
				"authorizer.class.name="+aclAuthorizer, together(byCertificate, append(nodes, "admin")...)),
			ExtraController: []string{"ssl.keystore.location=" + a.path("{id}.p12"), together(byCertificate, append(nodes, "admin", "migrator")...)}},
		yaml: yaml, super: as("admin"), names: byCertificate,
		users: []user{{"alice", true, as("alice")}, {"bob", false, as("bob")}, {"mallory", false, as("mallory")}, {"nobody", false, as("")}},
	}
}

// scramBetweenBrokers: everybody logs in with SCRAM over TLS, and with PLAIN
// over TLS where the controllers are called, which cannot know SCRAM users.
func scramBetweenBrokers(t *testing.T) secured {
	a := newAuthority(t, "1", "2", "3", "3001", "3002", "3003")
	as := func(name string) []kgo.Opt {
		return []kgo.Opt{kgo.DialTLSConfig(a.client("")), kgo.SASL(saslscram.Auth{User: name, Pass: password(name)}.AsSha512Mechanism())}
	}
	yaml := quick()
	yaml.ControllerProtocol = "SASL_SSL"
	yaml.Kafka = []string{fmt.Sprintf("tls: {truststore: %q, truststore_password: {file: %q}}", a.path("trust.jks"), secretFile(t, storePassword)),
		fmt.Sprintf("sasl: {mechanism: SCRAM-SHA-512, user: migrator, password: {file: %q}}", secretFile(t, password("migrator")))}
	yaml.Quorum = []string{fmt.Sprintf("sasl: {mechanism: PLAIN, user: migrator, password: {file: %q}}", secretFile(t, password("migrator")))}
	return secured{
		options: lab.Options{Brokers: 2,
			ExtraBroker: append(a.stores("ssl.", "{id}"), "listeners=SASL_SSL://127.0.0.1:{port}", "advertised.listeners=SASL_SSL://127.0.0.1:{port}",
				"security.inter.broker.protocol=SASL_SSL", "sasl.mechanism.inter.broker.protocol=SCRAM-SHA-512", "sasl.enabled.mechanisms=SCRAM-SHA-512",
				"listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config="+scramModule+login("broker")+";",
				"authorizer.class.name="+aclAuthorizer, together(byLogin, "broker", "node", "admin")),
			BrokerSettings:  []string{"listener.name.controller.plain.sasl.jaas.config=" + plainModule + login("node") + ";"},
			ExtraController: []string{"ssl.keystore.location=" + a.path("{id}.p12"), "listener.name.controller.plain.sasl.jaas.config=" + plainModule + login("node") + letsIn("node", "migrator") + ";", together(byLogin, "broker", "node", "admin", "migrator")},
			BeforeBrokers:   makeSCRAM("broker", "admin", "alice", "bob", "mallory", "migrator"),
		},
		yaml: yaml, super: as("admin"), names: byLogin,
		users: []user{{"alice", true, as("alice")}, {"bob", false, as("bob")}, {"mallory", false, as("mallory")}, {"nobody", false, as("nobody")}},
	}
}

// makeSCRAM makes users with Kafka's own tool, before any broker could.
func makeSCRAM(names ...string) func(context.Context, *lab.Cluster) error {
	return func(ctx context.Context, c *lab.Cluster) error {
		for _, name := range names {
			if _, err := c.Tool(ctx, "1", "kafka.admin.ConfigCommand", "--zookeeper", c.ZooKeeperConnect(), "--alter",
				"--add-config", "SCRAM-SHA-512=[password="+password(name)+"]", "--entity-type", "users", "--entity-name", name); err != nil {
				return err
			}
		}
		return nil
	}
}

// zooKeeperLocked: ZooKeeper has TLS with certificates on both sides and no
// other port, everybody logs in to it, and what brokers make there is theirs.
func zooKeeperLocked(t *testing.T) secured {
	a := newAuthority(t, "zk1", "kafka", "migrator")
	dir := t.TempDir()
	server, client := filepath.Join(dir, "server.jaas"), filepath.Join(dir, "client.jaas")
	const digestModule = "org.apache.zookeeper.server.auth.DigestLoginModule required "
	write(t, server, "Server {\n  "+digestModule+strings.TrimSpace(letsIn("kafka"))+";\n};\n")
	write(t, client, "Client {\n  "+digestModule+login("kafka")+";\n};\n")
	as := func(name string) []kgo.Opt {
		return []kgo.Opt{kgo.SASL(plain.Auth{User: name, Pass: password(name)}.AsMechanism())}
	}
	yaml := quick()
	yaml.ControllerProtocol = "SASL_PLAINTEXT"
	yaml.ZooKeeper = []string{fmt.Sprintf("tls: {ca: %q, keystore: %q, keystore_password: {file: %q}}", a.path("ca.pem"), a.path("migrator.jks"), secretFile(t, storePassword)),
		fmt.Sprintf("sasl: {user: kafka, password: {file: %q}}", secretFile(t, password("kafka")))}
	yaml.Kafka = []string{fmt.Sprintf("sasl: {mechanism: PLAIN, user: migrator, password: {file: %q}}", secretFile(t, password("migrator")))}
	yaml.Quorum = yaml.Kafka
	letIn := plainModule + login("node") + letsIn("node", "admin", "alice", "bob", "mallory", "migrator") + ";"
	return secured{
		options: lab.Options{Brokers: 2,
			ZooKeeper: &lab.ZooKeeperOptions{TLS: a.client("migrator"), JVM: []string{"-Djava.security.auth.login.config=" + server},
				Extra: append([]string{"serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory", "authProvider.sasl=org.apache.zookeeper.server.auth.SASLAuthenticationProvider"},
					a.zooKeeperStores("zk1")...)},
			JVM: []string{"-Djava.security.auth.login.config=" + client},
			ExtraBroker: append(a.stores("zookeeper.ssl.", "kafka"), "zookeeper.ssl.client.enable=true", "zookeeper.clientCnxnSocket=org.apache.zookeeper.ClientCnxnSocketNetty", "zookeeper.set.acl=true",
				"listeners=SASL_PLAINTEXT://127.0.0.1:{port}", "advertised.listeners=SASL_PLAINTEXT://127.0.0.1:{port}", "security.inter.broker.protocol=SASL_PLAINTEXT",
				"sasl.mechanism.inter.broker.protocol=PLAIN", "sasl.enabled.mechanisms=PLAIN", "listener.name.sasl_plaintext.plain.sasl.jaas.config="+letIn,
				"authorizer.class.name="+aclAuthorizer, together(byLogin, "node", "admin")),
			BrokerSettings:  []string{"listener.name.controller.plain.sasl.jaas.config=" + plainModule + login("node") + ";"},
			ExtraController: []string{"listener.name.controller.plain.sasl.jaas.config=" + letIn, together(byLogin, "node", "admin", "migrator")},
		},
		yaml: yaml, super: as("admin"), names: byLogin,
		users: []user{{"alice", true, as("alice")}, {"bob", false, as("bob")}, {"mallory", false, as("mallory")}, {"nobody", false, as("nobody")}},
	}
}

// severalListeners: clients log in on one, brokers have one with certificates
// for themselves and one for the controller's requests; a chroot, two folders.
func severalListeners(t *testing.T) secured {
	nodes := []string{"1", "2", "3", "3001", "3002", "3003"}
	a := newAuthority(t, append(nodes, "migrator")...)
	as := func(name string) []kgo.Opt {
		return []kgo.Opt{kgo.SASL(plain.Auth{User: name, Pass: password(name)}.AsMechanism())}
	}
	yaml := quick()
	yaml.ControllerProtocol = "SSL"
	yaml.Kafka = []string{fmt.Sprintf("sasl: {mechanism: PLAIN, user: migrator, password: {file: %q}}", secretFile(t, password("migrator")))}
	yaml.Quorum = []string{fmt.Sprintf("tls: {ca: %q, keystore: %q, keystore_password: {file: %q}}", a.path("ca.pem"), a.path("migrator.p12"), secretFile(t, storePassword))}
	const listeners = "listeners=CLIENT://127.0.0.1:{port},INTERNAL://127.0.0.1:{port1},CONTROL://127.0.0.1:{port2}"
	return secured{
		options: lab.Options{Brokers: 2, MorePorts: 2, Chroot: "/kafka/prod",
			ExtraBroker: append(a.stores("ssl.", "{id}"), listeners, "advertised."+listeners,
				"listener.security.protocol.map=CLIENT:SASL_PLAINTEXT,INTERNAL:SSL,CONTROL:SSL", "inter.broker.listener.name=INTERNAL", "control.plane.listener.name=CONTROL",
				"ssl.client.auth=required", "sasl.enabled.mechanisms=PLAIN",
				"listener.name.client.plain.sasl.jaas.config="+plainModule+strings.TrimSpace(letsIn("admin", "alice", "bob", "mallory", "migrator"))+";",
				"log.dirs={dir}/data/a,{dir}/data/b",
				"authorizer.class.name="+aclAuthorizer, together(byCertificate, nodes...)+";User:admin"),
			ExtraController: []string{"ssl.keystore.location=" + a.path("{id}.p12"), together(byCertificate, append(nodes, "migrator")...) + ";User:admin"}},
		yaml: yaml, super: as("admin"), names: byLogin, alsoUs: []string{byCertificate("migrator")},
		users: []user{{"alice", true, as("alice")}, {"bob", false, as("bob")}, {"mallory", false, as("mallory")}, {"nobody", false, as("nobody")}},
	}
}

const aclAuthorizer = "kafka.security.authorizer.AclAuthorizer"

func password(user string) string { return user + "-secret" }

// login is the part of a JAAS entry with which somebody logs in.
func login(user string) string {
	return fmt.Sprintf("username=%q password=%q", user, password(user))
}

// letsIn is the part with the users whom a server lets in.
func letsIn(users ...string) string {
	var b strings.Builder
	for _, u := range users {
		fmt.Fprintf(&b, " user_%s=%q", u, password(u))
	}
	return b.String()
}

func secretFile(t *testing.T, value string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	write(t, path, value)
	return path
}

// stores are keys of a node's own key store and of what it trusts.
func (a *authority) stores(prefix, name string) []string {
	return []string{
		prefix + "keystore.location=" + a.path(name+".p12"), prefix + "keystore.password=" + storePassword, prefix + "keystore.type=PKCS12",
		prefix + "truststore.location=" + a.path("trust.p12"), prefix + "truststore.password=" + storePassword, prefix + "truststore.type=PKCS12",
	}
}

func (a *authority) zooKeeperStores(name string) []string {
	return []string{"ssl.keyStore.location=" + a.path(name+".p12"), "ssl.keyStore.password=" + storePassword, "ssl.keyStore.type=PKCS12",
		"ssl.trustStore.location=" + a.path("trust.p12"), "ssl.trustStore.password=" + storePassword, "ssl.trustStore.type=PKCS12"}
}
