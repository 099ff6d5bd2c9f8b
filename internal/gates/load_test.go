package gates

import (
	"strings"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/kraftlog"
)

func broker(v *View, id int32, edit func(*kraftlog.Broker)) {
	change(&v.Snapshot.Log, func(l *facts.Log) {
		b := l.Image.Brokers[id]
		edit(&b)
		l.Image.Brokers[id] = b
	})
}

func unregister(v *View, id int32) {
	change(&v.Snapshot.Registered, func(r *[]facts.Registration) {
		var kept []facts.Registration
		for _, reg := range *r {
			if reg.ID != id {
				kept = append(kept, reg)
			}
		}
		*r = kept
	})
}

func observers(v *View, edit func([]facts.Replica) []facts.Replica) {
	setAt(v.Snapshot.Quorum, 3002, func(q *facts.Quorum) { q.Observers = edit(append([]facts.Replica(nil), q.Observers...)) })
}

func TestBrokersInBothRegistries(t *testing.T) {
	dead := func(v *View) {
		unregister(v, 3)
		change(&v.Snapshot.Log, func(l *facts.Log) { delete(l.Image.Brokers, 3) })
		v.Snapshot.Running[3] = known(false, moment)
	}
	run(t, []row{
		// A broker at another protocol version served clients and never registered.
		{name: "a refused broker is named with its reason", from: loaded, gate: BrokersRegistered, want: Fail, says: `UNSUPPORTED_VERSION`, doing: "inter.broker.protocol.version",
			edit: func(v *View) {
				change(&v.Snapshot.Log, func(l *facts.Log) { delete(l.Image.Brokers, 2) })
				v.Snapshot.Lines[2] = known(facts.Lines{Refused: "the controller returned error UNSUPPORTED_VERSION"}, moment)
			}},
		{name: "an observer alone is no registration", from: loaded, gate: BrokersRegistered, want: Fail, says: "broker 2 fetches the metadata log but never registered",
			edit: func(v *View) { change(&v.Snapshot.Log, func(l *facts.Log) { delete(l.Image.Brokers, 2) }) }},
		{name: "a broker that left ZooKeeper's registry", from: loaded, gate: BrokersRegistered, want: Fail, says: "broker 2 is not in /brokers/ids",
			edit: func(v *View) { unregister(v, 2) }},
		{name: "a fenced broker", from: loaded, gate: BrokersRegistered, want: Fail, says: "fenced",
			edit: func(v *View) { broker(v, 2, func(b *kraftlog.Broker) { b.Fenced = true }) }},
		{name: "a broker registered as KRaft broker", from: loaded, gate: BrokersRegistered, want: Fail, says: "as KRaft broker",
			edit: func(v *View) { broker(v, 2, func(b *kraftlog.Broker) { b.MigratingZK = false }) }},
		{name: "a broker without the flag", from: loaded, gate: BrokersRegistered, want: Fail, says: "runs in mode zk",
			edit: func(v *View) { setAt(v.Snapshot.API, 2, func(a *facts.API) { a.ZkMigrationReady = false }) }},
		{name: "a ghost that fetches no more", from: loaded, gate: BrokersRegistered, want: Fail, says: "last fetched the metadata log 1m0s ago",
			edit: func(v *View) {
				observers(v, func(o []facts.Replica) []facts.Replica { o[1].LastFetch = moment.Add(-time.Minute); return o })
			}},
		{name: "a broker that does not fetch at all", from: loaded, gate: BrokersRegistered, want: Fail, says: "is no observer",
			edit: func(v *View) { observers(v, func(o []facts.Replica) []facts.Replica { return o[:2] }) }},
		{name: "a broker that died is named", from: loaded, gate: BrokersRegistered, want: Fail, says: "broker 3 does not run", edit: dead},
		{name: "a person may leave a dead broker behind", from: loaded, gate: BrokersRegistered, want: Pass, says: "accepted by a person: broker 3",
			edit: func(v *View) {
				dead(v)
				v.Accepted = []Acceptance{{Gate: BrokersRegistered, Subjects: []string{"broker 3"}}}
			}},
		{name: "nobody may accept one that runs unregistered", from: loaded, gate: BrokersRegistered, want: Fail,
			edit: func(v *View) {
				dead(v)
				v.Snapshot.Running[3] = known(true, moment)
				v.Accepted = []Acceptance{{Gate: BrokersRegistered, Subjects: []string{"broker 3"}}}
			}},
		{name: "the batch itself may still be in ZooKeeper mode", from: rolling, gate: OthersReady, want: Pass, says: "2 brokers",
			edit: func(v *View) { setAt(v.Snapshot.API, 1, func(a *facts.API) { a.ZkMigrationReady = false }) }},
		{name: "another broker may not", from: rolling, gate: OthersReady, want: Fail, says: "broker 2",
			edit: func(v *View) { setAt(v.Snapshot.API, 2, func(a *facts.API) { a.ZkMigrationReady = false }) }},
	})
}

