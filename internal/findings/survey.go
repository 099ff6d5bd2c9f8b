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

	Tree facts.Fact[Tree] // every znode of Kafka's below the chroot

	// Asked of brokers over Kafka's protocol.
	Effective map[int32]facts.Fact[[]Setting] // DescribeConfigs of each broker
	LogDirs   map[int32]facts.Fact[[]LogDir]  // DescribeLogDirs
	// Releases are the brokers' minor releases, such as "3.9", told by the
	// requests they serve; empty when they fit none.
	Releases map[int32]facts.Fact[string]

	Clients  facts.Fact[[]ZKClient] // who has a connection to ZooKeeper
	Machines map[int32]Machine      // what was looked at on each node

	parsed *parsed // filled by the first check that reads topics
}

// Setting is one effective setting as a broker reports it. Value is empty for
// a sensitive one.
type Setting struct {
	Name      string
	Value     string
	Null      bool
	Sensitive bool
	Source    string // dynamic-broker, dynamic-default, static, default
}

// LogDir is one log directory as the broker reports it.
type LogDir struct {
	Path    string
	Offline bool
	Error   string
}

// ZKClient is one open connection to a ZooKeeper member.
type ZKClient struct {
	Member  string // the member asked
	Address string // of the client
	Session int64
}

// Machine is what was looked at on a node besides its files.
type Machine struct {
	// Folders are the entries of each log directory, by path.
	Folders map[string]facts.Fact[[]string]
	// Reach are connections tried from this node.
	Reach []Reach
	// StopLimit is the service manager's stop time limit in milliseconds; nil in
	// a known fact means that it has none.
	StopLimit facts.Fact[*int64]
	// HeapBytes is the largest heap of the node's JVM, in bytes.
	HeapBytes facts.Fact[int64]
}

// Reach is one connection that the migration will need.
type Reach struct {
	To     string // host:port
	For    string // what for, in words
	Worked facts.Fact[bool]
}
