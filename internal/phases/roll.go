package phases

import (
	"cmp"
	"fmt"
	"slices"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/gates"
	"migrator/internal/plan"
)

// roll adds one step per batch of the nodes that do not yet run with their
// wanted file. The shown order is the expected one: the node that holds the
// rule's role now comes last; the digest does not depend on it.
func (b *builder) roll(role cluster.Role, mode cluster.Mode, rule plan.Rule, before []string, undo string) error {
	return b.rollWith("roll", role, mode, rule, before, undo, b.render)
}

// filer answers a node's file before and after, by hash, and the redacted diff.
type filer func(n config.Node, mode cluster.Mode) (before, after string, diff plan.Diff, err error)

// rollWith names its steps after prefix: a way back can roll the same node twice.
func (b *builder) rollWith(prefix string, role cluster.Role, mode cluster.Mode, rule plan.Rule, before []string, undo string, file filer) error {
	var steps []plan.Step
	for _, batch := range b.batches(role) {
		step := plan.Step{Kind: plan.Roll, Mode: mode, Rule: rule, Before: before, Undo: undo, Done: rollDone(role, mode)}
		for _, n := range batch {
			actions, diff, pending, err := b.restart(n, mode, file)
			if err != nil {
				return err
			}
			if pending {
				step.Batch = append(step.Batch, n.ID)
				step.Actions = append(step.Actions, actions...)
				step.Diffs = append(step.Diffs, diff)
			}
		}
		if len(step.Batch) == 0 {
			continue
		}
		if role == cluster.Broker && slices.ContainsFunc(batch, func(n config.Node) bool { return n.Access.Kind == manualAccess }) {
			step.Done = append(step.Done, gates.SettingsPlanned)
		}
		slices.SortStableFunc(step.Actions, func(a, c plan.Action) int { return cmp.Compare(a.Stage, c.Stage) })
		step.ID = fmt.Sprintf("%s-%s-%s", prefix, role, dashed(step.Batch))
		step.Sentence = fmt.Sprintf("restart %s %s in %s mode", role, join(step.Batch), mode)
		if role == cluster.Broker {
			impact, err := b.impact(step.Batch)
			if err != nil {
				return err
			}
			step.Impact = impact
		}
		steps = append(steps, step)
	}
	holder, _ := roleHolder(rule, b.in.Snapshot, b.in.Migration.Inventory())
	slices.SortStableFunc(steps, func(x, y plan.Step) int {
		// A broker that is down already comes first: with it down no other may go.
		return cmp.Or(cmp.Compare(b.down(y), b.down(x)), cmp.Compare(holds(x, holder), holds(y, holder)))
	})
	for _, s := range steps {
		b.add(s)
	}
	return nil
}

// down counts nodes of a step that surely do not run.
func (b *builder) down(s plan.Step) int {
	n := 0
	for _, id := range s.Batch {
		if running, known := b.in.Snapshot.Running[id].Get(); known && !running {
			n++
		}
	}
	return n
}

func holds(s plan.Step, holder *int32) int {
	if holder != nil && slices.Contains(s.Batch, *holder) {
		return 1
	}
	return 0
}

func rollDone(role cluster.Role, mode cluster.Mode) []string {
	done := []string{gates.Running, gates.Restarted, gates.ModeReached, gates.NoFatal}
	if mode != cluster.ZK {
		done = append(done, gates.CaughtUp)
	}
	if role == cluster.Broker {
		return append(done, gates.ISRAsBefore, gates.Elections)
	}
	return append(done, gates.QuorumFormed)
}

// restart renders one node; pending is false when it runs with the wanted file already.
func (b *builder) restart(n config.Node, mode cluster.Mode, file filer) ([]plan.Action, plan.Diff, bool, error) {
	before, after, diff, err := file(n, mode)
	if err != nil {
		return nil, plan.Diff{}, false, err
	}
	now, known := b.in.Snapshot.Mode(n.Node).Get()
	if before == after && known && now == mode {
		return nil, plan.Diff{}, false, nil
	}
	return []plan.Action{
		{ID: fmt.Sprintf("stop-%d", n.ID), Kind: plan.Stop, Stage: 0, Node: &n.ID, Argv: n.Commands.Stop},
		{ID: fmt.Sprintf("write-%d", n.ID), Kind: plan.Write, Stage: 1, Node: &n.ID, Path: n.Properties, Before: before, After: after},
		{ID: fmt.Sprintf("start-%d", n.ID), Kind: plan.Start, Stage: 2, Node: &n.ID, Argv: n.Commands.Start},
	}, diff, true, nil
}

