package gates

import (
	"fmt"
	"slices"
	"strconv"

	"migrator/internal/cluster"
	"migrator/internal/configgen"
	"migrator/internal/facts"
)

// oldestForMigration is the lowest metadata.version that a new migration can
// begin with: older ones have no metadata transactions (KAFKA-17457).
const oldestForMigration = "3.6-IV1"

func judgeBrokersZK(l *look) {
	l.todo = "Controllers are provisioned only beside a cluster that is wholly in ZooKeeper mode. Bring the named brokers up in plain ZooKeeper mode, or let migrator find the phase the cluster is really in."
	ids, okIDs := l.registered()
	for _, n := range l.brokers() {
		if mode, ok := l.mode(n); ok && mode != cluster.ZK {
			l.bad("", "%s runs in mode %s", n.Name(), mode)
		}
		if _, ok := ids[n.ID]; okIDs && !ok {
			l.bad("", "%s is not in /brokers/ids", n.Name())
		}
	}
	l.stillAssigned()
	l.pass("%s in ZooKeeper mode and registered", plural(len(l.v.Settings.Inventory.Brokers), "broker is", "brokers are"))
}

func judgeHolderBroker(l *look) {
	l.todo = "The quorum takes /controller over from a working ZooKeeper controller; a stale entry of a KRaft controller makes that fail (ControllerMovedException). Find out who holds it, and wait until a broker does."
	h, ok := use(l, "/controller", l.v.Snapshot.Holder)
	switch {
	case !ok:
	case !h.Present:
		l.bad("", "/controller is absent: the cluster has no controller")
	case h.KRaft():
		l.bad("", "/controller is held by KRaft controller %d at epoch %d", h.ID, *h.KRaftEpoch)
	case !h.Ephemeral:
		l.bad("", "/controller names %d but is persistent: nobody's session holds it", h.ID)
	case !slices.Contains(cluster.IDs(l.v.Settings.Inventory.Brokers), h.ID):
		l.bad("", "/controller is held by %d, which is no broker of migrations.yaml", h.ID)
	default:
		l.pass("broker %d holds /controller", h.ID)
	}
}

func judgeNoMigration(l *look) {
	m, ok := use(l, "/migration", l.v.Snapshot.Migration)
	switch {
	case !ok:
	case !m.Present:
		l.pass("/migration is absent")
	case m.Null:
		l.todo = "A controller hangs when it reads such a znode (KAFKA-19480; zookeeper-security-migration.sh makes it, fixed in 3.9.2). Delete /migration before any controller starts."
		l.bad("", "/migration exists without data")
	case m.Offset != nil && *m.Offset > 0:
		l.todo = "A new quorum would take the copy for done, skip it, and write its own empty image over ZooKeeper: every topic is deleted. No controller may start. Make sure that none of the old quorum runs, save the znode's content, and delete /migration."
		l.bad("", "/migration is left over from an earlier migration, at offset %d of controller %s", *m.Offset, optional(m.ControllerID))
	default:
		l.pass("/migration exists and no copy was done: harmless")
	}
}

func optional[T any](p *T) string {
	if p == nil {
		return "none"
	}
	return fmt.Sprint(*p)
}

// judgeSameIBP asks for one protocol version: brokers in migration mode
// register with exactly their own, and a quorum finalized at another refuses
// them for ever (UNSUPPORTED_VERSION).
func judgeSameIBP(l *look) {
	l.todo = "The controllers are formatted with the brokers' inter.broker.protocol.version; a broker with another one could never register. Bring all brokers to one version, 3.6-IV1 or newer, before the migration."
	oldest, err := configgen.FeatureLevel(oldestForMigration)
	if err != nil {
		l.unsure("the oldest version that can migrate: %v", err)
		return
	}
	seen := map[int16][]int32{}
	for _, n := range l.brokers() {
		if level, name, ok := l.ibp(n); ok {
			seen[level] = append(seen[level], n.ID)
			if level < oldest {
				l.bad("", "%s is at %s, older than %s", n.Name(), name, oldestForMigration)
			}
			if want := l.v.Settings.MetadataVersion; want != nil && level != *want {
				l.bad("", "%s is at %s (level %d), agreed is level %d", n.Name(), name, level, *want)
			}
		}
	}
	if len(seen) > 1 {
		for _, level := range keys(seen) {
			l.bad("", "brokers %s are at level %d", idList(seen[level]), level)
		}
	}
	if levels := keys(seen); len(levels) == 1 {
		l.pass("every broker's inter.broker.protocol.version is level %d", levels[0])
	}
}

