package gates

import (
	"slices"
	"time"

	"migrator/internal/cluster"
)

// canarySilence is how long the canary may go without an acknowledged record;
// a configured max_unavailable above it counts instead.
const canarySilence = 10 * time.Second

func judgeAllKRaft(l *look) {
	l.todo = "A broker that still depends on ZooKeeper is cut off when the migration ends; Kafka itself does not check (KAFKA-20960). Roll it to KRaft; one that died for good must be unregistered first."
	lg, okLog := use(l, "metadata log", l.v.Snapshot.Log)
	for _, n := range l.brokers() {
		reg, present := lg.Image.Brokers[n.ID]
		if okLog && l.deadAndGone(n, present && reg.MigratingZK) {
			l.bad(n.Name(), "%s does not run", n.Name())
			continue
		}
		switch {
		case !okLog:
		case !present:
			l.bad("", "%s is not registered in the metadata log", n.Name())
		case reg.MigratingZK:
			l.bad("", "%s is registered as ZooKeeper broker", n.Name())
		case reg.Fenced:
			l.bad("", "%s is registered but fenced", n.Name())
		}
		if mode, ok := l.mode(n); ok && mode != cluster.KRaft {
			l.bad("", "%s runs in mode %s", n.Name(), mode)
		}
	}
	l.pass("%s in KRaft mode, registered and unfenced", plural(len(l.v.Settings.Inventory.Brokers), "broker is", "brokers are"))
}

// deadAndGone says that a broker is down and no registry takes it for a
// ZooKeeper broker: only then may a person leave it behind.
func (l *look) deadAndGone(n cluster.Node, asZKBroker bool) bool {
	running, ok := peek(l, l.v.Snapshot.Running[n.ID])
	list, okIDs := peek(l, l.v.Snapshot.Registered)
	if !ok || running || !okIDs || asZKBroker {
		return false
	}
	for _, r := range list {
		if r.ID == n.ID {
			return false
		}
	}
	return true
}

func judgeIDsEmpty(l *look) {
	l.todo = "These brokers still run on ZooKeeper and would be cut off when the migration ends. Roll them to KRaft."
	if ids, ok := l.registered(); ok {
		if len(ids) > 0 {
			l.bad("", "still in /brokers/ids: %s", idList(keys(ids)))
		}
		l.pass("/brokers/ids is empty")
	}
}

func judgeFlagOn(l *look) {
	l.todo = "A controller without the migration flag that becomes active ends the migration for good. Put the flag back in its file first, then restart it if it is not the active one; until then cause no failover."
	l.flags(cluster.KRaftMigrating)
	l.pass("%s the migration flag, running and in the file", plural(len(l.v.Settings.Inventory.Controllers), "controller has", "controllers have"))
}

func judgeFlagOff(l *look) {
	l.todo = "After the end of the migration the flag only makes noise and keeps the ZooKeeper client alive; 4.x refuses it. Restart the named controllers with the finalized file."
	l.flags(cluster.KRaft)
	l.pass("no controller has the migration flag, running or in the file")
}

// flags wants each controller's own answer and its file in one mode.
func (l *look) flags(want cluster.Mode) {
	for _, n := range l.controllers() {
		if mode, ok := l.mode(n); ok && mode != want {
			l.bad("", "%s runs in mode %s", n.Name(), mode)
		}
		f, ok := use(l, n.Name()+"'s file", l.v.Snapshot.Files[n.ID])
		switch {
		case !ok:
		case !f.Exists:
			l.bad("", "%s has no file", n.Name())
		case f.Mode == "":
			l.bad("", "%s's file does not say a mode", n.Name())
		case f.Mode != want:
			l.bad("", "%s's file says mode %s", n.Name(), f.Mode)
		}
	}
}

