package revert

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/kraftlog"
)

var moment = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func known[T any](v T) facts.Fact[T] { return facts.Known(v, "test", moment) }

func ptr[T any](v T) *T { return &v }

func inventory() cluster.Inventory {
	var inv cluster.Inventory
	for id := int32(1); id <= 3; id++ {
		inv.Brokers = append(inv.Brokers, cluster.Node{ID: id, Role: cluster.Broker})
		inv.Controllers = append(inv.Controllers, cluster.Node{ID: 3000 + id, Role: cluster.Controller})
	}
	return inv
}

// world is a cluster whose brokers run in the given modes; held says that a
// KRaft controller holds /controller, copied that the copy is done.
func world(held, copied bool, modes ...cluster.Mode) facts.Snapshot {
	s := facts.Snapshot{Begun: moment, API: map[int32]facts.Fact[facts.API]{}, Running: map[int32]facts.Fact[bool]{}, Files: map[int32]facts.Fact[facts.File]{}}
	for i, m := range modes {
		api := facts.API{UpdateMetadata: true, ZkMigrationReady: m == cluster.ZKMigrating}
		if m == cluster.KRaft {
			api = facts.API{DescribeQuorum: true}
		}
		s.API[int32(i+1)] = known(api)
	}
	for id := int32(3001); id <= 3003; id++ {
		s.API[id] = known(facts.API{DescribeQuorum: true, ZkMigrationReady: true})
	}
	s.Holder = known(facts.Holder{Present: true, ID: 2, Ephemeral: true})
	if held {
		s.Holder = known(facts.Holder{Present: true, ID: 3001, KRaftEpoch: ptr(int32(5))})
	}
	s.Migration = known(facts.MigrationZnode{Present: true})
	state := cluster.StatePreMigration
	if copied {
		state = cluster.StateMigration
		s.Migration = known(facts.MigrationZnode{Present: true, Offset: ptr(int64(400))})
	}
	s.Log = known(facts.Log{Image: kraftlog.Image{HasState: true, State: state}})
	return s
}

const zk, mig, kraft = cluster.ZK, cluster.ZKMigrating, cluster.KRaft

