package gates

import (
	"slices"
	"strings"
	"testing"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/kraftlog"
)

// waiting is a cluster whose brokers all run in migration mode and whose copy
// should begin.
func waiting(edit func(*View)) View {
	v := loaded(moment)
	change(&v.Snapshot.Log, func(l *facts.Log) { l.Image.State = cluster.StatePreMigration })
	edit(&v)
	return v
}

// brokersOfTheLog gives the log its own map, so that an edit stays in one case.
func brokersOfTheLog(v *View, edit func(map[int32]kraftlog.Broker)) {
	change(&v.Snapshot.Log, func(l *facts.Log) {
		own := map[int32]kraftlog.Broker{}
		for id, b := range l.Image.Brokers {
			own[id] = b
		}
		edit(own)
		l.Image.Brokers = own
	})
}

func TestWhoHoldsTheCopyBackIsNamedWithTheReason(t *testing.T) {
	without := func(id int32) func(*View) {
		return func(v *View) { brokersOfTheLog(v, func(m map[int32]kraftlog.Broker) { delete(m, id) }) }
	}
	for _, c := range []struct {
		name string
		edit func(*View)
		says []string
	}{
		{"a broker that the quorum refuses, with both versions (FR-011)", both(without(2), func(v *View) {
			v.Snapshot.Files[2] = known(facts.File{Exists: true, Mode: cluster.ZKMigrating, Content: []byte("broker.id=2\ninter.broker.protocol.version=3.6-IV2\n")}, v.Now)
			v.Snapshot.Lines[2] = known(facts.Lines{Refused: "UNSUPPORTED_VERSION"}, v.Now)
		}), []string{"broker 2", "UNSUPPORTED_VERSION", "3.6-IV2 is level 14", "finalized level 21"}},
		{"a broker still in plain ZooKeeper mode", both(without(3), func(v *View) { v.Snapshot.API[3] = known(facts.API{UpdateMetadata: true}, v.Now) }), []string{"broker 3 still runs in plain ZooKeeper mode"}},
		{"a broker that nobody knows", func(v *View) {
			change(&v.Snapshot.Registered, func(r *[]facts.Registration) { *r = append(slices.Clone(*r), facts.Registration{ID: 8}) })
		}, []string{"broker 8 is in /brokers/ids and not in migrations.yaml"}},
		{"a retired broker that assignments still name (FR-004)", func(v *View) {
			partition(v, 0, func(p *facts.Partition) { p.Replicas = []int32{9, 1} })
		}, []string{"broker 9 is in no registry", "orders-0"}},
		{"a controller without the flag in its file (FR-003)", func(v *View) {
			v.Snapshot.Files[3001] = known(facts.File{Exists: true, Mode: cluster.KRaft}, v.Now)
		}, []string{"controller 3001 has no zookeeper.metadata.migration.enable=true"}},
		{"a /migration without data (FR-001)", func(v *View) { v.Snapshot.Migration = known(facts.MigrationZnode{Present: true, Null: true}, v.Now) }, []string{"/migration has no data", "KAFKA-19480"}},
		{"nobody", func(*View) {}, []string{"every controller is ready and every broker registered", "KAFKA-17506"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := waiting(c.edit)
			got := judgeOne(&v, StateMigration, &round{})
			if got.Result != Fail {
				t.Errorf("%s: %s", got.Result, got.Evidence)
			}
			for _, want := range c.says {
				if !strings.Contains(got.Evidence, want) {
					t.Errorf("it does not say %q: %s", want, got.Evidence)
				}
			}
		})
	}
}

func TestAnUnknownLogInventsNoReasonForTheStall(t *testing.T) {
	v := waiting(func(v *View) { v.Snapshot.Registered = unknown[[]facts.Registration]() })
	if got := judgeOne(&v, StateMigration, &round{}); strings.Contains(got.Evidence, "every broker registered") || strings.Contains(got.Evidence, "is not registered") {
		t.Errorf("without /brokers/ids it says: %s", got.Evidence)
	}
}
