package gates

import (
	"slices"

	"migrator/internal/cluster"
	"migrator/internal/plan"
)

func judgeClusterID(l *look) {
	l.todo = "These are not the znodes of the cluster this migration began with; every step from here would be aimed at another cluster. Correct zookeeper.connect (host, port, chroot) in migrations.yaml."
	id, ok := use(l, "/cluster/id", l.v.Snapshot.ClusterID)
	want := l.v.Settings.ClusterID
	switch {
	case !ok:
	case id == "":
		l.bad("", "/cluster/id is empty")
	case want == "":
		l.pass("cluster %s, to which this migration will be bound", cut(id))
	case id != want:
		l.bad("", "/cluster/id is %s, this migration is bound to %s", cut(id), want)
	default:
		l.pass("cluster %s", cut(id))
	}
}

func judgeOneDriver(l *look) {
	l.todo = "Two services that drive one cluster restart nodes at the same time. Stop the other one; its lock goes with its ZooKeeper session."
	d, ok := use(l, "the driver znode", l.v.Snapshot.Driver)
	switch {
	case !ok:
	case d.Held:
		l.pass("this service holds the driver znode")
	case d.Owner != "":
		l.bad("", "the cluster is driven by %s", cut(d.Owner))
	default:
		l.bad("", "this service does not hold the driver znode")
	}
}

func judgeInventory(l *look) {
	l.todo = "A node that migrations.yaml does not have would never be rolled, and one that is missing would be waited for in vain: Kafka waits for every broker that an assignment names. Correct migrations.yaml, or start or unregister the node."
	inv := l.v.Settings.Inventory
	brokers, controllers := cluster.IDs(slices.Concat(l.brokers(), inv.Lost)), cluster.IDs(inv.Controllers)
	if ids, ok := l.registered(); ok {
		extra, _ := compareIDs(keys(ids), brokers)
		_, missing := compareIDs(keys(ids), cluster.IDs(inv.Brokers))
		if len(extra) > 0 {
			l.bad("", "registered in /brokers/ids but not in migrations.yaml: %s", idList(extra))
		}
		// Later a broker may be down for its restart, or in KRaft mode; a way back
		// begins with the brokers that are down.
		if !l.v.Revert && l.v.Phase == cluster.Initial && l.v.Plan.Index() <= cluster.Initial.Index() && len(missing) > 0 {
			l.bad("", "in migrations.yaml but not in /brokers/ids: %s", idList(missing))
		}
	}
	lg, ok := peek(l, l.v.Snapshot.Log)
	// The way back from a copy that halted the controllers needs no quorum, and
	// must not wait for one.
	if !ok && l.quorumInUse() && l.v.Plan != cluster.Initial {
		lg, ok = use(l, "metadata log", l.v.Snapshot.Log)
	}
	if ok {
		if extra, _ := compareIDs(keys(lg.Image.Brokers), brokers); len(extra) > 0 {
			l.bad("", "brokers registered in the metadata log but not in migrations.yaml: %s", idList(extra))
		}
		l.strangeControllers(keys(lg.Image.Controllers), controllers)
	}
	l.pass("every registered node is in migrations.yaml: brokers %s, controllers %s", idList(brokers), idList(controllers))
}

// strangeControllers: Kafka 3.9 knows no way to take a controller's registration
// back. That of one which is stopped again stays in this quorum's log for good
// and does no harm; it must not bar the way back.
func (l *look) strangeControllers(registered, known []int32) {
	extra, _ := compareIDs(registered, known)
	if len(extra) == 0 {
		return
	}
	leader, ok := l.leader()
	if !ok {
		return
	}
	var following []int32
	for _, id := range extra {
		if !InQuorum(leader, id) {
			l.note("controller %d is registered and follows the quorum no more", id)
			continue
		}
		following = append(following, id)
	}
	if len(following) > 0 {
		l.bad("", "controllers registered in the metadata log but not in migrations.yaml: %s", idList(following))
	}
}