func judgeEnsemble(l *look) {
	l.todo = "Until the migration is finalized ZooKeeper must take writes: dual write and every way back depend on it. Bring the named servers back."
	if writable, ok := use(l, "whether ZooKeeper takes writes", l.v.Snapshot.Writable); ok && !writable {
		l.bad("", "ZooKeeper takes no writes")
	}
	members, ok := use(l, "ZooKeeper's servers", l.v.Snapshot.Ensemble)
	if !ok {
		return
	}
	if len(members) == 0 {
		l.unsure("no ZooKeeper server is configured")
		return
	}
	var serving, unclear int
	var not []string
	for _, m := range members {
		switch {
		case m.Serving == nil:
			unclear++
			not = append(not, cut(m.Address)+" gives no answer that can be read "+cut(m.Why))
		case *m.Serving:
			serving++
		default:
			not = append(not, cut(m.Address)+" does not serve "+cut(m.Why))
		}
	}
	majority := len(members)/2 + 1
	switch {
	case serving >= majority:
	case serving+unclear >= majority:
		l.unsure("%d of %d servers are known to serve, a majority is %d: %s", serving, len(members), majority, listed(not, "; "))
	default:
		l.bad("", "%d of %d servers serve, a majority is %d: %s", serving, len(members), majority, listed(not, "; "))
	}
	l.pass("%d of %d servers serve and ZooKeeper takes writes", serving, len(members))
	if len(not) > 0 {
		l.note("%s", listed(not, "; "))
	}
}

// judgeEnsembleWhole holds the soak while ZooKeeper has only a majority: one
// more lost server would stop dual write and every way back.
func judgeEnsembleWhole(l *look) {
	l.todo = "ZooKeeper still serves, but the next lost server would end that. The soak's clock waits; bring the named servers back."
	members, ok := use(l, "ZooKeeper's servers", l.v.Snapshot.Ensemble)
	if !ok {
		return
	}
	if len(members) == 0 {
		l.unsure("no ZooKeeper server is configured")
		return
	}
	for _, m := range members {
		switch {
		case m.Serving == nil:
			l.note("%s gives no answer that can be read: it is not counted", cut(m.Address))
		case !*m.Serving:
			l.bad(cut(m.Address), "%s does not serve %s", cut(m.Address), cut(m.Why))
		}
	}
	l.pass("%s configured, none is known to be away", plural(len(members), "server is", "servers are"))
}

func judgeCanaryHealthy(l *look) {
	l.todo = "Clients feel this. Look for partitions without a leader and brokers that do not answer before the next step."
	if l.v.Settings.CanaryOff {
		l.pass("the canary is switched off in migrations.yaml: not measured")
		return
	}
	c, ok := use(l, "the canary", l.v.Snapshot.CanaryStats)
	if !ok {
		return
	}
	limit := max(canarySilence, l.v.Settings.MaxUnavailable)
	if c.Lost > 0 {
		l.bad("", "%s acknowledged and then lost", plural(int(c.Lost), "record was", "records were"))
	}
	if c.LastAck.IsZero() {
		l.unsure("no record of the canary was acknowledged yet")
		return
	}
	age := max(0, l.v.Snapshot.CanaryStats.Begun().Sub(c.LastAck))
	if age > limit {
		l.bad("", "the last acknowledged record is %s old, the limit is %s", span(age), span(limit))
	}
	l.pass("%d records acknowledged, 0 lost, the last one %s ago", c.Acked, span(age))
}

func judgeSameLeader(l *look) {
	l.todo = "An election that nobody asked for: a controller crashed, paused or lost its network. The soak begins again; find the cause in the old leader's log."
	if !l.v.Soak.HasLeader {
		l.unsure("the active controller as the soak began")
		return
	}
	leader, ok := l.leader()
	if !ok {
		return
	}
	if leader.ID != l.v.Soak.Leader || leader.Epoch != l.v.Soak.LeaderEpoch {
		l.bad("", "controller %d leads at epoch %d; it was %d at epoch %d", leader.ID, leader.Epoch, l.v.Soak.Leader, l.v.Soak.LeaderEpoch)
	}
	l.pass("controller %d still leads at epoch %d", leader.ID, leader.Epoch)
}

