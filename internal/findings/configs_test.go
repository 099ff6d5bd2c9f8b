package findings

import (
	"strings"
	"testing"

	"migrator/internal/cluster"
)

// settings is the data of a znode of settings.
func settings(pairs string) *string { return is(`{"version":1,"config":{` + pairs + `}}`) }

func TestConfigsAreFoundUnderTheirCode(t *testing.T) {
	exactly(t, []fault{
		{"garbage", map[string]*string{"/config/topics/orders": is("min.insync.replicas=2")}, "MIG241", "/config/topics/orders", "no JSON"},
		{"null", map[string]*string{"/config/brokers/1": nil}, "MIG241", "/config/brokers/1", "null"},
		{"no config (FR-033)", map[string]*string{"/config/clients/c": is(`{"version":1}`)}, "MIG241", "/config/clients/c", `no "config"`},
		{"a user without data is the parent of its clients", map[string]*string{"/config/users/u": nil, "/config/users/u/clients": nil, "/config/users/u/clients/c": settings(`"producer_byte_rate":"1"`)}, "", "", ""},
		{"a number where a text belongs", map[string]*string{"/config/topics/orders": settings(`"retention.ms":5`)}, "MIG242", "/config/topics/orders", "retention.ms"},
		{"null where a text belongs", map[string]*string{"/config/brokers/<default>": settings(`"retention.ms":null`)}, "MIG242", "/config/brokers/<default>", "retention.ms"},
		{"settings of no topic", map[string]*string{"/config/topics/gone": settings(``)}, "MIG243", "gone", "no topic"},
		{"a broker that is no number", map[string]*string{"/config/brokers/b1": settings(``)}, "MIG233", "/config/brokers/b1", "neither"},
		{"a broker that does not exist", map[string]*string{"/config/brokers/9": settings(`"background.threads":"4"`)}, "MIG234", "/config/brokers/9", "background.threads"},
		{"a setting that wins over the file", map[string]*string{"/config/brokers/2": settings(`"broker.rack":"x"`)}, "MIG235", "broker 2", "broker.rack"},
		{"a dynamic key store (FR-062)", map[string]*string{"/config/brokers/2": settings(`"listener.name.a.ssl.keystore.location":"/x"`)}, "MIG236", "/config/brokers/2", "ssl.keystore.location"},
		{"dynamic listeners (FR-062)", map[string]*string{"/config/brokers/2": settings(`"advertised.listeners":"PLAINTEXT://x:1"`)}, "MIG236", "/config/brokers/2", "advertised.listeners"},
		{"a placeholder (FR-055)", map[string]*string{"/config/brokers/<default>": settings(`"log.retention.ms":"${file:/x:y}"`)}, "MIG239", "/config/brokers/<default>", "log.retention.ms"},
		{"a controller with a broker's id (FR-006)", map[string]*string{"/config/brokers/3001": settings(`"background.threads":"4"`)}, "MIG231", "controller 3001", "/config/brokers/3001"},
	})
}

// An encoded password needs its secret wherever it is read.
func TestEncodedPasswordsNeedTheirSecret(t *testing.T) {
	const encoded = `"listener.name.ssl.sasl.jaas.config":"keyLength:128,salt:AA==,encryptedPassword:AAAA,passwordLength:6"`
	with := func(data string) Survey { return withZnodes(map[string]*string{"/config/brokers/1": settings(data)}) }
	secret := everyFile(with(encoded), "password.encoder.secret=s3cret\n")
	judgeAll(t, []seen{
		{"no broker has the secret (FR-034)", with(encoded), "MIG237", Found, "broker 1"},
		{"every broker has it", secret, "MIG237", Clear, ""},
		{"encoded where it must be", secret, "MIG238", Clear, ""},
		{"not encoded (FR-035)", everyFile(with(`"sasl.jaas.config":"hunter2"`), "password.encoder.secret=s3cret\n"), "MIG238", Found, "sasl.jaas.config"},
	})
	phase := cluster.Initial
	for _, f := range Judge(everyFile(with(`"sasl.jaas.config":"hunter2"`), "password.encoder.secret=s3cret\n"), &phase) {
		for _, i := range f.Items {
			if strings.Contains(i.Seen+i.Where+i.Fix, "hunter2") || strings.Contains(i.Seen, "s3cret") {
				t.Errorf("%s shows a secret: %+v", f.Code, i)
			}
		}
	}
}

