// Package survey reads, once and without changing anything, what the findings
// judge beyond what every round observes. A reader that fails leaves its fact
// unknown with the cause.
package survey

import (
	"context"
	"time"

	"migrator/internal/config"
	"migrator/internal/connect"
	"migrator/internal/facts"
	"migrator/internal/findings"
	"migrator/internal/zkread"
)

const session = 10 * time.Second

// Read looks at everything. snap is what the rounds have observed already;
// progress (may be nil) tells how many znodes are read of how many seen.
func Read(ctx context.Context, m config.Migration, snap facts.Snapshot, progress func(done, seen int)) (findings.Survey, error) {
	s := findings.Survey{Migration: m, Snapshot: snap}
	s.Us = findings.Us{Brokers: subject(ctx, m.Kafka.TLS), Controllers: subject(ctx, m.Quorum.TLS)}
	brokers(ctx, m, &s)
	zk, err := connect.Reader(m.ZooKeeper, session)
	if err != nil {
		return s, err
	}
	s.Tree = tree(ctx, zk, progress)
	zk.Close() // our own sessions must not be among the clients
	s.Clients = clients(ctx, m)
	machines(ctx, m, &s)
	return s, ctx.Err()
}

func tree(ctx context.Context, zk *zkread.Reader, progress func(done, seen int)) facts.Fact[findings.Tree] {
	const source = "all znodes"
	begun := time.Now()
	var nodes []findings.Znode
	_, err := zk.Contents(ctx, "/", func(z zkread.Znode) error {
		nodes = append(nodes, findings.Znode{Path: z.Path, Readable: z.Readable, Why: z.Why, Data: z.Data, Version: z.Version,
			EphemeralOwner: z.EphemeralOwner, CreatedMs: z.CreatedMs, ModifiedMs: z.ModifiedMs})
		return nil
	}, progress)
	if err != nil {
		return facts.Unknown[findings.Tree](findings.Bounded(err.Error()), source, begun)
	}
	return facts.Known(findings.NewTree(nodes), source, begun)
}

// subject is whose certificate we show.
func subject(ctx context.Context, t *config.TLS) facts.Fact[string] {
	const source = "our own certificate"
	begun := time.Now()
	name, err := connect.Subject(ctx, t)
	if err != nil {
		return facts.Unknown[string](findings.Bounded(err.Error()), source, begun)
	}
	return facts.Known(name, source, begun)
}
