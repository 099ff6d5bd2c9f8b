package phases

import (
	"strings"
	"testing"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/kraftlog"
)

func TestLocateReadsThePhaseFromFactsAlone(t *testing.T) {
	tests := []struct {
		name  string
		snap  func() facts.Snapshot
		phase cluster.Phase
		why   string
	}{
		{"ZooKeeper mode without controllers is initial", atRest, cluster.Initial, "3 brokers in ZooKeeper mode"},
		{"ZooKeeper mode beside a quorum is initial", provisioned, cluster.Initial, "PRE_MIGRATION"},
		{"the first broker in migration mode is load", func() facts.Snapshot { return inMode(provisioned(), cluster.ZKMigrating, 1) }, cluster.Load, "1 in migration mode"},
		{"all in migration mode before the copy is load", func() facts.Snapshot { return inMode(provisioned(), cluster.ZKMigrating, brokers()...) }, cluster.Load, "PRE_MIGRATION"},
		{"all in migration mode after the copy is load", loaded, cluster.Load, "MIGRATION"},
		{"migration mode with an unreadable log is load", func() facts.Snapshot {
			s := loaded()
			s.Log = unknown[facts.Log]("no controller leads")
			return s
		}, cluster.Load, ""},
		{"the first broker in KRaft mode is hybrid", func() facts.Snapshot { return inMode(loaded(), cluster.KRaft, 1) }, cluster.Hybrid, "1 in KRaft mode"},
		{"the last broker in migration mode is hybrid", func() facts.Snapshot { return inMode(dualWriting(), cluster.ZKMigrating, 3) }, cluster.Hybrid, "2 in KRaft mode"},
		{"all in KRaft mode and MIGRATION is dual-write", dualWriting, cluster.DualWrite, ""},
		{"all in KRaft mode and POST_MIGRATION is finalize", func() facts.Snapshot { return inState(dualWriting(), cluster.StatePostMigration) }, cluster.Finalize, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := Locate(tt.snap(), inventory())
			if !l.OK || l.Phase != tt.phase || l.Refused != "" || l.Emergency != "" {
				t.Errorf("located %+v, want %s without reservation", l, tt.phase)
			}
			if !strings.Contains(l.Why, tt.why) {
				t.Errorf("why %q does not say %q", l.Why, tt.why)
			}
		})
	}
}

