package gates

import (
	"fmt"
	"slices"

	"migrator/internal/cluster"
	"migrator/internal/configgen"
	"migrator/internal/facts"
)

// heldBack names, node by node, what keeps the copy from beginning. Kafka waits
// without end and its controllers' logs tell only part of it: first for every
// controller, then for each broker of /brokers/ids, then for every id that an
// assignment names (KRaftMigrationDriver, 3.4 to 3.9). It asks only for facts
// that are there: what is unknown is named by the gates that need it.
func (l *look) heldBack() {
	m, ok := peek(l, l.v.Snapshot.Migration)
	if ok && m.Present && m.Null {
		l.bad("", "/migration has no data: the controllers read it for ever (KAFKA-19480, healed in 3.9.2); delete it")
	}
	for _, n := range l.controllers() {
		l.unwillingController(n)
	}
	lg, okLog := peek(l, l.v.Snapshot.Log)
	regs, okIDs := peek(l, l.v.Snapshot.Registered)
	if !okLog || !okIDs {
		return
	}
	for _, r := range regs {
		l.unregistered(r.ID, lg)
	}
	l.ghosts(regs, lg)
	if len(l.problems) == 1 { // the state alone
		l.bad("", "every controller is ready and every broker registered: it begins within seconds, or the active controller's driver stays INACTIVE (KAFKA-17506): restart that controller")
	}
}

// unwillingController: the quorum waits until all of them are ready.
func (l *look) unwillingController(n cluster.Node) {
	lg, okLog := peek(l, l.v.Snapshot.Log)
	reg, registered := lg.Image.Controllers[n.ID]
	file, okFile := peek(l, l.v.Snapshot.Files[n.ID])
	switch {
	case okFile && file.Exists && file.Mode == cluster.KRaft:
		l.bad("", "%s has no zookeeper.metadata.migration.enable=true in its file", n.Name())
	case okLog && !registersControllers(lg):
	case okLog && !registered:
		l.bad("", "%s has not registered", n.Name())
	case okLog && !reg.ZkMigrationReady:
		l.bad("", "%s registered as not ready: it was started without the migration flag", n.Name())
	}
}

// unregistered: a live broker that the quorum does not know, with the reason
// where one can be seen.
func (l *look) unregistered(id int32, lg facts.Log) {
	if reg, there := lg.Image.Brokers[id]; there && reg.MigratingZK && !reg.Fenced {
		return
	}
	name := fmt.Sprintf("broker %d", id)
	i := slices.IndexFunc(l.brokers(), func(n cluster.Node) bool { return n.ID == id })
	if i < 0 {
		l.bad("", "%s is in /brokers/ids and not in migrations.yaml, and has not registered", name)
		return
	}
	n := l.brokers()[i]
	switch mode, known := l.v.Snapshot.Mode(n).Get(); {
	case known && mode == cluster.ZK:
		l.bad("", "%s still runs in plain ZooKeeper mode", name)
	default:
		l.bad("", "%s runs in migration mode and is not registered%s%s", name, l.versions(n, lg), l.refused(n))
	}
}

// versions compares what the broker asks for with what the quorum finalized:
// a broker in migration mode registers with exactly its own level.
func (l *look) versions(n cluster.Node, lg facts.Log) string {
	file, ok := peek(l, l.v.Snapshot.Files[n.ID])
	finalized, known := lg.Image.Features["metadata.version"]
	if !ok || !file.Exists || !known {
		return ""
	}
	name, err := configgen.EffectiveIBP(file.Content, l.v.Settings.KafkaVersion)
	if err != nil {
		return ""
	}
	level, err := configgen.FeatureLevel(name)
	if err != nil || level == finalized {
		return ""
	}
	return fmt.Sprintf(": UNSUPPORTED_VERSION, its inter.broker.protocol.version %s is level %d and the controllers finalized level %d", name, level, finalized)
}

// ghosts are ids that only assignments name: brokers retired without a
// reassignment. The copy waits for them for ever.
func (l *look) ghosts(regs []facts.Registration, lg facts.Log) {
	md, ok := peek(l, l.v.Snapshot.Metadata)
	if !ok {
		return
	}
	on := map[int32][]string{}
	for _, p := range md.Partitions {
		for _, id := range p.Replicas {
			_, inLog := lg.Image.Brokers[id]
			if !inLog && !slices.ContainsFunc(regs, func(r facts.Registration) bool { return r.ID == id }) {
				on[id] = append(on[id], partitionName(p.Topic, p.Partition))
			}
		}
	}
	for _, id := range keys(on) {
		l.bad("", "broker %d is in no registry and %s: reassign them or delete the topics", id, plural(len(on[id]), "partition names it ("+on[id][0]+")", "partitions name it (first "+on[id][0]+")"))
	}
}
