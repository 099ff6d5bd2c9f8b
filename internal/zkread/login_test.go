package zkread_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"migrator/internal/zkread"
	"migrator/internal/zkread/zkfake"
)

func TestSingleReadsAndScansLogIn(t *testing.T) {
	s, err := zkfake.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.Demand("kafka:right")
	s.Put("/cluster/id", []byte(`{"version":"1","id":"abc"}`))
	s.Put("/brokers/ids", nil)
	login := func(credentials string) zkread.Login {
		return zkread.Login{Digest: func(context.Context) (string, error) { return credentials, nil }}
	}
	r := openReader(t, s, login("kafka:right"))
	for range 2 { // the second time over a new connection
		if id, err := r.ClusterID(t.Context()); id != "abc" || err != nil {
			t.Errorf("got %q, %v", id, err)
		}
		if _, err := r.Brokers(t.Context()); err != nil {
			t.Error(err)
		}
		s.Drop()
	}
	var dials atomic.Int32
	refused := login("kafka:wrong-secret")
	refused.Dial = func(ctx context.Context, server string) (net.Conn, error) {
		dials.Add(1)
		return (&net.Dialer{}).DialContext(ctx, "tcp", server)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err = openReader(t, s, refused).ClusterID(ctx)
	if err == nil || strings.Contains(err.Error(), "wrong-secret") || !strings.Contains(err.Error(), "refuses our credentials") {
		t.Errorf("a refused login answers %v", err)
	}
	if n := dials.Load(); n > 6 {
		t.Errorf("a refused login was tried %d times in 2 s", n)
	}
}

func TestWhyTheDialerFailedReachesTheReader(t *testing.T) {
	s, err := zkfake.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	r := openReader(t, s, zkread.Login{Dial: func(context.Context, string) (net.Conn, error) {
		return nil, errors.New("the certificate has expired")
	}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := r.ClusterID(ctx); err == nil || !strings.Contains(err.Error(), "the certificate has expired") {
		t.Errorf("got %v", err)
	}
}

func openReader(t *testing.T, s *zkfake.Server, login zkread.Login) *zkread.Reader {
	t.Helper()
	r, err := zkread.Open(s.Addr(), 6*time.Second, login)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}