func TestLocateCannotTellOrRaisesAnAlarm(t *testing.T) {
	tests := []struct {
		name      string
		snap      func() facts.Snapshot
		ok        bool
		why       string
		refused   string
		emergency string
	}{
		{"one broker that does not answer hides the phase", func() facts.Snapshot {
			s := loaded()
			s.API[2] = unknown[facts.API]("connection refused")
			return s
		}, false, "cannot tell the phase: broker 2: connection refused", "", ""},
		{"a broker that was never read hides the phase", func() facts.Snapshot { s := atRest(); delete(s.API, 3); return s }, false, "broker 3: never read", "", ""},
		{"an answer that fits no mode hides the phase", func() facts.Snapshot { s := atRest(); s.API[1] = known(facts.API{}); return s }, false, "fits no mode", "", ""},
		{"KRaft mode with an unreadable log hides the phase", func() facts.Snapshot {
			s := dualWriting()
			s.Log = unknown[facts.Log]("not authorized")
			return s
		}, false, "the migration state is unknown: not authorized", "", ""},
		{"KRaft mode in a state of no migration is an emergency", func() facts.Snapshot { return inState(dualWriting(), cluster.StateNone) }, false, "no phase", "", "no phase of a migration looks like this"},
		{"KRaft mode before the copy is an emergency", func() facts.Snapshot { return inState(dualWriting(), cluster.StatePreMigration) }, false, "no phase", "", "PRE_MIGRATION"},
		{"a finalized migration with a broker in migration mode is an emergency", func() facts.Snapshot {
			return inState(inMode(dualWriting(), cluster.ZKMigrating, 3), cluster.StatePostMigration)
		}, false, "finalized", "", "while brokers still run on ZooKeeper"},
		{"a broker outside migrations.yaml in ZooKeeper is an emergency", func() facts.Snapshot {
			s := atRest()
			edit(&s.Registered, func(r *[]facts.Registration) { *r = append(*r, facts.Registration{ID: 9, Host: "b9", Port: 9092}) })
			return s
		}, false, "broker 9", "", "broker 9 at b9:9092 is registered in ZooKeeper: not in migrations.yaml"},
		{"a broker outside migrations.yaml in the quorum is an emergency", func() facts.Snapshot {
			s := dualWriting()
			edit(&s.Log, func(l *facts.Log) { l.Image.Brokers[9] = kraftlog.Broker{ID: 9} })
			return s
		}, false, "broker 9", "", "broker 9 is registered in the quorum"},
		{"a controller outside migrations.yaml is an emergency", func() facts.Snapshot {
			s := provisioned()
			edit(&s.Log, func(l *facts.Log) { l.Image.Controllers[3009] = kraftlog.Controller{ID: 3009} })
			s.Quorum[3002] = known(facts.Quorum{Epoch: 7, Leader: 3002, HasLeader: true, IsLeader: true, Observers: []facts.Replica{{ID: 3009}}})
			return s
		}, false, "controller 3009", "", "controller 3009 is registered in the quorum"},
		{"whether a controller outside migrations.yaml still follows cannot be told without a leader", func() facts.Snapshot {
			s := provisioned()
			edit(&s.Log, func(l *facts.Log) { l.Image.Controllers[3009] = kraftlog.Controller{ID: 3009} })
			s.Quorum[3002] = unknown[facts.Quorum]("connection refused")
			return s
		}, false, "controller 3009, not in migrations.yaml", "", ""},
		{"a controller outside migrations.yaml that follows no more is none", func() facts.Snapshot {
			s := provisioned()
			edit(&s.Log, func(l *facts.Log) { l.Image.Controllers[3009] = kraftlog.Controller{ID: 3009} })
			return s
		}, true, "", "", ""},
		{"a broker that took /controller back after the copy leaves only the way back", func() facts.Snapshot {
			s := loaded()
			s.Holder = known(facts.Holder{Present: true, ID: 2})
			return s
		}, true, "", "/controller is held by broker 2 while /migration has offset 498", ""},
		{"a broker that holds /controller before the copy is as it should be", func() facts.Snapshot {
			return inMode(provisioned(), cluster.ZKMigrating, 1)
		}, true, "", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := Locate(tt.snap(), inventory())
			if l.OK != tt.ok || !strings.Contains(l.Why, tt.why) {
				t.Errorf("located %+v, want ok %v because %q", l, tt.ok, tt.why)
			}
			if (l.Refused == "") != (tt.refused == "") || !strings.Contains(l.Refused, tt.refused) {
				t.Errorf("refused %q, want %q", l.Refused, tt.refused)
			}
			if (l.Emergency == "") != (tt.emergency == "") || !strings.Contains(l.Emergency, tt.emergency) {
				t.Errorf("emergency %q, want %q", l.Emergency, tt.emergency)
			}
		})
	}
}

func TestLocateIsNotFooledByAnEmptyInventory(t *testing.T) {
	if l := Locate(facts.Snapshot{}, cluster.Inventory{}); l.OK {
		t.Errorf("located %s without a single broker", l.Phase)
	}
}

func TestMigrationModeWithASilentQuorumOnlyGoesBack(t *testing.T) {
	snap := inMode(provisioned(), cluster.ZKMigrating, brokers()...)
	if l := Locate(snap, inventory()); l.Refused != "" {
		t.Errorf("refused with a quorum that answers: %s", l.Refused)
	}
	for _, id := range controllers() {
		snap.Quorum[id], snap.API[id] = unknown[facts.Quorum]("connection refused"), unknown[facts.API]("connection refused")
	}
	if l := Locate(snap, inventory()); !l.OK || l.Phase != cluster.Load || !strings.Contains(l.Refused, "no controller answers") {
		t.Errorf("located %+v", l)
	}
}
