package gates

import (
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/kraftlog"
	"migrator/internal/plan"
)

// partition changes orders-N both in the log and in what brokers say.
func partition(v *View, number int32, edit func(*facts.Partition)) {
	change(&v.Snapshot.Metadata, func(m *facts.Metadata) {
		for i := range m.Partitions {
			if m.Partitions[i].Partition == number {
				edit(&m.Partitions[i])
			}
		}
	})
	if !v.Snapshot.Log.Known() {
		return
	}
	change(&v.Snapshot.Log, func(l *facts.Log) {
		parts := l.Image.Topics["orders"].Partitions
		old := parts[number]
		p := facts.Partition{HasLeader: old.HasLeader, Leader: old.Leader, LeaderEpoch: old.LeaderEpoch, Replicas: old.Replicas, ISR: old.ISR}
		edit(&p)
		parts[number] = kraftlog.Partition{HasLeader: p.HasLeader, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, Replicas: p.Replicas, ISR: p.ISR}
	})
}

func isr(number int32, ids ...int32) func(*View) {
	return func(v *View) { partition(v, number, func(p *facts.Partition) { p.ISR = ids }) }
}

func both(edits ...func(*View)) func(*View) {
	return func(v *View) {
		for _, edit := range edits {
			edit(v)
		}
	}
}

func accept(gate string, subjects ...string) func(*View) {
	return func(v *View) { v.Accepted = append(v.Accepted, Acceptance{Gate: gate, Subjects: subjects}) }
}

func TestBeforeABatch(t *testing.T) {
	down := func(id int32) func(*View) {
		return func(v *View) { v.Snapshot.Running[id] = known(false, moment) }
	}
	run(t, []row{
		{name: "another broker that does not run", from: rolling, gate: NoOtherDown, want: Fail, says: "broker 2 does not run", edit: down(2)},
		{name: "another broker that runs but serves nobody", from: rolling, gate: NoOtherDown, want: Fail, says: "broker 2 is no live broker",
			edit: func(v *View) {
				change(&v.Snapshot.Metadata, func(m *facts.Metadata) {
					m.Brokers = []facts.MetadataBroker{{ID: 1}, {ID: 3}}
				})
			}},
		{name: "a controller down while the quorum is in use", from: rolling, gate: NoOtherDown, want: Fail, says: "controller 3003 does not run", edit: down(3003)},
		{name: "controllers before there is a quorum", from: atRest, gate: NoOtherDown, want: Pass, says: "3 other nodes"},
		{name: "the batch itself may be down", from: rolling, gate: NoOtherDown, want: Pass, edit: down(1)},
		{name: "a controller that the plan stopped for good is not down", from: rolling, gate: NoOtherDown, want: Pass,
			edit: both(down(3003), func(v *View) { v.Stopped = []int32{3003} })},
		{name: "a node that cannot be asked", from: rolling, gate: NoOtherDown, want: Unknown, says: "broker 2",
			edit: func(v *View) { v.Snapshot.Running[2] = unknown[bool]() }},
		{name: "a dead broker that a person accepted", from: rolling, gate: NoOtherDown, want: Pass, says: "accepted by a person: broker 2",
			edit: both(down(2), accept(NoOtherDown, "broker 2"))},
		{name: "another one was accepted", from: rolling, gate: NoOtherDown, want: Fail, edit: both(down(2), accept(NoOtherDown, "broker 3"))},
		{name: "two down and one accepted", from: rolling, gate: NoOtherDown, want: Fail,
			edit: both(down(2), down(3), accept(NoOtherDown, "broker 2"))},
		{name: "accepted for another gate", from: rolling, gate: NoOtherDown, want: Fail, edit: both(down(2), accept(ISRFull, "broker 2"))},
		{name: "what is unknown beside the accepted was not accepted", from: rolling, gate: NoOtherDown, want: Fail, says: "not known",
			edit: both(down(2), accept(NoOtherDown, "broker 2"), func(v *View) { v.Snapshot.Running[3] = unknown[bool]() })},

		{name: "a running reassignment is named", from: rolling, gate: NoReassign, want: Fail, says: "orders-1 is being reassigned",
			edit: func(v *View) { v.Snapshot.Reassigning = known([]string{"orders-1"}, moment) }},
		{name: "a batch's file changed after the plan was made", from: rolling, gate: BatchFile, want: Fail, says: "broker 1's file is edited",
			edit: func(v *View) { setAt(v.Snapshot.Files, 1, func(f *facts.File) { f.SHA256 = "edited" }) }},
		{name: "a file the plan knows nothing of", from: rolling, gate: BatchFile, want: Unknown,
			edit: func(v *View) { v.Expected = nil }},
		{name: "a batch outside the inventory", from: rolling, gate: BatchFile, want: Unknown, says: "does not have",
			edit: func(v *View) { v.Step.Batch = []int32{1, 77} }},
		{name: "no step at all", from: loaded, gate: BatchFile, want: Unknown, says: "no step is open or next"},
	})
}

