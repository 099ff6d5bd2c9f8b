package runbook

import (
	"fmt"

	"migrator/internal/cluster"
	"migrator/internal/plan"
)

// aroundWait is what a step of waiting needs said.
func (w *writer) aroundWait(s plan.Step) {
	switch s.Kind {
	case plan.Copy:
		w.para("Kafka begins by itself once the last broker has registered. At the active controller this line ends it; an ERROR there, or a controller that halts, means that it failed:")
		w.printLooks(w.lines(w.of(cluster.Controller), "Completed migration of metadata from ZooKeeper|Aborting the|Still waiting for", "`Completed migration of metadata`"))
	case plan.SoakBegin:
		w.para("The clock begins when all of this holds.")
	case plan.SoakEnd:
		w.para("Required: %s of healthy time. Look at all of it every few minutes, at least. A time without a look does not count. A change of the leader, a restarted broker, a lost record or topics that differ begin it anew; anything else only stops the clock until it is well again.", w.in.Plan.Limits.Soak)
	}
}

func (w *writer) printLooks(list []look) {
	for _, l := range list {
		if l.do != "" {
			w.code(l.do)
		}
		w.line("- [ ] %s", l.want)
		w.line("")
	}
}

// drill is one failover by hand, with what to time.
func (w *writer) drill(a plan.Action) {
	w.para("LeaderId is the node to take away; note LeaderEpoch and the time:")
	w.code(w.tools.quorum("--status"))
	w.para("In a second terminal let metadata writes go on, each with the time at which it was accepted:")
	w.code(fmt.Sprintf("while sleep 0.2; do %s && date +%%T.%%3N; done", w.tools.writeMetadata(w.topic())))
	verb := "Stop it cleanly"
	if a.Drill == "crash" {
		verb = "Kill it (the only place where a node is killed)"
	}
	w.para("%s. Only the one that is LeaderId:", verb)
	for _, n := range w.of(cluster.Controller) {
		argv := n.Commands.Stop
		if a.Drill == "crash" {
			argv = n.Commands.Kill
		}
		// A block of its own: three commands pasted together would end the quorum.
		w.para("If LeaderId is %d:", n.ID)
		w.code(on(n, argv))
	}
	w.para("Time, from just before that command:")
	w.line("- until `%s` names another LeaderId;", w.tools.quorum("--status"))
	w.line("- until a metadata write is accepted again: **at most %s**, the only time that is judged. At that limit start the node at once; the drill has failed;", w.in.Plan.Limits.MaxUnavailable)
	w.para("- until /controller and /migration name the new leader and /migration moves. It takes longer on clusters with many partitions.")
	w.para("A tool takes about a second to start, so times by hand are that coarse. Then start the node again, in any case:")
	for _, n := range w.of(cluster.Controller) {
		w.para("If it was %d:", n.ID)
		w.code(on(n, n.Commands.Start))
	}
}
