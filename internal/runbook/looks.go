package runbook

import (
	"fmt"
	"slices"
	"strings"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/gates"
	"migrator/internal/plan"
)

// look is one thing to see: what to type (empty: nothing to type), and what must be so.
type look struct {
	do   string
	want string
}

// checks prints gates as things to look at, one command once.
func (w *writer) checks(names []string, step plan.Step) {
	var order []string
	wants := map[string][]string{}
	for _, name := range names {
		for _, l := range w.looks(name, step) {
			if _, seen := wants[l.do]; !seen {
				order = append(order, l.do)
			}
			wants[l.do] = append(wants[l.do], fmt.Sprintf("%s (`%s`)", l.want, name))
		}
	}
	for _, do := range order {
		if do != "" {
			w.code(do)
		}
		for _, want := range wants[do] {
			w.line("- [ ] %s", want)
		}
		w.line("")
	}
}

// looks says how a person sees that a gate passes.
func (w *writer) looks(gate string, s plan.Step) []look {
	families := []func(string, plan.Step) ([]look, bool){w.lookCluster, w.lookQuorum, w.lookState, w.lookPartitions, w.lookBatch, w.lookBack}
	for _, f := range families {
		if out, ok := f(gate, s); ok {
			return out
		}
	}
	info, _ := gates.Describe(gate)
	return []look{{want: info.Title}}
}

func (w *writer) lookCluster(gate string, _ plan.Step) ([]look, bool) {
	t, m := w.tools, w.in.Migration
	switch gate {
	case gates.ClusterID:
		return []look{{t.zkGet("/cluster/id"), "names the id " + w.in.Plan.ClusterID}}, true
	case gates.OneDriver:
		return []look{{t.zkGet("/migrator/driver"), "`Node does not exist`: no service drives the cluster"}}, true
	case gates.Inventory:
		return []look{{t.zk("ls", "/brokers/ids"), "names no broker but " + ids(m, cluster.Broker)}, {t.quorum("--replication"), "names no other node than those above, once controllers run"}}, true
	case gates.Preflight, gates.PreflightUse:
		return []look{{Shell([]string{"migrator", "preflight", m.Name, "--config", "migrations.yaml"}), "exits 0: nothing blocks; it needs no service and changes nothing"}}, true
	case gates.Ensemble:
		return []look{{w.members(), "more than half of the servers answer with a `Mode:`"}}, true
	case gates.EnsembleWhole:
		return []look{{w.members(), "every server answers with a `Mode:`; while one is away the clock of the soak stands still"}}, true
	case gates.BrokersZK:
		return []look{{t.zk("ls", "/brokers/ids"), "names every broker: " + ids(m, cluster.Broker)}, {w.inFiles(cluster.Broker, "^(process.roles|zookeeper.metadata.migration.enable)"), "prints nothing: no broker is on its way"}}, true
	case gates.SameIBP:
		return []look{{w.inFiles(cluster.Broker, "^inter.broker.protocol.version"), "the same version for every broker, or for none"}}, true
	case gates.FoldersFree:
		return []look{{onAll(w.of(cluster.Controller), []string{"ls", "-A"}, func(n config.Node) []string { return n.LogDirs }), "every folder is absent or empty, or its meta.properties has this cluster's id and the controller's own id"}}, true
	case gates.NothingDeleting:
		return []look{{t.zk("ls", "/admin/delete_topics"), "`[]`: no topic waits for its deletion"}}, true
	case gates.ControllersOff, gates.ControllersDown:
		return []look{{w.runs(cluster.Controller), "each exits 1 to 4: no controller runs; nothing listens at " + t.controllers}}, true
	default:
		return nil, false
	}
}

