package facts

import (
	"time"

	"migrator/internal/cluster"
	"migrator/internal/kraftlog"
)

// Snapshot is everything observed of one cluster in one round. Maps are keyed
// by node id; a node that was not read has the zero (unknown) fact.
type Snapshot struct {
	Begun time.Time // when the round started

	// ZooKeeper.
	ClusterID  Fact[string]
	Holder     Fact[Holder]            // /controller
	ZKEpoch    Fact[ZKEpoch]           // /controller_epoch
	Migration  Fact[MigrationZnode]    // /migration
	Registered Fact[[]Registration]    // /brokers/ids, by id
	Ensemble   Fact[[]ZKMember]        // each configured member
	Writable   Fact[bool]              // a write of our own driver znode went through
	Driver     Fact[Driver]            // who drives this cluster
	Deleting   Fact[[]string]          // /admin/delete_topics
	ZKTopics   Fact[ZKTopics]          // full scan; only where wanted
	ZKMarker   Fact[map[string]string] // /config/topics/<canary topic>

	// Quorum, asked of each controller directly.
	Quorum map[int32]Fact[Quorum]
	API    map[int32]Fact[API] // brokers and controllers
	Log    Fact[Log]           // the metadata log, read from the active controller

	// Data plane, through brokers.
	Metadata    Fact[Metadata]
	MinISR      Fact[map[string]int] // effective min.insync.replicas by topic
	Preflight   Fact[Preflight]      // what the findings say; only where wanted
	Reassigning Fact[[]string]       // "topic-partition"
	// Named is whom each live broker takes for the controller, asked several times in a row.
	Named       map[int32]Fact[[]int32]
	CanaryStats Fact[Canary]
	// Settings are what a broker says it runs with; only where wanted.
	Settings map[int32]Fact[[]Setting]

	// Nodes.
	Files   map[int32]Fact[File]
	Kept    map[int32]Fact[[]KeptFile] // what our writes replaced; only where wanted
	Running map[int32]Fact[bool]
	Lines   map[int32]Fact[Lines]
	Meta    map[int32]Fact[[]MetaProperties]
}

// Setting is one setting in force as DescribeConfigs names it.
type Setting struct {
	Name      string
	Value     string // empty where Sensitive
	Null      bool
	Sensitive bool
	Source    string // dynamic-broker, dynamic-default, static, default
}

// Preflight is what the registry of findings says of the cluster before its
// migration begins.
type Preflight struct {
	Blocks   []Blocking
	Warnings int
}

// Blocking is one finding that keeps a migration from beginning.
type Blocking struct {
	Code    string
	Safety  bool // nobody may override it
	Unknown bool // it could not be ruled out
	Text    string
	Fix     string
}

// Holder is /controller. KRaftEpoch is nil when the field is absent (older
// brokers) and when it is -1, Kafka's "not a KRaft controller".
type Holder struct {
	Present    bool
	ID         int32
	KRaftEpoch *int32
	Ephemeral  bool
}

// KRaft says whether a KRaft controller holds /controller: a persistent znode
// with an epoch (KIP-866).
func (h Holder) KRaft() bool { return h.Present && h.KRaftEpoch != nil }

// ZKEpoch is /controller_epoch.
type ZKEpoch struct {
	Present bool
	Value   int
}

// MigrationZnode is /migration. Offset is nil until the copy is done (Kafka
// writes -1); Null means the znode exists without data (KAFKA-19480).
type MigrationZnode struct {
	Present         bool
	Null            bool
	ControllerID    *int32
	ControllerEpoch *int32
	Offset          *int64
	Version         int32 // znode version, rises with each dual write
}

// Registration is one child of /brokers/ids. Czxid changes with each
// registration, so a new one proves a restart.
type Registration struct {
	ID    int32
	Host  string
	Port  int
	Rack  string
	Czxid int64
}

// ZKMember is one configured ZooKeeper server. Serving is nil when its answer
// could not be understood (four-letter words not allowed).
type ZKMember struct {
	Address string
	Serving *bool
	Mode    string // leader, follower, observer, standalone, read-only; empty when it did not tell
	Version string // empty when it did not tell
	Why     string
}

// Driver is our own lock znode.
type Driver struct {
	Held  bool   // by this service
	Owner string // who holds it, when not we
}

// ZKTopics is a whole reading of /brokers/topics.
type ZKTopics struct {
	Topics map[string]ZKTopic
}

// ZKTopic is one topic in ZooKeeper.
type ZKTopic struct {
	ID         string // base64; empty when the znode has none (HasID false)
	HasID      bool
	Partitions map[int32]ZKPartition
}

// ZKPartition is assignment and state; HasState false when the state znode is missing.
type ZKPartition struct {
	Replicas        []int32
	HasState        bool
	ISR             []int32
	Leader          int32
	LeaderEpoch     int32
	ControllerEpoch int32
}

// Quorum is one controller's answer to DescribeQuorum. Only the leader gives
// voters and offsets; a follower only that it is alive.
type Quorum struct {
	IsLeader      bool
	Leader        int32
	HasLeader     bool
	Epoch         int32
	HighWatermark int64
	Voters        []Replica
	Observers     []Replica
}

// Replica is a voter or observer as the leader sees it.
type Replica struct {
	ID           int32
	LogEndOffset int64
	LastFetch    time.Time
	LastCaughtUp time.Time
}

