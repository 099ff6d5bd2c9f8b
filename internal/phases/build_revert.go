package phases

import (
	"fmt"
	"slices"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/configgen"
	"migrator/internal/facts"
	"migrator/internal/gates"
	"migrator/internal/plan"
	"migrator/internal/revert"
)

// RevertInputs are what a plan back is made from, beside the usual.
type RevertInputs struct {
	Inputs
	State State
	// Content answers a kept file by its SHA-256.
	Content func(sha string) ([]byte, error)
}

// BuildRevert makes the plan of a way back. The route comes from the facts; the
// original files come back byte for byte from what was kept.
func BuildRevert(in RevertInputs) (Built, revert.Choice, error) {
	inv := in.Migration.Inventory()
	choice := revert.Choose(in.Snapshot, inv, in.Phase, in.State.Stopped())
	if choice.Refused != "" {
		return Built{}, choice, fmt.Errorf("revert to %s: %s", in.Phase, choice.Refused)
	}
	b := builder{in: in.Inputs, contents: map[string][]byte{}}
	back := backBuilder{builder: &b, in: in, stages: choice.Stages, written: map[int32]string{}, reducedTo: map[int32]string{}}
	for _, stage := range choice.Stages {
		if err := back.stage(stage); err != nil {
			return Built{}, choice, fmt.Errorf("revert to %s by route %s: %w", in.Phase, choice.Route, err)
		}
	}
	back.warn()
	b.freeze()
	g := in.Migration.Gates
	p := plan.Plan{Name: in.Migration.Name, ClusterID: in.ClusterID, Phase: in.Phase, Revert: true, Steps: b.steps,
		Limits: plan.Limits{GoodPolls: g.GoodPolls, PollInterval: g.PollInterval, StepTimeout: g.StepTimeout, MaxFactAge: g.MaxFactAge}}
	sealed, err := p.Seal()
	return Built{Plan: sealed, Contents: b.contents}, choice, err
}

type backBuilder struct {
	*builder
	in     RevertInputs
	stages []revert.Stage
	// written is what an earlier step of this plan leaves in a node's file.
	written map[int32]string
	// reducedTo says of brokers whose original nobody kept what they get instead.
	reducedTo map[int32]string
}

func (b *backBuilder) stage(s revert.Stage) error {
	switch s {
	case revert.FlagBack:
		return b.flagBack()
	case revert.RollMigrating:
		before := []string{gates.NoOtherDown, gates.QuorumHeadroom, gates.ISRWithout, gates.ISRFull, gates.NoReassign, gates.BatchFile, gates.FlagOn, gates.StateMigration, gates.HolderKRaft, gates.DualWrite}
		return b.rollWith("back-to-migration", cluster.Broker, cluster.ZKMigrating, plan.NoRule, before, "forward again: the plan hybrid", b.saved)
	case revert.Drain:
		b.add(plan.Step{ID: "drain", Kind: plan.Drain, Sentence: "wait until both stores agree and dual write has caught up with the last change that matters",
			Done: []string{gates.QuorumFormed, gates.StateMigration, gates.Parity, gates.Drained, gates.DualWrite}, Undo: "nothing to undo"})
	case revert.StopControllers:
		b.stopControllers()
	case revert.Compare:
		b.add(plan.Step{ID: "compare", Kind: plan.Compare, Sentence: "compare what the metadata log held with ZooKeeper, all controllers down",
			Done: []string{gates.ControllersDown, gates.StoresAgree}, Undo: "start the controllers, wait for dual write, and repeat"})
	case revert.Znodes:
		b.znodes()
	case revert.Follow:
		b.follow()
	case revert.RollZK:
		before := []string{gates.ControllersDown, gates.HolderBroker, gates.NoMigration, gates.NoOtherDown, gates.ISRWithout, gates.ISRFull, gates.NoReassign, gates.BatchFile}
		return b.rollWith("back-to-zookeeper", cluster.Broker, cluster.ZK, plan.ZooKeeperCtlLast, before, "forward again: the plan load", b.saved)
	default:
		return fmt.Errorf("no such stage %q", s)
	}
	return nil
}