func (w *writer) lookQuorum(gate string, _ plan.Step) ([]look, bool) {
	t, m := w.tools, w.in.Migration
	controllers := ids(m, cluster.Controller)
	switch gate {
	case gates.QuorumFormed:
		return []look{{t.quorum("--status"), "one LeaderId; CurrentVoters are " + controllers}, {t.quorum("--replication"), "every controller has a small Lag, and a LastCaughtUpTimestamp of now"}}, true
	case gates.QuorumHeadroom:
		return []look{{t.quorum("--replication"), "one controller more may go: all of " + controllers + " fetch now"}}, true
	case gates.ControllersReg:
		return append(w.lines(w.of(cluster.Controller), "RegisterControllerRecord", "the newest of "+controllers+" says zkMigrationReady=true"), look{w.inFiles(cluster.Controller, flagLine), "one line for each controller"}), true
	case gates.FlagOn, gates.FlagGuard:
		return []look{{w.inFiles(cluster.Controller, flagLine), "one line for each of " + controllers + ", and each was started after it was written"}}, true
	case gates.FlagOff:
		return []look{{w.inFiles(cluster.Controller, flagLine), "prints nothing: no controller has the flag"}}, true
	case gates.MetadataVersion:
		return []look{{t.features(), "metadata.version: FinalizedVersionLevel is the version of the format command, which is the brokers' inter.broker.protocol.version"}}, true
	case gates.SameLeader:
		return []look{{t.quorum("--status"), "LeaderId and LeaderEpoch do not change, drills apart"}}, true
	case gates.LostUnregistered:
		return []look{{t.quorum("--replication"), "no broker that is gone for good is an Observer; one that was still in ZooKeeper mode as it died has been unregistered: `bin/kafka-cluster.sh unregister --bootstrap-server ... --id N`"}}, true
	case gates.AllKRaft:
		return []look{{t.quorum("--replication"), "every broker is an Observer: " + ids(m, cluster.Broker)}, {w.tools.zk("ls", "/brokers/ids"), "`[]`"}}, true
	case gates.BrokersRegistered:
		return []look{{t.quorum("--replication"), "every broker is an Observer: " + ids(m, cluster.Broker)}, {t.zk("ls", "/brokers/ids"), "names every broker"}}, true
	case gates.OthersReady:
		return []look{{t.quorum("--replication"), "every broker outside the step is an Observer"}}, true
	default:
		return nil, false
	}
}

const flagLine = "^ *zookeeper.metadata.migration.enable *[=:] *true"

func (w *writer) lookState(gate string, _ plan.Step) ([]look, bool) {
	t := w.tools
	state := func(name string) []look {
		return w.lines(w.of(cluster.Controller), "ZkMigrationStateRecord changing", "the last line of each controller ends with `to "+name+"` (they print older ones again as they start)")
	}
	switch gate {
	case gates.PreMigration:
		return state("PRE_MIGRATION"), true
	case gates.StateMigration:
		return state("MIGRATION"), true
	case gates.PostMigration:
		return state("POST_MIGRATION"), true
	case gates.MigrationFresh:
		return []look{{t.zkGet("/migration"), "kraft_metadata_offset is -1: no copy was done"}}, true
	case gates.NoMigration:
		return []look{{t.zkGet("/migration"), "`Node does not exist`: nothing is left of an earlier migration, with which a fresh quorum would delete every topic"}}, true
	case gates.MigrationStill:
		return []look{{t.zkGet("/migration"), "twice, half a minute apart: dataVersion is the same"}}, true
	case gates.DualWrite:
		return []look{{t.zkGet("/migration"), "twice, 10 s apart: dataVersion and kraft_metadata_offset have risen, kraft_controller_id is LeaderId"}}, true
	case gates.HolderBroker:
		return []look{{t.zkGet("/controller"), "brokerid is a broker, kraftControllerEpoch is -1, ephemeralOwner is not 0x0"}}, true
	case gates.HolderKRaft:
		return []look{{t.zkGet("/controller"), "brokerid and kraftControllerEpoch are LeaderId and LeaderEpoch of the quorum, ephemeralOwner is 0x0"}, {t.quorum("--status"), "LeaderId and LeaderEpoch, to compare"}}, true
	case gates.IDsEmpty:
		return []look{{t.zk("ls", "/brokers/ids"), "`[]`: no broker is registered in ZooKeeper"}}, true
	case gates.MetadataWrite:
		topic := w.topic()
		return []look{{t.writeMetadata(topic), "`Completed updating config`"}, {t.zkGet("/config/topics/" + topic), "shows the number just written"}}, true
	case gates.Parity:
		return w.sameTopics(), true
	case gates.ControllerFree:
		return []look{{t.zkGet("/controller"), "kraftControllerEpoch is -1: no old controller was started after a way back"}}, true
	case gates.SomeoneActs:
		return []look{{t.zkGet("/controller"), "names a node that runs: a broker, or LeaderId of the quorum"}, {t.quorum("--status"), "LeaderId, to compare"}}, true
	case gates.MigrationOurs:
		return []look{{t.zkGet("/migration"), "does not exist, or kraft_metadata_offset is -1, or kraft_controller_epoch and the offset are not beyond LeaderEpoch and HighWatermark: beyond them it is another quorum's, and topics would be deleted"}, {t.quorum("--status"), "LeaderEpoch and HighWatermark, to compare"}}, true
	default:
		return nil, false
	}
}

