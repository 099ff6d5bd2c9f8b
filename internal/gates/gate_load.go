package gates

import (
	"fmt"
	"slices"
	"strings"

	"migrator/internal/cluster"
	"migrator/internal/facts"
)

const brokersToDo = "Kafka copies nothing until every broker that an assignment names has registered. Look at the named brokers: the migration flag and quorum settings in their files, inter.broker.protocol.version equal to the finalized metadata.version, and the way to the controllers."

func judgeBrokersRegistered(l *look) {
	l.todo = brokersToDo
	l.brokersReady(l.brokers())
}

func judgeOthersReady(l *look) {
	l.todo = brokersToDo
	others := slices.DeleteFunc(slices.Clone(l.brokers()), func(n cluster.Node) bool { return l.inBatch(n.ID) })
	l.stillAssigned()
	l.brokersReady(others)
}

// registries is everything that says of a broker whether it is in migration mode.
type registries struct {
	ids       map[int32]facts.Registration
	image     facts.Log
	observers map[int32]facts.Replica
	leader    facts.LeaderView
}

// brokersReady wants each broker in ZooKeeper's registry and, in migration
// mode, in the metadata log. Being an observer alone is no registration: a
// refused broker fetches too, and a dead one shows for minutes.
func (l *look) brokersReady(brokers []cluster.Node) {
	var r registries
	var okIDs, okLog, okLeader bool
	r.ids, okIDs = l.registered()
	r.image, okLog = use(l, "metadata log", l.v.Snapshot.Log)
	r.leader, okLeader = l.leader()
	r.observers = byID(r.leader.Observers)
	if !okIDs || !okLog || !okLeader {
		return
	}
	for _, n := range brokers {
		if l.deadFor(n, r) {
			l.bad(n.Name(), "%s does not run and is registered nowhere", n.Name())
			continue
		}
		if why := l.unready(n, r); len(why) > 0 {
			l.bad("", "%s %s%s", n.Name(), strings.Join(why, ", "), l.refused(n))
		}
	}
	l.pass("%s in migration mode, in /brokers/ids and in the metadata log", plural(len(brokers), "broker is", "brokers are"))
}

// deadFor says that a broker is down and gone from both registries; only then
// may a person accept that it is left behind.
func (l *look) deadFor(n cluster.Node, r registries) bool {
	running, ok := peek(l, l.v.Snapshot.Running[n.ID])
	_, inIDs := r.ids[n.ID]
	reg, inLog := r.image.Image.Brokers[n.ID]
	return ok && !running && !inIDs && (!inLog || reg.Fenced)
}

func (l *look) unready(n cluster.Node, r registries) []string {
	var why []string
	if _, ok := r.ids[n.ID]; !ok {
		why = append(why, "is not in /brokers/ids")
	}
	reg, inLog := r.image.Image.Brokers[n.ID]
	observer, observes := r.observers[n.ID]
	switch {
	case !inLog && observes:
		why = append(why, "fetches the metadata log but never registered: its inter.broker.protocol.version must equal metadata.version, or it is an old entry of a dead process")
	case !inLog:
		why = append(why, "is not registered in the metadata log")
	case !reg.MigratingZK:
		why = append(why, "is registered as KRaft broker")
	case reg.Fenced:
		why = append(why, "is registered but fenced")
	}
	if mode, ok := l.mode(n); ok && mode != cluster.ZKMigrating {
		why = append(why, fmt.Sprintf("runs in mode %s", mode))
	}
	switch {
	case !observes:
		why = append(why, "is no observer of the quorum")
	case silent(r.leader, observer) > fetchSilence:
		why = append(why, "last fetched the metadata log "+span(silent(r.leader, observer))+" ago")
	}
	return why
}

// refused quotes what the node's log says about a refused registration.
func (l *look) refused(n cluster.Node) string {
	lines, ok := peek(l, l.v.Snapshot.Lines[n.ID])
	if !ok || lines.Refused == "" {
		return ""
	}
	return fmt.Sprintf(" (it logged %q)", cut(lines.Refused))
}

// judgeStateMigration wants two signals: the record in the log and the offset
// that the copy leaves in ZooKeeper.
func judgeStateMigration(l *look) {
	l.todo = "The copy begins by itself when the last broker has registered in migration mode. If it does not, the active controller's log says what it waits for; an active controller whose driver stays INACTIVE is cured by restarting it (KAFKA-17506)."
	if state, ok := l.state(); ok && state != cluster.StateMigration {
		if state == cluster.StatePostMigration {
			l.todo = "The migration was finalized; there is no way back and nothing writes to ZooKeeper any more."
		}
		l.bad("", "state is %s in the metadata log", state)
		if state == cluster.StatePreMigration {
			l.heldBack()
		}
	}
	m, ok := use(l, "/migration", l.v.Snapshot.Migration)
	switch {
	case !ok:
	case !m.Present || m.Null:
		l.bad("", "/migration is absent or empty")
	case m.Offset == nil || *m.Offset <= 0:
		l.bad("", "/migration has no offset: the copy is not done")
	default:
		l.pass("state is MIGRATION in the metadata log, /migration is at offset %d", *m.Offset)
	}
	// A controller that restarts prints earlier states until it caught up; only
	// the end of the migration contradicts.
	l.lastLines(func(s cluster.MigrationState) bool { return s != cluster.StatePostMigration })
	l.notes = nil
}

func judgeHolderKRaft(l *look) {
	l.todo = "From the copy on the active controller must hold /controller, or two controllers act at once. Look at the active controller's log for its claim; if a broker took it, only the way back is open."
	leader, okLeader := l.leader()
	h, ok := use(l, "/controller", l.v.Snapshot.Holder)
	switch {
	case !ok:
		return
	case !h.Present:
		l.bad("", "/controller is absent")
		return
	case !h.KRaft():
		l.bad("", "/controller is held by broker %d, not by a KRaft controller", h.ID)
		return
	case h.Ephemeral:
		l.bad("", "/controller names %d but is ephemeral: a KRaft controller makes it persistent", h.ID)
		return
	case okLeader && h.ID != leader.ID:
		l.bad("", "/controller names %d, the active controller is %d", h.ID, leader.ID)
	case okLeader && *h.KRaftEpoch != leader.Epoch:
		l.bad("", "/controller names epoch %d, the active controller is at epoch %d", *h.KRaftEpoch, leader.Epoch)
	}
	l.pass("/controller is held by KRaft controller %d at epoch %d", h.ID, *h.KRaftEpoch)
}
