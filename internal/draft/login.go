package draft

import (
	"fmt"
	"strings"

	"migrator/internal/config"
)

func zooKeeperLogin(line func(string, ...any), z config.ZooKeeper) {
	if z.TLS != nil {
		line("      tls: %s", tls(z.TLS))
	}
	if z.Digest != nil {
		line("      digest: %s", pairs{}.text("user", z.Digest.User).secret("password", z.Digest.Password))
	}
	if z.SASL != nil {
		line("      sasl: %s", sasl(z.SASL))
	}
}

func kafkaLogin(line func(string, ...any), k config.Kafka) {
	if k.TLS != nil {
		line("      tls: %s", tls(k.TLS))
	}
	if k.SASL != nil {
		line("      sasl: %s", sasl(k.SASL))
	}
}

func sasl(s *config.SASL) pairs {
	return pairs{}.text("mechanism", s.Mechanism).text("user", s.User).secret("password", s.Password)
}

func tls(t *config.TLS) pairs {
	p := pairs{}.text("ca", t.CA).text("cert", t.Cert).text("key", t.Key).secret("key_password", t.KeyPassword).
		text("truststore", t.Truststore).secret("truststore_password", t.TruststorePassword).
		text("keystore", t.Keystore).secret("keystore_password", t.KeystorePassword).text("server_name", t.ServerName)
	if t.NoHostCheck {
		p = append(p, "host_check: false")
	}
	return p
}

// pairs is a flow mapping.
type pairs []string

func (p pairs) text(key, value string) pairs {
	if value == "" {
		return p
	}
	return append(p, key+": "+quote(value))
}

// secret names where a secret is kept.
func (p pairs) secret(key string, s *config.SecretSource) pairs {
	switch {
	case s == nil:
		return p
	case s.Env != "":
		return append(p, fmt.Sprintf("%s: {env: %s}", key, quote(s.Env)))
	case s.File != "":
		return append(p, fmt.Sprintf("%s: {file: %s}", key, quote(s.File)))
	}
	return append(p, fmt.Sprintf("%s: {command: [%s]}", key, strings.Join(quoted(s.Command), ", ")))
}

func (p pairs) String() string { return "{" + strings.Join(p, ", ") + "}" }