func TestQuotasAndNamesAreFoundUnderTheirCode(t *testing.T) {
	const scram = `"SCRAM-SHA-256":"salt=AAAA,stored_key=BBBB,server_key=CCCC,iterations=4096"`
	exactly(t, []fault{
		{"no number (FR-033)", map[string]*string{"/config/users/u": settings(`"producer_byte_rate":"1MB"`)}, "MIG251", "/config/users/u", "1MB"},
		{"a fraction of a whole number", map[string]*string{"/config/users/u": settings(`"producer_byte_rate":"1.5"`)}, "MIG251", "/config/users/u", "whole"},
		{"a number as Kafka writes it", map[string]*string{"/config/users/u": settings(`"producer_byte_rate":"1.0E7","request_percentage":"12.5"`)}, "", "", ""},
		{"an unknown key (FR-033)", map[string]*string{"/config/clients/c": settings(`"produce_rate":"5"`)}, "MIG251", "/config/clients/c", "produce_rate"},
		{"an unknown mechanism (FR-033)", map[string]*string{"/config/users/u": settings(`"SCRAM-SHA-1":"salt=AAAA"`)}, "MIG251", "/config/users/u", "SCRAM-SHA-1"},
		{"an ip's quota", map[string]*string{"/config/ips/10.0.0.1": settings(`"connection_creation_rate":"5"`)}, "", "", ""},
		{"a broken credential (FR-033)", map[string]*string{"/config/users/<default>": settings(`"SCRAM-SHA-256":"salt=..,iterations=abc"`)}, "MIG254", "/config/users/<default>", "no credential"},
		{"an encoded name (FR-031)", map[string]*string{"/config/users/CN%3Dapp%2COU%3DX": settings(`"producer_byte_rate":"1000"`)}, "", "", ""},
		{"a percent sign (FR-031)", map[string]*string{"/config/clients/100%25": settings(`"producer_byte_rate":"1000"`)}, "", "", ""},
		{"no encoding (FR-031)", map[string]*string{"/config/users/%zz": settings(`"producer_byte_rate":"1000"`)}, "MIG252", "%zz", "form-encoded"},
		{"a raw plus (FR-031)", map[string]*string{"/config/users/a+b": settings(`"producer_byte_rate":"1000"`)}, "MIG253", "a+b", "a%20b"},
		{"a blank at the end", map[string]*string{"/config/users/bob%20": settings(`"producer_byte_rate":"1000"`)}, "MIG253", "bob", "blanks"},
		{"the default under another name", map[string]*string{"/config/users/%3Cdefault%3E": settings(`"producer_byte_rate":"1000"`)}, "MIG253", "default", "default of all"},
		{"something else below a user (FR-033)", map[string]*string{"/config/users/u": nil, "/config/users/u/foo": nil, "/config/users/u/foo/c": settings(`"producer_byte_rate":"1"`)}, "MIG256", "/config/users/u/foo", "clients"},
	})
	f := judged(t, withZnodes(map[string]*string{"/config/users/alice": settings(scram)}), "MIG255")
	if f.Verdict != Found || f.Blocks() || !strings.Contains(f.Items[0].Seen, "alice") || strings.Contains(f.Items[0].Seen, "BBBB") {
		t.Errorf("a user with SCRAM (FR-070) is %+v", f)
	}
}

func TestRulesAndTokensAreFoundUnderTheirCode(t *testing.T) {
	const rule = `{"version":1,"acls":[{"principal":"User:CN=a\\, b,O=x","permissionType":"Deny","operation":"All","host":"*"}]}`
	with := func(path, data string) Survey {
		return everyFile(withZnodes(map[string]*string{"/kafka-acl": nil, "/kafka-acl/Topic": nil, path: &data}), "authorizer.class.name=kafka.security.authorizer.AclAuthorizer\n")
	}
	judgeAll(t, []seen{
		{"a rule (FR-041)", with("/kafka-acl/Topic/orders", rule), "MIG261", Clear, ""},
		{"no rules left (FR-041)", with("/kafka-acl/Topic/orders", `{"version":1,"acls":[]}`), "MIG261", Clear, ""},
		{"a principal without a type (FR-041)", with("/kafka-acl/Topic/orders", strings.Replace(rule, "User:CN=a\\\\, b,O=x", "alice", 1)), "MIG261", Found, "alice"},
		{"an unknown operation", with("/kafka-acl-extended/prefixed/Topic/team.", strings.Replace(rule, "All", "Everything", 1)), "MIG261", Found, "Everything"},
		{"another version", with("/kafka-acl/Topic/orders", strings.Replace(rule, `"version":1`, `"version":2`, 1)), "MIG261", Found, "version"},
		{"an unknown type of resource", with("/kafka-acl/Queue", rule), "MIG262", Found, "/kafka-acl/Queue"},
		{"an unknown pattern", with("/kafka-acl-extended/PREFIXED", rule), "MIG262", Found, "PREFIXED"},
		{"garbage", with("/kafka-acl/Topic/orders", "x"), "MIG262", Found, "no JSON"},
		{"hidden (FR-036)", with("/kafka-acl/Topic/orders", "hidden"), "MIG261", Unknown, "ACL"},
		{"rules and no authorizer", withZnodes(map[string]*string{"/kafka-acl/Topic/orders": is(rule), "/kafka-acl/Topic": nil, "/kafka-acl": nil}), "MIG263", Found, "1 resources"},
		{"an authorizer and no rules anywhere", everyFile(withZnodes(nil), "authorizer.class.name=kafka.security.authorizer.AclAuthorizer\n"), "MIG264", Found, "AclAuthorizer"},
		{"tokens without a key (FR-017)", withZnodes(map[string]*string{"/delegation_token/tokens": nil, "/delegation_token/tokens/x": nil}), "MIG266", Found, "1 tokens"},
		{"tokens with a key (FR-017)", everyFile(withZnodes(map[string]*string{"/delegation_token/tokens": nil, "/delegation_token/tokens/x": nil}), "delegation.token.master.key=k\n"), "MIG266", Clear, ""},
		{"hidden tokens", withZnodes(map[string]*string{"/delegation_token/tokens": is("hidden")}), "MIG266", Unknown, "ACL"},
	})
}
