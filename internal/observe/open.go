package observe

import (
	"context"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/facts"
	"migrator/internal/findings"
	"migrator/internal/kafkaread"
	"migrator/internal/survey"
	"migrator/internal/zkread"
)

// open makes the real readers. None of them connects before it is asked.
func open(m config.Migration) (sources, error) {
	brokers, err := kafkaread.OpenBrokers(m.Kafka.Bootstrap)
	if err != nil {
		return sources{}, err
	}
	controllers, err := kafkaread.OpenControllers(controllerAddresses(m))
	if err != nil {
		brokers.Close()
		return sources{}, err
	}
	zk, err := zkread.Open(m.ZooKeeper.Connect, zkSession)
	if err != nil {
		brokers.Close()
		controllers.Close()
		return sources{}, err
	}
	return sources{
		zk:          openZooKeeper(zk),
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
