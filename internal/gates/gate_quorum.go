package gates

import (
	"slices"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/facts"
)

const (
	// A voter this close to the high watermark counts as caught up; an idle
	// quorum writes about two records a second.
	voterLag = 20
	// Or one that was level with the leader this long before its last fetch.
	voterCaughtUp = 2 * time.Second
	// A node that has not fetched for so long follows no more; Kafka shows dead
	// observers for another five minutes. Fetches wait half a second at most.
	fetchSilence = 10 * time.Second
)

func judgeQuorumFormed(l *look) {
	l.todo = "Without a whole quorum the next lost controller can stop all metadata writes. Look at the named controllers' logs: unreachable, wrong voters, or another cluster's folder."
	controllers := l.controllers()
	leaders, highest := l.askControllers(controllers)
	if len(leaders) > 1 {
		l.bad("", "controllers %s all say they lead", idList(leaders)) // KAFKA-15489
		return
	}
	if len(leaders) == 0 && len(l.missing) == 0 {
		l.bad("", "no controller leads")
		return
	}
	leader, ok := l.leader()
	if !ok {
		return
	}
	if highest > leader.Epoch {
		l.unsure("controller %d says it leads at epoch %d, another one has seen epoch %d", leader.ID, leader.Epoch, highest)
	}
	l.judgeVoters(leader, controllers)
	l.pass("controller %d leads at epoch %d, high watermark %d, voters %s all caught up", leader.ID, leader.Epoch, leader.HighWatermark, idList(cluster.IDs(controllers)))
}

// askControllers wants an answer of each; a process that does not run explains
// a silent one better than the refused connection.
func (l *look) askControllers(controllers []cluster.Node) (leaders []int32, highest int32) {
	for _, n := range controllers {
		if _, answers := peek(l, l.v.Snapshot.Quorum[n.ID]); !answers {
			if running, ok := peek(l, l.v.Snapshot.Running[n.ID]); ok && !running {
				l.bad("", "%s does not run", n.Name())
				continue
			}
		}
		q, ok := use(l, n.Name()+"'s view of the quorum", l.v.Snapshot.Quorum[n.ID])
		if !ok {
			continue
		}
		if q.IsLeader {
			leaders = append(leaders, n.ID)
		}
		highest = max(highest, q.Epoch)
	}
	return leaders, highest
}

func (l *look) judgeVoters(leader facts.LeaderView, controllers []cluster.Node) {
	voters := byID(leader.Voters)
	extra, missing := compareIDs(keys(voters), cluster.IDs(controllers))
	if len(extra) > 0 {
		l.bad("", "voters that migrations.yaml does not have: %s", idList(extra))
	}
	if len(missing) > 0 {
		l.bad("", "no voters: %s", idList(missing))
	}
	for _, n := range controllers {
		r, ok := voters[n.ID]
		if ok && !healthyVoter(leader, r) {
			l.bad("", "%s is behind: log end offset %d, high watermark %d%s", n.Name(), r.LogEndOffset, leader.HighWatermark, silence(leader, r))
		}
	}
}

// healthyVoter says that a voter follows: the leader does by definition.
func healthyVoter(leader facts.LeaderView, r facts.Replica) bool {
	switch {
	case r.ID == leader.ID:
		return true
	case silent(leader, r) > fetchSilence:
		return false
	case r.LogEndOffset <= 0 && leader.HighWatermark > 0: // the leader has not heard of its log
		return false
	case leader.HighWatermark-r.LogEndOffset <= voterLag:
		return true
	default:
		return !r.LastFetch.IsZero() && !r.LastCaughtUp.IsZero() && r.LastFetch.Sub(r.LastCaughtUp) <= voterCaughtUp
	}
}

// silent is how long a replica has not fetched, by the leader's clock, which
// writes its own "last fetch" as now. Zero where the answer has no times.
func silent(leader facts.LeaderView, r facts.Replica) time.Duration {
	own, ok := byID(leader.Voters)[leader.ID]
	if !ok || own.LastFetch.IsZero() || r.LastFetch.IsZero() {
		return 0
	}
	return max(0, own.LastFetch.Sub(r.LastFetch))
}

// InQuorum says that a node takes part in the quorum now: a voter, or an observer
// that fetched lately. Kafka lists an observer for five minutes after its end.
func InQuorum(leader facts.LeaderView, id int32) bool {
	if _, votes := byID(leader.Voters)[id]; votes {
		return true
	}
	r, listed := byID(leader.Observers)[id]
	return listed && silent(leader, r) <= fetchSilence
}

func silence(leader facts.LeaderView, r facts.Replica) string {
	if d := silent(leader, r); d > fetchSilence {
		return ", last fetch " + span(d) + " ago"
	}
	return ""
}

func judgeControllersReg(l *look) {
	l.todo = "The quorum waits for every controller to register as ready to migrate before it does anything (KIP-919). Check that the named ones run, reach the active controller and have zookeeper.metadata.migration.enable=true."
	controllers := l.controllers()
	lg, okLog := use(l, "metadata log", l.v.Snapshot.Log)
	if okLog {
		if extra, _ := compareIDs(keys(lg.Image.Controllers), cluster.IDs(controllers)); len(extra) > 0 {
			l.bad("", "registered but not in migrations.yaml: %s", idList(extra))
		}
	}
	for _, n := range controllers {
		reg, ok := lg.Image.Controllers[n.ID]
		switch {
		case !okLog || !registersControllers(lg):
		case !ok:
			l.bad("", "%s is not registered in the metadata log", n.Name())
		case !reg.ZkMigrationReady:
			l.bad("", "%s registered as not ready to migrate", n.Name())
		}
		if mode, ok := l.mode(n); ok && mode != cluster.KRaftMigrating {
			l.bad("", "%s itself says that it has no migration flag", n.Name())
		}
	}
	if okLog && !registersControllers(lg) {
		l.pass("%s by its own word: at this metadata.version none registers in the log (KIP-919)", plural(len(controllers), "controller is ready to migrate", "controllers are ready to migrate"))
		return
	}
	l.pass("%s registered as ready to migrate", plural(len(controllers), "controller", "controllers"))
}

