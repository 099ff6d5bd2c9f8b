package simcluster

import (
	"fmt"

	"migrator/internal/configgen"
	"migrator/internal/plan"
	"migrator/internal/status"
)

// Run does one errand as a person would: on the node, without the service. The
// content of a file comes from wherever the service offers it.
func (c *Cluster) Run(e status.Errand, content func(sha string) ([]byte, error)) error {
	switch e.Action {
	case plan.Stop:
		return c.byHand(e, func(n *node) error { n.stopCommand(c); return nil })
	case plan.Start:
		return c.byHand(e, func(n *node) error { n.startCommand(c); return nil })
	case plan.Write:
		data, err := content(e.SHA256)
		if err != nil {
			return err
		}
		return c.PutFile(e.Node, data)
	case plan.FormatDirs:
		return c.byHand(e, func(n *node) error {
			level, err := configgen.FeatureLevel(e.Argv[len(e.Argv)-1])
			if err == nil && n.meta == nil {
				n.meta, n.metaLevel = &meta{version: 1, clusterID: e.Argv[len(e.Argv)-2], nodeID: n.ID}, level
			}
			return err
		})
	case plan.Archive:
		return c.byHand(e, func(n *node) error { c.moveAside(n); return nil })
	default:
		return nil
	}
}

// PutFile is a person who replaces a node's file.
func (c *Cluster) PutFile(id int32, data []byte) error {
	return c.byHand(status.Errand{Node: id}, func(n *node) error {
		n.keepCopy()
		n.file = newContent(data, n.Role)
		return nil
	})
}

func (c *Cluster) byHand(e status.Errand, do func(*node) error) error {
	defer c.hold()()
	n, ok := c.nodes[e.Node]
	if !ok {
		return fmt.Errorf("no node %d", e.Node)
	}
	return do(n)
}