func judgeFilesOurs(l *look) {
	l.todo = "Somebody else wrote the file, configuration management for one; at its next start the node could come up in the wrong mode. Freeze that tool, and put the content back, or take it over by planning again: a way back (`migrator revert`) shows what of the change it would undo."
	count := 0
	for _, n := range l.v.Settings.Inventory.Nodes() {
		want, ok := l.v.Expected[n.ID]
		if !ok || (l.inBatch(n.ID) && l.v.Step.Opened) {
			continue // the open batch's files are being written
		}
		count++
		l.sameFile(n, want)
	}
	if count == 0 {
		l.pass("no file is known by its content yet")
		return
	}
	l.pass("%s as we know them", plural(count, "file is", "files are"))
}

// sameFile compares a node's file with a hash; an empty one means that there is no file.
func (l *look) sameFile(n cluster.Node, want string) {
	f, ok := use(l, n.Name()+"'s file", l.v.Snapshot.Files[n.ID])
	if !ok {
		return
	}
	have := f.SHA256
	if !f.Exists {
		have = ""
	}
	if have != want {
		l.bad("", "%s's file is %s, wanted is %s", n.Name(), short(have), short(want))
	}
}

// judgeFlagGuard watches the one thing that can end a migration by accident:
// the first controller without the flag that becomes active writes
// POST_MIGRATION, with brokers still on ZooKeeper or not (KIP-866, KAFKA-20960).
func judgeFlagGuard(l *look) {
	l.todo = "Do not restart or fail over any controller now. If a controller without zookeeper.metadata.migration.enable becomes active, it ends the migration for good: brokers still on ZooKeeper are cut off and there is no way back. First put the flag back in the file of each named controller; then restart a named one that runs without it, never the active controller."
	state, known := migrationState(l.v)
	switch {
	case l.v.Plan == cluster.Finalize:
		l.pass("the finalize plan takes the flag away on purpose")
		return
	case l.v.Step != nil && l.v.Step.Kind == plan.FlagBack:
		l.pass("the plan gives the flag back to the controllers without it")
		return
	case known && state == cluster.StatePostMigration:
		_, _ = peek(l, l.v.Snapshot.Log)
		l.pass("state is POST_MIGRATION: the flag means nothing any more")
		return
	case l.noQuorumYet():
		l.pass("no quorum yet: no controller runs")
		return
	}
	guarded := 0
	for _, n := range l.controllers() {
		if slices.Contains(l.v.Stopped, n.ID) {
			l.note("%s is held down by the plan", n.Name())
			continue
		}
		guarded++
		l.guardFlag(n)
	}
	l.pass("%s the migration flag, running and in the file", plural(guarded, "controller has", "controllers have"))
}

// noQuorumYet holds in initial while every controller is known not to run.
func (l *look) noQuorumYet() bool {
	if l.v.Phase != cluster.Initial {
		return false
	}
	for _, n := range l.v.Settings.Inventory.Controllers {
		if running, ok := peek(l, l.v.Snapshot.Running[n.ID]); !ok || running {
			return false
		}
	}
	return true
}

func (l *look) guardFlag(n cluster.Node) {
	mode, answers := peek(l, l.v.Snapshot.Mode(n))
	if answers && mode != cluster.KRaftMigrating {
		l.bad("", "%s runs without the migration flag", n.Name())
	}
	f, ok := use(l, n.Name()+"'s file", l.v.Snapshot.Files[n.ID])
	switch {
	case !ok && !answers:
		l.unsure("%s does not answer: %s", n.Name(), cut(fresh(l.v, l.v.Snapshot.Mode(n)).Cause()))
	case !ok:
	case !f.Exists || f.Mode != cluster.KRaftMigrating:
		l.bad("", "%s's file has no migration flag: its next start is without it", n.Name())
	case !answers:
		l.note("%s does not answer, judged by its file only", n.Name())
	}
}