// API is what ApiVersions of one node says.
type API struct {
	DescribeQuorum   bool // key 55: KRaft nodes
	UpdateMetadata   bool // key 6: ZooKeeper-mode brokers
	ZkMigrationReady bool
	MetadataVersion  *int16 // finalized; nil on ZooKeeper-mode brokers
}

// Log is the metadata log up to its high watermark.
type Log struct {
	Leader        int32
	Epoch         int32
	HighWatermark int64
	Image         kraftlog.Image
}

// Metadata is the cluster as its brokers describe it.
type Metadata struct {
	ClusterID  string
	Brokers    []MetadataBroker
	Partitions []Partition
}

// MetadataBroker is a live broker and where clients reach it.
type MetadataBroker struct {
	ID   int32
	Host string
	Port int
}

// Partition is one partition as brokers describe it.
type Partition struct {
	Topic       string
	Partition   int32
	HasLeader   bool
	Leader      int32
	LeaderEpoch int32
	Replicas    []int32
	ISR         []int32
}

// Canary is what clients feel, measured by our own. Durations are since the
// last accepted attempt, or the longest between two.
type Canary struct {
	Sent, Acked, Failed, Lost uint64
	Unchecked                 uint64 // acknowledged, and no longer checked
	LongestStall              time.Duration
	LongestMetadataStall      time.Duration
	Stall                     time.Duration
	LastAck                   time.Time
	// MarkerKey, MarkerValue: the newest accepted metadata write, to be found in both stores.
	MarkerKey, MarkerValue string
	MarkerAt               time.Time
}

// File is a node's properties file. Content may hold secrets: it is never shown or stored as is.
type File struct {
	Exists  bool
	SHA256  string
	Content []byte       `json:"-"`
	Mode    cluster.Mode // empty when the file does not say
}

// KeptFile is a copy on the node of what a write of ours replaced.
type KeptFile struct {
	Path string
	File
}

// Lines are log events of a node after the cursor of the open step.
type Lines struct {
	Started    bool                   // its start line was seen
	ShutDown   bool                   // its clean shutdown line was seen
	State      cluster.MigrationState // the last replayed one, empty if none
	CopyDone   bool
	Fatal      []string // lines of the fatal list
	StartRace  bool     // the newest process died of the start-up race of a fresh quorum
	Notes      []string // other known lines, newest last
	Refused    string   // why registration was refused, last
	StrayCount int
	// DeadChannels name the threads to the controller that ended in this process:
	// what a broker sends by them (changes of the ISR, forwarded requests) is
	// never sent until it is restarted.
	DeadChannels []string
	Unsupported  bool // the node has no readable logs (logs: none)
}

// MetaProperties is meta.properties of one log folder.
type MetaProperties struct {
	Dir       string
	Exists    bool
	Version   int
	ClusterID string
	NodeID    string
	// DirectoryID is empty until the node has run in migration or KRaft mode (KIP-858).
	DirectoryID string
}

// Mode is how a node runs now, told by its ApiVersions: ZooKeeper-mode brokers
// serve UpdateMetadata, KRaft nodes DescribeQuorum (kafka 3.4 to 3.9).
func (s *Snapshot) Mode(n cluster.Node) Fact[cluster.Mode] {
	api := s.API[n.ID]
	v, ok := api.Get()
	switch {
	case !ok:
		return Unknown[cluster.Mode](api.Cause(), api.Source(), api.Begun())
	case n.Role == cluster.Controller && v.DescribeQuorum && v.ZkMigrationReady:
		return Known(cluster.KRaftMigrating, api.Source(), api.Begun())
	case n.Role == cluster.Controller && v.DescribeQuorum:
		return Known(cluster.KRaft, api.Source(), api.Begun())
	case n.Role == cluster.Broker && v.DescribeQuorum && !v.UpdateMetadata:
		return Known(cluster.KRaft, api.Source(), api.Begun())
	case n.Role == cluster.Broker && v.UpdateMetadata && !v.DescribeQuorum && v.ZkMigrationReady:
		return Known(cluster.ZKMigrating, api.Source(), api.Begun())
	case n.Role == cluster.Broker && v.UpdateMetadata && !v.DescribeQuorum:
		return Known(cluster.ZK, api.Source(), api.Begun())
	default:
		return Unknown[cluster.Mode]("its ApiVersions answer fits no mode", api.Source(), api.Begun())
	}
}

// Leader is the active controller's own answer to DescribeQuorum. Two
// controllers that both claim to lead (KAFKA-15489) is unknown, never a choice.
func (s *Snapshot) Leader(controllers []cluster.Node) Fact[LeaderView] {
	var found []LeaderView
	var source, cause string
	begun := s.Begun
	for _, n := range controllers {
		f := s.Quorum[n.ID]
		q, ok := f.Get()
		if !ok {
			cause = f.Cause()
			continue
		}
		if q.IsLeader {
			found = append(found, LeaderView{ID: n.ID, Quorum: q})
			source, begun = f.Source(), f.Begun()
		}
	}
	switch {
	case len(found) == 1:
		return Known(found[0], source, begun)
	case len(found) > 1:
		return Unknown[LeaderView]("more than one controller says it leads", source, begun)
	case cause != "":
		return Unknown[LeaderView]("no controller says it leads; last answer: "+cause, "DescribeQuorum", begun)
	default:
		return Unknown[LeaderView]("no controller says it leads", "DescribeQuorum", begun)
	}
}

// LeaderView is the active controller and its view of the quorum.
type LeaderView struct {
	ID int32
	Quorum
}
