package gates

import (
	"slices"
	"strings"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/plan"
)

const (
	// copyStill is how long the copy may show no progress before nobody is said
	// to act; thousands of records a second are usual.
	copyStill = 30 * time.Second
	// behindLine is what the migration driver repeats for as long as ZooKeeper
	// is ahead of its own log.
	behindLine = "superset of the metadata in ZK"
	// farFewer is how many times more topics ZooKeeper must have to be another
	// cluster's history and not somebody's deletions.
	farFewer = 10
)

// stoppedForGood says that a revert stopped every controller. A lone controller
// that its own roll restarts comes back.
func stoppedForGood(v *View) bool {
	controllers := cluster.IDs(v.Settings.Inventory.Controllers)
	if len(controllers) == 0 || !containsAll(v.Stopped, controllers) {
		return false
	}
	restarting := v.Step != nil && v.Step.Opened && v.Step.Kind != plan.StopControllers
	return !restarting || !slices.ContainsFunc(controllers, func(id int32) bool { return slices.Contains(v.Step.Batch, id) })
}

// judgeControllerFree: a revert deleted /controller with every controller
// stopped; a KRaft id there afterwards is an old controller come back.
func judgeControllerFree(l *look) {
	l.todo = "Somebody started an old controller. Brokers in ZooKeeper mode have no controller while it holds /controller. Stop it, keep it from starting again, then `migrator revert NAME --to initial` frees /controller once more."
	h, okHolder := use(l, "/controller", l.v.Snapshot.Holder)
	m, okMigration := use(l, "/migration", l.v.Snapshot.Migration)
	switch {
	case !okHolder || !okMigration:
	case !stoppedForGood(l.v):
		l.pass("no revert has stopped the controllers for good")
	case !h.KRaft():
		l.pass("/controller is held by no KRaft controller")
	case l.beforeZnodes():
		l.pass("/controller is still held by KRaft controller %d: the plan under way deletes it", h.ID)
	case l.afterZnodes() || l.v.Memory.guard.freed || !m.Present:
		l.bad("", "/controller was freed with all controllers stopped and is held by KRaft controller %d at epoch %d again%s", h.ID, *h.KRaftEpoch, l.awake())
	case m.Offset == nil:
		l.unsure("whether the revert had freed /controller before KRaft controller %d held it", h.ID)
	default:
		l.pass("/controller is still held by KRaft controller %d: the revert was interrupted before it deleted it", h.ID)
	}
}

// beforeZnodes: the step under way or next does not lie behind the transaction
// that deletes /controller.
func (l *look) beforeZnodes() bool {
	return l.v.Step != nil && slices.Contains([]plan.StepKind{plan.StopControllers, plan.Compare, plan.Znodes}, l.v.Step.Kind)
}

// afterZnodes: the journal alone says that the transaction was made. A revert
// rolls brokers to ZooKeeper mode only behind it.
func (l *look) afterZnodes() bool {
	if l.v.Step != nil {
		return l.v.Step.Kind == plan.Follow || l.v.Step.Kind == plan.Roll
	}
	return l.v.Phase == cluster.Initial
}

// awake names controllers that run or answer although they were stopped.
func (l *look) awake() string {
	var ids []int32
	for _, n := range l.v.Settings.Inventory.Controllers {
		running, ok := peek(l, l.v.Snapshot.Running[n.ID])
		if _, answers := peek(l, l.v.Snapshot.API[n.ID]); answers || ok && running {
			ids = append(ids, n.ID)
		}
	}
	if len(ids) == 0 {
		return "; none of migrations.yaml's runs or answers"
	}
	return "; running or answering: " + idList(ids)
}

