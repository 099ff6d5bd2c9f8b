package observe

import (
	"context"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/connect"
	"migrator/internal/facts"
	"migrator/internal/findings"
	"migrator/internal/survey"
)

// open makes the real readers. None of them connects before it is asked.
func open(m config.Migration) (sources, error) {
	brokers, err := connect.Brokers(m.Kafka)
	if err != nil {
		return sources{}, err
	}
	controllers, err := connect.Controllers(m)
	if err != nil {
		brokers.Close()
		return sources{}, err
	}
	zk, err := connect.Reader(m.ZooKeeper, zkSession)
	if err != nil {
		brokers.Close()
		controllers.Close()
		return sources{}, err
	}
	return sources{
		zk:          openZooKeeper(zk, m.Kafka.Protocol()),
		brokers:     openBrokers(brokers),
		controllers: openControllers(controllers),
		nodes:       openNodes(),
		preflight: func(ctx context.Context, snap facts.Snapshot) (facts.Preflight, error) {
			s, err := survey.Read(ctx, m, snap, nil)
			if err != nil {
				return facts.Preflight{}, err
			}
			before := cluster.Initial
			return findings.Summary(findings.Judge(s, &before)), nil
		},
		close: func() error {
			brokers.Close()
			controllers.Close()
			zk.Close()
			return nil
		},
	}, nil
}