func TestTheCopyNeedsTwoSignals(t *testing.T) {
	run(t, []row{
		{name: "the log still says PRE_MIGRATION", from: loaded, gate: StateMigration, want: Fail, says: "state is PRE_MIGRATION",
			edit: func(v *View) {
				change(&v.Snapshot.Log, func(l *facts.Log) { l.Image.State = cluster.StatePreMigration })
			}},
		{name: "the log says MIGRATION, /migration has no offset", from: loaded, gate: StateMigration, want: Fail, says: "no offset",
			edit: func(v *View) { change(&v.Snapshot.Migration, func(m *facts.MigrationZnode) { m.Offset = nil }) }},
		{name: "offset 0 is no copy either", from: loaded, gate: StateMigration, want: Fail, says: "no offset",
			edit: func(v *View) {
				change(&v.Snapshot.Migration, func(m *facts.MigrationZnode) { m.Offset = ptr(int64(0)) })
			}},
		{name: "/migration is gone", from: loaded, gate: StateMigration, want: Fail, says: "absent",
			edit: func(v *View) { v.Snapshot.Migration = known(facts.MigrationZnode{}, moment) }},
		{name: "somebody finalized", from: loaded, gate: StateMigration, want: Fail, says: "POST_MIGRATION", doing: "no way back",
			edit: func(v *View) {
				change(&v.Snapshot.Log, func(l *facts.Log) { l.Image.State = cluster.StatePostMigration })
			}},
		{name: "nobody holds /controller", from: loaded, gate: HolderKRaft, want: Fail, says: "absent",
			edit: func(v *View) { v.Snapshot.Holder = known(facts.Holder{}, moment) }},
		{name: "/migration cannot be read", from: loaded, gate: StateMigration, want: Unknown,
			edit: func(v *View) { v.Snapshot.Migration = unknown[facts.MigrationZnode]() }},
		{name: "a controller already logged the end", from: loaded, gate: StateMigration, want: Fail, says: "controller 3001 logged state POST_MIGRATION",
			edit: func(v *View) {
				v.Snapshot.Lines[3001] = known(facts.Lines{State: cluster.StatePostMigration}, moment)
			}},
		{name: "a controller that replays earlier states says nothing", from: loaded, gate: StateMigration, want: Pass,
			edit: func(v *View) {
				v.Snapshot.Lines[3001] = known(facts.Lines{State: cluster.StatePreMigration}, moment)
			}},

		{name: "a broker took /controller back", from: loaded, gate: HolderKRaft, want: Fail, says: "held by broker 2",
			edit: func(v *View) {
				v.Snapshot.Holder = known(facts.Holder{Present: true, ID: 2, Ephemeral: true}, moment)
			}},
		{name: "/controller names an older leader", from: loaded, gate: HolderKRaft, want: Fail, says: "names 3001, the active controller is 3002",
			edit: func(v *View) { change(&v.Snapshot.Holder, func(h *facts.Holder) { h.ID = 3001 }) }},
		{name: "/controller names an older epoch", from: loaded, gate: HolderKRaft, want: Fail, says: "epoch 6",
			edit: func(v *View) {
				change(&v.Snapshot.Holder, func(h *facts.Holder) { h.KRaftEpoch = ptr(int32(6)) })
			}},
		{name: "an ephemeral KRaft holder is none", from: loaded, gate: HolderKRaft, want: Fail, says: "ephemeral",
			edit: func(v *View) { change(&v.Snapshot.Holder, func(h *facts.Holder) { h.Ephemeral = true }) }},
		{name: "without a leader it cannot be compared", from: loaded, gate: HolderKRaft, want: Unknown,
			edit: func(v *View) { v.Snapshot.Quorum = nil }},
	})
}