func TestPartitionsStayAvailable(t *testing.T) {
	replicas := func(number int32, ids ...int32) func(*View) {
		return func(v *View) {
			partition(v, number, func(p *facts.Partition) { p.Replicas, p.ISR = ids, ids })
		}
	}
	minISR := func(n int) func(*View) {
		return func(v *View) { v.Snapshot.MinISR = known(map[string]int{"orders": n}, moment) }
	}
	batch := func(ids ...int32) func(*View) { return func(v *View) { v.Step.Batch = ids } }
	impact := func(names ...string) func(*View) { return func(v *View) { v.Step.Impact = names } }
	before := func(name string, size int) func(*View) { return func(v *View) { v.Short[name] = size } }
	run(t, []row{
		{name: "one replica already missing", from: rolling, gate: ISRWithout, want: Fail, says: "orders-1: ISR 1, 2 leaves 1 without the batch, min.insync.replicas is 2", edit: isr(1, 1, 2)},
		{name: "the missing replica is the batch's own", from: rolling, gate: ISRWithout, want: Pass, edit: isr(1, 2, 3)},
		{name: "a single replica the plan did not announce", from: rolling, gate: ISRWithout, want: Fail, says: "orders-0", edit: both(replicas(0, 1), minISR(1))},
		{name: "a single replica the plan announced", from: rolling, gate: ISRWithout, want: Pass, says: "1 partition is unavailable meanwhile", edit: both(replicas(0, 1), minISR(1), impact("orders-0"))},
		{name: "as many in sync replicas wanted as there are", from: rolling, gate: ISRWithout, want: Pass, edit: both(minISR(3), impact("orders-0", "orders-1", "orders-2"))},
		{name: "the plan's announcement covers no partition that could stay available", from: rolling, gate: ISRWithout, want: Fail, says: "orders-1", edit: both(isr(1, 1, 2), impact("orders-1"))},
		{name: "a person accepts exactly these partitions", from: rolling, gate: ISRWithout, want: Pass, says: "accepted by a person", edit: both(isr(1, 1, 2), accept(ISRWithout, "orders-1"))},
		{name: "a batch that takes two replicas where one could go", from: rolling, gate: ISRWithout, want: Fail, says: "holds too many of its 3 replicas", doing: "roll.batch: node", edit: batch(1, 2)},
		{name: "nobody may accept such a batch", from: rolling, gate: ISRWithout, want: Fail, edit: both(batch(1, 2), accept(ISRWithout, "orders-0", "orders-1", "orders-2"))},
		{name: "what refused writes before the plan", from: rolling, gate: ISRWithout, want: Pass, edit: both(isr(1, 2), before("orders-1", 1))},
		{name: "what was short before the plan but took writes", from: rolling, gate: ISRWithout, want: Fail, says: "orders-1", edit: both(isr(1, 1, 2), before("orders-1", 2))},
		{name: "the last in sync replica of such a partition", from: rolling, gate: ISRWithout, want: Fail, says: "orders-1", edit: both(isr(1, 1), before("orders-1", 1))},
		{name: "a topic whose minimum is not known", from: rolling, gate: ISRWithout, want: Unknown, says: "topic orders",
			edit: func(v *View) { v.Snapshot.MinISR = known(map[string]int{}, moment) }},
		{name: "minimums read a minute ago still count", from: rolling, gate: ISRWithout, want: Pass,
			edit: func(v *View) {
				v.Snapshot.MinISR = known(map[string]int{"orders": 2}, moment.Add(-time.Minute))
			}},
		{name: "controllers host no partitions", from: rolling, gate: ISRWithout, want: Pass, says: "0 partitions", edit: batch(3003)},
		// In a revert with a bad epoch brokers showed a full ISR while no election could succeed.
		{name: "from the copy on the metadata log is believed, not the brokers", from: rolling, gate: ISRWithout, want: Fail, says: "orders-1",
			edit: func(v *View) {
				md, _ := v.Snapshot.Metadata.Get()
				isr(1, 1, 2)(v)
				md.Partitions = metadata().Partitions
				v.Snapshot.Metadata = known(md, moment)
			}},
		{name: "before the copy the brokers are", from: atRest, gate: ISRWithout, want: Fail, says: "orders-1",
			edit: both(isr(1, 1, 2), func(v *View) { v.Step = &Step{ID: "roll-1", Batch: []int32{1}} })},

		{name: "a short ISR holds a batch back", from: rolling, gate: ISRFull, want: Fail, says: "orders-1: ISR 1, 2 of replicas 1, 2, 3", edit: isr(1, 1, 2)},
		{name: "short before the plan and no shorter", from: rolling, gate: ISRFull, want: Pass, says: "1 was short before the plan", edit: both(isr(1, 1, 2), before("orders-1", 2))},
		{name: "short before the plan and shorter now", from: rolling, gate: ISRFull, want: Fail, edit: both(isr(1, 1), before("orders-1", 2))},
		{name: "a short partition elsewhere", from: rolling, gate: ISRFull, want: Pass, says: "2 partitions",
			edit: func(v *View) {
				partition(v, 1, func(p *facts.Partition) { p.Replicas, p.ISR = []int32{2, 3}, []int32{2} })
			}},
		{name: "after the batch its replicas are still behind", from: rolling, gate: ISRAsBefore, want: Fail, says: "orders-0", doing: "have not caught up", edit: isr(0, 2, 3)},

		{name: "their leader can no longer ask for a change of the ISR", from: rolling, gate: ISRAsBefore, want: Fail, says: "orders-0", doing: "Restart broker 2 as it is",
			edit: both(isr(0, 2, 3), func(v *View) {
				partition(v, 0, func(p *facts.Partition) { p.HasLeader, p.Leader = true, 2 })
				v.Snapshot.Lines[2] = known(facts.Lines{DeadChannels: []string{"zk-broker-2-to-controller-alter-partition"}}, v.Now)
			})},

		{name: "a partition without a leader", from: dualWriting, gate: NoOffline, want: Fail, says: "orders-0 has no leader",
			edit: func(v *View) { partition(v, 0, func(p *facts.Partition) { p.HasLeader = false }) }},
		{name: "one offline before the plan", from: dualWriting, gate: NoOffline, want: Pass, says: "1 is offline before",
			edit: both(func(v *View) { partition(v, 0, func(p *facts.Partition) { p.HasLeader = false }) }, before("orders-0", 0))},
		{name: "one short but led before the plan", from: dualWriting, gate: NoOffline, want: Fail,
			edit: both(func(v *View) { partition(v, 0, func(p *facts.Partition) { p.HasLeader = false }) }, before("orders-0", 1))},

		{name: "a brief gap does not stop the soak", from: dualWriting, gate: ISRWhole, want: Pass, says: "1 is short for less than 1m", edit: isr(1, 1, 2)},
		{name: "a gap of over a minute does", from: dualWriting, gate: ISRWhole, want: Fail, says: "orders-1: ISR 1, 2 of replicas 1, 2, 3 for 1m10s", edit: isr(1, 1, 2),
			before: func(time.Time) View { v := dualWriting(moment.Add(-70 * time.Second)); isr(1, 1, 2)(&v); return v }},
		{name: "two brief gaps are no long one", from: dualWriting, gate: ISRWhole, want: Pass, edit: isr(1, 1, 2),
			before: func(time.Time) View { v := dualWriting(moment.Add(-70 * time.Second)); isr(2, 1, 2)(&v); return v }},
	})
}