// stopControllers stops all, the active one last by waiting for the others
// first, keeps what the log held, and sees to it that none starts again.
func (b *backBuilder) stopControllers() {
	step := plan.Step{ID: "stop-controllers", Kind: plan.StopControllers, Undo: "start the controllers again: their folders are kept aside",
		Done: []string{gates.ControllersDown}}
	step.Sentence = fmt.Sprintf("stop controllers %s for good, the active one last; move their folders aside", join(cluster.IDs(b.in.Migration.Inventory().Controllers)))
	if slices.Contains(b.stages, revert.Compare) { // before the copy there is nothing to compare, and perhaps nobody leads
		step.Actions = append(step.Actions, plan.Action{ID: "save-image", Kind: plan.SaveImage, Stage: 0})
	}
	leader, known := b.in.Snapshot.Leader(b.in.Migration.Inventory().Controllers).Get()
	for _, n := range b.in.Migration.Nodes {
		if n.Role != cluster.Controller {
			continue
		}
		stage := 1
		if known && leader.ID == n.ID {
			stage = 2
		}
		step.Batch = append(step.Batch, n.ID)
		step.Actions = append(step.Actions, plan.Action{ID: fmt.Sprintf("stop-%d", n.ID), Kind: plan.Stop, Stage: stage, Node: &n.ID, Argv: n.Commands.Stop})
		if len(n.Commands.Disable) > 0 {
			step.Actions = append(step.Actions, plan.Action{ID: fmt.Sprintf("disable-%d", n.ID), Kind: plan.Disable, Stage: 3, Node: &n.ID, Argv: n.Commands.Disable})
		}
		for i, dir := range n.LogDirs {
			step.Actions = append(step.Actions, plan.Action{ID: fmt.Sprintf("archive-%d-%d", n.ID, i), Kind: plan.Archive, Stage: 3, Node: &n.ID, Path: dir,
				Argv: []string{"mv", "-T", "--", dir, fmt.Sprintf("%s.migrator-reverted-%d", dir, b.in.State.Attempt)}})
		}
	}
	b.add(step)
}

func (b *backBuilder) znodes() {
	b.add(plan.Step{ID: "znodes", Kind: plan.Znodes, Sentence: "in one transaction: /controller_epoch checked, or raised where an election would be refused; /controller (if a KRaft id holds it) and /migration deleted, their contents saved first",
		Before: []string{gates.ControllersDown}, Actions: []plan.Action{{ID: "revert-znodes", Kind: plan.RevertZnodes}},
		Done: []string{gates.NoMigration, gates.HolderBroker}, Undo: "none: from here the way leads back to ZooKeeper"})
}

// follow ends the time without a controller; where our own topic is there, a
// metadata write of ours shows that it has ended.
func (b *backBuilder) follow() {
	step := plan.Step{ID: "follow", Kind: plan.Follow, Sentence: "wait until a broker holds /controller and every broker follows it; the controllerless window ends here",
		Done: []string{gates.HolderBroker, gates.Follows, gates.NoOffline}, Undo: "nothing to undo: a broker is the controller"}
	if c := b.in.Migration.Canary; !c.Off && b.canaryThere() {
		step.Actions = []plan.Action{{ID: "write-metadata", Kind: plan.MetadataWrite, Topic: c.Topic}}
	}
	b.add(step)
}

// canaryThere: our topic exists, by the journal or, where the journal was lost,
// by what the cluster shows.
func (b *backBuilder) canaryThere() bool {
	md, ok := b.in.Snapshot.Metadata.Get()
	return b.in.State.CanaryTopic || ok && slices.ContainsFunc(md.Partitions, func(p facts.Partition) bool { return p.Topic == b.in.Migration.Canary.Topic })
}

// flagBack gives each controller the flag that it lacks, never touching the
// leader. One that runs with the flag and whose file lacks it gets the file only.
func (b *backBuilder) flagBack() error {
	for _, n := range b.in.Migration.Nodes {
		if n.Role != cluster.Controller {
			continue
		}
		lack := revert.FlagOf(b.in.Snapshot, n.Node)
		if lack == revert.LacksNothing {
			continue
		}
		if err := b.mayRestart(n, lack); err != nil {
			return err
		}
		before, after, diff, err := b.render(n, cluster.KRaftMigrating)
		if err != nil {
			return err
		}
		step := plan.Step{ID: fmt.Sprintf("flag-back-%d", n.ID), Kind: plan.FlagBack, Mode: cluster.KRaftMigrating, Batch: []int32{n.ID},
			Before: []string{gates.QuorumFormed, gates.QuorumHeadroom, gates.StateMigration}, Undo: "the plan finalize", Diffs: []plan.Diff{diff}}
		write := plan.Action{ID: fmt.Sprintf("write-%d", n.ID), Kind: plan.Write, Stage: 1, Node: &n.ID, Path: n.Properties, Before: before, After: after}
		if lack == revert.LacksInFile {
			step.Sentence = fmt.Sprintf("put the migration flag back into the file of controller %d, which is not restarted", n.ID)
			step.Actions, step.Before, step.Done = []plan.Action{write}, []string{gates.StateMigration}, []string{gates.StateMigration}
		} else {
			step.Sentence = fmt.Sprintf("give controller %d the migration flag back: stop, write, start", n.ID)
			step.Actions = []plan.Action{{ID: fmt.Sprintf("stop-%d", n.ID), Kind: plan.Stop, Stage: 0, Node: &n.ID, Argv: n.Commands.Stop}, write,
				{ID: fmt.Sprintf("start-%d", n.ID), Kind: plan.Start, Stage: 2, Node: &n.ID, Argv: n.Commands.Start}}
			step.Done = rollDone(cluster.Controller, cluster.KRaftMigrating)
		}
		b.add(step)
	}
	return nil
}

