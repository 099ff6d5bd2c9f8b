package kraftlog

import (
	"maps"

	"migrator/internal/cluster"
)

// state is the image being built. Inner maps that an Image handed out shares
// are copied before their first change, the outer ones when an Image is taken.
type state struct {
	migration    cluster.MigrationState
	hasMigration bool
	lastChange   int64
	hasChange    bool

	brokers     map[int32]Broker
	controllers map[int32]Controller
	features    map[string]int16
	other       map[string]int

	topics  map[string]Topic
	names   map[[16]byte]string
	owned   map[string]bool // topics whose partitions no image shares
	configs configs
}

// configs are the overrides of all resources.
type configs struct {
	topics      map[string]map[string]string
	ownedTopics map[string]bool
	brokers     map[int32]map[string]string
	defaults    map[string]string
}

func newState() *state {
	return &state{
		brokers: map[int32]Broker{}, controllers: map[int32]Controller{}, features: map[string]int16{}, other: map[string]int{},
		topics: map[string]Topic{}, names: map[[16]byte]string{}, owned: map[string]bool{},
		configs: configs{
			topics: map[string]map[string]string{}, ownedTopics: map[string]bool{},
			brokers: map[int32]map[string]string{}, defaults: map[string]string{},
		},
	}
}

// share copies what is small or changes in place and gives away the rest,
// remembering that it is no longer ours to change.
func (s *state) share() Image {
	clear(s.owned)
	clear(s.configs.ownedTopics)
	brokers := make(map[int32]map[string]string, len(s.configs.brokers))
	for id, config := range s.configs.brokers {
		brokers[id] = maps.Clone(config)
	}
	return Image{
		State: s.migration, HasState: s.hasMigration,
		Brokers: maps.Clone(s.brokers), Controllers: maps.Clone(s.controllers),
		Features: maps.Clone(s.features), Other: maps.Clone(s.other),
		Topics: maps.Clone(s.topics), TopicConfigs: maps.Clone(s.configs.topics),
		BrokerConfigs: brokers, BrokerDefaults: maps.Clone(s.configs.defaults),
	}
}

// partitions returns the partitions of a topic, ours to change.
func (s *state) partitions(name string) map[int32]Partition {
	if s.owned[name] {
		return s.topics[name].Partitions
	}
	topic := s.topics[name]
	topic.Partitions = maps.Clone(topic.Partitions)
	s.topics[name] = topic
	s.owned[name] = true
	return topic.Partitions
}

// setTopic sets or, with nil, removes one override of a topic.
func (c *configs) setTopic(topic, key string, value *string) {
	settings := c.topics[topic]
	if !c.ownedTopics[topic] {
		settings = maps.Clone(settings)
		c.ownedTopics[topic] = true
	}
	settings = set(settings, key, value)
	if len(settings) == 0 {
		c.removeTopic(topic)
		return
	}
	c.topics[topic] = settings
}

func (c *configs) removeTopic(topic string) {
	delete(c.topics, topic)
	delete(c.ownedTopics, topic)
}

func (c *configs) setBroker(id int32, key string, value *string) {
	settings := set(c.brokers[id], key, value)
	if len(settings) == 0 {
		delete(c.brokers, id)
		return
	}
	c.brokers[id] = settings
}

func set(settings map[string]string, key string, value *string) map[string]string {
	if value == nil {
		delete(settings, key)
		return settings
	}
	if settings == nil {
		settings = map[string]string{}
	}
	settings[key] = *value
	return settings
}
