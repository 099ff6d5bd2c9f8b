// Package kraftlog decodes KRaft's metadata log, as bytes of a Fetch answer or
// of a snapshot, and folds it into an Image of the cluster. It is pure: bytes
// go in, values come out; who asks which controller is not its concern.
package kraftlog

import "migrator/internal/cluster"

// Image is what the metadata log says up to one offset: records below the high
// watermark and outside of open transactions only (KIP-868). An Image never
// changes after it was handed out; its maps are shared and must not be written.
type Image struct {
	// Offset is the last offset whose effect is in the image. While a
	// transaction is open it stays at the record before the transaction.
	// It says nothing unless HasOffset is true.
	Offset    int64
	HasOffset bool
	// LastChange is the offset of the newest record in the image that is no
	// no-op; after a snapshot the last offset that it covers.
	LastChange int64
	HasChange  bool
	// Epoch is the leader epoch under which the newest record was written.
	Epoch int32
	// Pending counts records read, but held back by an open transaction.
	Pending int

	// State is the ZkMigrationState by name; HasState is false while the log
	// holds no such record.
	State    cluster.MigrationState
	HasState bool

	Brokers     map[int32]Broker
	Controllers map[int32]Controller
	// Features are the finalized feature levels, such as metadata.version.
	Features map[string]int16
	Topics   map[string]Topic
	// TopicConfigs and BrokerConfigs hold overrides by resource, then key;
	// BrokerDefaults those of all brokers. Values that may be secret are
	// replaced by Hidden while decoding.
	TopicConfigs   map[string]map[string]string
	BrokerConfigs  map[int32]map[string]string
	BrokerDefaults map[string]string
	// Other counts applied records whose content the image does not keep, by
	// the name of their type; "unknown-N" for a type N this version has no name for.
	Other map[string]int
}

// Broker is one broker registration (KIP-631).
type Broker struct {
	ID                   int32
	Epoch                int64
	Incarnation          string
	MigratingZK          bool
	Fenced               bool
	InControlledShutdown bool
	Rack                 *string
	Endpoints            []Endpoint
	// RegisteredAt is the offset of the registration; for one that came in a
	// snapshot, the last offset that the snapshot covers (it is not newer).
	RegisteredAt int64
}

// Controller is one controller registration (KIP-919).
type Controller struct {
	ID               int32
	Incarnation      string
	ZkMigrationReady bool
	Endpoints        []Endpoint
	// Offset is where it registered, with the same limit as Broker.RegisteredAt.
	Offset int64
}

// Endpoint is one listener of a registration.
type Endpoint struct {
	Name string
	Host string
	Port uint16
}

// Topic is one topic with its partitions by number.
type Topic struct {
	ID         string
	Partitions map[int32]Partition
}

// Partition is the state of one partition. HasLeader is false where Kafka says
// that nobody leads it; Leader means nothing then.
type Partition struct {
	Replicas       []int32
	ISR            []int32
	Adding         []int32
	Removing       []int32
	Leader         int32
	HasLeader      bool
	LeaderEpoch    int32
	PartitionEpoch int32
}

// Hidden stands in for the value of a setting that may be a secret.
const Hidden = "[hidden]"
