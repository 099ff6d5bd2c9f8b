package zkwire_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/zkread/zkfake"
	"migrator/internal/zkread/zkwire"
)

func walk(t *testing.T, s *zkfake.Server, visit func(zkwire.Node)) (map[string]zkwire.Node, zkwire.Window) {
	t.Helper()
	seen := map[string]zkwire.Node{}
	window, err := client(t, s, "", zkwire.Options{}).Walk(t.Context(), zkwire.Walk{Root: "/", ACL: true,
		Skip: func(path string) bool { return path == "/zookeeper" },
		Visit: func(n zkwire.Node) error {
			if _, twice := seen[n.Path]; twice {
				t.Errorf("%s twice", n.Path)
			}
			seen[n.Path] = n
			visit(n)
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	return seen, window
}

func TestAQuietTreeIsWholeAndNothingMoved(t *testing.T) {
	s := server(t)
	for i := range 3000 {
		s.Put(fmt.Sprintf("/brokers/topics/t%d/partitions/0/state", i), fmt.Appendf(nil, "%d", i))
	}
	seen, window := walk(t, s, func(zkwire.Node) {})
	if len(seen) != 3+4*3000 || window.Moved != 0 || window.Begin == 0 || window.End != window.Begin {
		t.Errorf("%d znodes, window %+v", len(seen), window)
	}
	if n := seen["/brokers/topics/t2999/partitions/0/state"]; string(n.Data) != "2999" || len(n.ACL) != 1 {
		t.Errorf("got %+v", n)
	}
}

func TestAWalkLeavesFewConnectionsBehind(t *testing.T) {
	s := server(t)
	many(s, 3000)
	c := client(t, s, "", zkwire.Options{})
	for range 2 { // it works again afterwards
		if _, err := c.Walk(t.Context(), zkwire.Walk{Root: "/kafka", ACL: true, Visit: func(zkwire.Node) error { return nil }}); err != nil {
			t.Fatal(err)
		}
		if n := s.Connections(); n > 2 {
			t.Errorf("%d connections are open", n)
		}
	}
}

// On a server without multi-read a znode's data and its children come from two
// requests; what happened in between must not be mixed.
func TestAParentThatMovesBetweenDataAndListIsReadAgain(t *testing.T) {
	s := server(t)
	s.Old()
	s.Put("/a/one", []byte("1"))
	s.Meanwhile("/a", func() { s.Put("/a/two", []byte("2")) })
	seen, window := walk(t, s, func(zkwire.Node) {})
	if seen["/a"].Stat.NumChildren != 2 || string(seen["/a/two"].Data) != "2" {
		t.Errorf("got %+v", seen)
	}
	if diff := cmp.Diff([]string{"/a", "/a/two"}, window.Moving); diff != "" || window.Moved != 2 {
		t.Errorf("moving (-want +got):\n%s", diff)
	}
}

func TestWhatMovedWithinTheWindowIsNamed(t *testing.T) {
	s := server(t)
	s.Put("/a/kept", []byte("1"))
	s.Put("/a/set", []byte("1"))
	s.Put("/a/gone", []byte("1"))
	seen, window := walk(t, s, func(n zkwire.Node) {
		if n.Path == "/a" { // its children are read next
			s.Delete("/a/gone")
			s.Put("/a/set", []byte("2"))
		}
	})
	if diff := cmp.Diff([]string{"/a/gone", "/a/set"}, slices.Sorted(slices.Values(window.Moving))); diff != "" || window.End <= window.Begin {
		t.Errorf("window %+v, moving (-want +got):\n%s", window, diff)
	}
	if _, there := seen["/a/gone"]; there || string(seen["/a/set"].Data) != "2" {
		t.Errorf("got %+v", seen)
	}
}

func TestAHiddenZnodeIsNotAnEmptyOne(t *testing.T) {
	s := server(t)
	s.Put("/secret/below", []byte("1"))
	s.Hide("/secret")
	seen, window := walk(t, s, func(zkwire.Node) {})
	if n, there := seen["/secret"]; !there || n.Readable || window.Moved != 0 {
		t.Errorf("got %+v, there %v, window %+v", n, there, window)
	}
}