func judgeMetadataVersion(l *look) {
	l.todo = "Brokers register with exactly their inter.broker.protocol.version; any other finalized metadata.version refuses them for ever. Nothing has been copied yet: stop the controllers, move their folders away, delete /migration, and provision again with the right version."
	want := l.v.Settings.MetadataVersion
	if want == nil {
		l.unsure("the brokers' inter.broker.protocol.version is not known yet")
		return
	}
	if lg, ok := use(l, "metadata log", l.v.Snapshot.Log); ok {
		have, found := lg.Image.Features["metadata.version"]
		switch {
		case !found:
			l.bad("", "the metadata log finalizes no metadata.version")
		case have != *want:
			l.bad("", "metadata.version is finalized at level %d, the brokers are at %d", have, *want)
		}
	}
	for _, n := range l.controllers() {
		api, ok := use(l, n.Name()+"'s ApiVersions", l.v.Snapshot.API[n.ID])
		switch {
		case !ok:
		case api.MetadataVersion == nil:
			l.bad("", "%s reports no finalized metadata.version", n.Name())
		case *api.MetadataVersion != *want:
			l.bad("", "%s reports metadata.version level %d, the brokers are at %d", n.Name(), *api.MetadataVersion, *want)
		}
	}
	l.pass("metadata.version is finalized at level %d, the brokers' own", *want)
}

func judgePreMigration(l *look) {
	l.todo = "The copy begins only from PRE_MIGRATION. NONE means that a controller first started without the flag: stop the controllers, move their folders away, delete /migration, and provision again."
	if state, ok := l.state(); ok && state != cluster.StatePreMigration {
		l.bad("", "state is %s in the metadata log", state)
	}
	l.lastLines(func(s cluster.MigrationState) bool { return s == cluster.StatePreMigration })
	l.pass("state is PRE_MIGRATION in the metadata log")
}

// lastLines lets a controller's last logged state contradict the metadata log.
// A replica prints all earlier changes again when it restarts: only the last counts.
func (l *look) lastLines(agrees func(cluster.MigrationState) bool) {
	for _, n := range l.v.Settings.Inventory.Controllers {
		lines, ok := peek(l, l.v.Snapshot.Lines[n.ID])
		switch {
		case !ok || lines.State == "":
		case agrees(lines.State):
			l.note("%s logged it", n.Name())
		default:
			l.bad("", "%s logged state %s", n.Name(), cut(string(lines.State)))
		}
	}
}

func judgeMigrationFresh(l *look) {
	l.todo = "With an offset in /migration a new quorum takes the copy for done and writes its empty image over ZooKeeper: every topic is deleted. Stop all controllers now, before their log passes that offset (about three minutes), then save and delete /migration."
	m, ok := use(l, "/migration", l.v.Snapshot.Migration)
	switch {
	case !ok:
	case !m.Present:
		l.todo = "The first controller in migration mode creates it; without it none has reached ZooKeeper. Check zookeeper.connect and the migration flag in the controllers' files."
		l.bad("", "/migration is absent")
	case m.Null:
		l.todo = "A controller hangs when it reads such a znode (KAFKA-19480, fixed in 3.9.2). Stop the controllers, delete /migration, start them again."
		l.bad("", "/migration exists without data")
	case m.Offset != nil && *m.Offset > 0:
		l.bad("", "/migration is at offset %d although this quorum copied nothing", *m.Offset)
	default:
		l.pass("/migration exists and no copy was done")
	}
}

// judgeQuorumHeadroom keeps the majority from being broken by our hand: after
// a batch of controllers a majority must be left, and while brokers restart
// one more controller may fail.
func judgeQuorumHeadroom(l *look) {
	l.todo = "Another controller lost now would stop all metadata writes. Bring the named controllers back and let them catch up."
	if !l.quorumInUse() {
		l.pass("the quorum is not in use yet")
		return
	}
	leader, ok := l.leader()
	if !ok {
		return
	}
	voters := byID(leader.Voters)
	majority := len(voters)/2 + 1
	var healthy, behind []int32
	batchVoters := 0
	for _, id := range keys(voters) {
		switch {
		case l.inBatch(id):
			batchVoters++
		case slices.Contains(l.v.Stopped, id), !healthyVoter(leader, voters[id]):
			behind = append(behind, id)
		default:
			healthy = append(healthy, id)
		}
	}
	// Voters that may still be lost when the batch is down.
	spare, need := len(healthy)-majority, 1
	if batchVoters > 0 {
		need = 0 // the batch itself was the spare one
	}
	if spare < need {
		l.bad(headroomSubject(behind, spare), "%d of %d voters are up and caught up%s, a majority is %d; behind or down: %s", len(healthy), len(voters), withoutBatch(batchVoters), majority, idList(behind))
	}
	l.pass("%d of %d voters are up and caught up%s, a majority is %d", len(healthy), len(voters), withoutBatch(batchVoters), majority)
}

func withoutBatch(batchVoters int) string {
	if batchVoters == 0 {
		return ""
	}
	return " without the batch"
}

// headroomSubject is what a person may accept: that there is no spare
// controller, never that the majority breaks.
func headroomSubject(behind []int32, spare int) string {
	if spare < 0 || len(behind) == 0 {
		return ""
	}
	return "controllers " + idList(behind)
}