func TestTheRouteFollowsTheFacts(t *testing.T) {
	all := []int32{3001, 3002, 3003}
	back := []Stage{Drain, StopControllers, Compare, Znodes, Follow}
	for _, test := range []struct {
		name   string
		s      facts.Snapshot
		to     cluster.Phase
		down   []int32
		route  Route
		stages []Stage
	}{
		{"controllers up, no broker touched", world(false, false, zk, zk, zk), cluster.Initial, nil, A, []Stage{StopControllers, Znodes}},
		{"one broker in migration mode", world(false, false, mig, zk, zk), cluster.Initial, nil, B, []Stage{StopControllers, Znodes, RollZK}},
		{"the copy failed with /controller taken", world(true, false, mig, mig, mig), cluster.Initial, nil, BB, []Stage{StopControllers, Znodes, Follow, RollZK}},
		{"copy done", world(true, true, mig, mig, mig), cluster.Initial, nil, C, append(back[:5:5], RollZK)},
		{"some brokers in KRaft mode", world(true, true, kraft, mig, mig), cluster.Initial, nil, D, append(append([]Stage{RollMigrating}, back...), RollZK)},
		{"all brokers in KRaft mode", world(true, true, kraft, kraft, kraft), cluster.Initial, nil, E, append(append([]Stage{RollMigrating}, back...), RollZK)},
		{"to load from some", world(true, true, kraft, mig, mig), cluster.Load, nil, D, []Stage{RollMigrating}},
		{"to load from all", world(true, true, kraft, kraft, kraft), cluster.Load, nil, E, []Stage{RollMigrating}},
		{"interrupted before the znodes", world(true, true, mig, mig, mig), cluster.Initial, all, G, []Stage{Compare, Znodes, Follow, RollZK}},
		{"interrupted before the znodes, nothing was ever copied", world(false, false, mig, zk, zk), cluster.Initial, all, G, []Stage{Znodes, RollZK}},
		{"interrupted in the last roll", func() facts.Snapshot {
			s := world(false, false, zk, mig, mig)
			s.Migration = known(facts.MigrationZnode{})
			return s
		}(), cluster.Initial, all, G, []Stage{RollZK}},
		{"a controller already without the flag", func() facts.Snapshot {
			s := world(true, true, kraft, kraft, kraft)
			s.API[3003] = known(facts.API{DescribeQuorum: true})
			return s
		}(), cluster.Load, nil, H, []Stage{FlagBack, RollMigrating}},
		{"a controller that is just starting with a file without the flag", func() facts.Snapshot {
			s := world(true, true, kraft, kraft, kraft)
			s.API[3003] = facts.Unknown[facts.API]("connection refused", "test", moment)
			s.Running[3003] = known(true)
			s.Files[3003] = known(facts.File{Exists: true, Mode: kraft})
			return s
		}(), cluster.Load, nil, H, []Stage{FlagBack, RollMigrating}},
		{"a controller whose file alone lost the flag", func() facts.Snapshot {
			s := world(true, true, kraft, kraft, kraft)
			s.Files[3003] = known(facts.File{Exists: true, Mode: kraft})
			return s
		}(), cluster.Load, nil, H, []Stage{FlagBack, RollMigrating}},
		{"a broker that is down counts by its file", func() facts.Snapshot {
			s := world(true, true, kraft, mig, mig)
			s.API[1] = facts.Unknown[facts.API]("refused", "test", moment)
			s.Running[1] = known(false)
			s.Files[1] = known(facts.File{Exists: true, Mode: kraft})
			return s
		}(), cluster.Load, nil, D, []Stage{RollMigrating}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := Choose(test.s, inventory(), test.to, test.down)
			if got.Refused != "" || got.Route != test.route {
				t.Fatalf("route %q, refused %q; want %q", got.Route, got.Refused, test.route)
			}
			if diff := cmp.Diff(test.stages, got.Stages); diff != "" {
				t.Errorf("stages (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoWayBack(t *testing.T) {
	for _, test := range []struct {
		name string
		s    facts.Snapshot
		to   cluster.Phase
		says string
	}{
		{"after the end", func() facts.Snapshot {
			s := world(true, true, kraft, kraft, kraft)
			s.Log = known(facts.Log{Image: kraftlog.Image{HasState: true, State: cluster.StatePostMigration}})
			return s
		}(), cluster.Initial, "point of no return"},
		{"a broker whose mode nobody knows", func() facts.Snapshot {
			s := world(true, true, kraft, mig, mig)
			delete(s.API, 2)
			return s
		}(), cluster.Initial, "mode of broker 2"},
		{"/controller unknown", func() facts.Snapshot {
			s := world(true, true, mig, mig, mig)
			s.Holder = facts.Unknown[facts.Holder]("no answer", "test", moment)
			return s
		}(), cluster.Initial, "/controller"},
		{"load is where it is", world(true, true, mig, mig, mig), cluster.Load, "not past load"},
		{"a phase nobody goes back to", world(true, true, kraft, kraft, kraft), cluster.Hybrid, "hybrid"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := Choose(test.s, inventory(), test.to, nil)
			if !strings.Contains(got.Refused, test.says) {
				t.Errorf("refused %q, want %q in it", got.Refused, test.says)
			}
		})
	}
}

func TestAControllerThatRunsWithTheFlagLacksItInItsFileAlone(t *testing.T) {
	n := cluster.Node{ID: 3003, Role: cluster.Controller}
	with, without, silent := known(facts.API{DescribeQuorum: true, ZkMigrationReady: true}), known(facts.API{DescribeQuorum: true}), facts.Unknown[facts.API]("refused", "test", moment)
	for _, tc := range []struct {
		name    string
		api     facts.Fact[facts.API]
		file    cluster.Mode
		running bool
		want    Lack
	}{
		{"all as it should be", with, cluster.KRaftMigrating, true, LacksNothing},
		{"the file was edited", with, kraft, true, LacksInFile},
		{"restarted without", without, kraft, true, LacksRunning},
		{"restarted without, the file mended since", without, cluster.KRaftMigrating, true, LacksRunning},
		{"starting without", silent, kraft, true, LacksRunning},
		{"down, its file without", silent, kraft, false, LacksInFile},
		{"down", silent, cluster.KRaftMigrating, false, LacksNothing},
	} {
		s := facts.Snapshot{API: map[int32]facts.Fact[facts.API]{3003: tc.api}, Running: map[int32]facts.Fact[bool]{3003: known(tc.running)},
			Files: map[int32]facts.Fact[facts.File]{3003: known(facts.File{Exists: true, Mode: tc.file})}}
		if got := FlagOf(s, n); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestARefusalForWantOfFactsSaysSo(t *testing.T) {
	s := world(true, true, kraft, kraft, kraft)
	s.Holder = facts.Unknown[facts.Holder]("ZooKeeper does not answer", "test", moment)
	if c := Choose(s, inventory(), cluster.Initial, nil); c.Refused == "" || !c.Unknown {
		t.Errorf("refused %q, unknown %t; want a refusal that the next look may lift", c.Refused, c.Unknown)
	}
	s = world(true, true, zk, zk, zk)
	if c := Choose(s, inventory(), cluster.Load, nil); c.Refused == "" || c.Unknown {
		t.Errorf("refused %q, unknown %t; want a refusal by what is known", c.Refused, c.Unknown)
	}
}
