package execute

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"migrator/internal/double"
)

// What one transaction of a load may hold; ZooKeeper takes 1 MB at a time.
const (
	loadZnodes = 500
	loadBytes  = 256 << 10
)

// Load fills the ZooKeeper of a throwaway cluster, in which no broker was ever
// started, with a double's znodes; it refuses one that has a cluster. done
// counts them.
func (z *ZNodes) Load(ctx context.Context, tree []double.Znode, done func(n int)) error {
	there, err := call(ctx, func() (bool, error) { ok, _, err := z.conn.Exists(z.full("/brokers")); return ok, err })
	if err != nil {
		return fmt.Errorf("load a double: %w", err)
	}
	if there {
		return errors.New("load a double: ZooKeeper has a cluster already")
	}
	var ops []any
	size := 0
	for i, n := range tree {
		ops = append(ops, &zk.CreateRequest{Path: z.full(n.Path), Data: n.Data, Acl: zk.WorldACL(zk.PermAll)})
		size += len(n.Path) + len(n.Data)
		if len(ops) < loadZnodes && size < loadBytes && i+1 < len(tree) {
			continue
		}
		if _, err := call(ctx, func() ([]zk.MultiResponse, error) { return z.conn.Multi(ops...) }); err != nil {
			return fmt.Errorf("load a double, up to %s: %w", n.Path, err)
		}
		ops, size = nil, 0
		done(i + 1)
	}
	return nil
}
