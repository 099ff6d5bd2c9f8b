package findings

import (
	"strings"
	"testing"

	"migrator/internal/config"
)

const acl = "authorizer.class.name=kafka.security.authorizer.AclAuthorizer\n"

// controllerSetting adds a line to the settings of every controller.
func controllerSetting(s Survey, key, value string) Survey {
	for i, n := range s.Migration.Nodes {
		if n.Role == "controller" {
			s.Migration.Nodes[i].Settings = append(n.Settings, config.Setting{Key: key, Value: value})
		}
	}
	return s
}

// listenerProtocol changes the protocol of the controllers' listener.
func listenerProtocol(s Survey, protocol string) Survey {
	s.Migration.Quorum.Listener.Protocol = protocol
	return s
}

func TestAuthorizers(t *testing.T) {
	with := func(class string) Survey {
		return everyFile(healthy(), "super.users=User:ANONYMOUS\nauthorizer.class.name="+class+"\n")
	}
	judgeAll(t, []seen{
		{"AclAuthorizer", with(aclAuthorizer), "MIG321", Clear, ""},
		{"AclAuthorizer is known", with(aclAuthorizer), "MIG322", Clear, ""},
		{"StandardAuthorizer in ZooKeeper mode (FR-069)", with(standardAuthorizer), "MIG321", Found, "never sees an ACL"},
		{"the old name (FR-069)", with(simpleAuthorizer), "MIG321", Found, "does not have any more"},
		{"somebody else's (FR-019)", with("com.acme.RangerAuthorizer"), "MIG322", Found, "com.acme.RangerAuthorizer"},
		{"one broker without", withFile(with(aclAuthorizer), 2, ""), "MIG323", Found, "broker 2"},
		{"all the same", with(aclAuthorizer), "MIG323", Clear, ""},
		{"ACLs in another tree", everyFile(healthy(), acl+"authorizer.zookeeper.url=zk1:2181/acls\n"), "MIG324", Found, "zk1:2181/acls"},
		{"ACLs in another ensemble", everyFile(healthy(), acl+"authorizer.zookeeper.url=other:2181/kafka\n"), "MIG324", Found, "other:2181"},
		{"ACLs where the rest is", everyFile(healthy(), acl+"authorizer.zookeeper.url=zk2:2181,zk1:2181,zk3:2181/kafka\n"), "MIG324", Clear, ""},
	})
}

func TestWhoIsASuperUser(t *testing.T) {
	plain := "listeners=SASL_PLAINTEXT://:9092\nsecurity.inter.broker.protocol=SASL_PLAINTEXT\nsasl.mechanism.inter.broker.protocol=PLAIN\n" +
		"listener.name.sasl_plaintext.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username=\"kafka\" password=\"x\";\n"
	sasl := func(users string) Survey {
		return listenerProtocol(everyFile(healthy(), acl+plain+"super.users="+users+"\n"), "SASL_PLAINTEXT")
	}
	judgeAll(t, []seen{
		{"no authorizer", healthy(), "MIG325", Clear, ""},
		{"no super.users (FR-068)", everyFile(healthy(), acl), "MIG325", Found, "no super.users"},
		{"PLAINTEXT and nobody anonymous", everyFile(healthy(), acl+"super.users=User:admin\n"), "MIG325", Found, "User:ANONYMOUS"},
		{"PLAINTEXT, said", everyFile(healthy(), acl+"super.users=User:admin;User:ANONYMOUS\n"), "MIG325", Clear, ""},
		{"the brokers' login is no super user (FR-068)", sasl("User:admin"), "MIG325", Found, "User:kafka"},
		{"the brokers' login is one", sasl("User:admin;User:kafka"), "MIG325", Clear, ""},
		{"controllers with a list of their own (FR-068)", controllerSetting(sasl("User:kafka"), "super.users", "User:other"), "MIG325", Found, "controller 3001 settings"},
		{"the login to the controllers is no super user (FR-068)", controllerSetting(sasl("User:kafka"), "listener.name.controller.plain.sasl.jaas.config", `x required username="node" password="p";`), "MIG325", Found, "User:node"},
		{"the login to the controllers is one", controllerSetting(sasl("User:kafka;User:node"), "listener.name.controller.plain.sasl.jaas.config", `x required username="node" password="p";`), "MIG325", Clear, ""},
		{"commas (FR-068)", sasl("User:a,User:b"), "MIG326", Found, "semicolons"},
		{"lower case (FR-068)", sasl("user:kafka"), "MIG326", Found, "lower case"},
		{"blanks in a certificate's name (FR-068)", sasl("User:CN=b1, OU=X, O=Y"), "MIG326", Found, "without blanks"},
		{"as Kafka builds it", sasl("User:CN=b1,OU=X,O=Y;User:kafka"), "MIG326", Clear, ""},
	})
}

