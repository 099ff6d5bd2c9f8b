package connect

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/youmark/pkcs8"
	"software.sslmate.com/src/go-pkcs12"

	"migrator/internal/config"
)

// party is a certificate with its key.
type party struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func issue(t *testing.T, name string, by *party, change func(*x509.Certificate)) party {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	signer := party{cert: c, key: key}
	if by != nil {
		signer = *by
	} else {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
	}
	if change != nil {
		change(c)
	}
	der, err := x509.CreateCertificate(rand.Reader, c, signer.cert, &key.PublicKey, signer.key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return party{cert: parsed, key: key}
}

func (p party) certPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.cert.Raw})
}

func (p party) pkcs8(t *testing.T) []byte {
	der, err := x509.MarshalPKCS8PrivateKey(p.key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func file(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// serve answers handshakes and demands a certificate of ca.
func serve(t *testing.T, server party, ca party) string {
	t.Helper()
	trust := x509.NewCertPool()
	trust.AddCert(ca.cert)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trust,
		Certificates: []tls.Certificate{{Certificate: [][]byte{server.cert.Raw}, PrivateKey: server.key}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if c.(*tls.Conn).Handshake() == nil {
					_, _ = c.Write([]byte("in"))
				}
			}()
		}
	}()
	return l.Addr().String()
}

// enters dials and reads what only a client that was let in is told.
func enters(t *testing.T, c *config.TLS, addr string) error {
	t.Helper()
	conn, err := (&dialer{t: c}).Dial(t.Context(), "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Read(make([]byte, 2))
	return err
}

func TestEveryKindOfStoreGetsIn(t *testing.T) {
	t.Setenv("STORE", "changeit")
	password := &config.SecretSource{Env: "STORE"}
	ca := issue(t, "ca", nil, nil)
	me := issue(t, "migrator", &ca, nil)
	addr := serve(t, issue(t, "b1", &ca, nil), ca)

	sealed, err := pkcs8.MarshalPrivateKey(me.key, []byte("changeit"), nil)
	if err != nil {
		t.Fatal(err)
	}
	p12, err := pkcs12.Modern.Encode(me.key, me.cert, []*x509.Certificate{ca.cert}, "changeit")
	if err != nil {
		t.Fatal(err)
	}
	trust12, err := pkcs12.Modern.EncodeTrustStore([]*x509.Certificate{ca.cert}, "changeit")
	if err != nil {
		t.Fatal(err)
	}
	var jks, trustJKS bytes.Buffer
	keys, trusts := keystore.New(), keystore.New()
	if err := keys.SetPrivateKeyEntry("me", keystore.PrivateKeyEntry{CreationTime: time.Now(), PrivateKey: me.pkcs8(t),
		CertificateChain: []keystore.Certificate{{Type: "X509", Content: me.cert.Raw}}}, []byte("changeit")); err != nil {
		t.Fatal(err)
	}
	if err := trusts.SetTrustedCertificateEntry("ca", keystore.TrustedCertificateEntry{CreationTime: time.Now(), Certificate: keystore.Certificate{Type: "X509", Content: ca.cert.Raw}}); err != nil {
		t.Fatal(err)
	}
	for store, to := range map[*keystore.KeyStore]*bytes.Buffer{&keys: &jks, &trusts: &trustJKS} {
		if err := store.Store(to, []byte("changeit")); err != nil {
			t.Fatal(err)
		}
	}
	caFile, certFile := file(t, ca.certPEM()), file(t, me.certPEM())
	for name, c := range map[string]*config.TLS{
		"PEM": {CA: caFile, Cert: certFile, Key: file(t, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: me.pkcs8(t)}))},
		"PEM with an encrypted key": {CA: caFile, Cert: certFile, KeyPassword: password,
			Key: file(t, pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: sealed}))},
		"PKCS12": {Truststore: file(t, trust12), TruststorePassword: password, Keystore: file(t, p12), KeystorePassword: password},
		"JKS":    {Truststore: file(t, trustJKS.Bytes()), TruststorePassword: password, Keystore: file(t, jks.Bytes()), KeystorePassword: password},
	} {
		if err := enters(t, c, addr); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAFailedConnectionSaysWhichFileIsToBlame(t *testing.T) {
	t.Setenv("WRONG", "hush-hush")
	ca, other := issue(t, "ca", nil, nil), issue(t, "other ca", nil, nil)
	me := issue(t, "migrator", &ca, nil)
	good := serve(t, issue(t, "b1", &ca, nil), ca)
	expired := serve(t, issue(t, "b1", &ca, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), ca)
	elsewhere := serve(t, issue(t, "b1", &ca, func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(10, 9, 9, 9)} }), ca)
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { plain.Close() })
	go func() {
		for {
			c, err := plain.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("hello, this is no TLS\n"))
		}
	}()
	caFile, certFile := file(t, ca.certPEM()), file(t, me.certPEM())
	keyFile := file(t, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: me.pkcs8(t)}))
	p12, err := pkcs12.Modern.EncodeTrustStore([]*x509.Certificate{ca.cert}, "changeit")
	if err != nil {
		t.Fatal(err)
	}
	old := issue(t, "migrator", &ca, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	oldFile, oldKey := file(t, old.certPEM()), file(t, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: old.pkcs8(t)}))
	wrong := &config.SecretSource{Env: "WRONG"}
	otherCA := file(t, other.certPEM())
	for name, row := range map[string]struct {
		addr string
		c    config.TLS
		says string
	}{
		"wrong authority":  {good, config.TLS{CA: otherCA, Cert: certFile, Key: keyFile}, "signed by nobody whom " + otherCA},
		"expired":          {expired, config.TLS{CA: caFile, Cert: certFile, Key: keyFile}, "expired"},
		"expired, no name": {expired, config.TLS{CA: caFile, Cert: certFile, Key: keyFile, NoHostCheck: true}, "expired"},
		"our own expired":  {good, config.TLS{CA: caFile, Cert: oldFile, Key: oldKey}, "our own certificate, " + oldFile + ", ended on 20"},
		"another host":     {elsewhere, config.TLS{CA: caFile, Cert: certFile, Key: keyFile}, "host_check: false"},
		"no certificate":   {good, config.TLS{CA: caFile}, "certificate required"},
		"no TLS":           {plain.Addr().String(), config.TLS{CA: caFile}, "speaks no TLS"},
		"absent file":      {good, config.TLS{CA: "/absent/ca.pem"}, "/absent/ca.pem"},
		"wrong password":   {good, config.TLS{Truststore: file(t, p12), TruststorePassword: wrong}, "password is wrong"},
		"junk":             {good, config.TLS{CA: keyFile}, "no certificate in PEM"},
	} {
		err := enters(t, &row.c, row.addr)
		if err == nil || !strings.Contains(err.Error(), row.says) || strings.Contains(err.Error(), "hush-hush") {
			t.Errorf("%s: want an error with %q, got %v", name, row.says, err)
		}
	}
	if err := enters(t, &config.TLS{CA: caFile, Cert: certFile, Key: keyFile, NoHostCheck: true}, elsewhere); err != nil {
		t.Errorf("host_check: false still compares the name: %v", err)
	}
}

