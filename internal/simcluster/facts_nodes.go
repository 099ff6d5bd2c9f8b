package simcluster

import (
	"fmt"
	"slices"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/remote"
)

func (n *node) fileFact(begun time.Time) facts.Fact[facts.File] {
	if n.file == nil {
		return facts.Known(facts.File{}, n.Properties, begun)
	}
	return facts.Known(n.file.described(), n.Properties, begun)
}

func (f *content) described() facts.File {
	return facts.File{Exists: true, SHA256: f.sha, Content: f.data, Mode: f.mode}
}

// keptFact are the copies beside a node's file.
func (c *Cluster) keptFact(id int32, begun time.Time) facts.Fact[[]facts.KeptFile] {
	n := c.nodes[id]
	source := "copies beside " + n.Properties
	if c.unreachable(id) {
		return facts.Unknown[[]facts.KeptFile]("connection timed out", source, begun)
	}
	found := []facts.KeptFile{}
	for _, f := range n.kept {
		found = append(found, facts.KeptFile{Path: remote.BackupPath(n.Properties, f.sha), File: f.described()})
	}
	return facts.Known(found, source, begun)
}

// keepCopy is what a write does before it replaces the file, once per content.
func (n *node) keepCopy() {
	if n.file != nil && !slices.ContainsFunc(n.kept, func(f *content) bool { return f.sha == n.file.sha }) {
		n.kept = append(n.kept, n.file)
	}
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
