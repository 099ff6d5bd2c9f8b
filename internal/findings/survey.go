package findings

import (
	"migrator/internal/config"
	"migrator/internal/facts"
)

// Survey is everything preflight read of one cluster. Maps are keyed by node
// id; a node that was not read has the zero (unknown) fact.
type Survey struct {
	Migration config.Migration
	Snapshot  facts.Snapshot // files, meta.properties, registrations and the rest that gates judge too

	Us   Us
	Tree facts.Fact[Tree] // every znode of Kafka's below the chroot

	// Asked of brokers over Kafka's protocol.
	Effective map[int32]facts.Fact[[]facts.Setting] // DescribeConfigs of each broker
	LogDirs   map[int32]facts.Fact[[]LogDir]        // DescribeLogDirs
	// Releases are the brokers' minor releases, such as "3.9", told by the
	// requests they serve; empty when they fit none.
	Releases map[int32]facts.Fact[string]

	Clients  facts.Fact[[]ZKClient] // who has a connection to ZooKeeper
	Machines map[int32]Machine      // what was looked at on each node

	parsed *parsed // filled by the first check that reads topics
}

// LogDir is one log directory as the broker reports it.
type LogDir struct {
	Path    string
	Offline bool
	Error   string
}

// ZKClient is one open session at a ZooKeeper server.
type ZKClient struct {
	Member  string // the server asked
	Address string // host:port of the client
	Session int64
	Nodes   []string // names of the inventory's nodes on a host with that address
}

// Machine is what was looked at on a node besides its properties file. What was
// not looked at is absent or unknown.
type Machine struct {
	Folders map[string]facts.Fact[Folder] // a broker's log folders, by path
	Files   map[string]facts.Fact[bool]   // whether a file of FilesNeeded is there
	Process facts.Fact[Process]
	Reach   []Reach // connections tried from this node
	// StopLimit is the service manager's stop time limit in milliseconds; nil in
	// a known fact means that it has none.
	StopLimit facts.Fact[*int64]
	// HeapBytes is the largest heap of the node's JVM, in bytes.
	HeapBytes facts.Fact[int64]
	// ClockAheadMs is how far the machine's clock is before this one's, in milliseconds.
	ClockAheadMs facts.Fact[int64]
}

// Folder is what is odd in one log folder.
type Folder struct {
	Odd      []string          // folders that are no partition's: __cluster_metadata-0, *-stray, *-delete
	Bare     []string          // partition folders without partition.metadata
	TopicIDs map[string]string // the id in partition.metadata, by partition folder
	Whole    bool              // nothing is missing in the above
}

// Process is the running JVM of a node.
type Process struct {
	HeapBytes   *int64   // -Xmx; nil: not said
	Overrides   []string // keys of --override; their values may be secrets
	Environment []string // names of its KAFKA_* variables, where they may be read
}

// Reach is what became of one connection that the migration will need.
type Reach struct {
	Connection
	Result facts.Fact[Reached]
}
