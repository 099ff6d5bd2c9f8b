package phases

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/configgen"
	"migrator/internal/facts"
	"migrator/internal/gates"
	"migrator/internal/plan"
)

// Inputs are all that a plan is made from.
type Inputs struct {
	Migration config.Migration
	Snapshot  facts.Snapshot
	ClusterID string
	Phase     cluster.Phase // whose plan
	Located   cluster.Phase
	Attempt   int // which migration of this cluster it is, from 1
	// Adopt: nothing is recorded of this cluster although it stands past initial.
	Adopt bool
	// DrillsPassed in this attempt are not asked for again.
	DrillsPassed []string
	Hooked       []int32                     // nodes whose hook before_node ran and whose after_node is still owed
	Took         map[plan.StepKind][]float64 // seconds, measured in this migration
	Memo         *Memo                       // of earlier plans of this migration
}

// Built is a plan with the file contents its hashes stand for. Contents may
// hold secrets: they go to the blob store and nowhere else.
type Built struct {
	Plan     plan.Plan
	Contents map[string][]byte // by SHA-256
}

// Build makes the plan of a phase. The error says what is missing or refused;
// the same facts and configuration always give the same digest.
func Build(in Inputs) (Built, error) {
	b := builder{in: in, contents: map[string][]byte{}}
	if in.Adopt && in.Located != cluster.Initial {
		b.add(plan.Step{ID: "adopt", Kind: plan.Adopt, Sentence: "take over the cluster as it stands in " + string(in.Located) + "; changes nothing",
			Undo: "nothing to undo", Before: []string{gates.ClusterID, gates.OneDriver, gates.Inventory}})
		b.canaryTopic()
	}
	if err := b.phase(in.Phase); err != nil {
		return Built{}, fmt.Errorf("plan %s: %w", in.Phase, err)
	}
	b.freeze()
	b.keepFiles()
	g := in.Migration.Gates
	p := plan.Plan{Name: in.Migration.Name, ClusterID: in.ClusterID, Phase: in.Phase, Steps: b.steps,
		Limits: plan.Limits{GoodPolls: g.GoodPolls, PollInterval: g.PollInterval, StepTimeout: g.StepTimeout, MaxFactAge: g.MaxFactAge,
			Soak: in.Migration.Soak(in.Phase), MaxUnavailable: in.Migration.Drill.MaxUnavailable}}
	sealed, err := p.Seal()
	if err != nil {
		return Built{}, err
	}
	return Built{Plan: sealed, Contents: b.contents}, nil
}

type builder struct {
	in       Inputs
	steps    []plan.Step
	contents map[string][]byte
	common   *common // what all renderings of this plan share
}

func (b *builder) add(s plan.Step) { b.steps = append(b.steps, b.whole(b.aroundNodes(b.byHand(s)))) }

// whole is a step with every list there, so that none reads as null, and with
// its expected time.
func (b *builder) whole(s plan.Step) plan.Step {
	for _, list := range []*[]string{&s.Before, &s.Done, &s.Impact, &s.Warnings} {
		if *list == nil {
			*list = []string{}
		}
	}
	if s.Batch == nil {
		s.Batch = []int32{}
	}
	if s.Actions == nil {
		s.Actions = []plan.Action{}
	}
	if s.Diffs == nil {
		s.Diffs = []plan.Diff{}
	}
	s.Expected = expected(s, b.in.Took)
	return s
}

func (b *builder) phase(p cluster.Phase) error {
	switch p {
	case cluster.Initial:
		return b.initial()
	case cluster.Load:
		return b.load()
	case cluster.Hybrid:
		return b.hybrid()
	case cluster.DualWrite:
		return b.dualWrite()
	case cluster.Finalize:
		return b.finalize()
	default:
		return fmt.Errorf("no such phase %q", p)
	}
}

// keepFiles keeps every node's file as it is: the approval expects each to stay
// so, and one that somebody writes over can be put back.
func (b *builder) keepFiles() {
	for _, n := range b.in.Migration.Nodes {
		f := b.in.Snapshot.Files[n.ID]
		if file, ok := f.Get(); ok && file.Exists {
			b.contents[file.SHA256] = file.Content
		}
	}
}

func (b *builder) initial() error {
	b.canaryTopic()
	b.add(plan.Step{ID: "backup", Kind: plan.Backup, Sentence: "save every znode and every properties file",
		Actions: []plan.Action{{ID: "save-znodes", Kind: plan.SaveZnodes}}, Undo: "nothing to undo: only reads"})
	return b.provision()
}

