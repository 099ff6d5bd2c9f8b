package simcluster

import (
	"fmt"
	"slices"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/configgen"
	"migrator/internal/facts"
)

func (n *node) fileFact(begun time.Time) facts.Fact[facts.File] {
	if n.file == nil {
		return facts.Known(facts.File{}, n.Properties, begun)
	}
	f := facts.File{Exists: true, SHA256: sum(n.file), Content: slices.Clone(n.file)}
	if mode, err := configgen.Mode(n.file, n.Role); err == nil {
		f.Mode = mode
	}
	return facts.Known(f, n.Properties, begun)
}

func (n *node) metaFact(begun time.Time) facts.Fact[[]facts.MetaProperties] {
	m := facts.MetaProperties{Dir: "/data/kafka"}
	if n.Role == cluster.Controller {
		m.Dir = "/data/meta"
	}
	if n.meta != nil {
		m.Exists, m.Version, m.ClusterID, m.NodeID = true, n.meta.version, n.meta.clusterID, fmt.Sprint(n.meta.nodeID)
	}
	return facts.Known([]facts.MetaProperties{m}, "meta.properties", begun)
}

// apiFact is a node's own answer to ApiVersions.
func (c *Cluster) apiFact(n *node, begun time.Time) facts.Fact[facts.API] {
	source := fmt.Sprintf("ApiVersions of node %d", n.ID)
	if !n.serves() || c.unreachable(n.ID) {
		return facts.Unknown[facts.API]("connection refused", source, begun)
	}
	level := c.quorum.level
	switch n.proc.mode {
	case cluster.ZK, cluster.ZKMigrating:
		return facts.Known(facts.API{UpdateMetadata: true, ZkMigrationReady: n.proc.mode == cluster.ZKMigrating}, source, begun)
	case cluster.KRaftMigrating:
		return facts.Known(facts.API{DescribeQuorum: true, ZkMigrationReady: true, MetadataVersion: &level}, source, begun)
	default:
		return facts.Known(facts.API{DescribeQuorum: true, MetadataVersion: &level}, source, begun)
	}
}
