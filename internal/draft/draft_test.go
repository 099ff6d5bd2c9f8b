package draft

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/cluster"
	"migrator/internal/config"
)

func payments() Cluster {
	return Cluster{Name: "payments", Connect: "zk1:2181,zk2:2181/kafka", ID: "MkU3OEVBNTcwNTJENDM2Qg", Holder: "broker 2 is the controller now", Release: "3.9",
		Bootstrap: []string{"b1:9092", "b2:9092"},
		Brokers: []Broker{
			{ID: 1, Host: "b1", Rack: "a", Listeners: []Listener{{"PLAINTEXT", "PLAINTEXT", "b1:9092"}}},
			{ID: 2, Host: "b2", Rack: "b", Listeners: []Listener{{"PLAINTEXT", "PLAINTEXT", "b2:9092"}}},
		}}
}

var place = regexp.MustCompile(`(?m)` + Mark + `.*; such as (.*)$`)

// filled takes the example of each marked place, as a careless person would.
func filled(yaml string) string { return place.ReplaceAllString(yaml, "$1") }

func TestADraftValidatesOnceTheMarkedPlacesAreFilledIn(t *testing.T) {
	text := YAML(payments())
	if _, err := config.Parse("draft", []byte(text)); err == nil {
		t.Error("it validates with nothing filled in: what nobody knows must be missed")
	}
	file, err := config.Parse("draft", []byte(filled(text)))
	if err != nil {
		t.Fatalf("%v\n%s", err, filled(text))
	}
	m := file.Migrations[0]
	if got := m.Inventory(); len(got.Brokers) != 2 || got.Brokers[1] != (cluster.Node{ID: 2, Role: cluster.Broker, Host: "b2", Rack: "b"}) || len(got.Controllers) != 3 {
		t.Errorf("inventory %+v", got)
	}
	if m.ZooKeeper.Connect != "zk1:2181,zk2:2181/kafka" || m.Kafka.Version != "3.9.2" {
		t.Errorf("zookeeper %q, version %q", m.ZooKeeper.Connect, m.Kafka.Version)
	}
}

func TestAnUnknownReleaseIsAskedFor(t *testing.T) {
	c := payments()
	c.Release = ""
	if _, err := config.Parse("draft", []byte(filled(YAML(c)))); err != nil {
		t.Error(err)
	}
}

func TestHostileRegistrationsStayText(t *testing.T) {
	c := payments()
	nasty := "b\"1\n    controllers: []\n# \u2028\x00" + strings.Repeat("x", 5000)
	c.Holder, c.ID, c.Notes = nasty, nasty, []string{nasty}
	c.Brokers[0].Rack = "r\"a\nck: {id}"
	c.Brokers[0].Host = nasty
	c.Brokers[1].Listeners = []Listener{{nasty, nasty, nasty}}
	file, err := config.Parse("draft", []byte(filled(YAML(c))))
	if err != nil {
		t.Fatalf("%v\n%s", err, filled(YAML(c)))
	}
	inv := file.Migrations[0].Inventory()
	if len(inv.Brokers) != 2 || len(inv.Controllers) != 3 || inv.Brokers[0].Rack != c.Brokers[0].Rack {
		t.Errorf("inventory %+v", inv)
	}
}

func TestControllersCollideWithNoBroker(t *testing.T) {
	c := payments()
	c.Brokers[0].ID = 3002
	c.Brokers[0].Listeners = append(c.Brokers[0].Listeners, Listener{"controller", "SSL", "b1:9093"})
	name, port := FreeListener(c)
	if name != "CONTROLLER2" || port != 9193 {
		t.Errorf("listener %s at %d", name, port)
	}
	file, err := config.Parse("draft", []byte(filled(YAML(c))))
	if err != nil {
		t.Fatal(err)
	}
	if ids := cluster.IDs(file.Migrations[0].Inventory().Controllers); ids[0] != 4001 {
		t.Errorf("controllers %v beside broker 3002", ids)
	}
}

// A login with text that YAML could take for its own comes back as it was.
func TestTheLoginOfADiscoveryStandsInTheDraft(t *testing.T) {
	c := payments()
	c.ZooKeeper = config.ZooKeeper{TLS: &config.TLS{CA: "/ca: x.pem", NoHostCheck: true}, Digest: &config.Digest{User: "su,per", Password: &config.SecretSource{Env: "ZK"}},
		SASL: &config.SASL{Mechanism: "DIGEST-MD5", User: "kafka", Password: &config.SecretSource{Command: []string{"pass", "show", "a, b}"}}}}
	c.Kafka = config.Kafka{TLS: &config.TLS{Truststore: "/t.p12", TruststorePassword: &config.SecretSource{File: "/s"}, Keystore: "/k.jks", KeystorePassword: &config.SecretSource{Env: "K"}},
		SASL: &config.SASL{Mechanism: "PLAIN", User: "#me", Password: &config.SecretSource{Env: "P"}}}
	file, err := config.Parse("draft", []byte(filled(YAML(c))))
	if err != nil {
		t.Fatalf("%v\n%s", err, YAML(c))
	}
	got := file.Migrations[0]
	c.ZooKeeper.Connect, c.Kafka.Version, c.Kafka.Bootstrap = c.Connect, "3.9.2", c.Bootstrap
	if diff := cmp.Diff(c.ZooKeeper, got.ZooKeeper); diff != "" {
		t.Errorf("zookeeper (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(c.Kafka, got.Kafka); diff != "" {
		t.Errorf("kafka (-want +got):\n%s", diff)
	}
}
