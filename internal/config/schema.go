package config

import "github.com/goccy/go-yaml/ast"

// The raw types mirror migrations.yaml key by key. Scalars stay text here and
// are judged in validation, so that all problems are found in one pass.

type rawFile struct {
	Migrations []rawMigration `yaml:"migrations"`
}

type rawMigration struct {
	Name      text `yaml:"name"`
	ZooKeeper struct {
		Connect text              `yaml:"connect"`
		Login   rawZooKeeperLogin `yaml:",inline"`
	} `yaml:"zookeeper"`
	Kafka struct {
		Version   text          `yaml:"version"`
		Bootstrap texts         `yaml:"bootstrap"`
		Login     rawKafkaLogin `yaml:",inline"`
	} `yaml:"kafka"`
	Quorum struct {
		Mode     text `yaml:"mode"`
		Listener struct {
			Name     text `yaml:"name"`
			Protocol text `yaml:"protocol"`
			Port     text `yaml:"port"`
		} `yaml:"listener"`
		TLS  *rawTLS  `yaml:"tls"`
		SASL *rawSASL `yaml:"sasl"`
	} `yaml:"quorum"`
	BrokerDefaults     rawSettings `yaml:"broker_defaults"`
	ControllerDefaults rawSettings `yaml:"controller_defaults"`
	Brokers            []rawNode   `yaml:"brokers"`
	Controllers        []rawNode   `yaml:"controllers"`
	Gates              struct {
		GoodPolls    text `yaml:"good_polls"`
		PollInterval text `yaml:"poll_interval"`
		StepTimeout  text `yaml:"step_timeout"`
		MaxFactAge   text `yaml:"max_fact_age"`
	} `yaml:"gates"`
	Soak []struct {
		Phase    text `yaml:"phase"`
		Duration text `yaml:"duration"`
	} `yaml:"soak"`
	Drill struct {
		Phase          text  `yaml:"phase"`
		Kinds          texts `yaml:"kinds"`
		MaxUnavailable text  `yaml:"max_unavailable"`
	} `yaml:"drill"`
	Roll struct {
		Batch    text `yaml:"batch"`
		MaxNodes text `yaml:"max_nodes"`
		First    text `yaml:"first"`
	} `yaml:"roll"`
	Canary struct {
		Topic    text `yaml:"topic"`
		Interval text `yaml:"interval"`
		Off      text `yaml:"off"`
	} `yaml:"canary"`
	Approve texts `yaml:"approve"`
	Waivers []struct {
		Code   text `yaml:"code"`
		Reason text `yaml:"reason"`
	} `yaml:"waivers"`
	Hooks struct {
		Freeze     texts `yaml:"freeze"`
		Thaw       texts `yaml:"thaw"`
		BeforeNode texts `yaml:"before_node"`
		AfterNode  texts `yaml:"after_node"`
	} `yaml:"hooks"`
	Rehearsal        text `yaml:"rehearsal"`
	RequireRehearsal *struct {
		Within text `yaml:"within"`
	} `yaml:"require_rehearsal"`
}

// rawSettings is what *_defaults and a node have in common.
type rawSettings struct {
	Access     *rawAccess   `yaml:"access"`
	Properties text         `yaml:"properties"`
	Logs       texts        `yaml:"logs"`
	LogDirs    texts        `yaml:"log_dirs"`
	Settings   []rawSetting `yaml:"settings"`
	Commands   rawCommands  `yaml:"commands"`
}

type rawNode struct {
	ID   text        `yaml:"id"`
	Host text        `yaml:"host"`
	Port text        `yaml:"port"`
	Rack text        `yaml:"rack"`
	Own  rawSettings `yaml:",inline"` // what overrides the defaults
}

// rawAccess names the keys of every kind; which kind has which is judged.
type rawAccess struct {
	Kind           text      `yaml:"kind"`
	User           text      `yaml:"user"`
	Port           text      `yaml:"port"`
	KeyFile        text      `yaml:"key_file"`
	Passphrase     rawSecret `yaml:"passphrase"`
	KnownHosts     text      `yaml:"known_hosts"`
	Config         text      `yaml:"config"`
	Jump           text      `yaml:"jump"`
	Become         texts     `yaml:"become"`
	MaxConnections text      `yaml:"max_connections"`
	Argv           texts     `yaml:"argv"`
	Files          text      `yaml:"files"`
}

type rawSetting struct {
	Key   text            `yaml:"key"`
	Value rawSettingValue `yaml:"value"`
}

// rawSettingValue is a value as it is written, or where a secret one is kept.
type rawSettingValue struct {
	text   text
	secret rawSecret
}

// UnmarshalYAML takes a mapping for a secret's source, all else as text.
func (v *rawSettingValue) UnmarshalYAML(node ast.Node) error {
	switch unwrap(node).(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return v.secret.UnmarshalYAML(node)
	}
	return v.text.UnmarshalYAML(node)
}

type rawCommands struct {
	Format  texts `yaml:"format"`
	Start   texts `yaml:"start"`
	Stop    texts `yaml:"stop"`
	Running texts `yaml:"running"`
	Kill    texts `yaml:"kill"`
	Disable texts `yaml:"disable"`
}

// text is one scalar as it is written: a version 3.10 must not become 3.1.
type text struct {
	value string
	set   bool
	not   string // what stands there instead of a scalar
}

// UnmarshalYAML keeps any scalar; a list or mapping is remembered, not refused.
func (t *text) UnmarshalYAML(node ast.Node) error {
	t.set = true
	switch n := unwrap(node).(type) {
	case *ast.StringNode:
		t.value = n.Value
	case *ast.LiteralNode:
		t.value = n.Value.Value
	case *ast.SequenceNode:
		t.not = "a list"
	case *ast.MappingNode, *ast.MappingValueNode:
		t.not = "a mapping"
	case nil:
		t.not = "a tag without a value"
	default:
		t.value = n.GetToken().Value
	}
	return nil
}

// texts is a list of scalars, or the single value that stands in its place.
type texts struct {
	items []text
	set   bool
	one   *text
}

// UnmarshalYAML takes a list, and keeps anything else for validation.
func (t *texts) UnmarshalYAML(unmarshal func(any) error) error {
	t.set = true
	if unmarshal(&t.items) == nil {
		return nil
	}
	t.items, t.one = nil, &text{}
	return unmarshal(t.one)
}
