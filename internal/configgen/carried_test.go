package configgen

import (
	"slices"
	"strings"
	"testing"

	"migrator/internal/cluster"
)

// carriedFrom renders a controller beside brokers with this file.
func carriedFrom(t *testing.T, broker string, extra ...Setting) Rendered {
	t.Helper()
	ib, err := FromBroker([]byte(broker))
	if err != nil {
		t.Fatal(err)
	}
	s := healthy()
	s.InterBroker = ib
	out, err := Render(controller1(), cluster.KRaftMigrating, nil, s, append([]Setting{{"log.dirs", "/m"}}, extra...))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAControllerTakesWhatItWillDecide(t *testing.T) {
	cases := []struct {
		name, lines string
		want        string // a line of the controller's file
	}{
		{"topics that must not be deleted stay undeletable", "delete.topic.enable=false", "delete.topic.enable=false"},
		{"tiered topics may be created", "remote.log.storage.system.enable=true", "remote.log.storage.system.enable=true"},
		{"and are compared with the brokers' retention", "remote.log.storage.system.enable= TRUE \nlog.retention.ms=2592000000", "log.retention.ms=2592000000"},
		{"unclean elections stay as they are", "unclean.leader.election.enable=true", "unclean.leader.election.enable=true"},
		{"its policy comes along", "create.topic.policy.class.name=com.acme.Names", "create.topic.policy.class.name=com.acme.Names"},
		{"a value that is empty is not an absent one", "super.users=", "super.users="},
		{"a login over a token comes along", "security.inter.broker.protocol=SASL_SSL\nsasl.login.callback.handler.class=com.acme.Login", "sasl.login.callback.handler.class=com.acme.Login"},
		{"ZooKeeper's client as well", "zookeeper.clientCnxnSocket=org.apache.zookeeper.ClientCnxnSocketNetty", "zookeeper.clientCnxnSocket=org.apache.zookeeper.ClientCnxnSocketNetty"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			file := string(carriedFrom(t, plainBroker+c.lines+"\n").File)
			if !slices.Contains(strings.Split(file, "\n"), c.want) {
				t.Errorf("the controller's file lacks %s:\n%s", c.want, file)
			}
		})
	}
}

func TestAControllerTakesNothingElse(t *testing.T) {
	broker := plainBroker + `log.retention.ms=1
zookeeper.acme.dashboard=http://d
confluent.license=x
metric.reporters=com.acme.Reporter
client.quota.callback.class=com.acme.Quota
sasl.login.callback.handler.class=com.acme.Login
ssl.keystore.location=/b1.jks
listener.name.external.ssl.keystore.location=/e.jks
advertised.listeners=PLAINTEXT://b1:9092
broker.rack=a
`
	out := carriedFrom(t, broker)
	for _, key := range []string{"log.retention.ms", "zookeeper.acme.dashboard", "confluent.license", "metric.reporters", "client.quota.callback.class",
		"sasl.login.callback.handler.class", "ssl.keystore.location", "listener.name.external.ssl.keystore.location", "advertised.listeners", "broker.rack"} {
		if value, ok := parsed(t, string(out.File)).Value(key); ok {
			t.Errorf("the controller took over %s=%s", key, value)
		}
	}
}

// FR-060: a key that begins like ZooKeeper's may be a plug-in's.
func TestOnlyKafkasOwnZooKeeperKeysGo(t *testing.T) {
	file := plainBroker + "zookeeper.ssl.keystore.location=/k\nzookeeper.acme.dashboard=http://d\nzookeeper.metadata.migration.enabled=true\nauthorizer.zookeeper.acme=1\n" +
		"authorizer.class.name=" + aclAuthorizer + "\nauthorizer.zookeeper.url=z:1\nauthorizer.zookeeper.ssl.client.enable=true\nsuper.users=User:a\n"
	out := render1(t, broker1(), cluster.KRaft, file)
	got := settingsOf(t, out.File)
	for key, want := range map[string]bool{"zookeeper.connect": false, "zookeeper.ssl.keystore.location": false, "authorizer.zookeeper.url": false,
		"authorizer.zookeeper.ssl.client.enable": false, "zookeeper.acme.dashboard": true, "authorizer.zookeeper.acme": true} {
		if _, is := got[key]; is != want {
			t.Errorf("%s is there: %v, want %v", key, is, want)
		}
	}
	if notes := strings.Join(out.Notes, "\n"); !strings.Contains(notes, "Kafka has no setting zookeeper.acme.dashboard, zookeeper.metadata.migration.enabled: left alone") {
		t.Errorf("notes: %s", notes)
	}
}

func TestNotesNameWhatAControllerNeedsBesideItsFile(t *testing.T) {
	out := carriedFrom(t, plainBroker+`security.inter.broker.protocol=SASL_SSL
config.providers=file
config.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider
ssl.truststore.password=${file:/etc/kafka/secrets:ts}
create.topic.policy.class.name=com.acme.Names
zookeeper.set.acl=true
`)
	notes := strings.Join(out.Notes, "\n")
	for _, want := range []string{"com.acme.Names: the controller needs its jar", "must exist on the controller", "its JAAS file needs one", "needs the Client section"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes lack %q:\n%s", want, notes)
		}
	}
	if strings.Contains(notes, "FileConfigProvider") {
		t.Errorf("Kafka's own class needs no jar:\n%s", notes)
	}
}

func TestAListenerThatAsksForCertificatesNeedsATrustStoreInTheFile(t *testing.T) {
	tls := "broker.id=1\nzookeeper.connect=z:1\nlisteners=A://b1:1,B://b1:2\nlistener.security.protocol.map=A:PLAINTEXT,B:SASL_SSL\nssl.keystore.location=/k\nlistener.name.b.ssl.client.auth=required\n"
	const note = "listener B asks clients for certificates"
	if notes := strings.Join(render1(t, broker1(), cluster.ZKMigrating, tls).Notes, "\n"); !strings.Contains(notes, note) {
		t.Errorf("notes: %s", notes)
	}
	for _, line := range []string{"ssl.truststore.location=/t\n", "listener.name.b.ssl.client.auth=none\nssl.client.auth=required\n"} {
		if notes := strings.Join(render1(t, broker1(), cluster.KRaft, tls+line).Notes, "\n"); strings.Contains(notes, note) {
			t.Errorf("%q: %s", line, notes)
		}
	}
}

func TestTLSBetweenControllersAsksForItsStores(t *testing.T) {
	s := healthy()
	s.Quorum.ListenerProtocol = "SSL"
	bare, err := Render(controller1(), cluster.KRaftMigrating, nil, s, []Setting{{"log.dirs", "/m"}})
	if err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(bare.Notes, "\n"); !strings.Contains(notes, "no ssl.keystore") || !strings.Contains(notes, "no ssl.truststore") {
		t.Errorf("notes: %s", notes)
	}
	whole, err := Render(controller1(), cluster.KRaftMigrating, nil, s, []Setting{{"log.dirs", "/m"},
		{"listener.name.controller.ssl.keystore.location", "/k"}, {"ssl.truststore.location", "/t"}})
	if err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(whole.Notes, "\n"); strings.Contains(notes, "the controllers' listener has TLS") {
		t.Errorf("notes: %s", notes)
	}
}
