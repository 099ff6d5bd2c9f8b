package lab_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

const (
	plainModule = "org.apache.kafka.common.security.plain.PlainLoginModule required "
	scramModule = "org.apache.kafka.common.security.scram.ScramLoginModule required "
	// plainLogin is what a node has for a listener with PLAIN: itself and whom it lets in.
	plainLogin = plainModule + `username="kafka" password="k-secret" user_kafka="k-secret" user_alice="a-secret";`
)

// onTwo is the test's listener and the brokers' own.
func onTwo(protocol string) []string {
	return []string{
		"listeners=TEST://127.0.0.1:{port},INTERNAL://127.0.0.1:{a}",
		"advertised.listeners=TEST://127.0.0.1:{port},INTERNAL://127.0.0.1:{a}",
		"listener.security.protocol.map=TEST:PLAINTEXT,INTERNAL:" + protocol,
		"inter.broker.listener.name=INTERNAL",
	}
}

// originals are files as people have them; each differs from the others in
// what a migration must get right.
func originals() []original {
	return []original{
		{name: "plain", always: true},
		scram(), tlsEverywhere(), encryptedDynamic(),
		{name: "control plane listener", lines: []string{
			"listeners=TEST://127.0.0.1:{port},INTERNAL://127.0.0.1:{a},CONTROL://127.0.0.1:{b}",
			"advertised.listeners=TEST://127.0.0.1:{port},INTERNAL://127.0.0.1:{a},CONTROL://127.0.0.1:{b}",
			"listener.security.protocol.map=TEST:PLAINTEXT,internal:PLAINTEXT, CONTROL:PLAINTEXT",
			"inter.broker.listener.name=INTERNAL", "control.plane.listener.name=CONTROL"}},
		{name: "generated id", id: 1001, drop: []string{"broker.id"}},
		{name: "id above 1000", id: 1007, lines: []string{"broker.id.generation.enable=false"}},
		{name: "two log folders and no rack", drop: []string{"broker.rack"}, lines: append(onTwo("PLAINTEXT"),
			"log.dirs={dir}/nodes/1/data/a,{dir}/nodes/1/data/b", "metadata.log.dir={dir}/nodes/1/data/b", "num.partitions=4"), partitions: 4},
		saslPlain(), configProvider(), undeletable(),
		{name: "CR LF and chroot", chroot: "/kafka/prod", raw: crlf, lines: []string{"num.partitions=2"}, partitions: 2},
		{name: "dynamic quorum", quorum: "dynamic", drop: []string{"broker.rack", "inter.broker.protocol.version"}},
		{name: "old formats", lines: []string{"inter.broker.protocol.version=3.9-IV0", "log.message.format.version=2.8", "zookeeper.acme.dashboard=http://d",
			"listener.security.protocol.map=PLAINTEXT:PLAINTEXT"}, drop: []string{"advertised.listeners"}},
	}
}

