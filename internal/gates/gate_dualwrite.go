package gates

import (
	"slices"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/facts"
)

const (
	// DualWriteLagLimit is how many records /migration may be behind the high
	// watermark. A busy idle rate is two records a second and metadata load made
	// some tens; a thousand is minutes of backlog, which a drain could not promise.
	DualWriteLagLimit = 1000
	// dualWriteStill is how long /migration may stand still while records are
	// written; Kafka moves it twice a second (metadata.max.idle.interval.ms).
	dualWriteStill = 10 * time.Second
	// migrationStill is how long it must stand still to have ended.
	migrationStill = 3 * time.Second

	markerMaxAge = 2 * time.Minute
	// markerGrace is how long a write may need to reach a store: dual write is asynchronous.
	markerGrace = 10 * time.Second
)

func judgeDualWrite(l *look) {
	l.todo = "What is written now exists in KRaft only; going back would lose it. Look at the active controller's log for a migration fault and at ZooKeeper; if its driver hangs, restarting the active controller makes the next one compare everything again."
	m, okM := use(l, "/migration", l.v.Snapshot.Migration)
	leader, okLeader := l.leader()
	if writable, ok := use(l, "whether ZooKeeper takes writes", l.v.Snapshot.Writable); ok && !writable {
		l.bad("", "ZooKeeper takes no writes")
	}
	if !okM {
		return
	}
	switch {
	case !m.Present || m.Null:
		l.bad("", "/migration is absent or empty")
		return
	case m.Offset == nil || *m.Offset <= 0:
		l.bad("", "/migration has no offset: the copy is not done")
		return
	case m.ControllerID == nil || m.ControllerEpoch == nil:
		l.bad("", "/migration names no controller")
		return
	}
	if !okLeader {
		return
	}
	if *m.ControllerID != leader.ID || *m.ControllerEpoch != leader.Epoch {
		l.bad("", "/migration names controller %d at epoch %d, the active controller is %d at epoch %d", *m.ControllerID, *m.ControllerEpoch, leader.ID, leader.Epoch)
	}
	lag := max(0, leader.HighWatermark-*m.Offset)
	if lag > DualWriteLagLimit {
		l.bad("", "/migration is at offset %d, %d records behind the high watermark %d (limit %d)", *m.Offset, lag, leader.HighWatermark, DualWriteLagLimit)
	}
	moved := l.moving(leader)
	l.pass("/migration names controller %d at epoch %d, offset %d, %d records behind, %s", leader.ID, leader.Epoch, *m.Offset, lag, moved)
}

// moving judges by memory: one reading cannot show movement.
func (l *look) moving(leader facts.LeaderView) string {
	z := l.v.Memory.znode
	limit := max(dualWriteStill, 2*l.v.Settings.PollInterval)
	still := z.last.Sub(z.since)
	switch {
	case !z.seen || (!z.changed && still <= limit):
		l.unsure("not yet seen moving, watched for %s", span(still))
	case still <= limit:
		return "moved " + span(still) + " ago at the latest"
	case z.highWatermark == nil:
		l.unsure("/migration stands still for %s; what the high watermark was then is not known", span(still))
	case leader.HighWatermark > *z.highWatermark:
		l.bad("", "/migration stands still at version %d for %s while the high watermark rose from %d to %d", z.version, span(still), *z.highWatermark, leader.HighWatermark)
	}
	return "still for " + span(still) + " as there is nothing to write"
}

func judgeMigrationStill(l *look) {
	l.todo = "Something still writes to ZooKeeper as if the migration went on: a controller with the old configuration. Find the controller that /migration names and look at its file and its log."
	m, ok := use(l, "/migration", l.v.Snapshot.Migration)
	if !ok {
		return
	}
	if !m.Present {
		l.pass("/migration is absent: nothing moves")
		return
	}
	z := l.v.Memory.znode
	still := z.last.Sub(z.since)
	switch {
	case m.Null:
		l.pass("/migration is empty: nothing moves")
	case still >= migrationStill:
		l.pass("/migration stands still at version %d for %s", z.version, span(still))
	case z.changed:
		l.bad("", "/migration moved to version %d %s ago", z.version, span(still))
	default:
		l.unsure("not yet watched long enough: /migration stands still for %s of %s", span(still), span(migrationStill))
	}
}

