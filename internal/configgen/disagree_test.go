package configgen

import (
	"strings"
	"testing"
)

func disagreements(t *testing.T, files ...string) string {
	t.Helper()
	var list []BrokerFile
	for i, f := range files {
		list = append(list, BrokerFile{ID: int32(i + 1), Content: []byte(f)})
	}
	found, err := Disagreements(list)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, d := range found {
		if d.Reason == "" || d.Source == "" {
			t.Errorf("%s gives no reason or source", d.Key)
		}
		lines = append(lines, d.String())
	}
	return strings.Join(lines, "\n")
}

func TestBrokersThatDisagreeAreNamedWithTheirValues(t *testing.T) {
	cases := []struct {
		name  string
		files []string
		want  string
	}{
		{"a default that is written is no difference", []string{"num.partitions= 1\n", "", "auto.leader.rebalance.enable=TRUE\n"}, ""},
		{"unclean elections on one broker", []string{"", "unclean.leader.election.enable=true\n", ""},
			"unclean.leader.election.enable: false by default on broker 1, 3, true on broker 2; the controllers get the first"},
		{"a policy on all but the first", []string{"", "create.topic.policy.class.name=com.acme.P\n", "create.topic.policy.class.name=com.acme.P\n"},
			"create.topic.policy.class.name: nothing on broker 1, com.acme.P on broker 2, 3; the controllers get the first"},
		{"a secret", []string{"password.encoder.secret=s3cr3t-1\n", "password.encoder.secret=s3cr3t-2\n"},
			"password.encoder.secret: [redacted] on broker 1, [redacted] on broker 2; the controllers get the first"},
		{"another listener between brokers", []string{"security.inter.broker.protocol=SSL\n", ""},
			"inter.broker.listener.name: SSL (SSL) on broker 1, PLAINTEXT (PLAINTEXT) on broker 2; the controllers get the first"},
		{"the same listener by another key", []string{"security.inter.broker.protocol=SSL\n", "inter.broker.listener.name=SSL\n"}, ""},
		{"what each node has for itself", []string{"broker.rack=a\nzookeeper.ssl.keystore.location=/1\nlog.retention.ms=1\n", "broker.rack=b\nzookeeper.ssl.keystore.location=/2\nlog.retention.ms=2\n"}, ""},
		{"retention where topics are tiered", []string{"remote.log.storage.system.enable=true\nlog.retention.hours=24\n", "remote.log.storage.system.enable=true\n"},
			"log.retention.hours: 24 on broker 1, 168 by default on broker 2; the controllers get the first"},
		{"an authorizer with a blank at the end", []string{"authorizer.class.name=" + aclAuthorizer + "\n", "authorizer.class.name=" + aclAuthorizer + " \n"},
			"authorizer.class.name: " + aclAuthorizer + " on broker 1, " + aclAuthorizer + "  on broker 2; the controllers get the first"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := disagreements(t, c.files...); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestAnUnreadableFileIsNoAgreement(t *testing.T) {
	for _, file := range []string{"a=\\u12\n", "inter.broker.listener.name=A\n"} {
		if _, err := Disagreements([]BrokerFile{{ID: 1}, {ID: 7, Content: []byte(file)}}); err == nil || !strings.Contains(err.Error(), "broker 7") {
			t.Errorf("%q: %v, want an error that names broker 7", file, err)
		}
	}
}
