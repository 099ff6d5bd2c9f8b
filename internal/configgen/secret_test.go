package configgen

import (
	"strings"
	"testing"
)

func TestSecretsAreKnownByKeyOrShape(t *testing.T) {
	secret := []Setting{
		{"ssl.keystore.password", "x"}, {"ssl.key.password", "x"}, {"ssl.keystore.key", "x"}, {"ssl.truststore.certificates", "x"},
		{"listener.name.a.ssl.keystore.certificate.chain", "x"}, {"listener.name.SASL_SSL.scram-sha-256.sasl.jaas.config", "x"},
		{"zookeeper.ssl.truststore.password", "x"}, {"password.encoder.secret", "x"}, {"password.encoder.old.secret", "x"},
		{"delegation.token.master.key", "x"}, {"delegation.token.secret.key", "x"}, {"my.plugin.credentials", "x"},
		{"schema.basic.auth.user.info", "x"}, {"confluent.license", "x"}, {"sasl.oauthbearer.client.thing", "x"},
		{"x", "-----BEGIN PRIVATE KEY-----"}, {"x", `Foo required password="y";`}, {"x", "https://user:pw@host/path"},
	}
	for _, s := range secret {
		if got := Redact(s.Key, s.Value); got != "[redacted]" {
			t.Errorf("%s=%s is shown as %s", s.Key, s.Value, got)
		}
	}
	public := []Setting{
		{"sasl.mechanism.inter.broker.protocol", "PLAIN"}, {"sasl.enabled.mechanisms", "PLAIN"}, {"listener.name.controller.sasl.enabled.mechanisms", "PLAIN"},
		{"sasl.kerberos.service.name", "kafka"}, {"password.encoder.iterations", "4096"}, {"ssl.keystore.location", "/k"},
		{"broker.id", "1"}, {"zookeeper.connect", "z:1/k"}, {"listeners", "A://h:1,B://h:2"}, {"ssl.keystore.password", ""},
	}
	for _, s := range public {
		if got := Redact(s.Key, s.Value); got != s.Value {
			t.Errorf("%s=%s is shown as %s", s.Key, s.Value, got)
		}
	}
}

func TestADiffShowsThatASecretChangedAndNeverWhich(t *testing.T) {
	before := "a=1\nssl.key.password=s3cr3t-old\nx.sasl.jaas.config=A \\\n  password=\"s3cr3t-1\" \\\n  user_s3cr3t=\"p\";\n#ssl.key.password = s3cr3t\n# ssl.key.password s3cr3t\tis here\nx y=s3cr3t password=s3cr3t\n"
	after := strings.Replace(strings.Replace(before, "old", "new", 1), "a=1", "a=2", 1) + "password.encoder.secret=s3cr3t"
	got := Diff("server.properties", []byte(before), []byte(after))
	if strings.Contains(got, "s3cr3t") {
		t.Errorf("the diff shows a secret:\n%s", got)
	}
	for _, want := range []string{"-a=1\n", "+a=2\n", "-ssl.key.password=[redacted]\n", "+ssl.key.password=[redacted, changed]\n", "+password.encoder.secret=[redacted]\n", `\ No newline at end of file`} {
		if !strings.Contains(got, want) {
			t.Errorf("the diff lacks %q:\n%s", want, got)
		}
	}
	if got := Diff("f", []byte(before), []byte(before)); got != "" {
		t.Errorf("equal files differ:\n%s", got)
	}
	if got := Diff("f", []byte("a=s3cr3t\\u1"), nil); strings.Contains(got, "s3cr3t") || !strings.Contains(got, "cannot be read") {
		t.Errorf("an unreadable file is shown as %q", got)
	}
}

func TestADiffCarriesNoControlCharacters(t *testing.T) {
	got := Diff("f", []byte("a=1\r"), []byte("a=\x1b[31m\xe9\r\nb=\x00\r\n"))
	if strings.ContainsAny(got, "\x1b\x00\r") || !strings.Contains(got, `a=\x1b[31mé`) {
		t.Errorf("diff is %q", got)
	}
}