func (b *builder) canaryTopic() {
	c := b.in.Migration.Canary
	if c.Off {
		return
	}
	b.add(plan.Step{ID: "canary-topic", Kind: plan.CanaryTopic, Sentence: "create the topic " + c.Topic + " for our own client",
		Actions: []plan.Action{{ID: "create-topic", Kind: plan.CreateTopic, Topic: c.Topic}}, Undo: "delete the topic"})
}

func (b *builder) provision() error {
	m := b.in.Migration
	step := plan.Step{ID: "provision", Kind: plan.Provision, Mode: cluster.KRaftMigrating,
		Sentence: fmt.Sprintf("write, format and start controllers %s with the migration flag", join(cluster.IDs(m.Inventory().Controllers))),
		Before:   []string{gates.BrokersZK, gates.HolderBroker, gates.NoMigration, gates.FoldersFree, gates.ControllersOff},
		Done:     []string{gates.Running, gates.QuorumFormed, gates.ControllersReg, gates.MetadataVersion, gates.PreMigration, gates.MigrationFresh, gates.NoFatal},
		Undo:     "stop the controllers, archive their folders, delete /migration"}
	ibp, err := b.agreedIBP()
	if err != nil {
		return err
	}
	told, err := b.formatValues(ibp)
	if err != nil {
		return err
	}
	for _, n := range m.Nodes {
		if n.Role != cluster.Controller {
			continue
		}
		before, after, diff, err := b.render(n, cluster.KRaftMigrating)
		if err != nil {
			return err
		}
		step.Batch = append(step.Batch, n.ID)
		step.Diffs = append(step.Diffs, diff)
		argv := slices.Clone(formatOf(n, m.Quorum.Mode))
		for i, a := range argv {
			argv[i] = told.Replace(a)
		}
		step.Actions = append(step.Actions,
			plan.Action{ID: fmt.Sprintf("write-%d", n.ID), Kind: plan.Write, Stage: 0, Node: &n.ID, Path: n.Properties, Before: before, After: after},
			plan.Action{ID: fmt.Sprintf("format-%d", n.ID), Kind: plan.FormatDirs, Stage: 1, Node: &n.ID, Argv: argv},
			plan.Action{ID: fmt.Sprintf("start-%d", n.ID), Kind: plan.Start, Stage: 2, Node: &n.ID, Argv: n.Commands.Start})
	}
	if step.Warnings, err = b.disagreements(); err != nil {
		return err
	}
	b.add(step)
	return nil
}

// disagreements are what brokers have each for itself now, and what the
// controllers decide for all of them by the first one's value.
func (b *builder) disagreements() ([]string, error) {
	var files []configgen.BrokerFile
	var hashes strings.Builder
	for _, n := range b.in.Migration.Inventory().Brokers {
		f := b.in.Snapshot.Files[n.ID]
		file, ok := f.Get()
		if !ok {
			return nil, fmt.Errorf("the file of broker %d cannot be read: %s", n.ID, f.Cause())
		}
		files = append(files, configgen.BrokerFile{ID: n.ID, Content: file.Content})
		fmt.Fprintf(&hashes, "%d %s\n", n.ID, file.SHA256)
	}
	return b.in.Memo.disagreements(hashes.String(), files)
}

func (b *builder) load() error {
	before := []string{gates.NoOtherDown, gates.QuorumHeadroom, gates.ISRWithout, gates.ISRFull, gates.NoReassign, gates.BatchFile, gates.QuorumFormed, gates.FlagOn}
	if err := b.roll(cluster.Broker, cluster.ZKMigrating, plan.ZooKeeperCtlLast, before,
		"stop, write the saved file back, start; the broker never followed KRaft before the copy"); err != nil {
		return err
	}
	b.add(plan.Step{ID: "copy", Kind: plan.Copy, Sentence: "wait until Kafka has copied the metadata and writes both stores",
		Done: []string{gates.BrokersRegistered, gates.StateMigration, gates.HolderKRaft, gates.DualWrite, gates.MetadataWrite, gates.Parity},
		Undo: "drain, stop the controllers, delete /controller and /migration, roll once"})
	b.elect()
	if b.in.Migration.Soak(cluster.Load) > 0 {
		b.soak()
	}
	return nil
}