func (w *writer) lookPartitions(gate string, s plan.Step) ([]look, bool) {
	t, batch := w.tools, batchInWords(s)
	switch gate {
	case gates.NoOffline:
		return []look{{t.topics("--describe", "--unavailable-partitions"), "prints nothing: every partition has a leader"}}, true
	case gates.NoReassign:
		return []look{{t.reassignments(), "`No partition reassignments found.`"}}, true
	case gates.ISRFull, gates.ISRAsBefore:
		return []look{{t.topics("--describe", "--under-replicated-partitions"), "prints no partition with a replica on " + batch + "; what was short before you began stays apart"}}, true
	case gates.ISRWhole:
		return []look{{t.topics("--describe", "--under-replicated-partitions"), "prints nothing, or nothing for longer than a minute"}}, true
	case gates.ISRWithout:
		except := ""
		if len(s.Impact) > 0 {
			except = ", but those named above as unavailable"
		}
		return []look{{t.topics("--describe", "--at-min-isr-partitions"), "prints no partition with a replica on " + batch + except + ": the others stay writable without it"}}, true
	case gates.Elections:
		return []look{{t.elect(), "no error"}, {t.topics("--describe"), "some partitions have their Leader on " + batch + " again. A full ISR alone proves nothing: it was seen full while no election could succeed"}}, true
	case gates.CanaryHealthy:
		return []look{{t.produce(w.topic()), "`sent` and `acked` are equal. Only the service knew of its own client's records"}}, true
	default:
		return nil, false
	}
}

func batchInWords(s plan.Step) string {
	if len(s.Batch) == 0 {
		return "any node"
	}
	return joined(s.Batch)
}

func joined(list []int32) string {
	out := make([]string, 0, len(list))
	for _, id := range list {
		out = append(out, fmt.Sprint(id))
	}
	return strings.Join(out, ", ")
}

func ids(m config.Migration, role cluster.Role) string {
	if role == cluster.Broker {
		return joined(cluster.IDs(m.Inventory().Brokers))
	}
	return joined(cluster.IDs(m.Inventory().Controllers))
}

func (w *writer) of(role cluster.Role) []config.Node {
	return slices.DeleteFunc(slices.Clone(w.in.Migration.Nodes), func(n config.Node) bool { return n.Role != role })
}

func (w *writer) inFiles(role cluster.Role, text string) string {
	return onAll(w.of(role), []string{"grep", "-HE", text}, func(n config.Node) []string { return []string{n.Properties} })
}

// runs asks for the processes of a role, one command a line.
func (w *writer) runs(role cluster.Role) string {
	var out []string
	for _, n := range w.of(role) {
		out = append(out, on(n, n.Commands.Running)+"; echo $?")
	}
	return strings.Join(out, "\n")
}

// members asks each ZooKeeper server with the one word that is allowed by default.
func (w *writer) members() string {
	var out []string
	for _, m := range w.tools.members {
		host, port, ok := strings.Cut(m, ":")
		if !ok {
			port = "2181"
		}
		out = append(out, "echo srvr | "+Shell([]string{"nc", host, port}))
	}
	return strings.Join(out, "\n")
}

// topic is one whose configuration may be written without harm.
func (w *writer) topic() string {
	if w.in.Migration.Canary.Off || w.in.Migration.Canary.Topic == "" {
		return "A_TOPIC_OF_YOURS"
	}
	return w.in.Migration.Canary.Topic
}

// lines looks for a text in the logs of nodes.
func (w *writer) lines(nodes []config.Node, text, want string) []look {
	var out []look
	for _, n := range nodes {
		do, ok := grep(text, n)
		if !ok {
			want := fmt.Sprintf("in the log of %s, wherever it is, for lines like /%s/: %s", n.Name(), text, want)
			out = append(out, look{want: want})
			continue
		}
		if last := len(out) - 1; last >= 0 && out[last].do != "" {
			out[last].do += "\n" + do
			continue
		}
		out = append(out, look{do: do, want: want})
	}
	return out
}
