// Package cluster names the things a migration moves: nodes, their roles and
// modes, and the inventory of one cluster. It imports nothing of ours.
package cluster

import (
	"slices"
	"strconv"
)

// Role is what a node does; combined roles are not a migration target (KIP-866).
type Role string

const (
	Broker     Role = "broker"
	Controller Role = "controller"
)

// Mode is what one node's properties say, independent of the cluster's phase.
// Brokers are zk, zk-migrating or kraft; controllers kraft-migrating or kraft.
type Mode string

const (
	ZK             Mode = "zk"
	ZKMigrating    Mode = "zk-migrating"
	KRaftMigrating Mode = "kraft-migrating"
	KRaft          Mode = "kraft"
)

// MigrationState is ZkMigrationState by name. The numbers changed meaning
// between 3.4 and 3.5 and are never kept.
type MigrationState string

const (
	StateNone          MigrationState = "NONE"
	StatePreMigration  MigrationState = "PRE_MIGRATION"
	StateMigration     MigrationState = "MIGRATION"
	StatePostMigration MigrationState = "POST_MIGRATION"
	StateZK            MigrationState = "ZK"
)

// Phase says where the cluster is. See design: initial, load, hybrid,
// dual-write, finalize.
type Phase string

const (
	Initial   Phase = "initial"
	Load      Phase = "load"
	Hybrid    Phase = "hybrid"
	DualWrite Phase = "dual-write"
	Finalize  Phase = "finalize"
)

// Phases lists the phases in order.
func Phases() []Phase { return []Phase{Initial, Load, Hybrid, DualWrite, Finalize} }

// Index is the phase's place in the order, or -1 for a name that is no phase.
func (p Phase) Index() int { return slices.Index(Phases(), p) }

// Node is one process of the cluster. Port is the controller listener's port
// and 0 on brokers, whose listeners come from their registration.
type Node struct {
	ID   int32
	Role Role
	Host string
	Port int
	Rack string
}

// Name is how people and acceptances call the node: "broker 3".
func (n Node) Name() string { return string(n.Role) + " " + strconv.Itoa(int(n.ID)) }

// Inventory is the set of nodes that migrations.yaml names. "Every broker"
// means those in Brokers.
type Inventory struct {
	Brokers     []Node
	Controllers []Node
	// Lost are brokers that a person accepted as lost: nothing waits for them,
	// and their registration is no stranger's.
	Lost []Node
}

// Nodes returns brokers, then controllers; none that is lost.
func (inv Inventory) Nodes() []Node {
	return append(slices.Clone(inv.Brokers), inv.Controllers...)
}

// Node finds a node by id.
func (inv Inventory) Node(id int32) (Node, bool) {
	for _, n := range inv.Nodes() {
		if n.ID == id {
			return n, true
		}
	}
	return Node{}, false
}

// IDs returns the ids of nodes in ascending order.
func IDs(nodes []Node) []int32 {
	ids := make([]int32, 0, len(nodes))
	for _, n := range nodes {
		ids = append(ids, n.ID)
	}
	slices.Sort(ids)
	return ids
}
