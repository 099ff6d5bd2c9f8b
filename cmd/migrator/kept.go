package main

import (
	"context"
	"fmt"
	"path"
	"strings"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/configgen"
	"migrator/internal/phases"
	"migrator/internal/remote"
)

// kept are brokers' earlier files, found on the nodes beside the present ones:
// all there is to go by when the journal that knew them is gone.
type kept struct {
	contents map[string][]byte // by SHA-256
	unclear  []string          // what was looked for and is not plain
}

func (k *kept) content(sha string) ([]byte, error) {
	data, ok := k.contents[sha]
	if !ok {
		return nil, fmt.Errorf("content %s is not known", sha)
	}
	return data, nil
}

// findKept looks on every broker and tells the state which file was its
// original and which its migration-mode one. Of several that could be meant
// none is taken: a wrong file would be worse than a question.
func findKept(ctx context.Context, m config.Migration, state *phases.State) *kept {
	k := &kept{contents: map[string][]byte{}}
	for _, n := range m.Nodes {
		if n.Role != cluster.Broker {
			continue
		}
		found, err := k.beside(ctx, n)
		if err != nil {
			k.unclear = append(k.unclear, fmt.Sprintf("broker %d: %v", n.ID, err))
			continue
		}
		for mode, into := range map[cluster.Mode]map[int32]string{cluster.ZK: state.Originals, cluster.ZKMigrating: state.Migrating} {
			if len(found[mode]) == 1 {
				into[n.ID] = found[mode][0]
			}
			if len(found[mode]) > 1 {
				k.unclear = append(k.unclear, fmt.Sprintf("broker %d: %d kept files in %s mode: leave only the right one under its name", n.ID, len(found[mode]), mode))
			}
		}
	}
	return k
}

// beside answers the hashes of the kept copies of a node's file, by mode. One
// whose name is not that of its content was changed since, and does not count.
func (k *kept) beside(ctx context.Context, n config.Node) (map[cluster.Mode][]string, error) {
	node, err := remote.Open(n.Access)
	if err != nil {
		return nil, err
	}
	folder := path.Dir(n.Properties)
	listed, err := node.Run(ctx, []string{"ls", "-A", "--", folder})
	if err != nil {
		return nil, err
	}
	if listed.Exit != 0 || listed.Truncated {
		return nil, fmt.Errorf("the names in %s cannot be read whole", folder)
	}
	found := map[cluster.Mode][]string{}
	for _, name := range strings.Split(listed.Stdout, "\n") {
		if !strings.HasPrefix(name, path.Base(n.Properties)+".migrator-") || !strings.HasSuffix(name, ".bak") {
			continue
		}
		data, err := node.ReadFile(ctx, path.Join(folder, name))
		if err != nil {
			return nil, err
		}
		sha := remote.Sum(data)
		mode, err := configgen.Mode(data, n.Role)
		if err != nil || path.Base(remote.BackupPath(n.Properties, sha)) != name {
			continue
		}
		k.contents[sha] = data
		found[mode] = append(found[mode], sha)
	}
	return found, nil
}