// judgeSomeoneActs: from its claim of /controller until the copy is done the
// KRaft controller refuses every write and no broker is controller. A copy that
// failed or stands still leaves it so for ever.
func judgeSomeoneActs(l *look) {
	l.todo = "No topic is created, no partition gets a new leader: stop no broker. Read the active controller's log for a migration fault. Unless it is cured in minutes, `migrator revert NAME --to initial` gives /controller back to a broker."
	h, okHolder := use(l, "/controller", l.v.Snapshot.Holder)
	m, okMigration := use(l, "/migration", l.v.Snapshot.Migration)
	down := stoppedForGood(l.v)
	switch {
	case !okHolder || !okMigration:
	case l.v.Plan == cluster.Initial:
		l.pass("the plan initial is under way: it hands /controller to a broker or never takes it")
	case !h.KRaft():
		l.pass("/controller is held by no KRaft controller")
	case down:
		l.idle("/controller is held by KRaft controller %d and every controller is stopped for good", h.ID)
	case !beforeHybrid(l.v.Phase):
		l.pass("the copy lies behind: KRaft controller %d acts for brokers in KRaft mode", h.ID)
	case copied(m):
		l.pass("KRaft controller %d holds /controller and the copy is done", h.ID)
	default:
		l.copying(h)
	}
}

func beforeHybrid(p cluster.Phase) bool { return p == "" || p.Index() <= cluster.Load.Index() }

// copied says that the copy left its offset.
func copied(m facts.MigrationZnode) bool {
	return m.Present && !m.Null && m.Offset != nil && *m.Offset > 0
}

// idle judges by the clock alone.
func (l *look) idle(format string, id int32) {
	g := l.v.Memory.guard.idle
	if total := g.last.Sub(g.since); total > copyStill {
		l.bad("", "no controller acts since %s (%s): "+format, clock(g.since), span(total), id)
	}
	l.pass("seen for %s: "+format, span(g.last.Sub(g.since)), id)
}

// copying judges by progress, as far as the metadata log shows any: a large
// cluster copies for minutes.
func (l *look) copying(h facts.Holder) {
	g := l.v.Memory.guard.idle
	total, still, limit := g.last.Sub(g.since), g.last.Sub(g.moved), l.v.Settings.StepTimeout
	_, known := peek(l, l.v.Snapshot.Log)
	switch {
	case limit > 0 && total > limit, known && still > copyStill, still > copyStill && l.noMajority():
		l.bad("", "no controller acts since %s (%s): KRaft controller %d holds /controller at epoch %d, /migration has no offset, the copy has not moved for %s%s",
			clock(g.since), span(total), h.ID, *h.KRaftEpoch, span(still), l.fatalLine())
	case !known && still > copyStill:
		_, _ = use(l, "metadata log", l.v.Snapshot.Log)
		l.unsure("whether the copy moves; nobody acts since %s (%s)", clock(g.since), span(total))
	default:
		l.pass("KRaft controller %d copies since %s (%s); nobody acts meanwhile", h.ID, clock(g.since), span(total))
	}
}

// noMajority: too few controllers run for anyone to lead, so nothing can move
// whatever the log would say. A failed copy halts one active controller after
// the other, until the last ones find no majority any more.
func (l *look) noMajority() bool {
	controllers := l.v.Settings.Inventory.Controllers
	dead := 0
	for _, n := range controllers {
		if running, ok := peek(l, l.v.Snapshot.Running[n.ID]); ok && !running {
			dead++
		}
	}
	return len(controllers)-dead <= len(controllers)/2
}

func clock(t time.Time) string { return t.UTC().Format(time.TimeOnly) + " UTC" }

// fatalLine quotes the newest fatal line of a controller, if any was read.
func (l *look) fatalLine() string {
	for _, n := range l.v.Settings.Inventory.Controllers {
		if lines, ok := peek(l, l.v.Snapshot.Lines[n.ID]); ok && len(lines.Fatal) > 0 {
			return "; " + n.Name() + " logged " + cut(lines.Fatal[len(lines.Fatal)-1])
		}
	}
	return ""
}