func judgeBrokersSteady(l *look) {
	l.todo = "A broker restarted that no plan of ours touched. The soak begins again; find the cause in its log."
	if l.v.Soak.Incarnations == nil {
		l.unsure("the brokers' registrations as the soak began")
		return
	}
	lg, ok := use(l, "metadata log", l.v.Snapshot.Log)
	if !ok {
		return
	}
	for _, id := range keys(l.v.Soak.Incarnations) {
		reg, present := lg.Image.Brokers[id]
		switch {
		case !present:
			l.bad("", "broker %d is no longer registered", id)
		case reg.Incarnation != l.v.Soak.Incarnations[id]:
			l.bad("", "broker %d has registered again: it restarted", id)
		}
	}
	l.pass("%s since the soak began", plural(len(l.v.Soak.Incarnations), "broker runs unchanged", "brokers run unchanged"))
}

func judgeSoakWhole(l *look) {
	l.todo = "The required healthy time is what shows that dual write lasts. Wait; the page says what stops the clock."
	s := l.v.Soak
	switch {
	case s.Required <= 0 && l.v.Phase == cluster.Load:
		l.pass("migrations.yaml asks for no soak in load")
	case s.Required <= 0:
		l.unsure("how long the soak must be")
	case s.Elapsed < s.Required:
		l.bad("", "%s of %s healthy", span(s.Elapsed), span(s.Required))
	default:
		l.pass("%s healthy, %s required", span(s.Elapsed), span(s.Required))
	}
}

func judgeDrillPassed(l *look) {
	l.todo = "A controller failover must have been proven before there is no way back. Let the drill run, or start it with migrator drill."
	wanted := l.v.DrillsWanted
	if len(wanted) == 0 {
		l.unsure("which drills are wanted; at least one must be")
		return
	}
	for _, kind := range slices.Sorted(slices.Values(wanted)) {
		if !slices.Contains(l.v.DrillsPassed, kind) {
			l.bad("", "drill %s has not passed in this attempt", cut(kind))
		}
	}
	l.pass("%s passed in this attempt", plural(len(wanted), "drill", "drills"))
}

// judgeWayBack looks for what would make a revert crash: a broker's folder
// formatted during the migration (KAFKA-20762), or no epoch to build on.
func judgeWayBack(l *look) {
	l.todo = "A broker whose folder was formatted during the migration has meta.properties version 1 and dies in plain ZooKeeper mode (KAFKA-20762). Rewrite the file as version 0 with broker.id, cluster.id and directory.id while the broker is down, one broker at a time."
	for _, n := range l.brokers() {
		dirs, ok := l.folders(n)
		for _, d := range dirs {
			switch {
			case !ok:
			case !d.Exists:
				l.bad("", "revert unsafe on %s: folder %s has no meta.properties", n.Name(), cut(d.Dir))
			case d.Version != 0:
				l.bad("", "revert unsafe on %s: folder %s has meta.properties version %d", n.Name(), cut(d.Dir), d.Version)
			}
		}
	}
	if e, ok := use(l, "/controller_epoch", l.v.Snapshot.ZKEpoch); ok {
		if !e.Present {
			l.bad("", "/controller_epoch is absent: a ZooKeeper controller would begin again at an epoch that brokers refuse")
		}
		l.pass("every broker's meta.properties is version 0, /controller_epoch is %d", e.Value)
	}
}

func judgePostMigration(l *look) {
	l.todo = "The first controller without the flag that becomes active ends the migration. If all are restarted and the state is still MIGRATION, the active one still has the flag: look at its file."
	if state, ok := l.state(); ok && state != cluster.StatePostMigration {
		l.bad("", "state is %s in the metadata log", state)
	}
	l.lastLines(func(s cluster.MigrationState) bool { return s == cluster.StatePostMigration })
	l.pass("state is POST_MIGRATION in the metadata log")
}