// furtherOriginals are only given to Kafka's own reading of its configuration.
func furtherOriginals() []original {
	return []original{
		{name: "Kerberos", protocol: "SASL_SSL", lines: append(onTwo("SASL_SSL"), "sasl.mechanism.inter.broker.protocol=GSSAPI", "sasl.kerberos.service.name=kafka",
			"sasl.kerberos.principal.to.local.rules=RULE:[1:$1@$0](.*@LAB)s/@.*//,DEFAULT", "ssl.keystore.location=/k.jks", "ssl.truststore.location=/t.jks",
			"authorizer.class.name=kafka.security.authorizer.AclAuthorizer", "super.users=User:kafka"),
			settings: []string{"sasl.mechanism.controller.protocol=GSSAPI"}},
		{name: "tokens of an identity provider", lines: append(onTwo("SASL_SSL"), "sasl.mechanism.inter.broker.protocol=OAUTHBEARER", "sasl.enabled.mechanisms=OAUTHBEARER,SCRAM-SHA-512",
			"sasl.oauthbearer.token.endpoint.url=https://idp/token", "ssl.keystore.location=/k.jks",
			"listener.name.internal.oauthbearer.sasl.login.callback.handler.class=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler")},
		{name: "TLS by listener only", protocol: "SSL", lines: append(onTwo("SSL"), "inter.broker.listener.name=internal",
			"listener.name.internal.ssl.keystore.location=/k.jks", "listener.name.internal.ssl.truststore.location=/t.jks"),
			settings: []string{"listener.name.controller.ssl.keystore.location=/k.jks", "listener.name.controller.ssl.truststore.location=/t.jks"}},
		{name: "TLS without a map", lines: []string{"security.inter.broker.protocol=SSL", "listeners=SSL://:{port}", "advertised.listeners=SSL://b1:{port}", "ssl.keystore.location=/k.jks"}},
		{name: "TLS without a map to controllers over TLS", protocol: "SSL", lines: []string{"security.inter.broker.protocol=SSL", "listeners=SSL://:{port}", "advertised.listeners=SSL://b1:{port}", "listener.name.ssl.ssl.keystore.location=/k.jks"}},
		{name: "an address of version 6", lines: []string{"listeners=PLAINTEXT://[::1]:{port}", "advertised.listeners=PLAINTEXT://[::1]:{port}"}},
		{name: "node.id already", drop: []string{"broker.id"}, lines: []string{"node.id=1", "delegation.token.master.key=k"}},
		{name: "both ids", lines: []string{"node.id=1", "authorizer.class.name="}},
		{name: "a control plane without a map of its own", lines: []string{"listeners=PLAINTEXT://127.0.0.1:{port},SSL://127.0.0.1:{a}", "advertised.listeners=PLAINTEXT://127.0.0.1:{port},SSL://127.0.0.1:{a}",
			"control.plane.listener.name=SSL", "ssl.keystore.location=/k.jks"}},
		{name: "early listeners and policies", lines: []string{"early.start.listeners=PLAINTEXT", "unclean.leader.election.enable=true", "auto.leader.rebalance.enable=false",
			"leader.imbalance.check.interval.seconds=60", "principal.builder.class=org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"}},
		{name: "tiered storage", lines: []string{"remote.log.storage.system.enable=true", "log.retention.ms=2592000000",
			"remote.log.storage.manager.class.name=org.apache.kafka.server.log.remote.storage.NoOpRemoteStorageManager",
			"remote.log.metadata.manager.class.name=org.apache.kafka.server.log.remote.storage.NoOpRemoteLogMetadataManager",
			"remote.log.metadata.manager.listener.name=PLAINTEXT"}},
		{name: "an older protocol version", lines: []string{"inter.broker.protocol.version=3.8-IV0"}},
		{name: "ZooKeeper over TLS", lines: []string{"zookeeper.ssl.client.enable=true", "zookeeper.clientCnxnSocket=org.apache.zookeeper.ClientCnxnSocketNetty",
			"zookeeper.ssl.keystore.location=/k.jks", "zookeeper.ssl.keystore.password=p", "zookeeper.ssl.truststore.location=/t.jks", "zookeeper.ssl.endpoint.identification.algorithm=", "zookeeper.set.acl=true"}},
	}
}

// crlf is an editor of another system, which also breaks a list over lines.
func crlf(file []byte) []byte {
	file = bytes.ReplaceAll(file, []byte("zookeeper.connect="), []byte("zookeeper.connect : \\\n    "))
	return bytes.TrimSuffix(bytes.ReplaceAll(file, []byte("\n"), []byte("\r\n")), []byte("\r\n"))
}

// scram has no protocol map, so Kafka's default is in force until one is written.
func scram() original {
	return original{name: "SCRAM between brokers", lines: []string{
		"listeners=PLAINTEXT://127.0.0.1:{port},SASL_PLAINTEXT://127.0.0.1:{a}",
		"advertised.listeners=PLAINTEXT://127.0.0.1:{port},SASL_PLAINTEXT://127.0.0.1:{a}",
		"security.inter.broker.protocol=SASL_PLAINTEXT",
		"sasl.mechanism.inter.broker.protocol=SCRAM-SHA-256", "sasl.enabled.mechanisms=SCRAM-SHA-256",
		`listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config=` + scramModule + `username="broker" password="b-secret";`,
	}, before: func(ctx context.Context, j *journey) error {
		_, err := j.c.Tool(ctx, "1", "kafka.admin.ConfigCommand", "--zookeeper", j.c.ZooKeeperConnect(), "--alter",
			"--add-config", "SCRAM-SHA-256=[password=b-secret]", "--entity-type", "users", "--entity-name", "broker")
		return err
	}}
}