func TestDualWriteMustBeSeenMoving(t *testing.T) {
	seen := func(ago time.Duration, version int32, offset int64) func(time.Time) View {
		return func(time.Time) View { return earlier(loaded, ago, version, offset) }
	}
	stood := seen(20*time.Second, 40, 498)
	run(t, []row{
		{name: "one reading shows no movement", from: loaded, gate: DualWrite, want: Unknown, says: "not yet seen moving"},
		{name: "a version that rose", from: loaded, gate: DualWrite, want: Pass, says: "2 records behind, moved", before: seen(2*time.Second, 39, 490)},
		{name: "still while nothing is written is no fault", from: loaded, gate: DualWrite, want: Pass, says: "nothing to write", before: stood},
		{name: "still while the metadata log grows", from: loaded, gate: DualWrite, want: Fail, says: "stands still at version 40 for 20s while the high watermark rose from 500 to 560", before: stood,
			edit: func(v *View) { setAt(v.Snapshot.Quorum, 3002, func(q *facts.Quorum) { q.HighWatermark = 560 }) }},
		{name: "a failover that /migration has not followed", from: loaded, gate: DualWrite, want: Fail, says: "names controller 3001 at epoch 7, the active controller is 3002", before: seen(2*time.Second, 39, 490),
			edit: func(v *View) {
				change(&v.Snapshot.Migration, func(m *facts.MigrationZnode) { m.ControllerID = ptr(int32(3001)) })
			}},
		{name: "an old epoch", from: loaded, gate: DualWrite, want: Fail, says: "at epoch 6", before: seen(2*time.Second, 39, 490),
			edit: func(v *View) {
				change(&v.Snapshot.Migration, func(m *facts.MigrationZnode) { m.ControllerEpoch = ptr(int32(6)) })
			}},
		{name: "/migration deleted under a living quorum", from: loaded, gate: DualWrite, want: Fail, says: "absent", before: seen(2*time.Second, 39, 490),
			edit: func(v *View) { v.Snapshot.Migration = known(facts.MigrationZnode{}, moment) }},
		{name: "a backlog beyond the limit", from: loaded, gate: DualWrite, want: Fail, says: "1002 records behind", before: seen(2*time.Second, 39, 490),
			edit: func(v *View) { setAt(v.Snapshot.Quorum, 3002, func(q *facts.Quorum) { q.HighWatermark = 1500 }) }},
		{name: "ZooKeeper takes no writes", from: loaded, gate: DualWrite, want: Fail, says: "takes no writes", before: seen(2*time.Second, 39, 490),
			edit: func(v *View) { v.Snapshot.Writable = known(false, moment) }},
		{name: "whether ZooKeeper takes writes is not known", from: loaded, gate: DualWrite, want: Unknown, says: "takes writes", before: seen(2*time.Second, 39, 490),
			edit: func(v *View) { v.Snapshot.Writable = unknown[bool]() }},
		{name: "the copy is not done", from: loaded, gate: DualWrite, want: Fail, says: "the copy is not done",
			edit: func(v *View) { change(&v.Snapshot.Migration, func(m *facts.MigrationZnode) { m.Offset = nil }) }},
		{name: "/migration without a controller", from: loaded, gate: DualWrite, want: Fail, says: "names no controller",
			edit: func(v *View) { change(&v.Snapshot.Migration, func(m *facts.MigrationZnode) { m.ControllerID = nil }) }},
		{name: "no leader to compare with", from: loaded, gate: DualWrite, want: Unknown, says: "active controller", before: seen(2*time.Second, 39, 490),
			edit: func(v *View) { v.Snapshot.Quorum = nil }},
		{name: "a znode deleted and made anew has not moved", from: loaded, gate: DualWrite, want: Unknown, says: "not yet seen moving", before: seen(2*time.Second, 90, 9000)},

		{name: "after the end one look is not enough", from: finalized, gate: MigrationStill, want: Unknown, says: "not yet watched"},
		{name: "after the end /migration may be deleted", from: finalized, gate: MigrationStill, want: Pass, says: "absent",
			edit: func(v *View) { v.Snapshot.Migration = known(facts.MigrationZnode{}, moment) }},
		{name: "after the end it still moves", from: finalized, gate: MigrationStill, want: Fail, says: "moved to version 40",
			before: func(time.Time) View { return earlier(finalized, 5*time.Second, 39, 497) }},
		{name: "two looks too close together", from: finalized, gate: MigrationStill, want: Unknown,
			before: func(time.Time) View { return finalized(moment.Add(-time.Second)) }},
	})
}

