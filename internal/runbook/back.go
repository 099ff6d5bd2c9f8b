package runbook

import (
	"fmt"

	"migrator/internal/cluster"
	"migrator/internal/gates"
	"migrator/internal/plan"
)

// lookBack are gates that only a way back has, and those that close a phase.
func (w *writer) lookBack(gate string, _ plan.Step) ([]look, bool) {
	t := w.tools
	switch gate {
	case gates.Drained:
		return []look{{t.quorum("--status"), "note HighWatermark, once nobody changes metadata any more"}, {t.zkGet("/migration"), "kraft_metadata_offset is at or past the noted HighWatermark"}}, true
	case gates.StoresAgree:
		return []look{{t.zk("ls", "/brokers/topics"), "the topics of topics-before.txt, no more and no less"},
			{t.zk("get", "/brokers/topics/TOPIC/partitions/0/state"), "for topics that changed last: leader, leader_epoch and isr as in partitions-before.txt"}}, true
	case gates.Follows:
		return w.lines(w.of(cluster.Broker), "Recorded new (ZK|KRaft) controller", "the last line of every broker says ZK, and names the broker that holds /controller; a broker that logs neither never followed KRaft"), true
	case gates.Rehearsed:
		return []look{{want: "where migrations.yaml asks for a rehearsal: a green one of the same shape lies before you, no older than it says"}}, true
	case gates.SoakWhole:
		return []look{{want: fmt.Sprintf("the required soak of %s in dual-write has passed, without a gap in watching it", w.in.Migration.Soak(cluster.DualWrite))}}, true
	case gates.DrillPassed:
		return []look{{want: fmt.Sprintf("every wanted drill (%v) was done and metadata writes were accepted again within %s", w.in.Migration.Drill.Kinds, w.in.Migration.Drill.MaxUnavailable)}}, true
	case gates.WayBack:
		return []look{{t.zkGet("/controller_epoch"), "exists and can be written: the way back is open until the last moment"}}, true
	default:
		return nil, false
	}
}

func (w *writer) sameTopics() []look {
	return []look{{w.tools.topics("--list"), "the topics, to compare"}, {w.tools.zk("ls", "/brokers/topics"), "the same topics"},
		{w.tools.topics("--describe"), "partitions, replicas, ISRs and leaders, to compare with `get /brokers/topics/TOPIC/partitions/N/state` of the topics that changed last"}}
}

// aroundBack is what a step of a way back needs said before its actions.
func (w *writer) aroundBack(s plan.Step) {
	switch s.Kind {
	case plan.Drain:
		w.para("Dual write runs behind: what it has not yet written is lost for ZooKeeper when the controllers stop. See to it that nobody creates, deletes or changes topics, configurations, ACLs or users from here until the step `follow`, or the end, is done.")
	case plan.StopControllers:
		w.para("Note LeaderId and LeaderEpoch now; the epoch is needed later. The active controller goes last: if LeaderId is not the one whose stop stands apart below, change the order. No controller may run when znodes are deleted: one that is left would take /controller again.")
		w.code(w.tools.quorum("--status"))
	case plan.Compare:
		w.para("From the last controller's stop nobody acts as the controller. Be quick, but do look: with a committed change missing in ZooKeeper, move the folders back, start the controllers, wait for dual write, and repeat from `drain`.")
	case plan.Follow:
		w.para("A broker stopped before it follows the new controller hangs in its controlled shutdown. Wait until all do; it can take a minute. The window without a controller ends when a metadata write is accepted:")
		w.code(w.tools.writeMetadata(w.topic()))
	}
}

// znodes is what gives /controller back, by hand.
func (w *writer) znodes() {
	w.para("**Do this quickly**, within one session of the ZooKeeper shell: until it is done there is no controller, no partition gets a new leader, and nothing can be created.")
	w.code("zookeeper-shell.sh " + word(w.tools.zookeeper))
	w.para("Read and keep the four answers:")
	w.code("get -s /controller_epoch", "get -s /controller", "get -s /migration", "get /brokers/topics/TOPIC/partitions/0/state")
	w.para("The largest epoch in use is the largest of: LeaderEpoch noted before the controllers stopped, kraftControllerEpoch of /controller, kraft_controller_epoch of /migration, controller_epoch in the state of any partition. %s", w.epochsThen())
	w.para("1. **Only if /controller_epoch + 1 is less than the largest epoch in use**, raise it to that epoch, or elections will be refused while everything looks well (KAFKA-20488). Never lower it.")
	w.code("set /controller_epoch LARGEST_EPOCH")
	w.para("2. Only if kraftControllerEpoch of /controller is there and not -1 (a broker's is left alone):")
	w.code("delete /controller")
	w.para("3. If /migration exists. Left behind, it would make a later migration delete every topic:")
	w.code("delete /migration")
	w.para("A KRaft epoch in /controller afterwards means that somebody started a controller: stop it and repeat.")
}

// epochsThen is what was known as the page was made: a help, never the answer.
func (w *writer) epochsThen() string {
	s := w.in.Snapshot
	zk, ok := s.ZKEpoch.Get()
	if !ok || !zk.Present {
		return "(/controller_epoch was not known when this page was made.)"
	}
	largest, seen := int64(0), false
	note := func(epoch int64) { largest, seen = max(largest, epoch), true }
	if h, ok := s.Holder.Get(); ok && h.KRaftEpoch != nil {
		note(int64(*h.KRaftEpoch))
	}
	if m, ok := s.Migration.Get(); ok && m.ControllerEpoch != nil {
		note(int64(*m.ControllerEpoch))
	}
	if l, ok := s.Log.Get(); ok {
		note(int64(l.Epoch))
	}
	if topics, ok := s.ZKTopics.Get(); ok {
		for _, t := range topics.Topics {
			for _, p := range t.Partitions {
				if p.HasState {
					note(int64(p.ControllerEpoch))
				}
			}
		}
	}
	if !seen {
		return fmt.Sprintf("(When this page was made /controller_epoch was %d; the largest was not known.)", zk.Value)
	}
	verdict := "nothing to raise then"
	if int64(zk.Value)+1 < largest {
		verdict = "it would have had to be raised"
	}
	return fmt.Sprintf("(When this page was made: /controller_epoch %d, largest %d, %s. Each election since has changed both.)", zk.Value, largest, verdict)
}
