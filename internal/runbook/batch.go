package runbook

import (
	"fmt"
	"strings"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/gates"
	"migrator/internal/plan"
)

// lookBatch are the gates around the restart of a batch.
func (w *writer) lookBatch(gate string, s plan.Step) ([]look, bool) {
	t := w.tools
	nodes := w.batch(s)
	switch gate {
	case gates.NoOtherDown:
		return []look{{want: "every node but " + batchInWords(s) + " runs (commands under *Nodes*), those stopped for good apart"}}, true
	case gates.BatchFile:
		return w.hashes(s), true
	case gates.Running:
		return []look{{running(nodes), "each exits 0"}}, true
	case gates.Restarted:
		return w.restarted(nodes, s.Mode), true
	case gates.ModeReached:
		return w.modeReached(nodes, s.Mode), true
	case gates.CaughtUp:
		return []look{{t.quorum("--replication"), "Lag of " + batchInWords(s) + " is small and does not grow"}}, true
	case gates.SettingsPlanned:
		return w.settings(nodes), true
	case gates.NoFatal:
		return w.lines(nodes, "fatal|halting|aborting the|unable to register", "no such line that is newer than the start"), true
	case gates.BrokersSteady:
		return w.lines(w.of(cluster.Broker), startLine(cluster.KRaft), "no line that is newer than the soak's begin"), true
	default:
		return nil, false
	}
}

func (w *writer) batch(s plan.Step) []config.Node {
	var out []config.Node
	for _, id := range s.Batch {
		if n, ok := w.in.Migration.Node(id); ok {
			out = append(out, n)
		}
	}
	return out
}

func running(nodes []config.Node) string {
	var out []string
	for _, n := range nodes {
		out = append(out, on(n, n.Commands.Running)+"; echo $?")
	}
	return strings.Join(out, "\n")
}

// hashes: the file is the one this page was made from, or what an earlier step
// of it has written since.
func (w *writer) hashes(s plan.Step) []look {
	var out []look
	for _, a := range s.Actions {
		if a.Kind != plan.Write {
			continue
		}
		before := a.Before
		if earlier, ok := w.replaced[a.Path]; ok {
			before = earlier.sha
		}
		do := w.on(a.Node, []string{"sha256sum", a.Path})
		switch before {
		case "":
			out = append(out, look{do, "`No such file`: it is new"})
		default:
			out = append(out, look{do, "prints " + before})
		}
	}
	return out
}

// startLine is what a node logs when it has started. A broker in ZooKeeper or
// migration mode is a KafkaServer, any other node a KafkaRaftServer.
func startLine(mode cluster.Mode) string {
	if mode == cluster.ZK || mode == cluster.ZKMigrating {
		return `KafkaServer id=[0-9]+\] started`
	}
	return `Kafka Server started`
}

func (w *writer) restarted(nodes []config.Node, mode cluster.Mode) []look {
	out := w.lines(nodes, startLine(mode), "the last line is newer than the start command")
	for _, n := range nodes {
		if n.Role == cluster.Broker && mode != cluster.KRaft {
			out = append(out, look{w.tools.zkGet(fmt.Sprintf("/brokers/ids/%d", n.ID)), "ctime is newer than the start command"})
		}
	}
	return out
}

func (w *writer) modeReached(nodes []config.Node, mode cluster.Mode) []look {
	var out []look
	for _, n := range nodes {
		id := fmt.Sprint(n.ID)
		one := []config.Node{n}
		switch {
		case n.Role == cluster.Controller && mode == cluster.KRaftMigrating:
			out = append(out, w.lines(one, "ZK migration mode is enabled", "a line newer than the start command")...)
		case n.Role == cluster.Controller:
			out = append(out, w.lines(one, "Creating new QuorumController", "the newest line does not say that ZK migration mode is enabled")...)
		case mode == cluster.ZKMigrating:
			out = append(out, w.lines(one, "additional components for ZooKeeper migration", "a line newer than the start command")...)
			out = append(out, look{w.tools.zk("ls", "/brokers/ids"), "names " + id})
		case mode == cluster.KRaft:
			out = append(out, look{w.tools.zk("ls", "/brokers/ids"), "no longer names " + id}, look{w.tools.quorum("--replication"), id + " is an Observer"})
		default:
			out = append(out, look{w.tools.zk("ls", "/brokers/ids"), "names " + id})
		}
	}
	return out
}

// settings are what each broker says it runs with, beside its file.
func (w *writer) settings(nodes []config.Node) []look {
	var out []look
	for _, n := range nodes {
		do := w.tools.settings(n.ID)
		out = append(out, look{do, "each line of the planned file of node " + fmt.Sprint(n.ID) + " has its value there, secrets and dynamic values apart"})
	}
	return out
}
