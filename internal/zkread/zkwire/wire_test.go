package zkwire_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/zkread/zkconnect"
	"migrator/internal/zkread/zkfake"
	"migrator/internal/zkread/zkwire"
)

func server(t *testing.T) *zkfake.Server {
	t.Helper()
	s, err := zkfake.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func client(t *testing.T, s *zkfake.Server, chroot string, o zkwire.Options) *zkwire.Client {
	t.Helper()
	c := zkwire.New(zkconnect.Address{Servers: []string{s.Addr()}, Chroot: chroot}, o)
	t.Cleanup(c.Close)
	return c
}

func ops(kind zkwire.Kind, paths ...string) []zkwire.Op {
	var out []zkwire.Op
	for _, p := range paths {
		out = append(out, zkwire.Op{Kind: kind, Path: p})
	}
	return out
}

func read(t *testing.T, c *zkwire.Client, ops []zkwire.Op) []zkwire.Result {
	t.Helper()
	var out []zkwire.Result
	if err := c.Read(t.Context(), ops, func(i int, r zkwire.Result) error {
		if i != len(out) {
			t.Errorf("result %d came as number %d", i, len(out))
		}
		out = append(out, r)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// many are znodes for several batches.
func many(s *zkfake.Server, n int) []string {
	var paths []string
	for i := range n {
		paths = append(paths, fmt.Sprintf("/kafka/topic-%d", i))
		s.Put(paths[i], fmt.Appendf(nil, "data of %d", i))
	}
	return paths
}

func TestEachQuestionIsAnsweredByItself(t *testing.T) {
	s := server(t)
	s.Put("/kafka/a", []byte("1"))
	s.Put("/kafka/a/x", []byte{})
	s.Put("/kafka/null", nil)
	s.Put("/kafka/secret", []byte("s"))
	s.Hide("/kafka/secret")
	for _, old := range []string{"with multi-read", "a server before 3.6"} {
		t.Run(old, func(t *testing.T) {
			if old != "with multi-read" {
				s.Old()
			}
			c := client(t, s, "/kafka", zkwire.Options{})
			got := read(t, c, append(ops(zkwire.Data, "/a", "/a/x", "/null", "/secret", "/gone"), ops(zkwire.Children, "/a", "/a/x", "/secret", "/")...))
			for i := range got {
				got[i].Stat = zkwire.Stat{}
			}
			want := []zkwire.Result{
				{Outcome: zkwire.Found, Data: []byte("1")}, {Outcome: zkwire.Found, Data: []byte{}}, {Outcome: zkwire.Found},
				{Outcome: zkwire.NotAllowed}, {Outcome: zkwire.Absent},
				{Outcome: zkwire.Found, Children: []string{"x"}}, {Outcome: zkwire.Found, Children: []string{}}, {Outcome: zkwire.NotAllowed},
				{Outcome: zkwire.Found, Children: []string{"a", "null", "secret"}},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			acl := read(t, c, ops(zkwire.Access, "/a", "/gone", "/secret"))
			if len(acl[0].ACL) != 1 || acl[0].ACL[0].Scheme != "world" || acl[1].Outcome != zkwire.Absent || acl[2].Outcome != zkwire.NotAllowed {
				t.Errorf("acls: %+v", acl)
			}
		})
	}
	if s.Writes() != 0 {
		t.Errorf("%d writes", s.Writes())
	}
}

func TestHundredsOfZnodesCostOneRequest(t *testing.T) {
	s := server(t)
	paths := many(s, 2000)
	c := client(t, s, "", zkwire.Options{})
	for i, r := range read(t, c, ops(zkwire.Data, paths...)) {
		if string(r.Data) != fmt.Sprintf("data of %d", i) || r.Stat.Czxid == 0 || r.Stat.DataLength != int32(len(r.Data)) {
			t.Fatalf("%s reads as %+v", paths[i], r)
		}
	}
	if n := s.Requests(); n > 10 {
		t.Errorf("%d requests for 2000 znodes", n)
	}
}

// A server drops the connection at a request over its jute.maxbuffer and says
// nothing; what was one request must come in smaller ones.
func TestABatchThatTheServerFindsTooLargeIsHalved(t *testing.T) {
	s := server(t)
	paths := many(s, 40)
	s.Limit(400)
	got := read(t, client(t, s, "", zkwire.Options{}), ops(zkwire.Data, paths...))
	if len(got) != 40 || string(got[39].Data) != "data of 39" {
		t.Errorf("got %d results", len(got))
	}
}

func TestAnswersOverTheLimitAreThrownAwayAndTheRestIsRead(t *testing.T) {
	s := server(t)
	var paths []string
	for i := range 5 {
		paths = append(paths, fmt.Sprintf("/big-%d", i))
		s.Put(paths[i], []byte(strings.Repeat("x", 2<<20)))
	}
	s.Put("/huge", []byte(strings.Repeat("x", 3<<20)))
	got := read(t, client(t, s, "", zkwire.Options{MaxAnswer: 5 << 19}), ops(zkwire.Data, append(paths, "/huge", "/")...))
	for i := range paths {
		if len(got[i].Data) != 2<<20 {
			t.Errorf("%s has %d bytes", paths[i], len(got[i].Data))
		}
	}
	if got[5].Outcome != zkwire.TooLarge || got[6].Outcome != zkwire.Found {
		t.Errorf("huge is %s, the root %s", got[5].Outcome, got[6].Outcome)
	}
}

func TestAChildListOfFiveMegabytes(t *testing.T) {
	s := server(t)
	const n = 20000
	name := strings.Repeat("n", 250)
	for i := range n {
		s.Put(fmt.Sprintf("/wide/%s%d", name, i), []byte("1"))
	}
	seen := 0
	_, err := client(t, s, "", zkwire.Options{}).Walk(t.Context(), zkwire.Walk{Root: "/wide", Visit: func(zkwire.Node) error { seen++; return nil }})
	if err != nil || seen != n+1 {
		t.Errorf("%d znodes, %v", seen, err)
	}
}

func TestReadingGoesOnAfterALostConnection(t *testing.T) {
	s := server(t)
	paths := many(s, 3000)
	c := client(t, s, "", zkwire.Options{})
	seen := 0
	err := c.Read(t.Context(), ops(zkwire.Data, paths...), func(i int, r zkwire.Result) error {
		if i%700 == 0 {
			s.Drop()
		}
		seen++
		return nil
	})
	if err != nil || seen != 3000 {
		t.Errorf("%d read, %v", seen, err)
	}
}

func TestASilentServerCostsTheDeadlineAndADeadOneIsNamed(t *testing.T) {
	s := server(t)
	c := client(t, s, "", zkwire.Options{})
	read(t, c, ops(zkwire.Data, "/"))
	s.Freeze(true)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := c.Read(ctx, ops(zkwire.Data, "/"), func(int, zkwire.Result) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	dead := server(t)
	dead.Close()
	_, err := client(t, dead, "", zkwire.Options{}).Sync(t.Context())
	if err == nil || !strings.Contains(err.Error(), dead.Addr()) {
		t.Errorf("got %v", err)
	}
}

func TestTheNextMemberAnswersForADeadOne(t *testing.T) {
	s, dead := server(t), server(t)
	dead.Close()
	s.Put("/a", []byte("1"))
	c := zkwire.New(zkconnect.Address{Servers: []string{dead.Addr(), s.Addr()}}, zkwire.Options{})
	t.Cleanup(c.Close)
	if got := read(t, c, ops(zkwire.Data, "/a")); string(got[0].Data) != "1" {
		t.Errorf("got %+v", got)
	}
}

func TestWrongCredentialsAreRefusedOnce(t *testing.T) {
	s := server(t)
	s.Demand("kafka:right")
	read(t, client(t, s, "", zkwire.Options{Login: digest("kafka:right")}), ops(zkwire.Data, "/"))
	before := s.Requests()
	err := client(t, s, "", zkwire.Options{Login: digest("kafka:s3cret")}).Read(t.Context(), ops(zkwire.Data, "/"), func(int, zkwire.Result) error { return nil })
	if !errors.Is(err, zkwire.ErrRefused) || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v", err)
	}
	if n := s.Requests() - before; n != 1 {
		t.Errorf("asked %d times with credentials that were refused", n)
	}
}

func TestAReaderThatIsClosedSaysSo(t *testing.T) {
	s := server(t)
	c := client(t, s, "", zkwire.Options{})
	read(t, c, ops(zkwire.Data, "/"))
	c.Close()
	if _, err := c.Sync(t.Context()); err == nil {
		t.Error("a closed reader answers")
	}
}

func digest(userPassword string) zkwire.Login {
	return zkwire.Login{Digest: func(context.Context) (string, error) { return userPassword, nil }}
}