// batches groups nodes: one by one, or by the rack of migrations.yaml where the
// plan says so (the gate before each batch judges the registered rack's
// partitions anyway). Controllers always go one at a time.
func (b *builder) batches(role cluster.Role) [][]config.Node {
	var nodes []config.Node
	for _, n := range b.in.Migration.Nodes {
		if n.Role == role {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, c config.Node) int { return cmp.Compare(a.ID, c.ID) })
	var out [][]config.Node
	if role == cluster.Controller || b.in.Migration.Roll.Batch != "rack" {
		for _, n := range nodes {
			out = append(out, []config.Node{n})
		}
		return out
	}
	racks := b.racks()
	slices.SortStableFunc(nodes, func(a, c config.Node) int { return cmp.Compare(racks[a.ID], racks[c.ID]) })
	if b.in.Migration.Roll.First == "node" && len(nodes) > 0 {
		out = append(out, nodes[:1])
		nodes = nodes[1:]
	}
	for i := 0; i < len(nodes); {
		j := i + 1
		for j < len(nodes) && racks[nodes[j].ID] == racks[nodes[i].ID] && racks[nodes[i].ID] != "" && (b.in.Migration.Roll.MaxNodes == 0 || j-i < b.in.Migration.Roll.MaxNodes) {
			j++
		}
		out = append(out, nodes[i:j])
		i = j
	}
	return out
}

// racks are as registered where a registration is known, else as configured.
func (b *builder) racks() map[int32]string {
	racks := map[int32]string{}
	for _, n := range b.in.Migration.Inventory().Brokers {
		racks[n.ID] = n.Rack
	}
	if regs, ok := b.in.Snapshot.Registered.Get(); ok {
		for _, r := range regs {
			racks[r.ID] = r.Rack
		}
	}
	if l, ok := b.in.Snapshot.Log.Get(); ok {
		for id, br := range l.Image.Brokers {
			if br.Rack != nil {
				racks[id] = *br.Rack
			}
		}
	}
	return racks
}

// impact lists partitions that no ISR could keep available while a single node
// of the batch restarts: one replica, or min.insync.replicas of all of them.
func (b *builder) impact(batch []int32) ([]string, error) {
	meta, ok := b.in.Snapshot.Metadata.Get()
	if !ok {
		return nil, fmt.Errorf("partitions are unknown: %s", b.in.Snapshot.Metadata.Cause())
	}
	minISR, ok := b.in.Snapshot.MinISR.Get()
	if !ok {
		return nil, fmt.Errorf("min.insync.replicas is unknown: %s", b.in.Snapshot.MinISR.Cause())
	}
	var out []string
	for _, p := range meta.Partitions {
		if !slices.ContainsFunc(batch, func(id int32) bool { return slices.Contains(p.Replicas, id) }) {
			continue
		}
		need, ok := minISR[p.Topic]
		if !ok {
			return nil, fmt.Errorf("min.insync.replicas of topic %s is unknown", p.Topic)
		}
		if len(p.Replicas) == 1 || need >= len(p.Replicas) {
			out = append(out, fmt.Sprintf("%s-%d", p.Topic, p.Partition))
		}
	}
	slices.Sort(out)
	return out, nil
}

func dashed(ids []int32) string {
	out := ""
	for i, id := range ids {
		if i > 0 {
			out += "-"
		}
		out += fmt.Sprint(id)
	}
	return out
}

// typical are seconds per step measured on small clusters, used until this
// migration has figures of its own; ok is false where only waiting is done.
func typical(kind plan.StepKind) (seconds float64, ok bool) {
	switch kind {
	case plan.Provision, plan.DrillStep:
		return 12, true
	case plan.Roll:
		return 10, true
	case plan.Copy, plan.Backup:
		return 5, true
	case plan.Elect:
		return 3, true
	case plan.CanaryTopic, plan.CanaryRemove, plan.Freeze, plan.Thaw:
		return 2, true
	case plan.Adopt:
		return 0, true
	default:
		return 0, false
	}
}

// expected is the average this migration measured for the kind of step, else
// the typical figure, else nil.
func expected(s plan.Step, took map[plan.StepKind][]float64) *float64 {
	if seen := took[s.Kind]; len(seen) > 0 {
		sum := 0.0
		for _, v := range seen {
			sum += v
		}
		avg := sum / float64(len(seen))
		return &avg
	}
	if v, ok := typical(s.Kind); ok {
		return &v
	}
	return nil
}