func (l *look) ibp(n cluster.Node) (level int16, name string, ok bool) {
	f, ok := use(l, n.Name()+"'s file", l.v.Snapshot.Files[n.ID])
	if !ok {
		return 0, "", false
	}
	if !f.Exists {
		l.bad("", "%s has no properties file", n.Name())
		return 0, "", false
	}
	name, err := configgen.EffectiveIBP(f.Content, l.v.Settings.KafkaVersion)
	if err == nil {
		level, err = configgen.FeatureLevel(name)
	}
	if err != nil {
		l.unsure("%s's inter.broker.protocol.version: %s", n.Name(), cut(err.Error()))
		return 0, "", false
	}
	return level, name, true
}

func judgeFoldersFree(l *look) {
	l.todo = "A folder of another cluster or node would be refused at start or, worse, formatted over. A controller that ever joined a quorum is never formatted again under the same folder: its vote and its log would be forgotten. Name another folder, or move the old one away."
	id, ok := l.clusterID()
	if !ok {
		return
	}
	for _, n := range l.controllers() {
		dirs, ok := l.folders(n)
		for _, d := range dirs {
			if ok && d.Exists && !formattedFor(d, id, n) {
				l.bad("", "%s: folder %s belongs to cluster %s, node %s; wanted are cluster %s, node %d",
					n.Name(), cut(d.Dir), orNone(d.ClusterID), orNone(d.NodeID), id, n.ID)
			}
		}
	}
	l.pass("the folders of %s are free or already formatted for them", plural(len(l.v.Settings.Inventory.Controllers), "controller", "controllers"))
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return cut(s)
}

// clusterID is the bound id, or before that the one just read.
func (l *look) clusterID() (string, bool) {
	if id := l.v.Settings.ClusterID; id != "" {
		return id, true
	}
	id, ok := use(l, "/cluster/id", l.v.Snapshot.ClusterID)
	return id, ok && id != ""
}

// folders are a node's log folders; that none is known is no answer.
func (l *look) folders(n cluster.Node) ([]facts.MetaProperties, bool) {
	dirs, ok := use(l, n.Name()+"'s meta.properties", l.v.Snapshot.Meta[n.ID])
	if ok && len(dirs) == 0 {
		l.unsure("%s: no folder is known", n.Name())
		return nil, false
	}
	return dirs, ok
}

func formattedFor(d facts.MetaProperties, clusterID string, n cluster.Node) bool {
	return d.Exists && d.ClusterID == clusterID && d.NodeID == strconv.Itoa(int(n.ID))
}

func judgeControllersOff(l *look) {
	l.todo = "Provisioning writes files and formats folders; below a running process that is of no effect or destroys it. A controller first started without the migration flag can never take part (KIP-866). Stop it, and use an empty folder."
	off := 0
	for _, n := range l.controllers() {
		running, ok := use(l, "whether "+n.Name()+" runs", l.v.Snapshot.Running[n.ID])
		switch {
		case !ok:
		case !running:
			off++
		case slices.Contains(l.v.Stopped, n.ID) && (l.v.Step == nil || !l.v.Step.Opened):
			// Its folder may be back in place too, with the end of a copy in its log.
			l.bad("", "%s runs although a revert stopped it for good", n.Name())
		default:
			l.mustBeOurs(n)
		}
	}
	l.pass("%d of %d controllers do not run, the others are already ours", off, len(l.v.Settings.Inventory.Controllers))
}

// mustBeOurs accepts a running controller that an earlier try of ours provisioned.
func (l *look) mustBeOurs(n cluster.Node) {
	want, known := l.v.Expected[n.ID]
	if !known || want == "" {
		l.bad("", "%s runs and was not provisioned by us", n.Name())
		return
	}
	l.sameFile(n, want)
	id, ok := l.clusterID()
	if !ok {
		return
	}
	dirs, _ := l.folders(n)
	for _, d := range dirs {
		if !formattedFor(d, id, n) {
			l.bad("", "%s runs, but folder %s is not formatted for cluster %s and node %d", n.Name(), cut(d.Dir), id, n.ID)
		}
	}
}

func judgeNothingDeleting(l *look) {
	l.todo = "Topics pending deletion during the copy have come back or stayed in caches (KAFKA-15605, KAFKA-15799). Wait until the deletion is done; if it hangs, bring back the broker that holds a replica."
	topics, ok := use(l, "/admin/delete_topics", l.v.Snapshot.Deleting)
	if !ok {
		return
	}
	if len(topics) > 0 {
		names := make([]string, 0, len(topics))
		for _, t := range slices.Sorted(slices.Values(topics)) {
			names = append(names, cut(t))
		}
		l.bad("", "%s pending deletion: %s", plural(len(topics), "topic is", "topics are"), listed(names, ", "))
	}
	l.pass("no topic is pending deletion")
}