// saslPlain has ACLs, on the controllers' listener too, and two users.
func saslPlain() original {
	return original{name: "PLAIN with ACLs", protocol: "SASL_PLAINTEXT", lines: append(onTwo("SASL_PLAINTEXT"),
		"sasl.mechanism.inter.broker.protocol=PLAIN", "sasl.enabled.mechanisms=PLAIN",
		"listener.name.internal.plain.sasl.jaas.config="+plainLogin,
		"authorizer.class.name=kafka.security.authorizer.AclAuthorizer", "authorizer.zookeeper.url={zk}", "super.users=User:ANONYMOUS;User:kafka"),
		settings: []string{"sasl.mechanism.controller.protocol=PLAIN", "listener.name.controller.sasl.enabled.mechanisms=PLAIN",
			"listener.name.controller.plain.sasl.jaas.config=" + plainLogin},
		check: aliceMayWriteToOrdersOnly}
}

func aliceMayWriteToOrdersOnly(ctx context.Context, t *testing.T, j *journey) {
	if j.place == "zk" {
		client := j.client()
		defer client.Close()
		admin := kadm.NewClient(client)
		for _, topic := range []string{"orders", "others"} {
			if _, err := admin.CreateTopic(ctx, 1, 1, nil, topic); err != nil {
				t.Fatal(err)
			}
		}
		acl := kadm.NewACLs().Topics("orders").Allow("User:alice").AllowHosts().ResourcePatternType(kadm.ACLPatternLiteral).Operations(kadm.OpWrite, kadm.OpDescribe)
		if _, err := admin.CreateACLs(ctx, acl); err != nil {
			t.Fatal(err)
		}
	}
	alice := j.client(kgo.SeedBrokers("127.0.0.1:"+j.ports.Replace("{a}")), kgo.SASL(plain.Auth{User: "alice", Pass: "a-secret"}.AsMechanism()))
	defer alice.Close()
	poll(ctx, t, "alice writes to orders at "+j.place, func() bool {
		return alice.ProduceSync(ctx, &kgo.Record{Topic: "orders", Value: []byte("x")}).FirstErr() == nil
	})
	if err := alice.ProduceSync(ctx, &kgo.Record{Topic: "others", Value: []byte("x")}).FirstErr(); !errors.Is(err, kerr.TopicAuthorizationFailed) {
		t.Errorf("%s: alice writes to a topic that is not hers: %v", j.place, err)
	}
}

// tlsEverywhere has both sides prove who they are, on the controllers' listener too.
func tlsEverywhere() original {
	return original{name: "TLS on both sides", protocol: "SSL", before: makeStores, lines: append(onTwo("SSL"),
		"ssl.keystore.location={dir}/keys.p12", "ssl.keystore.password=st0re-secret", "ssl.keystore.type=PKCS12",
		"ssl.truststore.location={dir}/trust.p12", "ssl.truststore.password=st0re-secret", "ssl.truststore.type=PKCS12",
		"ssl.client.auth=required", "ssl.endpoint.identification.algorithm=",
		"authorizer.class.name=kafka.security.authorizer.AclAuthorizer", "super.users=User:ANONYMOUS;User:CN=localhost,O=Lab")}
}

func makeStores(ctx context.Context, j *journey) error {
	keys, trust, cert := filepath.Join(j.c.Dir(), "keys.p12"), filepath.Join(j.c.Dir(), "trust.p12"), filepath.Join(j.c.Dir(), "cert.pem")
	for _, args := range [][]string{
		{"-genkeypair", "-alias", "node", "-keyalg", "EC", "-dname", "CN=localhost,O=Lab", "-ext", "san=dns:localhost,ip:127.0.0.1", "-keystore", keys},
		{"-exportcert", "-rfc", "-alias", "node", "-keystore", keys, "-file", cert},
		{"-importcert", "-noprompt", "-alias", "node", "-keystore", trust, "-file", cert},
	} {
		if err := keytool(ctx, "st0re-secret", args...); err != nil {
			return err
		}
	}
	return nil
}

func keytool(ctx context.Context, password string, args ...string) error {
	if said, err := exec.CommandContext(ctx, "keytool", append(args, "-storetype", "PKCS12", "-storepass", password)...).CombinedOutput(); err != nil {
		return fmt.Errorf("keytool %s: %w: %s", args[0], err, said)
	}
	return nil
}

