// Package config reads migrations.yaml: strict decoding, defaults, and all
// problems at once with their paths and lines. Process settings (listen
// address, data folder) come through viper, which never sees this file.
package config

import (
	"slices"
	"time"

	"migrator/internal/cluster"
)

// File is a whole, validated migrations.yaml with defaults filled in.
type File struct {
	Path       string
	Migrations []Migration
}

// Migration describes one cluster to migrate.
type Migration struct {
	Name      string
	ZooKeeper ZooKeeper
	Kafka     Kafka
	Quorum    Quorum
	Nodes     []Node // brokers first, then controllers, each in file order
	Gates     Gates
	Soaks     []Soak
	Drill     Drill
	Roll      Roll
	Canary    Canary
	// Approve lists the phases whose plan waits for a person; finalize always does.
	Approve []cluster.Phase
	Waivers []Waiver
	Hooks   Hooks
	// Rehearsal says that the cluster may be driven by `migrator rehearse`.
	Rehearsal   bool
	RehearsalAt Problem // where that stands or belongs, without a message
	// RequireRehearsal is the greatest age of the green rehearsal without which
	// the plan hybrid does not start; 0 = none is asked for.
	RequireRehearsal time.Duration
	// Lost are the brokers that Without left out; the file never says any.
	Lost []cluster.Node
}

// Without answers the migration of a cluster that goes on without brokers that
// a person accepted as lost: no plan touches them. Ids that are no broker's
// change nothing.
func (m Migration) Without(lost []int32) Migration {
	out := m
	out.Nodes, out.Lost = nil, nil
	for _, n := range m.Nodes {
		if n.Role == cluster.Broker && slices.Contains(lost, n.ID) {
			out.Lost = append(out.Lost, n.Node)
		} else {
			out.Nodes = append(out.Nodes, n)
		}
	}
	return out
}

// Inventory is the nodes as nouns.
func (m Migration) Inventory() cluster.Inventory {
	inv := cluster.Inventory{Lost: m.Lost}
	for _, n := range m.Nodes {
		if n.Role == cluster.Broker {
			inv.Brokers = append(inv.Brokers, n.Node)
		} else {
			inv.Controllers = append(inv.Controllers, n.Node)
		}
	}
	return inv
}

// Node finds a node's configuration by id.
func (m Migration) Node(id int32) (Node, bool) {
	for _, n := range m.Nodes {
		if n.ID == id {
			return n, true
		}
	}
	return Node{}, false
}

// Soak returns the required soak of a phase, 0 when none.
func (m Migration) Soak(p cluster.Phase) time.Duration {
	for _, s := range m.Soaks {
		if s.Phase == p {
			return s.Duration
		}
	}
	return 0
}

// NeedsApproval says whether the plan of a phase waits for a person.
func (m Migration) NeedsApproval(p cluster.Phase) bool {
	if p == cluster.Finalize {
		return true
	}
	for _, a := range m.Approve {
		if a == p {
			return true
		}
	}
	return false
}

// ZooKeeper is the ensemble; Connect may end in a chroot.
type ZooKeeper struct {
	Connect string
	// How this program itself gets in; nil: not that way.
	TLS    *TLS
	Digest *Digest
	SASL   *SASL
}

// Kafka says what the nodes run and where clients connect.
type Kafka struct {
	Version   string
	Bootstrap []string
	TLS       *TLS // nil: plaintext
	SASL      *SASL
}

// Protocol is Kafka's name for how this program talks to the brokers.
func (k Kafka) Protocol() string {
	switch {
	case k.TLS != nil && k.SASL != nil:
		return "SASL_SSL"
	case k.TLS != nil:
		return "SSL"
	case k.SASL != nil:
		return "SASL_PLAINTEXT"
	}
	return "PLAINTEXT"
}

// Quorum is the kind of metadata quorum and its listener.
type Quorum struct {
	Mode     string // static | dynamic
	Listener QuorumListener
	TLS      *TLS // as a client of the controllers; Kafka.TLS unless said
	SASL     *SASL
}

// QuorumListener is the controllers' listener.
type QuorumListener struct {
	Name     string
	Protocol string
	Port     int
}

// Node is one node with how to reach and drive it. All placeholders except
// those of format that are known only at run time ({cluster_id},
// {metadata_version}, {initial_controllers}) are already replaced.
type Node struct {
	cluster.Node
	Access     Access
	Properties string   // path of its .properties file on the node
	Logs       Logs     // where its log lines are
	LogDirs    []string // controllers: the folders that format writes to
	Settings   []Setting
	Commands   Commands
}

// Access is the way to a node. What another kind has is zero.
type Access struct {
	Kind  string   // local | ssh | wrapper | manual
	Host  string   // ssh: the node's host
	SSH   SSH      // ssh
	Argv  []string // wrapper: what stands before every command
	Files string   // manual: the node's folder on this machine, which a person fills
}

// SSH is a login on another machine. What is zero comes from the user's
// ssh_config, else from ssh's own defaults.
type SSH struct {
	User           string
	Port           int
	KeyFile        string
	Passphrase     *SecretSource
	KnownHosts     string
	Config         string   // the ssh_config to read in place of ~/.ssh/config
	Jump           string   // [user@]host[:port], several with commas
	Become         []string // before every command and file access, such as [sudo, -n]
	MaxConnections int      // per host
}

// Logs names log files, or one argv that follows them, or none at all.
type Logs struct {
	Files []string
	Argv  []string
	None  bool
}

// Setting is an extra line for a rendered file; a list keeps the key's case.
type Setting struct {
	Key   string
	Value string
	// Secret is where Value comes from; Value is empty until it was read.
	Secret *SecretSource
}

// Commands are argv lists, never shell strings.
type Commands struct {
	Format  []string
	Start   []string
	Stop    []string
	Running []string // exit 0 while the process exists, 1 to 4 when not, else unknown
	Kill    []string // crash drill only
	Disable []string
}

// Gates holds the limits of judging.
type Gates struct {
	GoodPolls    int
	PollInterval time.Duration
	StepTimeout  time.Duration // without progress
	MaxFactAge   time.Duration
}

// Soak is a required healthy time in a phase.
type Soak struct {
	Phase    cluster.Phase
	Duration time.Duration
}

// Drill is the deliberate controller failover.
type Drill struct {
	Phase          cluster.Phase
	Kinds          []string // clean | crash
	MaxUnavailable time.Duration
}

// Roll says how many nodes a step takes at once.
type Roll struct {
	Batch    string // node | rack
	MaxNodes int    // rack: at most so many; 0 = the whole rack
	First    string // rack: node = the first batch is a single node
}

// Canary is the client of our own.
type Canary struct {
	Topic    string
	Interval time.Duration
	Off      bool
}

// Waiver is a person's word that a warning of preflight is known and accepted.
// Which codes there are, and which of them are warnings, only the registry of
// findings knows.
type Waiver struct {
	Code   string
	Reason string
	At     Problem // where the code stands, without a message
}

// Hooks are commands on this machine that tell other tools to stand back. They
// are idempotent: a service that dies in the middle runs them again.
type Hooks struct {
	Freeze     []string // before the first action of a plan
	Thaw       []string // after its end
	BeforeNode []string // {id}, {host} and {rack} are replaced when it runs
	AfterNode  []string
}
