// Package double folds the znodes of a production cluster's backup onto a few
// local brokers: the same topics, configurations, quotas, users and ACLs, and
// nothing that lives or is secret. A migration of the double shows whether this
// metadata copies. It holds no records.
package double

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"migrator/internal/znodebackup"
)

// Znode is one to be made, parents first.
type Znode struct {
	Path string
	Data []byte
}

// Double is a folded tree.
type Double struct {
	Znodes     []Znode
	Topics     int
	Partitions int
	Brokers    int      // of the cluster that was backed up
	Notes      []string // what was changed and what was left out
}

// Fold makes the double of a tree for local brokers. random gives bytes for
// credentials that take the place of the real ones.
func Fold(saved []znodebackup.Znode, local []int32, random func(n int) []byte) (Double, error) {
	if len(local) == 0 {
		return Double{}, fmt.Errorf("fold a backup: there is no local broker")
	}
	f := folder{local: local, random: random, to: map[int32]int32{}, replicas: map[string]map[string][]int32{}, notes: map[string]int{}}
	f.brokers(saved)
	for _, z := range saved {
		f.znode(z)
	}
	f.out.Brokers = len(f.to)
	for _, text := range slices.Sorted(maps.Keys(f.notes)) {
		f.out.Notes = append(f.out.Notes, fmt.Sprintf("%d %s", f.notes[text], text))
	}
	return f.out, nil
}

type folder struct {
	local    []int32
	random   func(n int) []byte
	to       map[int32]int32 // by the id in the backup
	replicas map[string]map[string][]int32
	configs  map[int32]bool // local brokers that have their dynamic settings
	notes    map[string]int
	out      Double
}

func (f *folder) note(text string) { f.notes[text]++ }

func (f *folder) keep(path string, data []byte) {
	f.out.Znodes = append(f.out.Znodes, Znode{Path: path, Data: data})
}

// left are the parts of the tree that live, are made anew by brokers, or must
// not be there when a migration begins.
var left = []string{"/brokers/ids", "/brokers/seqid", "/controller", "/controller_epoch", "/cluster", "/feature", "/migration", "/migrator",
	"/isr_change_notification", "/log_dir_event_notification", "/config/changes", "/kafka-acl-changes", "/kafka-acl-extended-changes", "/admin/preferred_replica_election"}

// told are left out too, and a person may want to know how much there was.
var told = map[string]string{
	"/admin/delete_topics":       "marks of topics to be deleted left out: preflight would block at them",
	"/admin/reassign_partitions": "znodes of a running reassignment left out: preflight would block at them",
	"/delegation_token":          "znodes of delegation tokens left out: they are secrets",
	"/consumers":                 "znodes of old consumers left out: nothing copies them",
}

func (f *folder) znode(z znodebackup.Znode) {
	switch {
	case z.Path == "/" || z.EphemeralOwner != 0 || under(left, z.Path):
	case z.Unreadable != "":
		f.note("znodes left out that the backup could not read")
	case f.tell(z.Path):
	case z.Path == "/brokers" || z.Path == "/admin" || z.Path == "/config" || z.Path == "/config/brokers":
		f.keep(z.Path, z.Data)
	case within(z.Path, "/brokers/topics"):
		f.topics(z)
	case within(z.Path, "/config/brokers"):
		f.brokerConfig(z)
	case within(z.Path, "/config/users"):
		f.keep(z.Path, f.credentials(z.Data))
	case within(z.Path, "/config"), within(z.Path, "/kafka-acl"), within(z.Path, "/kafka-acl-extended"):
		f.keep(z.Path, z.Data)
	case z.Path == "/latest_producer_id_block":
		f.keep(z.Path, f.producerIDs(z.Data))
	default:
		f.note("znodes left out that are not Kafka's own")
	}
}

// tell counts what is left out below a part, its roots apart.
func (f *folder) tell(path string) bool {
	for part, text := range told {
		if !within(path, part) {
			continue
		}
		if path != part || part == "/admin/reassign_partitions" {
			f.note(text)
		}
		return true
	}
	return false
}

func within(path, part string) bool { return path == part || strings.HasPrefix(path, part+"/") }

func under(parts []string, path string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return within(path, part) })
}
