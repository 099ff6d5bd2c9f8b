package zkwire_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"migrator/internal/zkread/zkconnect"
	"migrator/internal/zkread/zkfake"
	"migrator/internal/zkread/zkwire"
)

// behindTLS is the address of a TLS port in front of a server, and who to trust.
func behindTLS(t *testing.T, s *zkfake.Server) (string, *x509.CertPool) {
	t.Helper()
	certified := httptest.NewTLSServer(nil)
	certified.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: certified.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", s.Addr())
			if err != nil {
				in.Close()
				return
			}
			go func() { _, _ = io.Copy(out, in); out.Close() }()
			go func() { _, _ = io.Copy(in, out); in.Close() }()
		}
	}()
	trust := x509.NewCertPool()
	trust.AddCert(certified.Certificate())
	return l.Addr().String(), trust
}

func TestATLSMemberIsVerifiedByItsName(t *testing.T) {
	s := server(t)
	s.Put("/a", []byte("1"))
	addr, trust := behindTLS(t, s)
	secure := func(c *tls.Config) *zkwire.Client {
		dial := func(ctx context.Context, server string) (net.Conn, error) {
			return (&tls.Dialer{Config: c}).DialContext(ctx, "tcp", server)
		}
		out := zkwire.New(zkconnect.Address{Servers: []string{addr}}, zkwire.Options{Login: zkwire.Login{Dial: dial}})
		t.Cleanup(out.Close)
		return out
	}
	if got := read(t, secure(&tls.Config{RootCAs: trust}), ops(zkwire.Data, "/a")); string(got[0].Data) != "1" {
		t.Errorf("got %+v", got)
	}
	for name, config := range map[string]*tls.Config{"an authority we do not trust": {}, "another name": {RootCAs: trust, ServerName: "zk1.elsewhere"}} {
		if _, err := secure(config).Sync(t.Context()); err == nil || !strings.Contains(err.Error(), "tls") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheSASLHookExchangesTokensOnEachNewConnection(t *testing.T) {
	s := server(t)
	logins := 0
	c := client(t, s, "", zkwire.Options{Login: zkwire.Login{SASL: func(_ context.Context, member string, exchange func([]byte) ([]byte, error)) error {
		logins++
		answer, err := exchange([]byte("me"))
		if err == nil && (string(answer) != "challenge to me" || member != s.Addr()) {
			t.Errorf("%s answered %q", member, answer)
		}
		return err
	}}})
	read(t, c, ops(zkwire.Data, "/"))
	s.Drop()
	read(t, c, ops(zkwire.Data, "/"))
	if logins != 2 {
		t.Errorf("%d logins over two connections", logins)
	}
	refused := client(t, s, "", zkwire.Options{Login: zkwire.Login{SASL: func(_ context.Context, _ string, exchange func([]byte) ([]byte, error)) error {
		_, err := exchange(nil)
		return err
	}}})
	if _, err := refused.Sync(t.Context()); !errors.Is(err, zkwire.ErrRefused) {
		t.Errorf("got %v", err)
	}
}
