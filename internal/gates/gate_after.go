package gates

import (
	"fmt"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/plan"
)

func judgeRunning(l *look) {
	l.todo = "The node was started and its process is gone. Its log says why; the old file is kept beside the new one. Correct the cause, then `migrator retry` starts it again. Or revert."
	if !l.needStep() {
		return
	}
	for _, n := range l.batch() {
		if running, ok := use(l, "whether "+n.Name()+" runs", l.v.Snapshot.Running[n.ID]); ok && !running {
			l.bad("", "%s does not run", n.Name())
		}
	}
	l.pass("%s", running(l.v.Step.Batch))
}

func running(ids []int32) string {
	if len(ids) == 1 {
		return fmt.Sprintf("node %d runs", ids[0])
	}
	return "nodes " + idList(ids) + " run"
}

// judgeRestarted takes nobody's word: a new registration and the node's own
// start line say that the process is a new one.
func judgeRestarted(l *look) {
	l.todo = "The command ended, but nothing shows a new process that joined the cluster. Wait for its registration; if it does not come, look at the node's log."
	if !l.needStep() {
		return
	}
	for _, n := range l.batch() {
		switch {
		case n.Role == cluster.Controller:
			l.newController(n)
		case l.v.Step.Mode == cluster.KRaft:
			l.newKRaftBroker(n)
		case l.v.Step.Mode == cluster.ZK || l.v.Step.Mode == cluster.ZKMigrating:
			l.newZKBroker(n)
		default:
			l.unsure("the mode %s should come up in", n.Name())
		}
		l.startLine(n)
	}
	l.pass("%s with a new registration", running(l.v.Step.Batch))
}

// startLine wants the node's own start line. Without readable logs two other
// signals must agree: its registration, and that it answers itself; and there
// must have been an earlier registration to tell the new one from.
func (l *look) startLine(n cluster.Node) {
	lines, ok := use(l, n.Name()+"'s log", l.v.Snapshot.Lines[n.ID])
	switch {
	case !ok || lines.Started:
	case !lines.Unsupported:
		l.bad("", "%s has not logged its start since it was stopped", n.Name())
	default:
		_, _ = use(l, n.Name()+"'s ApiVersions", l.v.Snapshot.API[n.ID])
		_, hadCzxid := l.v.Step.Baseline.Czxid[n.ID]
		_, hadIncarnation := l.v.Step.Baseline.Incarnation[n.ID]
		if !hadCzxid && !hadIncarnation && l.v.Step.Kind != plan.Provision {
			l.unsure("%s has no readable log and no earlier registration to compare with", n.Name())
		}
	}
}

func (l *look) newZKBroker(n cluster.Node) {
	ids, ok := l.registered()
	if ok {
		reg, present := ids[n.ID]
		before, was := l.v.Step.Baseline.Czxid[n.ID]
		switch {
		case !present:
			l.bad("", "%s is not in /brokers/ids", n.Name())
		case was && reg.Czxid <= before:
			l.bad("", "%s's entry in /brokers/ids is the old one (czxid %d)", n.Name(), reg.Czxid)
		}
	}
	if l.v.Step.Mode != cluster.ZKMigrating || !l.quorumInUse() {
		return
	}
	if reg, ok := l.newBrokerRecord(n); ok && !reg.migrating {
		l.bad("", "%s is registered as KRaft broker", n.Name())
	}
}

func (l *look) newKRaftBroker(n cluster.Node) {
	if ids, ok := l.registered(); ok {
		if _, present := ids[n.ID]; present {
			l.bad("", "%s is still in /brokers/ids", n.Name())
		}
	}
	if reg, ok := l.newBrokerRecord(n); ok && reg.migrating {
		l.bad("", "%s is registered as ZooKeeper broker", n.Name())
	}
}

type brokerRecord struct{ migrating bool }