func (b *builder) hybrid() error {
	before := []string{gates.NoOtherDown, gates.QuorumHeadroom, gates.ISRWithout, gates.ISRFull, gates.NoReassign, gates.BatchFile, gates.FlagOn,
		gates.StateMigration, gates.HolderKRaft, gates.DualWrite}
	if err := b.roll(cluster.Broker, cluster.KRaft, plan.NoRule, before,
		"stop, write the migration-mode file back, start (keep the flag on this first roll back)"); err != nil {
		return err
	}
	b.elect()
	return nil
}

func (b *builder) elect() {
	b.add(plan.Step{ID: "elect", Kind: plan.Elect, Sentence: "elect the preferred leaders again where the cluster had them",
		Actions: []plan.Action{{ID: "elect-preferred", Kind: plan.ElectPreferred}}, Done: []string{gates.NoOffline},
		Undo: "nothing to undo: leaders move by themselves"})
}

func (b *builder) soak() {
	p, d := b.in.Phase, b.in.Migration.Soak(b.in.Phase)
	b.add(plan.Step{ID: "soak-begin", Kind: plan.SoakBegin, Sentence: "begin the soak: all soak gates hold", Done: SoakGates(), Undo: "nothing to undo"})
	if p == b.in.Migration.Drill.Phase {
		for _, kind := range b.in.Migration.Drill.Kinds {
			if slices.Contains(b.in.DrillsPassed, kind) {
				continue
			}
			b.drill(kind)
		}
	}
	b.add(plan.Step{ID: "soak-end", Kind: plan.SoakEnd, Sentence: fmt.Sprintf("soak for %s in all, counted only while every soak gate holds", d), Done: SoakGates(), Undo: "nothing to undo"})
}

func (b *builder) drill(kind string) {
	b.add(plan.Step{ID: "drill-" + kind, Kind: plan.DrillStep, Sentence: drillSentence(kind),
		Actions: []plan.Action{{ID: "drill-" + kind, Kind: plan.RunDrill, Drill: kind}},
		Before:  []string{gates.QuorumFormed, gates.QuorumHeadroom, gates.StateMigration, gates.HolderKRaft, gates.DualWrite, gates.FlagOn, gates.Ensemble, gates.NoOffline},
		Done:    []string{gates.QuorumFormed, gates.StateMigration, gates.HolderKRaft, gates.DualWrite, gates.FlagOn},
		Undo:    "the stopped controller is started again in any case"})
}

func drillSentence(kind string) string {
	if kind == "crash" {
		return "kill the active controller and time the failover; start it again"
	}
	return "stop the active controller cleanly and time the failover; start it again"
}

func (b *builder) dualWrite() error {
	if b.in.Phase == b.in.Migration.Drill.Phase && len(b.in.Migration.Drill.Kinds) == 0 {
		return fmt.Errorf("no drill kinds are configured: finalize needs a passed controller failover")
	}
	b.soak()
	return nil
}

func (b *builder) finalize() error {
	before := []string{gates.NoOtherDown, gates.BatchFile, gates.QuorumFormed, gates.QuorumHeadroom, gates.AllKRaft, gates.IDsEmpty, gates.LostUnregistered}
	if err := b.roll(cluster.Controller, cluster.KRaft, plan.ActiveCtlLast, before,
		"only while the state is MIGRATION: stop, put the flag back, start; never touch the leader"); err != nil {
		return err
	}
	if !b.in.Migration.Canary.Off {
		b.add(plan.Step{ID: "canary-remove", Kind: plan.CanaryRemove, Sentence: "read every acknowledged record of our client back, then delete its topic " + b.in.Migration.Canary.Topic,
			Before: []string{gates.PostMigration, gates.FlagOff},
			Actions: []plan.Action{{ID: "verify-canary", Kind: plan.VerifyCanary, Topic: b.in.Migration.Canary.Topic},
				{ID: "delete-topic", Kind: plan.DeleteTopic, Stage: 1, Topic: b.in.Migration.Canary.Topic}}, Undo: "nothing to undo"})
	}
	return nil
}

// render answers the hashes before and after, and the redacted diff.
func (b *builder) render(n config.Node, mode cluster.Mode) (before, after string, diff plan.Diff, err error) {
	f := b.in.Snapshot.Files[n.ID]
	file, ok := f.Get()
	if !ok {
		return "", "", plan.Diff{}, fmt.Errorf("%s of node %d cannot be read: %s", n.Properties, n.ID, f.Cause())
	}
	if n.Role == cluster.Broker && !file.Exists {
		return "", "", plan.Diff{}, fmt.Errorf("%s of broker %d does not exist", n.Properties, n.ID)
	}
	var current []byte
	if file.Exists {
		current, before = file.Content, file.SHA256
		b.contents[before] = current
	}
	out, err := b.renderFrom(n, mode, before, current)
	if err != nil {
		return "", "", plan.Diff{}, err
	}
	b.contents[out.after] = out.file
	return before, out.after, out.diff, nil
}

