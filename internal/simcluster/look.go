package simcluster

import (
	"slices"

	"migrator/internal/cluster"
)

// End is how the cluster stands, without what differs from run to run.
type End struct {
	State cluster.MigrationState
	Modes map[int32]cluster.Mode // of the nodes that serve
	Files map[int32]string       // SHA-256
	Short int                    // partitions without a full ISR
	// Topics in both stores, in order.
	Topics []string
	// Holder is the role of the node that /controller names, empty for nobody;
	// Migration says that /migration exists.
	Holder    cluster.Role
	Migration bool
}

// End says how the cluster stands now.
func (c *Cluster) End() End {
	defer c.still()()
	e := End{State: c.quorum.state, Migration: c.zk.migration != nil, Modes: map[int32]cluster.Mode{}, Files: map[int32]string{}}
	for id, n := range c.nodes {
		if n.serves() {
			e.Modes[id] = n.proc.mode
		}
		if n.file != nil {
			e.Files[id] = n.file.sha
		}
	}
	if c.zk.holder != nil {
		e.Holder = c.nodes[c.zk.holder.id].Role
	}
	for name, t := range c.topics {
		if c.zk.topics[name] != nil {
			e.Topics = append(e.Topics, name)
		}
		for _, p := range t.partitions {
			if len(p.isr) < len(p.replicas) {
				e.Short++
			}
		}
	}
	slices.Sort(e.Topics)
	return e
}

// Starts counts the processes each node has had.
func (c *Cluster) Starts() map[int32]int {
	defer c.still()()
	out := map[int32]int{}
	for id, n := range c.nodes {
		out[id] = n.starts
	}
	return out
}

// Serves says that a node answers now.
func (c *Cluster) Serves(id int32) bool {
	defer c.still()()
	return c.nodes[id].serves()
}
