package connect

import (
	"bytes"
	"context"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
	"github.com/youmark/pkcs8"
	"software.sslmate.com/src/go-pkcs12"

	"migrator/internal/config"
	"migrator/internal/secrets"
)

// maxStore bounds a key or trust store in bytes.
const maxStore = 4 << 20

// trusted are the authorities; nil means the system's.
func trusted(ctx context.Context, t *config.TLS) (*x509.CertPool, error) {
	switch {
	case t.CA != "":
		data, err := readStore(t.CA)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("%s holds no certificate in PEM", t.CA)
		}
		return pool, nil
	case t.Truststore != "":
		list, err := trustStore(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Truststore, err)
		}
		pool := x509.NewCertPool()
		for _, c := range list {
			pool.AddCert(c)
		}
		return pool, nil
	}
	return nil, nil
}

func trustStore(ctx context.Context, t *config.TLS) ([]*x509.Certificate, error) {
	data, err := readStore(t.Truststore)
	if err != nil {
		return nil, err
	}
	password, err := secrets.Read(ctx, t.TruststorePassword)
	if err != nil {
		return nil, err
	}
	if !isJKS(data) {
		list, err := pkcs12.DecodeTrustStore(data, password.Reveal())
		if err == nil && len(list) == 0 {
			err = errors.New("it holds no trusted certificate")
		}
		return list, wrongPassword(err)
	}
	store := keystore.New()
	if err := store.Load(bytes.NewReader(data), []byte(password.Reveal())); err != nil {
		return nil, wrongPassword(err)
	}
	var list []*x509.Certificate
	for _, alias := range store.Aliases() {
		entry, err := store.GetTrustedCertificateEntry(alias)
		if err != nil {
			continue // a key of somebody's own is nobody to trust
		}
		c, err := x509.ParseCertificate(entry.Certificate.Content)
		if err != nil {
			return nil, fmt.Errorf("entry %q: %w", alias, err)
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		return nil, errors.New("it holds no trusted certificate")
	}
	return list, nil
}

// own is the certificate that we show; nil when there is none.
func own(ctx context.Context, t *config.TLS) (*tls.Certificate, error) {
	switch {
	case t.Cert != "":
		return ownPEM(ctx, t)
	case t.Keystore != "":
		c, err := keyStore(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Keystore, err)
		}
		return c, nil
	}
	return nil, nil
}

func ownPEM(ctx context.Context, t *config.TLS) (*tls.Certificate, error) {
	cert, err := readStore(t.Cert)
	if err != nil {
		return nil, err
	}
	key, err := readStore(t.Key)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(key)
	if block != nil && block.Type == "ENCRYPTED PRIVATE KEY" {
		password, err := secrets.Read(ctx, t.KeyPassword)
		if err != nil {
			return nil, err
		}
		if password.Empty() {
			return nil, fmt.Errorf("%s is encrypted: say key_password", t.Key)
		}
		open, err := pkcs8.ParsePKCS8PrivateKey(block.Bytes, []byte(password.Reveal()))
		if err != nil {
			return nil, fmt.Errorf("%s: its password is wrong, or it is damaged", t.Key)
		}
		der, err := x509.MarshalPKCS8PrivateKey(open)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Key, err)
		}
		key = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("%s with %s: %w", t.Cert, t.Key, err)
	}
	return &pair, nil
}

func keyStore(ctx context.Context, t *config.TLS) (*tls.Certificate, error) {
	data, err := readStore(t.Keystore)
	if err != nil {
		return nil, err
	}
	password, err := secrets.Read(ctx, t.KeystorePassword)
	if err != nil {
		return nil, err
	}
	if !isJKS(data) {
		key, cert, chain, err := pkcs12.DecodeChain(data, password.Reveal())
		if err != nil {
			return nil, wrongPassword(err)
		}
		out := &tls.Certificate{PrivateKey: key, Leaf: cert}
		for _, c := range append([]*x509.Certificate{cert}, chain...) {
			out.Certificate = append(out.Certificate, c.Raw)
		}
		return out, nil
	}
	keyPassword := password
	if t.KeyPassword != nil {
		if keyPassword, err = secrets.Read(ctx, t.KeyPassword); err != nil {
			return nil, err
		}
	}
	return fromJKS(data, password, keyPassword)
}

func fromJKS(data []byte, password, keyPassword config.Secret) (*tls.Certificate, error) {
	store := keystore.New()
	if err := store.Load(bytes.NewReader(data), []byte(password.Reveal())); err != nil {
		return nil, wrongPassword(err)
	}
	aliases := slices.DeleteFunc(store.Aliases(), func(a string) bool { return !store.IsPrivateKeyEntry(a) })
	if len(aliases) != 1 {
		return nil, fmt.Errorf("it holds %d keys: one is wanted", len(aliases))
	}
	entry, err := store.GetPrivateKeyEntry(aliases[0], []byte(keyPassword.Reveal()))
	if err != nil {
		return nil, wrongPassword(err)
	}
	key, err := x509.ParsePKCS8PrivateKey(entry.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("key %q: %w", aliases[0], err)
	}
	if _, ok := key.(crypto.Signer); !ok {
		return nil, fmt.Errorf("key %q cannot sign", aliases[0])
	}
	out := &tls.Certificate{PrivateKey: key}
	for _, c := range entry.CertificateChain {
		out.Certificate = append(out.Certificate, c.Content)
	}
	return out, nil
}

func isJKS(data []byte) bool { return bytes.HasPrefix(data, []byte{0xfe, 0xed, 0xfe, 0xed}) }

func wrongPassword(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot be opened as JKS or PKCS12: its password is wrong, or it is damaged: %w", err)
}

func readStore(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > maxStore:
		return nil, fmt.Errorf("%s has %d bytes, more than %d", path, info.Size(), maxStore)
	}
	return os.ReadFile(path)
}