func TestAMetadataWriteReachesEveryStore(t *testing.T) {
	written := func(ago time.Duration, value string) func(*View) {
		return func(v *View) {
			change(&v.Snapshot.CanaryStats, func(c *facts.Canary) { c.MarkerValue, c.MarkerAt = value, moment.Add(-ago) })
		}
	}
	inLog := func(v *View, value string) {
		change(&v.Snapshot.Log, func(l *facts.Log) {
			l.Image.TopicConfigs = map[string]map[string]string{"__migrator_canary": {"delete.retention.ms": value}}
		})
	}
	run(t, []row{
		{name: "before the copy ZooKeeper is the only store", from: provisioned, gate: MetadataWrite, want: Pass, says: "only store before the copy"},
		{name: "ZooKeeper lacks a write accepted long ago", from: loaded, gate: MetadataWrite, want: Fail, says: "ZooKeeper lacks a metadata write accepted 30s",
			edit: func(v *View) { written(30*time.Second, "1900")(v); inLog(v, "1900") }},
		{name: "the metadata log lacks it", from: loaded, gate: MetadataWrite, want: Fail, says: "the metadata log lacks",
			edit: func(v *View) { written(30*time.Second, "1700")(v); inLog(v, "1500") }},
		{name: "a write of a moment ago may still be under way", from: loaded, gate: MetadataWrite, want: Unknown, says: "looking again",
			edit: written(200*time.Millisecond, "1900")},
		{name: "a store that has a later write has this one too", from: loaded, gate: MetadataWrite, want: Pass,
			edit: func(v *View) {
				inLog(v, "1800")
				v.Snapshot.ZKMarker = known(map[string]string{"delete.retention.ms": "1850"}, moment)
			}},
		{name: "the newest is under way and the one before arrived", from: loaded, gate: MetadataWrite, want: Pass,
			before: func(time.Time) View { return loaded(moment.Add(-3 * time.Second)) },
			edit:   written(200*time.Millisecond, "1900")},
		{name: "no metadata write succeeded for minutes", from: loaded, gate: MetadataWrite, want: Fail, says: "3m0s old", doing: "Metadata writes fail",
			edit: written(3*time.Minute, "1700")},
		{name: "no write yet is unknown", from: loaded, gate: MetadataWrite, want: Unknown,
			edit: func(v *View) {
				change(&v.Snapshot.CanaryStats, func(c *facts.Canary) { c.MarkerKey, c.MarkerValue, c.MarkerAt = "", "", time.Time{} })
			}},
		{name: "ZooKeeper's copy cannot be read", from: loaded, gate: MetadataWrite, want: Unknown,
			edit: func(v *View) { v.Snapshot.ZKMarker = unknown[map[string]string]() }},
		{name: "the log cannot be read once it matters", from: loaded, gate: MetadataWrite, want: Unknown,
			edit: func(v *View) { v.Snapshot.Log = unknown[facts.Log]() }},
		{name: "after the end only the log counts", from: finalized, gate: MetadataWrite, want: Pass, says: "after finalize",
			edit: func(v *View) { v.Snapshot.ZKMarker = known(map[string]string{}, moment) }},
		{name: "the canary's topic has no name", from: loaded, gate: MetadataWrite, want: Unknown, says: "name of the canary's topic",
			edit: func(v *View) { v.Settings.CanaryTopic = "" }},
		{name: "a store with text where numbers were written", from: loaded, gate: MetadataWrite, want: Unknown,
			edit: func(v *View) { v.Snapshot.ZKMarker = known(map[string]string{"delete.retention.ms": "soon"}, moment) }},
		{name: "switched off by the operator", from: loaded, gate: MetadataWrite, want: Pass, says: "not measured",
			edit: func(v *View) { v.Settings.CanaryOff = true; v.Snapshot.CanaryStats = unknown[facts.Canary]() }},
	})
}