// newBrokerRecord finds a registration in the metadata log that is new and unfenced.
func (l *look) newBrokerRecord(n cluster.Node) (brokerRecord, bool) {
	lg, ok := use(l, "metadata log", l.v.Snapshot.Log)
	if !ok {
		return brokerRecord{}, false
	}
	reg, present := lg.Image.Brokers[n.ID]
	before, was := l.v.Step.Baseline.Incarnation[n.ID]
	switch {
	case !present:
		l.bad("", "%s is not registered in the metadata log%s", n.Name(), l.refused(n))
	case was && reg.Incarnation == before:
		l.bad("", "%s's registration in the metadata log is the old one%s", n.Name(), l.refused(n))
	case reg.Fenced:
		l.bad("", "%s is registered but fenced", n.Name())
	default:
		return brokerRecord{migrating: reg.MigratingZK}, true
	}
	return brokerRecord{}, false
}

func (l *look) newController(n cluster.Node) {
	lg, ok := use(l, "metadata log", l.v.Snapshot.Log)
	if !ok {
		return
	}
	reg, present := lg.Image.Controllers[n.ID]
	before, was := l.v.Step.Baseline.Incarnation[n.ID]
	wantFlag := l.v.Step.Mode == cluster.KRaftMigrating
	switch {
	case l.v.Step.Mode != cluster.KRaft && !wantFlag:
		l.unsure("the mode %s should come up in", n.Name())
	case !registersControllers(lg):
		l.unregisteredController(n)
	case !present:
		l.bad("", "%s is not registered in the metadata log", n.Name())
	case was && reg.Incarnation == before:
		l.bad("", "%s's registration in the metadata log is the old one", n.Name())
	case reg.ZkMigrationReady != wantFlag:
		l.bad("", "%s registered with migration flag %t, wanted is %t", n.Name(), reg.ZkMigrationReady, wantFlag)
	}
}

// unregisteredController: at an old metadata.version its start in the log files
// and what it says itself must do.
func (l *look) unregisteredController(n cluster.Node) {
	if lines, ok := peek(l, l.v.Snapshot.Lines[n.ID]); ok && lines.Unsupported {
		l.unsure("whether %s is a new process: at this metadata.version no controller registers, and it has no readable log", n.Name())
	}
	if mode, ok := l.mode(n); ok && mode != l.v.Step.Mode {
		l.bad("", "%s runs in mode %s, wanted is %s", n.Name(), mode, l.v.Step.Mode)
	}
}

func judgeModeReached(l *look) {
	l.todo = "The node runs with another configuration than the one written: its start command reads another file, or something wrote it again before the start."
	if !l.needStep() {
		return
	}
	if l.v.Step.Mode == "" {
		l.unsure("the mode the batch should come up in")
		return
	}
	for _, n := range l.batch() {
		if mode, ok := l.mode(n); ok && mode != l.v.Step.Mode {
			l.bad("", "%s runs in mode %s, wanted is %s", n.Name(), mode, l.v.Step.Mode)
		}
	}
	l.pass("%s in mode %s", running(l.v.Step.Batch), l.v.Step.Mode)
}

func judgeCaughtUp(l *look) {
	l.todo = "The node does not follow the metadata log and acts on old metadata. Wait; if it stands still, look at its way to the active controller."
	if !l.needStep() {
		return
	}
	mark := l.v.Step.Baseline.HighWatermark
	switch {
	case mark == nil:
		l.pass("no metadata log was in use when the step began: nothing to catch up with")
		return
	case l.v.Step.Mode == cluster.ZK:
		l.pass("brokers in plain ZooKeeper mode follow no metadata log")
		return
	}
	leader, ok := l.leader()
	if !ok {
		return
	}
	voters, observers := byID(leader.Voters), byID(leader.Observers)
	for _, n := range l.batch() {
		followers := observers
		if n.Role == cluster.Controller {
			followers = voters
		}
		l.reached(n, followers, leader, *mark)
	}
	l.pass("%s, caught up with the metadata log past offset %d", running(l.v.Step.Batch), *mark)
}

