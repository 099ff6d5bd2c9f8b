package config

import "slices"

// TLS says how this program proves who it is and whom it trusts, as a client.
// Files are on the service's machine. The zero TLS trusts the system's
// authorities and shows no certificate.
type TLS struct {
	CA   string // PEM with one or more certificates
	Cert string // PEM of our certificate and its chain
	Key  string // PEM of its key
	// Truststore and Keystore are Java stores, JKS or PKCS12, in place of CA
	// and of Cert with Key.
	Truststore         string
	TruststorePassword *SecretSource
	Keystore           string
	KeystorePassword   *SecretSource
	KeyPassword        *SecretSource // of the key itself, in Key or in a JKS store
	// ServerName is compared with the server's certificate instead of the name
	// we connect to; NoHostCheck compares none, as Kafka does with an empty
	// ssl.endpoint.identification.algorithm.
	ServerName  string
	NoHostCheck bool
}

// SASL is a user and the way to prove it.
type SASL struct {
	Mechanism string // PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512; DIGEST-MD5 for ZooKeeper
	User      string
	Password  *SecretSource
}

// Digest is a user of ZooKeeper's digest scheme (addauth).
type Digest struct {
	User     string
	Password *SecretSource
}

type rawZooKeeperLogin struct {
	TLS    *rawTLS    `yaml:"tls"`
	Digest *rawDigest `yaml:"digest"`
	SASL   *rawSASL   `yaml:"sasl"`
}

type rawKafkaLogin struct {
	TLS  *rawTLS  `yaml:"tls"`
	SASL *rawSASL `yaml:"sasl"`
}

// rawLogin is a file of its own, for a cluster that is only looked at.
type rawLogin struct {
	ZooKeeper rawZooKeeperLogin `yaml:"zookeeper"`
	Kafka     rawKafkaLogin     `yaml:"kafka"`
}

type rawTLS struct {
	CA                 text      `yaml:"ca"`
	Cert               text      `yaml:"cert"`
	Key                text      `yaml:"key"`
	KeyPassword        rawSecret `yaml:"key_password"`
	Truststore         text      `yaml:"truststore"`
	TruststorePassword rawSecret `yaml:"truststore_password"`
	Keystore           text      `yaml:"keystore"`
	KeystorePassword   rawSecret `yaml:"keystore_password"`
	ServerName         text      `yaml:"server_name"`
	HostCheck          text      `yaml:"host_check"`
}

type rawSASL struct {
	Mechanism text      `yaml:"mechanism"`
	User      text      `yaml:"user"`
	Password  rawSecret `yaml:"password"`
}

type rawDigest struct {
	User     text      `yaml:"user"`
	Password rawSecret `yaml:"password"`
}

func (c *checker) tls(at string, raw *rawTLS) *TLS {
	if raw == nil {
		return nil
	}
	out := &TLS{
		KeyPassword:        c.secret(at+".key_password", raw.KeyPassword),
		TruststorePassword: c.secret(at+".truststore_password", raw.TruststorePassword),
		KeystorePassword:   c.secret(at+".keystore_password", raw.KeystorePassword),
	}
	for _, f := range []struct {
		key string
		raw text
		to  *string
	}{
		{"ca", raw.CA, &out.CA}, {"cert", raw.Cert, &out.Cert}, {"key", raw.Key, &out.Key},
		{"truststore", raw.Truststore, &out.Truststore}, {"keystore", raw.Keystore, &out.Keystore},
	} {
		if v, ok := c.scalar(at+"."+f.key, f.raw); ok {
			*f.to = c.absolute(at+"."+f.key, v)
		}
	}
	out.ServerName, _ = c.scalar(at+".server_name", raw.ServerName)
	check := true
	c.boolean(at+".host_check", raw.HostCheck, &check)
	out.NoHostCheck = !check
	switch {
	case (out.Cert == "") != (out.Key == ""):
		c.add(at, "cert and key belong together: say both, or neither")
	case out.Keystore != "" && out.Cert != "":
		c.add(at+".keystore", "beside cert: say one of the two")
	case out.Truststore != "" && out.CA != "":
		c.add(at+".truststore", "beside ca: say one of the two")
	case out.KeystorePassword != nil && out.Keystore == "":
		c.add(at+".keystore_password", "without keystore")
	case out.TruststorePassword != nil && out.Truststore == "":
		c.add(at+".truststore_password", "without truststore")
	}
	return out
}

