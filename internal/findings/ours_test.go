package findings

import (
	"strings"
	"testing"

	"migrator/internal/config"
)

// protected has AclAuthorizer, TLS with client certificates, and rules by which
// migrator has all that it needs.
func protected(change func(*Survey)) Survey {
	rules := map[string]string{
		"/kafka-acl/Cluster/kafka-cluster":              rulesOf(migratorName, "Describe", "DescribeConfigs", "Alter"),
		"/kafka-acl/Topic/*":                            rulesOf(migratorName, "Describe", "DescribeConfigs"),
		"/kafka-acl-extended/prefixed/Topic/__migrator": rulesOf(migratorName, "Create", "Write", "Read", "AlterConfigs", "Delete"),
	}
	return protectedBy(rules, change)
}

func protectedBy(rules map[string]string, change func(*Survey)) Survey {
	znodes := map[string]*string{}
	for path, data := range rules {
		znodes[path] = &data
	}
	s := withZnodes(znodes)
	for id := int32(1); id <= 3; id++ {
		s = withFile(s, id, acl+"listeners=SSL://:9092\nsecurity.inter.broker.protocol=SSL\nssl.client.auth=required\nsuper.users=User:CN=b1,O=Lab\n")
	}
	s.Migration.Canary.Topic = "__migrator_canary"
	s.Migration.Kafka.Bootstrap, s.Migration.Kafka.TLS, s.Migration.Quorum.TLS = []string{"b1:9092"}, &config.TLS{}, &config.TLS{}
	s.Us = Us{Brokers: known("CN=migrator,O=Lab"), Controllers: known("CN=migrator,O=Lab")}
	s = controllerSetting(s, "super.users", "User:CN=b1,O=Lab;"+migratorName)
	if change != nil {
		change(&s)
	}
	return s
}

const migratorName = "User:CN=migrator,O=Lab"

func rulesOf(principal string, operations ...string) string {
	var list []string
	for _, op := range operations {
		list = append(list, `{"principal":"`+principal+`","permissionType":"Allow","operation":"`+op+`","host":"*"}`)
	}
	return `{"version":1,"acls":[` + strings.Join(list, ",") + `]}`
}

func TestWhatMigratorMayDo(t *testing.T) {
	sasl := func(s *Survey) {
		s.Migration.Kafka.SASL, s.Migration.Quorum.SASL = &config.SASL{Mechanism: "PLAIN", User: "ops"}, &config.SASL{Mechanism: "PLAIN", User: "ops"}
	}
	file := func(text string) func(*Survey) {
		return func(s *Survey) {
			for id := int32(1); id <= 3; id++ {
				before, _ := s.Snapshot.Files[id].Get()
				*s = withFile(*s, id, "="+string(before.Content)+text)
			}
		}
	}
	judgeAll(t, []seen{
		{"all of its rights", protected(nil), "MIG337", Clear, ""},
		{"no authorizer", healthy(), "MIG337", Clear, ""},
		{"none at all", protectedBy(nil, nil), "MIG337", Found, "kafka-acls.sh"},
		{"the command names the user, the operation and the resource", protectedBy(nil, nil), "MIG337", Found,
			"--add --allow-principal 'User:CN=migrator,O=Lab' --operation Alter --cluster"},
		{"another user's rules are not its", protected(sasl), "MIG337", Found, "User:ops may not"},
		{"a rule for everybody", protectedBy(map[string]string{"/kafka-acl/Cluster/kafka-cluster": rulesOf("User:*", "All"), "/kafka-acl/Topic/*": rulesOf("User:*", "All")}, nil), "MIG337", Clear, ""},
		{"a denial wins", protectedBy(map[string]string{"/kafka-acl/Cluster/kafka-cluster": rulesOf("User:*", "All"),
			"/kafka-acl/Topic/*": strings.Replace(rulesOf(migratorName, "All", "Read"), `Allow","operation":"Read"`, `Deny","operation":"Read"`, 1)}, nil), "MIG337", Found, "may not Read"},
		{"everything is open where no rule is", protectedBy(nil, file("allow.everyone.if.no.acl.found=true\n")), "MIG337", Clear, ""},
		{"a super user needs none", protectedBy(nil, file("super.users="+migratorName+"\n")), "MIG337", Clear, ""},
		{"no certificate is asked for", protectedBy(nil, file("ssl.client.auth=none\n")), "MIG337", Found, "User:ANONYMOUS"},
		{"names are made by rules", protectedBy(nil, file("ssl.principal.mapping.rules=RULE:^CN=(.*?),.*$/$1/\n")), "MIG337", Clear, ""},
		{"names are made by rules, which is said", protectedBy(nil, file("ssl.principal.mapping.rules=RULE:^CN=(.*?),.*$/$1/\n")), "MIG338", Unknown, "mapping.rules"},
		{"its name is known", protected(nil), "MIG338", Clear, ""},

		{"a super user of the controllers", protected(nil), "MIG336", Clear, ""},
		{"no super user of the controllers (FR-068)", protected(func(s *Survey) { *s = controllerSetting(*s, "super.users", "User:CN=b1,O=Lab") }), "MIG336", Found,
			`value: "User:CN=b1,O=Lab;User:CN=migrator,O=Lab"`},
		{"a login that is none", protected(sasl), "MIG336", Found, "User:ops is not in super.users"},
	})
}

func TestLoginsOfTheControllersListener(t *testing.T) {
	sasl := listenerProtocol(healthy(), "SASL_SSL")
	sasl.Migration.Quorum.SASL = &config.SASL{Mechanism: "PLAIN", User: "ops"}
	all := sasl
	all.Migration.Nodes = nil
	for _, n := range sasl.Migration.Nodes {
		n.Settings = append(n.Settings[:len(n.Settings):len(n.Settings)], config.Setting{Key: "listener.name.controller.plain.sasl.jaas.config", Value: "x"})
		all.Migration.Nodes = append(all.Migration.Nodes, n)
	}
	judgeAll(t, []seen{
		{"no SASL", healthy(), "MIG335", Clear, ""},
		{"nobody has a login (FR-072)", sasl, "MIG335", Found, "no listener.name.controller.plain.sasl.jaas.config"},
		{"every node has one", all, "MIG335", Clear, ""},
	})
}

func TestTLSLimitsOfBothSides(t *testing.T) {
	limited := func(onControllers string) Survey {
		s := listenerProtocol(everyFile(healthy(), "ssl.enabled.protocols=TLSv1.2\nlisteners=SSL://:9092\nsecurity.inter.broker.protocol=SSL\n"), "SSL")
		if onControllers == "" {
			return s
		}
		return controllerSetting(s, "listener.name.controller.ssl.enabled.protocols", onControllers)
	}
	judgeAll(t, []seen{
		{"nothing in common (FR-073)", limited("TLSv1.3"), "MIG339", Found, "TLSv1.3, and TLSv1.2 on broker 1"},
		{"one in common", limited("TLSv1.3, TLSv1.2"), "MIG339", Clear, ""},
		{"the brokers' own are taken over", limited(""), "MIG339", Clear, ""},
		{"the brokers have a limit for this listener", controllerSetting(listenerProtocol(everyFile(healthy(), "ssl.cipher.suites=A\nlistener.name.controller.ssl.cipher.suites=B\n"), "SSL"),
			"ssl.cipher.suites", "B"), "MIG339", Clear, ""},
	})
}