// encryptedDynamic has a newer key store in ZooKeeper than in its file, with an
// encrypted password: the copy can read it only if the controller has the
// brokers' encoder secret. The file's must be of the same name: Kafka adds none
// to an open listener, and changes none for one of another name.
func encryptedDynamic() original {
	return original{name: "encrypted dynamic password", lines: []string{
		"listeners=TEST://127.0.0.1:{port},SECURE://127.0.0.1:{a}",
		"advertised.listeners=TEST://127.0.0.1:{port},SECURE://127.0.0.1:{a}",
		"listener.security.protocol.map=TEST:PLAINTEXT,SECURE:SSL", "inter.broker.listener.name=TEST",
		"password.encoder.secret=enc-secret", "password.encoder.iterations=2048",
		"listener.name.secure.ssl.keystore.location={dir}/old.p12", "listener.name.secure.ssl.keystore.password=old-secret", "listener.name.secure.ssl.keystore.type=PKCS12",
	}, before: func(ctx context.Context, j *journey) error {
		old := []string{"-genkeypair", "-alias", "node", "-keyalg", "EC", "-dname", "CN=localhost,O=Lab", "-ext", "san=dns:localhost,ip:127.0.0.1", "-keystore", filepath.Join(j.c.Dir(), "old.p12")}
		if err := errors.Join(keytool(ctx, "old-secret", old...), makeStores(ctx, j)); err != nil {
			return err
		}
		set := "listener.name.secure.ssl.keystore.password=st0re-secret,listener.name.secure.ssl.keystore.location=" + filepath.Join(j.c.Dir(), "keys.p12") +
			",password.encoder.secret=enc-secret,password.encoder.iterations=2048"
		_, err := j.c.Tool(ctx, "1", "kafka.admin.ConfigCommand", "--zookeeper", j.c.ZooKeeperConnect(), "--alter", "--add-config", set,
			"--entity-type", "brokers", "--entity-name", "1")
		return err
	}, check: showsTheNewKey}
}

func showsTheNewKey(ctx context.Context, t *testing.T, j *journey) {
	text, err := os.ReadFile(filepath.Join(j.c.Dir(), "cert.pem"))
	if err != nil {
		t.Fatal(err)
	}
	wanted, _ := pem.Decode(text)
	last := ""
	poll(ctx, t, "the dynamic key store's certificate at "+j.place, func() bool {
		dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
		dialing, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		said := "the dynamic key store"
		conn, err := dialer.DialContext(dialing, "tcp", "127.0.0.1:"+j.ports.Replace("{a}"))
		if err != nil {
			said = err.Error()
		} else {
			if !bytes.Equal(conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw, wanted.Bytes) {
				said = "the file's key store"
			}
			_ = conn.Close()
		}
		if said != last {
			t.Logf("%s: %s", j.place, said)
		}
		last = said
		return said == "the dynamic key store"
	})
}

// configProvider keeps values in another file, the address of ZooKeeper too.
func configProvider() original {
	return original{name: "config provider", partitions: 3, lines: []string{
		"config.providers=file", "config.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider",
		"zookeeper.connect=${file:{dir}/values:zk}", "num.partitions=${file:{dir}/values:partitions}", "zookeeper.session.timeout.ms=${file:{dir}/values:session}",
	}, before: func(_ context.Context, j *journey) error {
		values := "zk=" + j.c.ZooKeeperConnect() + "\npartitions=3\nsession=17000\n"
		return os.WriteFile(filepath.Join(j.c.Dir(), "values"), []byte(values), 0o600)
	}}
}

// undeletable forbids the deletion of topics, which KRaft asks of the controller.
func undeletable() original {
	return original{name: "topics that must not be deleted", partitions: 5, lines: []string{"delete.topic.enable=false", "num.partitions=5"},
		check: func(ctx context.Context, t *testing.T, j *journey) {
			client := j.client()
			defer client.Close()
			answers, err := kadm.NewClient(client).DeleteTopics(ctx, "at-zk")
			if err == nil {
				err = answers["at-zk"].Err
			}
			if !errors.Is(err, kerr.TopicDeletionDisabled) {
				t.Errorf("%s: a topic was deleted, or not refused as it should be: %v", j.place, err)
			}
		}}
}
