package phases

import (
	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/configgen"
	"migrator/internal/facts"
	"migrator/internal/gates"
)

// GateSettings are the parts of migrations.yaml that gates judge by. clusterID
// is the one the migration is bound to, empty before the first observation.
func GateSettings(m config.Migration, clusterID string, snap facts.Snapshot, k *Memo) gates.Settings {
	g, inv := m.Gates, m.Inventory()
	return gates.Settings{Inventory: inv, ClusterID: clusterID, KafkaVersion: m.Kafka.Version,
		GoodPolls: g.GoodPolls, PollInterval: g.PollInterval, MaxFactAge: g.MaxFactAge, StepTimeout: g.StepTimeout,
		MaxUnavailable: m.Drill.MaxUnavailable, CanaryOff: m.Canary.Off, CanaryTopic: m.Canary.Topic, NoRehearsal: m.RequireRehearsal == 0, RehearsedWithin: m.RequireRehearsal, MetadataVersion: agreedLevel(inv.Brokers, m.Kafka.Version, snap, k)}
}

// agreedLevel is the feature level all brokers' files ask for, nil when they
// cannot be read or disagree; KRaft-mode files name none, the software does.
func agreedLevel(brokers []cluster.Node, kafkaVersion string, snap facts.Snapshot, k *Memo) *int16 {
	var agreed *int16
	for _, n := range brokers {
		f, ok := snap.Files[n.ID].Get()
		if !ok || !f.Exists {
			return nil
		}
		if f.Mode == cluster.KRaft {
			continue
		}
		ibp, err := k.ibp(f, kafkaVersion)
		if err != nil {
			return nil
		}
		level, err := configgen.FeatureLevel(ibp)
		if err != nil || agreed != nil && *agreed != level {
			return nil
		}
		agreed = &level
	}
	if agreed != nil {
		return agreed
	}
	level, err := configgen.FeatureLevel(kafkaVersion)
	if err != nil {
		return nil
	}
	return &level
}