// judgeMetadataWrite looks for the canary's newest metadata write in both
// stores; before the copy ZooKeeper is the only one, after finalize the log is.
func judgeMetadataWrite(l *look) {
	l.todo = "Metadata writes are accepted but do not reach the named store: clients and the way back would see different topics. Look at the active controller's log and at gate dual-write."
	if l.v.Settings.CanaryOff {
		l.pass("the canary is switched off in migrations.yaml: not measured")
		return
	}
	c, ok := use(l, "the canary", l.v.Snapshot.CanaryStats)
	if !ok {
		return
	}
	if c.MarkerKey == "" || c.MarkerAt.IsZero() {
		l.unsure("no metadata write of the canary was accepted yet")
		return
	}
	newest := marker{key: c.MarkerKey, value: c.MarkerValue, at: c.MarkerAt}
	if age := l.v.Snapshot.CanaryStats.Begun().Sub(c.MarkerAt); age > markerMaxAge {
		l.todo = "Metadata writes fail: no topic can be created or changed. Look at who holds /controller and at the active controller's log."
		l.bad("", "the newest accepted metadata write is %s old", span(age))
	}
	inZK, inLog, ok := l.storesInUse()
	if !ok {
		return
	}
	if inZK {
		if config, ok := use(l, "the canary topic's settings in ZooKeeper", l.v.Snapshot.ZKMarker); ok {
			l.findMarker("ZooKeeper", config[newest.key], newest, l.v.Snapshot.ZKMarker.Begun())
		}
	}
	if inLog {
		if lg, ok := use(l, "metadata log", l.v.Snapshot.Log); ok {
			value := lg.Image.TopicConfigs[l.v.Settings.CanaryTopic][newest.key]
			l.findMarker("the metadata log", value, newest, l.v.Snapshot.Log.Begun())
		}
	}
	l.pass("the canary's metadata writes reach %s; newest accepted at %s", storeNames(inZK, inLog), c.MarkerAt.UTC().Format(time.TimeOnly))
}

func (l *look) storesInUse() (zk, log, ok bool) {
	state, known := migrationState(l.v)
	switch {
	case known && state == cluster.StateMigration:
		return true, true, l.canaryTopicKnown()
	case known && state == cluster.StatePostMigration:
		return false, true, l.canaryTopicKnown()
	case !known && l.quorumInUse():
		_, _ = use(l, "metadata log", l.v.Snapshot.Log)
		l.unsure("which stores a metadata write must reach")
		return false, false, false
	default:
		return true, false, true
	}
}

func (l *look) canaryTopicKnown() bool {
	if l.v.Settings.CanaryTopic == "" {
		l.unsure("the name of the canary's topic")
		return false
	}
	return true
}

func storeNames(zk, log bool) string {
	switch {
	case zk && log:
		return "ZooKeeper and the metadata log"
	case zk:
		return "ZooKeeper, the only store before the copy"
	default:
		return "the metadata log, the only store after finalize"
	}
}

// findMarker compares a store with the writes remembered: a write that is not
// there yet is not missing until it had time to arrive.
func (l *look) findMarker(store, value string, newest marker, read time.Time) {
	writes := append(slices.Clone(l.v.Memory.markers), newest)
	var reached bool
	for _, w := range writes {
		if w.key != newest.key {
			continue
		}
		if value != "" && w.reached(value) {
			reached = true
			continue
		}
		if age := read.Sub(w.at); age > markerGrace {
			l.bad("", "%s lacks a metadata write accepted %s before it was read", store, span(age))
			return
		}
	}
	if !reached {
		l.unsure("the newest metadata write is not in %s yet, looking again", store)
	}
}