func (l *look) reached(n cluster.Node, followers map[int32]facts.Replica, leader facts.LeaderView, mark int64) {
	r, ok := followers[n.ID]
	switch {
	case !ok:
		l.bad("", "%s does not follow the quorum", n.Name())
	case silent(leader, r) > fetchSilence:
		l.bad("", "%s last fetched the metadata log %s ago", n.Name(), span(silent(leader, r)))
	case r.LogEndOffset < mark:
		l.bad("", "%s is at offset %d of the metadata log, %d was committed when the step began", n.Name(), r.LogEndOffset, mark)
	}
}

// judgeElections proves that leaders can still be elected: with a bad epoch
// metadata showed full ISRs while no election succeeded (KAFKA-20488).
func judgeElections(l *look) {
	l.todo = "Partitions that the batch led have had no election since. If they keep their epoch, the controller's elections are refused: stop here, restart nothing more, and look for 'Aborted leader election' in the controller's log (KAFKA-20488). If it has no such line and /controller changed hands while the batch restarted, nobody was there to elect: restart the batch's brokers once more with their own commands, one after the other, and the step goes on."
	if !l.needStep() {
		return
	}
	led := 0
	for _, p := range l.v.Step.Baseline.Led {
		if l.inBatch(p.Node) {
			led++
		}
	}
	if led == 0 {
		l.pass("the batch led no partition when the step began: nothing to prove")
		return
	}
	partitions, ok := l.partitions()
	if !ok {
		return
	}
	l.compareEpochs(partitions, led)
}

func (l *look) compareEpochs(partitions []facts.Partition, led int) {
	const maxNamed = 5
	type id struct {
		topic  string
		number int32
	}
	before := map[id]int32{}
	for _, p := range l.v.Step.Baseline.Led {
		if l.inBatch(p.Node) {
			before[id{p.Topic, p.Partition}] = p.Epoch
		}
	}
	var behind []string
	found := 0
	for _, p := range partitions {
		epoch, sampled := before[id{p.Topic, p.Partition}]
		switch {
		case !sampled:
			continue
		case p.LeaderEpoch <= epoch:
			behind = append(behind, fmt.Sprintf("%s (epoch %d)", partitionName(p.Topic, p.Partition), p.LeaderEpoch))
		}
		found++
	}
	if len(behind) > 0 {
		l.bad("", "%d of %d sampled partitions have had no election: %s", len(behind), led, listed(behind[:min(maxNamed, len(behind))], ", "))
	}
	if found == 0 {
		l.pass("none of the %d sampled partitions exists any more: nothing to prove", led)
		return
	}
	l.pass("%s that the batch led have had an election", plural(found, "sampled partition", "sampled partitions"))
	if found < led {
		l.note("%d no longer exist", led-found)
	}
}

func judgeNoFatal(l *look) {
	l.todo = "The line is one of those after which a node does not recover by itself. Read the log around it before anything else is restarted."
	if !l.needStep() {
		return
	}
	for _, n := range l.batch() {
		lines, ok := use(l, n.Name()+"'s log", l.v.Snapshot.Lines[n.ID])
		switch {
		case !ok:
		case lines.Unsupported:
			// Without logs, that it runs and answers must do.
			if running, ok := use(l, "whether "+n.Name()+" runs", l.v.Snapshot.Running[n.ID]); ok && !running {
				l.bad("", "%s has no readable log and does not run", n.Name())
			}
			_, _ = use(l, n.Name()+"'s ApiVersions", l.v.Snapshot.API[n.ID])
			l.note("%s has no readable log: it runs and answers", n.Name())
		case len(lines.Fatal) > 0:
			l.bad("", "%s logged %q (%s in all)", n.Name(), cut(lines.Fatal[len(lines.Fatal)-1]), plural(len(lines.Fatal), "line", "lines"))
		}
	}
	l.pass("no fatal line since the step began")
}