func TestARenewedCertificateNeedsNoRestart(t *testing.T) {
	ca, other := issue(t, "ca", nil, nil), issue(t, "other", nil, nil)
	me := issue(t, "migrator", &ca, nil)
	addr := serve(t, issue(t, "b1", &ca, nil), ca)
	c := &config.TLS{CA: file(t, other.certPEM()), Cert: file(t, me.certPEM()),
		Key: file(t, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: me.pkcs8(t)}))}
	d := &dialer{t: c}
	if _, err := d.Dial(t.Context(), "tcp", addr); err == nil {
		t.Fatal("the wrong authority is trusted")
	}
	if err := os.WriteFile(c.CA, append(ca.certPEM(), '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	conn, err := d.Dial(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatalf("after the file was corrected: %v", err)
	}
	conn.Close()
}

func TestAUserLogsInWithEachMechanism(t *testing.T) {
	t.Setenv("PASSWORD", "right")
	t.Setenv("OTHER", "hush-hush")
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(),
		kfake.Superuser("PLAIN", "migrator", "right"), kfake.Superuser("SCRAM-SHA-256", "migrator", "right"), kfake.Superuser("SCRAM-SHA-512", "migrator", "right"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		for source, works := range map[string]bool{"PASSWORD": true, "OTHER": false} {
			brokers, err := Brokers(config.Kafka{Bootstrap: fake.ListenAddrs(),
				SASL: &config.SASL{Mechanism: mechanism, User: "migrator", Password: &config.SecretSource{Env: source}}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(brokers.Close)
			_, err = brokers.Metadata(t.Context())
			if (err == nil) != works || err != nil && strings.Contains(err.Error(), "hush-hush") {
				t.Errorf("%s with %s: %v", mechanism, source, err)
			}
		}
	}
}

func TestAChangedPasswordIsReadAgain(t *testing.T) {
	path := file(t, []byte("one\n"))
	password := remembered(&config.SecretSource{File: path})
	if got, err := password(context.Background()); got != "one" || err != nil {
		t.Fatalf("got %q, %v", got, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got, err := password(context.Background()); got != "one" || err != nil {
		t.Errorf("within the minute it is kept: got %q, %v", got, err)
	}
}