func TestLoginsAndSecretsThatControllersTakeOver(t *testing.T) {
	jaas := "listeners=SASL_PLAINTEXT://:9092\nsecurity.inter.broker.protocol=SASL_PLAINTEXT\nsasl.mechanism.inter.broker.protocol=PLAIN\n"
	twoSecrets := withFile(everyFile(healthy(), "password.encoder.secret=hunter2\n"), 3, "password.encoder.secret=swordfish\n")
	judgeAll(t, []seen{
		{"two encoder secrets (FR-034)", twoSecrets, "MIG327", Found, "[redacted]"},
		{"none on one broker (FR-034)", withFile(everyFile(healthy(), "password.encoder.secret=a\n"), 3, ""), "MIG327", Found, "not set"},
		{"one for all", everyFile(healthy(), "password.encoder.secret=a\n"), "MIG327", Clear, ""},
		{"old and new name of the token key, the same (FR-017)", withFile(everyFile(healthy(), "delegation.token.secret.key=a\n"), 2, "delegation.token.master.key=a\n"), "MIG328", Clear, ""},
		{"two token keys (FR-017)", withFile(everyFile(healthy(), "delegation.token.secret.key=a\n"), 2, "delegation.token.secret.key=b\n"), "MIG328", Found, "broker 2"},
		{"a principal builder (FR-019)", everyFile(healthy(), "principal.builder.class=com.acme.CertPrincipalBuilder\n"), "MIG329", Found, "com.acme"},
		{"policies (FR-018)", everyFile(healthy(), "alter.config.policy.class.name=com.acme.P\n"), "MIG330", Found, "com.acme.P"},
		{"no policies", healthy(), "MIG330", Clear, ""},
		{"SCRAM to controllers (FR-070)", controllerSetting(healthy(), "sasl.mechanism.controller.protocol", "SCRAM-SHA-512"), "MIG331", Found, "controller 3001"},
		{"PLAIN to controllers", controllerSetting(healthy(), "sasl.mechanism.controller.protocol", "PLAIN"), "MIG331", Clear, ""},
		{"a JAAS file (FR-072)", everyFile(healthy(), jaas), "MIG332", Found, "JAAS file"},
		{"the login in the controllers' settings (FR-072)", controllerSetting(everyFile(healthy(), jaas), "listener.name.sasl_plaintext.plain.sasl.jaas.config", "x"), "MIG332", Clear, ""},
		{"a bare one, which Kafka ignores", controllerSetting(everyFile(healthy(), jaas), "sasl.jaas.config", "x"), "MIG332", Found, "JAAS file"},
		{"set.acl (FR-036, FR-037)", everyFile(healthy(), "zookeeper.set.acl=true\n"), "MIG332", Found, "section Client"},
		{"TLS without keys", listenerProtocol(healthy(), "SSL"), "MIG333", Found, "controller 3001"},
		{"TLS with keys in settings", controllerSetting(listenerProtocol(healthy(), "SSL"), "ssl.keystore.location", "/ks"), "MIG333", Clear, ""},
		{"TLS keys that come along", listenerProtocol(everyFile(healthy(), "listeners=SSL://:9092\nsecurity.inter.broker.protocol=SSL\nssl.keystore.location=/ks\n"), "SSL"), "MIG333", Clear, ""},
	})
	for _, i := range judged(t, twoSecrets, "MIG327").Items {
		if strings.Contains(i.Seen+i.Fix, "hunter2") || strings.Contains(i.Seen+i.Fix, "swordfish") {
			t.Errorf("a secret is shown: %+v", i)
		}
	}
}