func TestParityNamesWhatDiffersTwice(t *testing.T) {
	topic := func(edit func(*facts.ZKTopic)) func(*View) {
		return func(v *View) {
			change(&v.Snapshot.ZKTopics, func(z *facts.ZKTopics) {
				o := z.Topics["orders"]
				edit(&o)
				z.Topics["orders"] = o
			})
		}
	}
	part := func(edit func(*facts.ZKPartition)) func(*View) {
		return topic(func(o *facts.ZKTopic) {
			p := o.Partitions[1]
			edit(&p)
			o.Partitions[1] = p
		})
	}
	cases := []struct {
		name string
		edit func(*View)
		says string
	}{
		{"a topic only in ZooKeeper", func(v *View) {
			change(&v.Snapshot.ZKTopics, func(z *facts.ZKTopics) { z.Topics["ghost"] = facts.ZKTopic{ID: "g", HasID: true} })
		}, "topic ghost is only in ZooKeeper"},
		{"a topic only in the log", func(v *View) {
			change(&v.Snapshot.ZKTopics, func(z *facts.ZKTopics) { z.Topics = nil })
		}, "topic orders is only in the metadata log"},
		{"a recreated topic", topic(func(o *facts.ZKTopic) { o.ID = "other" }), "has id other in ZooKeeper and topicid in the log"},
		{"a topic without an id", topic(func(o *facts.ZKTopic) { o.HasID, o.ID = false, "" }), "has no id in ZooKeeper"},
		{"a partition missing in ZooKeeper", topic(func(o *facts.ZKTopic) { delete(o.Partitions, 2) }), "2 partitions in ZooKeeper and 3 in the log"},
		{"another assignment", part(func(p *facts.ZKPartition) { p.Replicas = []int32{2, 1, 3} }), "orders-1: replicas [2 1 3] in ZooKeeper, [1 2 3] in the log"},
		{"another ISR", part(func(p *facts.ZKPartition) { p.ISR = []int32{1, 2} }), "orders-1: ISR [1 2] in ZooKeeper, [1 2 3] in the log"},
		{"another leader epoch", part(func(p *facts.ZKPartition) { p.LeaderEpoch = 4 }), "orders-1: leader epoch 4 in ZooKeeper, 5 in the log"},
		{"a partition without state", part(func(p *facts.ZKPartition) { p.HasState = false }), "orders-1: no state in ZooKeeper"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			first, second := loaded(moment.Add(-2*time.Second)), loaded(moment)
			c.edit(&first)
			c.edit(&second)
			if v := judged(t, Parity, first); v.Result != Unknown || !strings.Contains(v.Evidence, "seen once, looking again") {
				t.Errorf("first look: %s: %s", v.Result, v.Evidence)
			}
			if v := judged(t, Parity, first, second); v.Result != Fail || !strings.Contains(v.Evidence, c.says) {
				t.Errorf("second look: %s: %s", v.Result, v.Evidence)
			}
			if v := judged(t, Parity, first, loaded(moment)); v.Result != Pass {
				t.Errorf("when it is gone at the second look: %s: %s", v.Result, v.Evidence)
			}
		})
	}
}

