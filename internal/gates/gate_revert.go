package gates

import "slices"

// judgeDrained: dual write is asynchronous. Before the controllers stop,
// /migration must be at or past the last record that changed anything; what
// is written after that are no-ops.
func judgeDrained(l *look) {
	l.todo = "What ZooKeeper lacks would be lost on the way back. Wait; if it stands still, look at gate dual-write."
	m, okM := use(l, "/migration", l.v.Snapshot.Migration)
	lg, okLog := use(l, "metadata log", l.v.Snapshot.Log)
	switch {
	case !okM || !okLog:
	case !m.Present || m.Null || m.Offset == nil:
		l.bad("", "/migration has no offset")
	case !lg.Image.HasChange:
		l.unsure("the last change in the metadata log")
	case *m.Offset < lg.Image.LastChange:
		l.bad("", "/migration is at offset %d, the last change is at %d", *m.Offset, lg.Image.LastChange)
	default:
		l.pass("/migration is at offset %d, past the last change at %d", *m.Offset, lg.Image.LastChange)
	}
}

// judgeControllersDown wants two signals: the node's own command and that
// nobody answers on its listener. One that lives would take /controller back
// at the next election.
func judgeControllersDown(l *look) {
	l.todo = "A controller that still runs would take /controller back. Stop it and keep it from starting again."
	for _, n := range l.controllers() {
		if running, ok := use(l, "whether "+n.Name()+" runs", l.v.Snapshot.Running[n.ID]); ok && running {
			l.bad("", "%s runs", n.Name())
		}
		api := l.v.Snapshot.API[n.ID]
		switch {
		case api.Begun().IsZero() || l.v.Step != nil && api.Begun().Before(l.v.Step.NotBefore):
			l.unsure("whether %s answers", n.Name())
		case api.Known():
			l.bad("", "%s still answers on its listener", n.Name())
		}
	}
	l.pass("no controller runs, none answers")
}

// judgeStoresAgree compares what the log held as the controllers stopped with
// ZooKeeper. Nobody writes either store now, so one look is enough.
func judgeStoresAgree(l *look) {
	l.todo = "A committed change is not in ZooKeeper and would be lost. Start the controllers again (their folders are kept aside), wait until dual write has caught up, and repeat."
	zk, okZK := useAged(l, "topics in ZooKeeper", l.v.Snapshot.ZKTopics, topicsRule(l.v))
	deleting, okDel := use(l, "/admin/delete_topics", l.v.Snapshot.Deleting)
	switch {
	case !okZK || !okDel:
		return
	case l.v.Kept == nil:
		l.unsure("what the metadata log held as the controllers stopped")
		return
	}
	if found := differences(zk, l.v.Kept, deleting); len(found) > 0 {
		l.bad("", "%s: %s", plural(len(found), "difference", "differences"), listed(found, "; "))
	}
	l.pass("ZooKeeper holds all %s that the metadata log held", plural(len(l.v.Kept), "topic", "topics"))
}

// judgeFollows: a broker led by KRaft names a random live broker as controller
// in each answer, so ten equal answers in a row are the ZooKeeper controller. A
// broker stopped before it follows hangs in controlled shutdown.
func judgeFollows(l *look) {
	l.todo = "Until a broker follows the new controller its controlled shutdown hangs. Wait; it learns of it with the next metadata update."
	holder, ok := use(l, "/controller", l.v.Snapshot.Holder)
	if !ok {
		return
	}
	if !holder.Present || holder.KRaft() {
		l.bad("", "no broker holds /controller")
		return
	}
	md, ok := use(l, "live brokers", l.v.Snapshot.Metadata)
	if !ok {
		return
	}
	for _, b := range md.Brokers {
		named, ok := use(l, "whom broker "+idList([]int32{b.ID})+" takes for the controller", l.v.Snapshot.Named[b.ID])
		if ok && slices.ContainsFunc(named, func(id int32) bool { return id != holder.ID }) {
			l.bad("", "broker %d does not yet name broker %d in all of %d answers", b.ID, holder.ID, len(named))
		}
	}
	l.pass("%s name broker %d, the holder of /controller", plural(len(md.Brokers), "live broker", "live brokers"), holder.ID)
}
