package lab_test

import (
	"bytes"
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
	"testing"
	"time"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
	"software.sslmate.com/src/go-pkcs12"
)

// storePassword protects every key and trust store of an authority.
const storePassword = "st0re-secret"

// authority issues the certificates of a lab's nodes and users. Its folder has
// ca.pem, trust.p12 and trust.jks, and of each name NAME.pem (key and
// certificate, as Kafka's PEM stores want them), NAME.crt, NAME.key, NAME.p12
// and NAME.jks.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, names ...string) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir(), key: newKey(t)}
	template := &x509.Certificate{SerialNumber: serial(t), Subject: pkix.Name{CommonName: "lab", Organization: []string{"Lab"}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.cert = a.sign(template, template, &a.key.PublicKey)
	a.write("ca.pem", pemOf("CERTIFICATE", a.cert.Raw))
	trust, err := pkcs12.Modern.EncodeTrustStore([]*x509.Certificate{a.cert}, storePassword)
	a.must(err)
	a.write("trust.p12", trust)
	jks := keystore.New()
	a.must(jks.SetTrustedCertificateEntry("lab", keystore.TrustedCertificateEntry{CreationTime: time.Now(), Certificate: keystore.Certificate{Type: "X509", Content: a.cert.Raw}}))
	a.writeJKS("trust.jks", jks)
	for _, name := range names {
		a.issue(name, time.Now().Add(12*time.Hour))
	}
	return a
}

// issue makes a certificate CN=name,O=Lab for 127.0.0.1 that ends at the time given.
func (a *authority) issue(name string, ends time.Time) {
	a.t.Helper()
	key := newKey(a.t)
	cert := a.sign(&x509.Certificate{SerialNumber: serial(a.t), Subject: pkix.Name{CommonName: name, Organization: []string{"Lab"}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: ends, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}},
		a.cert, &key.PublicKey)
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	a.must(err)
	keyPEM, certPEM := pemOf("PRIVATE KEY", raw), pemOf("CERTIFICATE", cert.Raw)
	a.write(name+".key", keyPEM)
	a.write(name+".crt", certPEM)
	a.write(name+".pem", append(bytes.Clone(keyPEM), certPEM...))
	p12, err := pkcs12.Modern.Encode(key, cert, []*x509.Certificate{a.cert}, storePassword)
	a.must(err)
	a.write(name+".p12", p12)
	jks := keystore.New()
	chain := []keystore.Certificate{{Type: "X509", Content: cert.Raw}, {Type: "X509", Content: a.cert.Raw}}
	a.must(jks.SetPrivateKeyEntry(name, keystore.PrivateKeyEntry{CreationTime: time.Now(), PrivateKey: raw, CertificateChain: chain}, []byte(storePassword)))
	a.writeJKS(name+".jks", jks)
}

// path is a file of the authority's folder.
func (a *authority) path(file string) string { return filepath.Join(a.dir, file) }

// client is how a user connects; "" shows no certificate.
func (a *authority) client(name string) *tls.Config {
	a.t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	config := &tls.Config{RootCAs: pool}
	if name != "" {
		pair, err := tls.LoadX509KeyPair(a.path(name+".crt"), a.path(name+".key"))
		a.must(err)
		config.Certificates = []tls.Certificate{pair}
	}
	return config
}

func (a *authority) sign(template, parent *x509.Certificate, public *ecdsa.PublicKey) *x509.Certificate {
	a.t.Helper()
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, public, a.key)
	a.must(err)
	cert, err := x509.ParseCertificate(raw)
	a.must(err)
	return cert
}

func (a *authority) write(file string, content []byte) {
	a.t.Helper()
	a.must(os.WriteFile(a.path(file), content, 0o600))
}

func (a *authority) writeJKS(file string, store keystore.KeyStore) {
	a.t.Helper()
	var out bytes.Buffer
	a.must(store.Store(&out, []byte(storePassword)))
	a.write(file, out.Bytes())
}

func (a *authority) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func serial(t *testing.T) *big.Int {
	t.Helper()
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func pemOf(kind string, content []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
}
