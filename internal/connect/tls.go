package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"migrator/internal/config"
)

// dialLimit is how long one connection may take to open, its TLS included.
const dialLimit = 5 * time.Second

// dialer opens connections with what t says. Its files are read when the first
// connection is made and again when one has changed: a renewed certificate
// needs no restart, and a missing one is an unknown fact and not the end.
type dialer struct {
	t *config.TLS

	mu    sync.Mutex
	stamp string // of the files as they were read
	base  *tls.Config
}

// Dial connects to host:port; the host is verified by name unless t says not to.
func (d *dialer) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	c, err := d.config(ctx)
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	if err := d.ended(c); err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	var plain net.Dialer
	raw, err := plain.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if c.ServerName == "" {
		if c.ServerName, _, err = net.SplitHostPort(addr); err != nil {
			return nil, errors.Join(err, raw.Close())
		}
	}
	conn := tls.Client(raw, c)
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("tls with %s: %w", addr, d.explain(err)), raw.Close())
	}
	return conn, nil
}

// ended says that our own certificate is over. The other side would say so only
// after the handshake, in the middle of the first answer (TLS 1.3).
func (d *dialer) ended(c *tls.Config) error {
	for _, own := range c.Certificates {
		cert, err := x509.ParseCertificate(own.Certificate[0])
		if err != nil {
			return err
		}
		if time.Now().After(cert.NotAfter) {
			return fmt.Errorf("our own certificate, %s, ended on %s: renew it, no restart is needed", d.t.Cert+d.t.Keystore, cert.NotAfter.UTC().Format(time.RFC3339))
		}
	}
	return nil
}

// config gives a copy for one connection.
func (d *dialer) config(ctx context.Context) (*tls.Config, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	stamp := stampOf(d.t)
	if d.base == nil || stamp != d.stamp {
		base, err := build(ctx, d.t)
		if err != nil {
			return nil, err
		}
		d.base, d.stamp = base, stamp
	}
	return d.base.Clone(), nil
}

func build(ctx context.Context, t *config.TLS) (*tls.Config, error) {
	roots, err := trusted(ctx, t)
	if err != nil {
		return nil, err
	}
	cert, err := own(ctx, t)
	if err != nil {
		return nil, err
	}
	out := &tls.Config{RootCAs: roots, ServerName: t.ServerName, MinVersion: tls.VersionTLS12}
	if cert != nil {
		out.Certificates = []tls.Certificate{*cert}
	}
	if t.NoHostCheck {
		// The library knows no chain check without a name check: it is switched
		// off as a whole, and the chain is verified here.
		out.InsecureSkipVerify = true
		out.VerifyConnection = func(s tls.ConnectionState) error { return verifyChain(s, roots) }
	}
	return out, nil
}

func verifyChain(s tls.ConnectionState, roots *x509.CertPool) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("it shows no certificate")
	}
	between := x509.NewCertPool()
	for _, c := range s.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
	return err
}

// explain says which file the failure is about.
func (d *dialer) explain(err error) error {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &unknown):
		from := "the system's authorities"
		if d.t.CA+d.t.Truststore != "" {
			from = d.t.CA + d.t.Truststore
		}
		return fmt.Errorf("its certificate is signed by nobody whom %s holds: %w", from, err)
	case errors.As(err, &host):
		return fmt.Errorf("%w; if the cluster has an empty ssl.endpoint.identification.algorithm, say host_check: false", err)
	case errors.As(err, &record):
		return fmt.Errorf("what listens there speaks no TLS: %w", err)
	}
	return err
}

// stampOf changes when one of the files does.
func stampOf(t *config.TLS) string {
	out := ""
	for _, path := range []string{t.CA, t.Cert, t.Key, t.Truststore, t.Keystore} {
		if path == "" {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			out += path + " absent;"
			continue
		}
		out += fmt.Sprintf("%s %d %d;", path, info.Size(), info.ModTime().UnixNano())
	}
	return out
}