func TestParityTakesASecondLookOnlyAtANewScan(t *testing.T) {
	differs := func(at time.Time) View {
		v := loaded(at)
		change(&v.Snapshot.ZKTopics, func(z *facts.ZKTopics) { z.Topics["ghost"] = facts.ZKTopic{ID: "g", HasID: true} })
		return v
	}
	old := differs(moment.Add(-5 * time.Second))
	again := differs(moment)
	again.Snapshot.ZKTopics = old.Snapshot.ZKTopics
	if v := judged(t, Parity, old, again); v.Result != Unknown {
		t.Errorf("the same scan judged twice: %s: %s", v.Result, v.Evidence)
	}
	if v := judged(t, Parity, differs(moment.Add(-500*time.Millisecond)), differs(moment)); v.Result != Unknown {
		t.Errorf("two scans half a second apart: %s: %s", v.Result, v.Evidence)
	}
	other := differs(moment.Add(-5 * time.Second))
	change(&other.Snapshot.ZKTopics, func(z *facts.ZKTopics) {
		delete(z.Topics, "ghost")
		z.Topics["other"] = facts.ZKTopic{ID: "o", HasID: true}
	})
	if v := judged(t, Parity, other, differs(moment)); v.Result != Unknown {
		t.Errorf("two different differences: %s: %s", v.Result, v.Evidence)
	}
}

func TestParityIsNotUndoneByTopicsMadeAfterTheScan(t *testing.T) {
	first, later := loaded(moment.Add(-4*time.Second)), loaded(moment)
	later.Snapshot.ZKTopics = first.Snapshot.ZKTopics
	change(&later.Snapshot.Log, func(l *facts.Log) { l.Image.Topics["new"] = kraftlog.Topic{ID: "n"} })
	if v := judged(t, Parity, first, later); v.Result != Pass {
		t.Errorf("%s: %s", v.Result, v.Evidence)
	}
}

func TestParityLeavesOutTopicsAboutToBeDeleted(t *testing.T) {
	v := loaded(moment)
	change(&v.Snapshot.ZKTopics, func(z *facts.ZKTopics) { z.Topics["ghost"] = facts.ZKTopic{ID: "g", HasID: true} })
	v.Snapshot.Deleting = known([]string{"ghost"}, moment)
	if got := judged(t, Parity, v); got.Result != Pass {
		t.Errorf("%s: %s", got.Result, got.Evidence)
	}
	v.Snapshot.Deleting = unknown[[]string]()
	if got := judged(t, Parity, v); got.Result != Unknown {
		t.Errorf("with pending deletions unknown: %s: %s", got.Result, got.Evidence)
	}
}

func TestAScanMayBeOlderThanOtherFacts(t *testing.T) {
	for age, want := range map[time.Duration]Result{30 * time.Second: Pass, 2 * time.Minute: Unknown} {
		v := loaded(moment)
		scan, _ := v.Snapshot.ZKTopics.Get()
		v.Snapshot.ZKTopics = known(scan, moment.Add(-age))
		if got := judged(t, Parity, v); got.Result != want {
			t.Errorf("a scan %s old: %s: %s", age, got.Result, got.Evidence)
		}
	}
}