func TestAfterABatch(t *testing.T) {
	noLogs := func(id int32) func(*View) {
		return func(v *View) { v.Snapshot.Lines[id] = known(facts.Lines{Unsupported: true}, moment) }
	}
	run(t, []row{
		{name: "the process is gone", from: rolling, gate: Running, want: Fail, says: "broker 1 does not run",
			edit: func(v *View) { v.Snapshot.Running[1] = known(false, moment) }},

		{name: "the old entry in /brokers/ids", from: rolling, gate: Restarted, want: Fail, says: "the old one (czxid 101)",
			edit: func(v *View) { v.Step.Baseline.Czxid[1] = 101 }},
		{name: "not back in /brokers/ids", from: rolling, gate: Restarted, want: Fail, says: "broker 1 is not in /brokers/ids",
			edit: func(v *View) { unregister(v, 1) }},
		{name: "back in ZooKeeper, refused by the quorum", from: rolling, gate: Restarted, want: Fail, says: "not registered in the metadata log",
			edit: func(v *View) { change(&v.Snapshot.Log, func(l *facts.Log) { delete(l.Image.Brokers, 1) }) }},
		{name: "the quorum knows only the earlier process", from: rolling, gate: Restarted, want: Fail, says: "is the old one",
			edit: func(v *View) { v.Step.Baseline.Incarnation[1] = "inc-1" }},
		{name: "no start line since the stop", from: rolling, gate: Restarted, want: Fail, says: "has not logged its start",
			edit: func(v *View) { v.Snapshot.Lines[1] = known(facts.Lines{}, moment) }},
		{name: "a log that cannot be read", from: rolling, gate: Restarted, want: Unknown,
			edit: func(v *View) { v.Snapshot.Lines[1] = unknown[facts.Lines]() }},
		{name: "without logs two other signals agree", from: rolling, gate: Restarted, want: Pass, edit: noLogs(1)},
		{name: "without logs and without an answer of the broker", from: rolling, gate: Restarted, want: Unknown, says: "ApiVersions",
			edit: both(noLogs(1), func(v *View) { v.Snapshot.API[1] = unknown[facts.API]() })},
		{name: "without logs and with nothing to compare", from: rolling, gate: Restarted, want: Unknown, says: "no earlier registration",
			edit: both(noLogs(1), func(v *View) { v.Step.Baseline.Czxid = nil })},
		{name: "without logs a first provisioning has nothing earlier", from: rollingController, gate: Restarted, want: Pass,
			edit: both(noLogs(3003), func(v *View) { v.Step.Kind, v.Step.Baseline.Incarnation = plan.Provision, nil })},
		{name: "in plain ZooKeeper mode no quorum is asked", from: rolling, gate: Restarted, want: Pass,
			edit: func(v *View) { v.Step.Mode = cluster.ZK; v.Snapshot.Log = unknown[facts.Log]() }},

		{name: "a KRaft broker with a new registration", from: rollingKRaft, gate: Restarted, want: Pass},
		{name: "a KRaft broker still in ZooKeeper's registry", from: rollingKRaft, gate: Restarted, want: Fail, says: "still in /brokers/ids",
			edit: func(v *View) { v.Snapshot.Registered = known([]facts.Registration{{ID: 1}}, moment) }},
		{name: "a KRaft broker that registered as ZooKeeper broker", from: rollingKRaft, gate: Restarted, want: Fail, says: "as ZooKeeper broker",
			edit: func(v *View) { broker(v, 1, func(b *kraftlog.Broker) { b.MigratingZK = true }) }},
		{name: "a KRaft broker still fenced", from: rollingKRaft, gate: Restarted, want: Fail, says: "fenced",
			edit: func(v *View) { broker(v, 1, func(b *kraftlog.Broker) { b.Fenced = true }) }},

		{name: "a controller with a new registration", from: rollingController, gate: Restarted, want: Pass},
		{name: "at 3.6 a controller's start and its own word do", from: rollingController, gate: Restarted, want: Pass, edit: atOldVersion},
		{name: "at 3.6 without a log nothing tells the processes apart", from: rollingController, gate: Restarted, want: Unknown, says: "whether controller",
			edit: func(v *View) {
				atOldVersion(v)
				for _, id := range controllerIDs() {
					setAt(v.Snapshot.Lines, id, func(l *facts.Lines) { l.Unsupported, l.Started = true, false })
				}
			}},
		{name: "a controller known only by its earlier process", from: rollingController, gate: Restarted, want: Fail, says: "is the old one",
			edit: func(v *View) { v.Step.Baseline.Incarnation[3003] = "new-3003" }},
		{name: "a controller that registered with the flag it should have lost", from: rollingController, gate: Restarted, want: Fail, says: "migration flag true, wanted is false",
			edit: func(v *View) {
				change(&v.Snapshot.Log, func(l *facts.Log) {
					l.Image.Controllers[3003] = kraftlog.Controller{Incarnation: "new-3003", ZkMigrationReady: true}
				})
			}},

		{name: "a broker that came up with the old file", from: rolling, gate: ModeReached, want: Fail, says: "runs in mode zk, wanted is zk-migrating",
			edit: func(v *View) { setAt(v.Snapshot.API, 1, func(a *facts.API) { a.ZkMigrationReady = false }) }},
		{name: "no wanted mode is no mode reached", from: rolling, gate: ModeReached, want: Unknown,
			edit: func(v *View) { v.Step.Mode = "" }},

		{name: "a broker behind the mark", from: rolling, gate: CaughtUp, want: Fail, says: "broker 1 is at offset 449 of the metadata log, 450",
			edit: func(v *View) {
				observers(v, func(o []facts.Replica) []facts.Replica { o[0].LogEndOffset = 449; return o })
			}},
		{name: "a broker nobody sees fetching", from: rolling, gate: CaughtUp, want: Fail, says: "does not follow",
			edit: func(v *View) { observers(v, func(o []facts.Replica) []facts.Replica { return o[1:] }) }},
		{name: "the entry of the dead process", from: rolling, gate: CaughtUp, want: Fail, says: "last fetched",
			edit: func(v *View) {
				observers(v, func(o []facts.Replica) []facts.Replica { o[0].LastFetch = moment.Add(-time.Minute); return o })
			}},
		{name: "an old entry beside the new one", from: rolling, gate: CaughtUp, want: Pass,
			edit: func(v *View) {
				observers(v, func(o []facts.Replica) []facts.Replica {
					return append(o, facts.Replica{ID: 1, LogEndOffset: 3, LastFetch: moment.Add(-time.Minute)})
				})
			}},
		{name: "a controller is looked for among the voters", from: rollingController, gate: CaughtUp, want: Pass},
		{name: "no metadata log when the step began", from: rolling, gate: CaughtUp, want: Pass, says: "no metadata log was in use",
			edit: func(v *View) { v.Step.Baseline.HighWatermark = nil }},

		{name: "a partition without an election since", from: rolling, gate: Elections, want: Fail, says: "1 of 1 sampled partitions have had no election: orders-0 (epoch 5)", doing: "KAFKA-20488",
			edit: func(v *View) { v.Step.Baseline.Led[0].Epoch = 5 }},
		{name: "a batch that led nothing", from: rolling, gate: Elections, want: Pass, says: "led no partition",
			edit: func(v *View) { v.Step.Baseline.Led = nil }},
		{name: "a topic deleted meanwhile proves nothing and blocks nothing", from: rolling, gate: Elections, want: Pass, says: "nothing to prove",
			edit: func(v *View) { v.Step.Baseline.Led[0].Topic = "gone" }},
		{name: "partitions that cannot be read", from: rolling, gate: Elections, want: Unknown,
			edit: func(v *View) {
				v.Snapshot.Log, v.Snapshot.Metadata = unknown[facts.Log](), unknown[facts.Metadata]()
			}},

		{name: "a fatal line is quoted", from: rolling, gate: NoFatal, want: Fail, says: `"Exiting Kafka due to fatal exception"`,
			edit: func(v *View) {
				v.Snapshot.Lines[1] = known(facts.Lines{Fatal: []string{"Exiting Kafka due to fatal exception"}}, moment)
			}},
		{name: "without logs it must run and answer", from: rolling, gate: NoFatal, want: Pass, says: "no readable log", edit: noLogs(1)},
		{name: "without logs and without an answer", from: rolling, gate: NoFatal, want: Unknown,
			edit: both(noLogs(1), func(v *View) { v.Snapshot.API[1] = unknown[facts.API]() })},
	})
}
