package gates

import (
	"cmp"
	"maps"
	"slices"

	"migrator/internal/cluster"
	"migrator/internal/facts"
)

// round is what the gates of one judgement compute once and share.
type round struct {
	fromImage []facts.Partition
	leader    *facts.Fact[facts.LeaderView]
	batch     []cluster.Node
}

// leader is the active controller's own view, from fresh answers only.
func (l *look) leader() (facts.LeaderView, bool) {
	return use(l, "active controller", l.freshLeader())
}

func (l *look) freshLeader() facts.Fact[facts.LeaderView] {
	if l.round.leader == nil {
		f := freshLeader(l.v)
		l.round.leader = &f
	}
	return *l.round.leader
}

func freshLeader(v *View) facts.Fact[facts.LeaderView] {
	s := facts.Snapshot{Begun: v.Snapshot.Begun, Quorum: make(map[int32]facts.Fact[facts.Quorum], len(v.Snapshot.Quorum))}
	for id, f := range v.Snapshot.Quorum {
		s.Quorum[id] = fresh(v, f)
	}
	return s.Leader(v.Settings.Inventory.Controllers)
}

// mode is how a node runs now.
func (l *look) mode(n cluster.Node) (cluster.Mode, bool) {
	return use(l, n.Name()+"'s mode", l.v.Snapshot.Mode(n))
}

// state is ZkMigrationState in the metadata log. A log without one is a problem.
func (l *look) state() (cluster.MigrationState, bool) {
	lg, ok := use(l, "metadata log", l.v.Snapshot.Log)
	if !ok {
		return "", false
	}
	if !lg.Image.HasState {
		l.bad("", "the metadata log holds no migration state")
		return "", false
	}
	return lg.Image.State, true
}

// kraftLed says that the metadata log rules the topics: from the copy on.
func kraftLed(lg facts.Log) bool {
	return lg.Image.HasState && (lg.Image.State == cluster.StateMigration || lg.Image.State == cluster.StatePostMigration)
}

// registered is /brokers/ids by id.
func (l *look) registered() (map[int32]facts.Registration, bool) {
	list, ok := use(l, "/brokers/ids", l.v.Snapshot.Registered)
	if !ok {
		return nil, false
	}
	out := make(map[int32]facts.Registration, len(list))
	for _, r := range list {
		out[r.ID] = r
	}
	return out, true
}

// partitions are those of the metadata log once it rules, else what brokers
// say: after the copy their answers can show a full ISR that is not so.
func (l *look) partitions() ([]facts.Partition, bool) {
	if lg, ok := peek(l, l.v.Snapshot.Log); ok && kraftLed(lg) {
		if l.round.fromImage == nil {
			l.round.fromImage = imagePartitions(lg)
		}
		return l.round.fromImage, true
	}
	md, ok := use(l, "partitions as brokers describe them", l.v.Snapshot.Metadata)
	return md.Partitions, ok
}

// imagePartitions lists them by topic and number.
func imagePartitions(lg facts.Log) []facts.Partition {
	out := make([]facts.Partition, 0, len(lg.Image.Topics))
	for _, name := range keys(lg.Image.Topics) {
		topic := lg.Image.Topics[name]
		for _, number := range keys(topic.Partitions) {
			p := topic.Partitions[number]
			out = append(out, facts.Partition{Topic: name, Partition: number, HasLeader: p.HasLeader, Leader: p.Leader,
				LeaderEpoch: p.LeaderEpoch, Replicas: p.Replicas, ISR: p.ISR})
		}
	}
	return out
}

// quorumInUse says that brokers depend on the metadata quorum, or are about to:
// past initial, in any plan but that of initial, and wherever controllers registered.
func (l *look) quorumInUse() bool {
	controllers := l.v.Settings.Inventory.Controllers
	if len(controllers) > 0 && containsAll(l.v.Stopped, cluster.IDs(controllers)) {
		return false
	}
	if l.v.Phase != cluster.Initial || l.v.Plan.Index() > cluster.Initial.Index() {
		return true
	}
	lg, ok := peek(l, l.v.Snapshot.Log)
	return ok && (len(lg.Image.Controllers) > 0 || !registersControllers(lg))
}

// firstRegistering is the level of metadata.version 3.7-IV0, the first at which
// controllers register in the log (KIP-919). Below it Kafka's own check whether
// all of them are ready to migrate passes without looking at any.
const firstRegistering = 15

// registersControllers is true until the log finalizes a version that is too old.
func registersControllers(lg facts.Log) bool {
	level, finalized := lg.Image.Features["metadata.version"]
	return !finalized || level >= firstRegistering
}

// brokers and controllers are the inventory's; without any, a gate that asks
// each of them must not pass.
func (l *look) brokers() []cluster.Node {
	return l.some("broker", l.v.Settings.Inventory.Brokers)
}

func (l *look) controllers() []cluster.Node {
	return l.some("controller", l.v.Settings.Inventory.Controllers)
}

func (l *look) some(what string, nodes []cluster.Node) []cluster.Node {
	if len(nodes) == 0 {
		l.unsure("migrations.yaml names no %s", what)
	}
	return nodes
}

// batch are the nodes of the open or next step, in the inventory's order.
func (l *look) batch() []cluster.Node {
	if l.round.batch != nil {
		return l.round.batch
	}
	for _, n := range l.v.Settings.Inventory.Nodes() {
		if l.inBatch(n.ID) {
			l.round.batch = append(l.round.batch, n)
		}
	}
	return l.round.batch
}

func (l *look) inBatch(id int32) bool {
	return l.v.Step != nil && slices.Contains(l.v.Step.Batch, id)
}

// needStep says that the gate asks about a batch, which a step must name.
func (l *look) needStep() bool {
	switch {
	case l.v.Step == nil:
		l.unsure("no step is open or next")
	case len(l.v.Step.Batch) == 0:
		l.unsure("step %s names no nodes", l.v.Step.ID)
	case len(l.batch()) != len(l.v.Step.Batch):
		l.unsure("the batch %s holds nodes that migrations.yaml does not have", idList(l.v.Step.Batch))
	default:
		return true
	}
	return false
}

func byID(replicas []facts.Replica) map[int32]facts.Replica {
	out := make(map[int32]facts.Replica, len(replicas))
	for _, r := range replicas {
		// A node whose folder was replaced shows twice: the one that fetches counts.
		if old, ok := out[r.ID]; !ok || old.LastFetch.Before(r.LastFetch) {
			out[r.ID] = r
		}
	}
	return out
}

func keys[M ~map[K]V, K cmp.Ordered, V any](m M) []K { return slices.Sorted(maps.Keys(m)) }

// compareIDs names what one list has more and less than the other.
func compareIDs(have, want []int32) (extra, missing []int32) {
	for _, id := range have {
		if !slices.Contains(want, id) {
			extra = append(extra, id)
		}
	}
	for _, id := range want {
		if !slices.Contains(have, id) {
			missing = append(missing, id)
		}
	}
	return extra, missing
}
