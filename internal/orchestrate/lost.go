package orchestrate

import (
	"slices"
	"strings"

	"migrator/internal/cluster"
	"migrator/internal/gates"
	"migrator/internal/phases"
)

// leaveOut makes the migration without brokers that a person accepted as lost.
func (m *Machine) leaveOut() {
	m.live = m.cfg.Without(m.state.LostNodes())
	m.inv = m.live.Inventory()
}

// maxPartitions bounds how many partitions of a lost broker the journal names.
const maxPartitions = 1000

// acceptLost records a person's word that a broker is lost. The facts must show
// it gone: a broker that only hangs would come back in a mode nobody plans for.
func (m *Machine) acceptLost(r request, n cluster.Node) error {
	switch gone, why := gates.Gone(m.snap, n); {
	case m.state.Lost[n.ID]:
		return nil
	case n.Role != cluster.Broker:
		return refuse("not-a-broker", 3, "controller %d cannot be accepted as lost: bring it back, the quorum needs it", n.ID)
	case strings.TrimSpace(r.Reason) == "":
		return refuse("no-reason", 2, "accepting a broker as lost needs --reason")
	case len(m.busy) > 0:
		return refuse("in-the-middle", 3, "nodes are being restarted (%s): give the command again when that has ended", strings.Join(m.busyNames(), ", "))
	case !gone:
		return refuse("not-lost", 3, "refused: %s", why)
	}
	md, _ := m.snap.Metadata.Get()
	subjects := append([]string{n.Name()}, gates.OnBroker(md, n.ID)...)
	return m.appendOr(phases.KindAccepted, r.Actor, phases.Body{Accepted: &phases.Accepted{Gate: gates.NoOtherDown,
		Subjects: subjects[:min(len(subjects), maxPartitions)], Reason: r.Reason, Lost: []int32{n.ID}}})
}

// goneOf are the brokers among a gate's subjects that are gone for all that can
// be seen: accepting them by the gate's name is accepting them as lost.
func (m *Machine) goneOf(subjects []string) []int32 {
	var ids []int32
	for _, n := range m.cfg.Inventory().Brokers {
		if gone, _ := gates.Gone(m.snap, n); gone && slices.Contains(subjects, n.Name()) {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

// nodeNamed finds the node that `--accept broker-3` names, or "broker 3".
func (m *Machine) nodeNamed(name string) (cluster.Node, bool) {
	for _, n := range m.cfg.Inventory().Nodes() {
		if name == n.Name() || name == strings.ReplaceAll(n.Name(), " ", "-") {
			return n, true
		}
	}
	return cluster.Node{}, false
}

// noteReturned ends the acceptance of a broker that runs and answers again:
// from then on it is waited for, and rolled, like any other.
func (m *Machine) noteReturned() {
	for _, id := range m.state.LostNodes() {
		running, ok := m.snap.Running[id].Get()
		if ok && running && m.snap.API[id].Known() {
			m.append(phases.KindReturned, service, phases.Body{Returned: &phases.Returned{Node: id}})
		}
	}
}