// sasl takes one of the mechanisms; with a single one it need not be said.
func (c *checker) sasl(at string, raw *rawSASL, mechanisms ...string) *SASL {
	if raw == nil {
		return nil
	}
	out := &SASL{Password: c.secret(at+".password", raw.Password)}
	if len(mechanisms) == 1 {
		out.Mechanism = mechanisms[0]
		c.word(at+".mechanism", raw.Mechanism, mechanisms, &out.Mechanism)
	} else if _, ok := c.required(at+".mechanism", raw.Mechanism, oneOf(mechanisms)); ok {
		c.word(at+".mechanism", raw.Mechanism, mechanisms, &out.Mechanism)
	}
	out.User, _ = c.required(at+".user", raw.User, "the user to log in as")
	if !raw.Password.set {
		c.add(at+".password", "missing: say where it is kept, such as {env: KAFKA_PASSWORD}")
	}
	return out
}

func (c *checker) digest(at string, raw *rawDigest) *Digest {
	if raw == nil {
		return nil
	}
	out := &Digest{Password: c.secret(at+".password", raw.Password)}
	out.User, _ = c.required(at+".user", raw.User, "the user of ZooKeeper's digest scheme")
	if !raw.Password.set {
		c.add(at+".password", "missing: say where it is kept, such as {env: ZK_PASSWORD}")
	}
	return out
}

func kafkaMechanisms() []string { return []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} }

func (c *checker) zooKeeperLogin(at string, raw rawZooKeeperLogin, m *Migration) {
	m.ZooKeeper.TLS = c.tls(at+".tls", raw.TLS)
	m.ZooKeeper.Digest = c.digest(at+".digest", raw.Digest)
	m.ZooKeeper.SASL = c.sasl(at+".sasl", raw.SASL, "DIGEST-MD5")
}

func (c *checker) kafkaLogin(at string, raw rawKafkaLogin, m *Migration) {
	m.Kafka.TLS = c.tls(at+".tls", raw.TLS)
	m.Kafka.SASL = c.sasl(at+".sasl", raw.SASL, kafkaMechanisms()...)
}

// clients reads how this program itself gets in. The controllers take the
// brokers' TLS unless they have their own; never their SASL, since what
// brokers know from their log (SCRAM) a controller cannot (KAFKA-15513).
func (c *checker) clients(at string, raw rawMigration, m *Migration) {
	c.zooKeeperLogin(at+".zookeeper", raw.ZooKeeper.Login, m)
	c.kafkaLogin(at+".kafka", raw.Kafka.Login, m)
	m.Quorum.TLS = c.tls(at+".quorum.tls", raw.Quorum.TLS)
	m.Quorum.SASL = c.sasl(at+".quorum.sasl", raw.Quorum.SASL, kafkaMechanisms()...)

	protocol := m.Quorum.Listener.Protocol
	secure := slices.Contains([]string{"SSL", "SASL_SSL"}, protocol)
	named := slices.Contains([]string{"SASL_PLAINTEXT", "SASL_SSL"}, protocol)
	switch {
	case secure && m.Quorum.TLS == nil && m.Kafka.TLS != nil:
		m.Quorum.TLS = m.Kafka.TLS
	case secure && m.Quorum.TLS == nil:
		c.add(at+".quorum.tls", "missing: the controllers' listener is %s, so this program needs to know whom to trust, such as {ca: /path/ca.pem}", protocol)
	case !secure && m.Quorum.TLS != nil:
		c.add(at+".quorum.tls", "the controllers' listener is %s, which knows no TLS", protocol)
	}
	switch {
	case named && m.Quorum.SASL == nil && raw.Quorum.SASL == nil:
		c.add(at+".quorum.sasl", "missing: the controllers' listener is %s, so this program needs a user there, such as {mechanism: PLAIN, user: migrator, password: {env: KAFKA_PASSWORD}}", protocol)
	case !named && raw.Quorum.SASL != nil:
		c.add(at+".quorum.sasl", "the controllers' listener is %s, which knows no SASL", protocol)
	}
	if s := m.Quorum.SASL; s != nil && s.Mechanism != "PLAIN" && s.Mechanism != "" {
		c.add(at+".quorum.sasl.mechanism", "%s on the controllers' listener: its credentials are in the metadata log, which nobody can read before a quorum stands (KAFKA-15513): use PLAIN over SASL_SSL, or SSL with client certificates", s.Mechanism)
	}
}
