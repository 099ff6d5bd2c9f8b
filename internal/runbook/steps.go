package runbook

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"migrator/internal/plan"
)

// step prints one step: what it is, checks, actions, checks, undo.
func (w *writer) step(i int, s plan.Step) {
	w.para("## %d. %s", i+1, s.Sentence)
	if s.Kind == plan.Adopt {
		w.para("Only the service does this: it writes down what it finds. Go on.")
		return
	}
	if len(s.Batch) > 0 {
		names := make([]string, 0, len(s.Batch))
		for _, n := range w.batch(s) {
			names = append(names, fmt.Sprintf("%s at %s", n.Name(), n.Host))
		}
		w.para("Nodes: %s.", strings.Join(names, "; "))
	}
	w.rule(s.Rule)
	if len(s.Impact) > 0 {
		w.para("Unavailable while it restarts, since no ISR can keep them: %s.", strings.Join(s.Impact, ", "))
	}
	for _, text := range s.Warnings {
		w.para("**Read this first:**")
		w.code(text)
	}
	w.aroundBack(s)
	w.aroundWait(s)
	if len(s.Before) > 0 {
		w.para("**Before**, right before it:")
		w.checks(s.Before, s)
	}
	w.actions(i, s)
	if len(s.Done) > 0 {
		w.para("**Afterwards**, all of it at once, and again %s later:", w.in.Plan.Limits.PollInterval)
		w.checks(s.Done, s)
	}
	w.afterNodes(s)
	w.para("Undo: %s.", s.Undo)
}

func (w *writer) rule(r plan.Rule) {
	switch r {
	case plan.ZooKeeperCtlLast:
		w.para("The broker that holds /controller goes last, whatever the order here. Look just before each; if brokerid is this one and others are left, do the others first:")
		w.code(w.tools.zkGet("/controller"))
	case plan.ActiveCtlLast:
		w.para("The active controller goes last, whatever the order here. Look just before each; if LeaderId is this one and others are left, do the others first:")
		w.code(w.tools.quorum("--status"))
	}
}

// actions prints the stages of a step in order; within one they may go side by side.
func (w *writer) actions(i int, s plan.Step) {
	todo := slices.DeleteFunc(slices.Clone(s.Actions), func(a plan.Action) bool { return a.Kind == plan.AfterNode })
	if len(s.Actions) == 0 {
		w.para("Nothing to do here but to look and to wait.")
	}
	if len(todo) == 0 {
		return
	}
	w.para("**Do**")
	// A plan lists them by node: what is last in a step, such as the stop of the
	// active controller, only the stages say.
	sorted := slices.SortedStableFunc(slices.Values(todo), func(a, b plan.Action) int { return cmp.Compare(a.Stage, b.Stage) })
	for k, a := range sorted {
		if k > 0 && a.Stage != sorted[k-1].Stage {
			w.para("When all of that is done:")
		}
		w.action(i, s, a)
	}
}

// afterNodes are the hooks that wait for the checks of their step.
func (w *writer) afterNodes(s plan.Step) {
	for _, a := range s.Actions {
		if a.Kind == plan.AfterNode {
			w.hook(a)
		}
	}
}

// hook is a command of the operator's own, given where migrator runs.
func (w *writer) hook(a plan.Action) {
	w.para("The hook %s, on the machine where migrator runs; it may be given again:", a.ID)
	w.code(Shell(a.Argv))
}

func (w *writer) action(i int, s plan.Step, a plan.Action) {
	switch a.Kind {
	case plan.Stop:
		w.para("Stop node %s, and wait until it is gone, however long that takes:", node(a))
		w.run(a)
	case plan.Start:
		w.para("Start node %s:", node(a))
		w.run(a)
	case plan.FormatDirs:
		w.para("Format the folders of node %s. Not if its meta.properties already has this cluster's id and its own id; and never over a folder of something else:", node(a))
		w.code(w.on(a.Node, a.Argv))
	case plan.Archive:
		w.para("Move the folder of node %s aside; a controller that ever joined is never formatted again in the same place. If the target exists, choose another name:", node(a))
		w.code(w.on(a.Node, a.Argv))
	case plan.Disable:
		w.para("Keep node %s from starting again:", node(a))
		w.code(w.on(a.Node, a.Argv))
	case plan.Write:
		w.write(i, s, a)
	case plan.RevertZnodes:
		w.znodes()
	case plan.RunDrill:
		w.drill(a)
	case plan.FreezeHook, plan.ThawHook, plan.BeforeNode:
		w.hook(a)
	default:
		w.topicAction(a)
	}
}

func node(a plan.Action) string {
	if a.Node == nil {
		return "(none)"
	}
	return fmt.Sprint(*a.Node)
}

func (w *writer) run(a plan.Action) {
	lines := []string{w.on(a.Node, a.Argv)}
	if a.Node != nil {
		if n, ok := w.in.Migration.Node(*a.Node); ok && len(n.Commands.Running) > 0 {
			want := "until it is 0"
			if a.Kind == plan.Stop {
				want = "until it is 1 to 4"
			}
			lines = append(lines, on(n, n.Commands.Running)+"; echo $?     # "+want)
		}
	}
	w.code(lines...)
}

// topicAction is what needs no node: topics, leaders, copies of what is there.
func (w *writer) topicAction(a plan.Action) {
	m := w.in.Migration
	switch a.Kind {
	case plan.CreateTopic:
		brokers := len(m.Inventory().Brokers)
		replicas := min(3, brokers)
		w.para("A topic for metadata writes that harm nothing. It may be there already:")
		w.code(w.tools.topics("--create", "--if-not-exists", "--topic", a.Topic, "--partitions", fmt.Sprint(min(brokers, 12)), "--replication-factor", fmt.Sprint(replicas),
			"--config", fmt.Sprintf("min.insync.replicas=%d", max(1, replicas-1))))
	case plan.DeleteTopic:
		w.code(w.tools.topics("--delete", "--topic", a.Topic))
	case plan.VerifyCanary:
		w.para("Skip: only the service knows which records its client wrote.")
	case plan.SaveZnodes:
		w.para("Keep the tree's names, a copy of every ZooKeeper server's data folder (newest snapshot and log), and every properties file. They may hold secrets:")
		w.code("umask 077", w.tools.zk("ls", "-R", "/")+" > znodes-before.txt", w.copyAll())
	case plan.SaveImage:
		w.para("Keep what brokers know of topics; with the controllers gone there is nothing else to compare ZooKeeper with:")
		w.code(w.tools.topics("--list")+" > topics-before.txt", w.tools.topics("--describe")+" > partitions-before.txt")
	case plan.ElectPreferred:
		w.para("Every partition gets its preferred leader. The service would leave those alone that were led by another one before:")
		w.code(w.tools.elect())
	case plan.MetadataWrite:
		w.para("Repeat the metadata write until it is accepted, and note the time:")
		w.code(w.tools.writeMetadata(a.Topic))
	default:
		w.para("%s: migrator has no words for this action; do not go on by hand.", a.Kind)
	}
}