// renderFrom makes a node's file for a mode out of a content; before is its
// SHA-256, empty when there is no file yet.
func (b *builder) renderFrom(n config.Node, mode cluster.Mode, before string, current []byte) (rendered, error) {
	shared, err := b.shared()
	if err != nil {
		return rendered{}, err
	}
	key := rendering{node: n.ID, mode: mode, before: before, ibp: shared.settings.MetadataVersion, firstBroker: shared.firstBroker}
	return b.in.Memo.render(key, n, current, shared.settings)
}

// common is what every rendering of a plan takes from the files of others.
type common struct {
	settings    configgen.Settings
	firstBroker string // SHA-256 of the file the inter-broker settings are from
}

func (b *builder) shared() (common, error) {
	if b.common != nil {
		return *b.common, nil
	}
	m := b.in.Migration
	ibp, err := b.agreedIBP()
	if err != nil {
		return common{}, err
	}
	brokers := m.Inventory().Brokers
	f := b.in.Snapshot.Files[brokers[0].ID]
	file, ok := f.Get()
	if !ok || !file.Exists {
		return common{}, fmt.Errorf("the file of broker %d cannot be read: %s", brokers[0].ID, f.Cause())
	}
	ib, err := configgen.FromBroker(file.Content)
	if err != nil {
		return common{}, fmt.Errorf("the file of broker %d: %w", brokers[0].ID, err)
	}
	b.common = &common{firstBroker: file.SHA256, settings: configgen.Settings{
		Quorum: configgen.Quorum{Mode: m.Quorum.Mode, ListenerName: m.Quorum.Listener.Name, ListenerProtocol: m.Quorum.Listener.Protocol,
			Mechanism: mechanism(m.Quorum.SASL), Voters: m.Inventory().Controllers},
		ZooKeeperConnect: m.ZooKeeper.Connect, KafkaVersion: m.Kafka.Version, MetadataVersion: ibp, InterBroker: ib,
	}}
	return *b.common, nil
}

// mechanism is with which this program logs in to controllers, and so every node.
func mechanism(s *config.SASL) string {
	if s == nil {
		return ""
	}
	return s.Mechanism
}

// agreedIBP is the inter.broker.protocol.version in effect, which controllers
// are formatted with: another one and no broker can ever register (UNSUPPORTED_VERSION).
func (b *builder) agreedIBP() (string, error) {
	var agreed string
	for _, n := range b.in.Migration.Inventory().Brokers {
		f := b.in.Snapshot.Files[n.ID]
		file, ok := f.Get()
		if !ok || !file.Exists {
			return "", fmt.Errorf("the file of broker %d cannot be read: %s", n.ID, f.Cause())
		}
		if file.Mode == cluster.KRaft {
			continue // it has none any more
		}
		v, err := b.in.Memo.ibp(file, b.in.Migration.Kafka.Version)
		if err != nil {
			return "", fmt.Errorf("the file of broker %d: %w", n.ID, err)
		}
		if agreed != "" && v != agreed {
			return "", fmt.Errorf("broker %d runs at inter.broker.protocol.version %s, an earlier one at %s: make them equal first", n.ID, v, agreed)
		}
		agreed = v
	}
	if agreed == "" {
		return configgen.NormalVersion(b.in.Migration.Kafka.Version)
	}
	return agreed, nil
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func join(ids []int32) string {
	var out []string
	for _, id := range ids {
		out = append(out, fmt.Sprint(id))
	}
	return strings.Join(out, ", ")
}

// BuildDrill is a plan of one drill, for a person who wants to see a failover
// while the cluster rests in dual-write.
func BuildDrill(m config.Migration, clusterID, kind string) (plan.Plan, error) {
	b := builder{in: Inputs{Migration: m, Phase: cluster.DualWrite}}
	b.drill(kind)
	b.freeze()
	p := plan.Plan{Name: m.Name, ClusterID: clusterID, Phase: cluster.DualWrite, Steps: b.steps, AdHoc: true}
	return p.Seal()
}
