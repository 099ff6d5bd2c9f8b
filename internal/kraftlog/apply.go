package kraftlog

import (
	"fmt"
	"strconv"
	"strings"

	"migrator/internal/cluster"
)

// apply folds one record in. It holds to what Kafka's own replay holds to: a
// change of something that is not there is an error, not a guess.
func (s *state) apply(rec record) error {
	if rec.kind != typeNoOp {
		s.lastChange, s.hasChange = rec.offset, true
	}
	switch rec.kind {
	case typeRegisterBroker:
		return s.registerBroker(rec)
	case typeUnregisterBroker:
		return s.unregisterBroker(rec)
	case typeFenceBroker, typeUnfenceBroker:
		return s.fenceBroker(rec)
	case typeBrokerRegistrationChange:
		return s.changeBroker(rec)
	case typeRegisterController:
		return s.registerController(rec)
	case typeTopic:
		return s.topic(rec)
	case typeRemoveTopic:
		return s.removeTopic(rec)
	case typePartition:
		return s.partition(rec)
	case typePartitionChange:
		return s.changePartition(rec)
	case typeConfig:
		return s.config(rec)
	case typeFeatureLevel:
		return s.feature(rec)
	case typeZkMigrationState:
		return s.migrationState(rec)
	default:
		s.other[typeName(rec.kind)]++
		return nil
	}
}

func (s *state) config(rec record) error {
	f := rec.fields()
	resource, name, key, value := f.Int8(), f.CompactString(), f.CompactString(), f.CompactNullableString()
	if !f.end(nil) {
		return rec.cutOff()
	}
	switch resource {
	case 2: // topic
		s.configs.setTopic(name, key, value)
	case 4: // broker; an empty name means all of them
		return s.brokerConfig(rec, name, key, conceal(key, value))
	default:
		s.other[fmt.Sprintf("Config of resource type %d", resource)]++
	}
	return nil
}

func (s *state) brokerConfig(rec record, name, key string, value *string) error {
	if name == "" {
		s.configs.defaults = set(s.configs.defaults, key, value)
		return nil
	}
	id, err := strconv.ParseInt(name, 10, 32)
	if err != nil {
		return fmt.Errorf("record at offset %d: config of broker %.40q, which is no number", rec.offset, name)
	}
	s.configs.setBroker(int32(id), key, value)
	return nil
}

// conceal hides values that may be secret: KRaft keeps them in plain text,
// where ZooKeeper held them encrypted.
func conceal(key string, value *string) *string {
	if value == nil {
		return nil
	}
	lower := strings.ToLower(key)
	for _, word := range []string{"password", "secret", "jaas", "token", "credential", "keystore.key", "certificate"} {
		if strings.Contains(lower, word) {
			hidden := Hidden
			return &hidden
		}
	}
	return value
}

func (s *state) feature(rec record) error {
	f := rec.fields()
	name, level := f.CompactString(), f.Int16()
	if !f.end(nil) {
		return rec.cutOff()
	}
	if level == 0 { // level 0 means that the feature is off
		delete(s.features, name)
		return nil
	}
	s.features[name] = level
	return nil
}

func (s *state) migrationState(rec record) error {
	f := rec.fields()
	number := f.Int8()
	if !f.end(nil) {
		return rec.cutOff()
	}
	name, ok := stateName(number)
	if !ok {
		return fmt.Errorf("record at offset %d: migration state %d has no name", rec.offset, number)
	}
	s.migration, s.hasMigration = name, true
	return nil
}

// stateName turns the number into its name. The numbers of pre-migration and
// migration are those of Kafka 3.5 and later; 3.4 had them the other way round.
func stateName(number int8) (cluster.MigrationState, bool) {
	switch number {
	case 0:
		return cluster.StateNone, true
	case 1:
		return cluster.StateMigration, true
	case 2:
		return cluster.StatePreMigration, true
	case 3:
		return cluster.StatePostMigration, true
	case 4:
		return cluster.StateZK, true
	default:
		return "", false
	}
}