// mayRestart: the leader is never restarted, so who leads must be known.
func (b *backBuilder) mayRestart(n config.Node, lack revert.Lack) error {
	if lack != revert.LacksRunning {
		return nil
	}
	leader, ok := b.in.Snapshot.Leader(b.in.Migration.Inventory().Controllers).Get()
	switch {
	case !ok:
		return fmt.Errorf("controller %d runs without the flag and who leads is unknown: the leader must not be touched", n.ID)
	case n.ID == leader.ID:
		return fmt.Errorf("the leader %d itself runs without the flag while the state is MIGRATION: touch nothing and look at its log", n.ID)
	}
	return nil
}

// saved answers the file that a broker had in a mode, byte for byte. One that
// is in that mode and that we never wrote is its operator's and stays as it is.
func (b *backBuilder) saved(n config.Node, mode cluster.Mode) (before, after string, diff plan.Diff, err error) {
	before, now, err := b.present(n)
	if err != nil {
		return "", "", plan.Diff{}, err
	}
	e, known, err := b.recorded(n, mode)
	if err == nil && !known {
		e, known, err = b.unrecorded(n, mode, before, now)
	}
	if err != nil {
		return "", "", plan.Diff{}, err
	}
	if !known {
		return b.reduced(n, mode, before, now)
	}
	b.contents[before], b.contents[e.sha] = now, e.data
	b.written[n.ID] = e.sha
	return before, e.sha, plan.Diff{Node: n.ID, Path: n.Properties, Unified: configgen.Diff(n.Properties, now, e.data),
		Reasons: []plan.Reason{{Key: "(whole file)", Op: "restore", Reason: "the file as it was, byte for byte", Source: e.source}}, Notes: []string{}}, nil
}

// unrecorded is the file where the journal does not know it; not found where
// the present one can be reduced to it.
func (b *backBuilder) unrecorded(n config.Node, mode cluster.Mode, before string, now []byte) (earlier, bool, error) {
	is, err := configgen.Mode(now, n.Role)
	if err != nil {
		return earlier{}, false, fmt.Errorf("%s of broker %d: %w", n.Properties, n.ID, err)
	}
	if is == mode {
		return earlier{before, now, "on the node"}, true, nil
	}
	e, known, err := b.copied(n, mode, now)
	if err == nil && !known && is == cluster.KRaft {
		err = fmt.Errorf("the journal does not know the file that broker %d had in %s mode, and no copy of it lies beside %s; what its KRaft file has lost is nowhere else: "+
			"get that file from your configuration management or a backup, put it on the node as `%s.migrator-<first 12 digits of its SHA-256>.bak`, and give the command again", n.ID, mode, n.Properties, n.Properties)
	}
	return e, known, err
}

// present is a broker's file as this plan will find it.
func (b *backBuilder) present(n config.Node) (sha string, content []byte, err error) {
	if sha, ok := b.written[n.ID]; ok {
		return sha, b.contents[sha], nil
	}
	f := b.in.Snapshot.Files[n.ID]
	file, ok := f.Get()
	switch {
	case !ok:
		return "", nil, fmt.Errorf("%s of broker %d cannot be read: %s", n.Properties, n.ID, f.Cause())
	case !file.Exists:
		return "", nil, fmt.Errorf("%s of broker %d does not exist: put the one that it runs with back first", n.Properties, n.ID)
	default:
		return file.SHA256, file.Content, nil
	}
}

// reduced is the present file without what a plan forward adds: all that can be
// done for a broker whose original nobody kept.
func (b *backBuilder) reduced(n config.Node, mode cluster.Mode, before string, now []byte) (string, string, plan.Diff, error) {
	out, err := b.renderFrom(n, mode, before, now)
	if err != nil {
		return "", "", plan.Diff{}, err
	}
	b.contents[before], b.contents[out.after] = now, out.file
	b.written[n.ID] = out.after
	b.reducedTo[n.ID] = fmt.Sprintf("The original file of broker %d is unknown: the journal does not have it, and no copy lies beside %s. It gets its present file without the lines that %s mode refuses, which need not be the original byte for byte. "+
		"An original that you put on the node as `%s.migrator-<first 12 digits of its SHA-256>.bak` would be taken instead.", n.ID, n.Properties, mode, n.Properties)
	return before, out.after, out.diff, nil
}