// judgeMigrationOurs looks for a /migration of another quorum. This quorum
// skips the copy then, and deletes from ZooKeeper what its own log lacks, every
// topic, as soon as its log's offset has passed the stored one.
func judgeMigrationOurs(l *look) {
	l.todo = "Stop all controllers now. Until this quorum's log passes the offset in /migration that loses nothing; after it every topic is deleted. Then `migrator revert NAME --to initial`, which deletes /migration with the controllers down."
	m, ok := use(l, "/migration", l.v.Snapshot.Migration)
	switch {
	case !ok:
		return
	case stoppedForGood(l.v):
		l.pass("every controller is stopped for good")
		return
	case l.v.Plan == cluster.Initial:
		l.pass("the plan initial is under way: it stops the controllers or has yet to start them")
		return
	case !copied(m):
		l.pass("/migration holds no offset: no copy was done")
		return
	case !l.quorumInUse():
		l.pass("no quorum is in use yet")
		return
	}
	if lg, ok := use(l, "metadata log", l.v.Snapshot.Log); ok {
		l.whose(m, lg)
	}
}

func (l *look) whose(m facts.MigrationZnode, lg facts.Log) {
	state, offset := lg.Image.State, *m.Offset
	switch {
	case !lg.Image.HasState:
		l.unsure("the migration state: the metadata log holds none")
		return
	case state == cluster.StatePostMigration:
		l.pass("state is POST_MIGRATION: nothing is written by /migration any more")
		return
	case state != cluster.StateMigration && l.v.Snapshot.Log.Begun().After(l.v.Memory.guard.offset):
		// The state is written before the offset: a log read later cannot lag behind it.
		l.bad("", "/migration has offset %d while this quorum's state is %s with %s in its log at high watermark %d",
			offset, state, plural(len(lg.Image.Topics), "topic", "topics"), lg.HighWatermark)
		return
	case state != cluster.StateMigration:
		l.unsure("state %s beside offset %d in /migration seen once, looking again", state, offset)
		return
	}
	l.ahead(m)
	if s := l.v.Memory.guard.sparse; !s.first.IsZero() && s.scan.Sub(s.first) >= parityLook {
		l.bad("", "the metadata log holds %s, ZooKeeper %d, seen in two scans", plural(s.inLog, "topic", "topics"), s.inZK)
	}
	l.standsBehind()
	l.pass("/migration at offset %d is of this quorum: state is MIGRATION, high watermark %d", offset, lg.HighWatermark)
}

// ahead: nothing that this quorum wrote lies beyond its own high watermark and
// epoch. It counts only where every controller answered after /migration was
// read, so that no newer leader can be overlooked.
func (l *look) ahead(m facts.MigrationZnode) {
	leader := l.freshLeader()
	lead, ok := leader.Get()
	if !ok || lead.HighWatermark < 0 {
		return
	}
	for _, n := range l.v.Settings.Inventory.Controllers {
		f := fresh(l.v, l.v.Snapshot.Quorum[n.ID])
		if q, ok := f.Get(); !ok || q.Epoch > lead.Epoch || !f.Begun().After(l.v.Memory.znode.had) {
			return
		}
	}
	l.saw(leader.Source(), leader.Begun())
	if *m.Offset > lead.HighWatermark {
		l.bad("", "/migration has offset %d, beyond this quorum's high watermark %d", *m.Offset, lead.HighWatermark)
	}
	if m.ControllerEpoch != nil && *m.ControllerEpoch > lead.Epoch {
		l.bad("", "/migration names controller epoch %d, this quorum is at epoch %d", *m.ControllerEpoch, lead.Epoch)
	}
}

// standsBehind: the driver said again and again that ZooKeeper is ahead of it.
// The line stays in what was read: once /migration moves it is over.
func (l *look) standsBehind() {
	for _, n := range l.v.Settings.Inventory.Controllers {
		lines, ok := peek(l, l.v.Snapshot.Lines[n.ID])
		if !ok || !slices.ContainsFunc(lines.Fatal, func(s string) bool { return strings.Contains(s, behindLine) }) {
			continue
		}
		z := l.v.Memory.znode
		still := z.last.Sub(z.since)
		switch {
		case still > dualWriteStill:
			l.bad("", "%s logs that its image lacks what ZooKeeper has, and /migration stands still for %s", n.Name(), span(still))
		case !z.changed:
			l.unsure("whether /migration moves although %s logged that its image lacks what ZooKeeper has", n.Name())
		}
	}
}
