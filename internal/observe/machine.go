package observe

import (
	"context"
	"strconv"

	"migrator/internal/config"
	"migrator/internal/configgen"
	"migrator/internal/facts"
	"migrator/internal/noderead"
	"migrator/internal/remote"
)

func openNodes() nodesSource {
	return nodesSource{
		open: remote.Open,
		mode: configgen.Mode,
		dirs: configgen.LogDirs,
		meta: metaProperties,
		follow: func(machine remote.Node, logs config.Logs, from []noderead.FileCursor) (follower, error) {
			f, err := noderead.NewFollower(machine, logs, from)
			if err != nil {
				return nil, err // never a nil *Follower in a follower that is not nil
			}
			return f, nil
		},
	}
}

func metaProperties(ctx context.Context, machine remote.Node, dirs []string) ([]facts.MetaProperties, error) {
	metas, err := noderead.MetaProperties(ctx, machine, dirs)
	if err != nil {
		return nil, err
	}
	out := make([]facts.MetaProperties, 0, len(metas))
	for _, m := range metas {
		f := facts.MetaProperties{Dir: m.Dir, Exists: m.Exists, Version: m.Version}
		if m.ClusterID != nil {
			f.ClusterID = *m.ClusterID
		}
		if m.DirectoryID != nil {
			f.DirectoryID = *m.DirectoryID
		}
		if m.NodeID != nil {
			f.NodeID = strconv.FormatInt(int64(*m.NodeID), 10)
		}
		out = append(out, f)
	}
	return out, nil
}
