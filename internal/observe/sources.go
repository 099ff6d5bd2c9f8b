package observe

import (
	"context"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/facts"
	"migrator/internal/noderead"
	"migrator/internal/remote"
)

// sources are the readers as a round needs them: one function for each
// question, each obeying its context and answering in facts.
type sources struct {
	zk          zookeeperSource
	brokers     brokersSource
	controllers controllersSource
	nodes       nodesSource
	preflight   func(context.Context, facts.Snapshot) (facts.Preflight, error)
	close       func() error
}

type zookeeperSource struct {
	clusterID  func(context.Context) (string, error)
	holder     func(context.Context) (facts.Holder, error)
	epoch      func(context.Context) (facts.ZKEpoch, error)
	migration  func(context.Context) (facts.MigrationZnode, error)
	registered func(context.Context) ([]facts.Registration, error)
	ensemble   func(context.Context) ([]facts.ZKMember, error)
	deleting   func(context.Context) ([]string, error)
	topic      func(ctx context.Context, name string) (map[string]string, error) // its configuration
	topics     func(context.Context) (facts.ZKTopics, error)
}

type brokersSource struct {
	metadata    func(context.Context) (facts.Metadata, error)
	minISR      func(context.Context) (map[string]int, error)
	reassigning func(context.Context) ([]string, error)
	api         func(ctx context.Context, id int32, address string) (facts.API, error)
	named       func(ctx context.Context, address string) ([]int32, error)
	settings    func(ctx context.Context, id int32, address string) ([]facts.Setting, error)
}

type controllersSource struct {
	quorum func(ctx context.Context, id int32) (facts.Quorum, error)
	api    func(ctx context.Context, id int32) (facts.API, error)
	log    func(ctx context.Context, leader int32, q facts.Quorum) (facts.Log, error)
	forget func() // what was read of the log
}

type nodesSource struct {
	open   func(config.Access) (remote.Node, error)
	mode   func(file []byte, role cluster.Role) (cluster.Mode, error)
	dirs   func(file []byte) ([]string, error)
	meta   func(ctx context.Context, machine remote.Node, dirs []string) ([]facts.MetaProperties, error)
	follow func(machine remote.Node, logs config.Logs, from []noderead.FileCursor) (follower, error)
}
