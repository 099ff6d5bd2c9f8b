package znodebackup

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Part is what a restore may bring back.
type Part string

const (
	Topics  Part = "topics"  // topics that are gone, with their id and replicas; never a partition's state
	Configs Part = "configs" // of topics, brokers, users (SCRAM and quotas), clients and ips
	ACLs    Part = "acls"
)

// Parts are all, in the order in which they are restored. A topic's
// configuration comes before the topic, as Kafka itself creates them.
func Parts() []Part { return []Part{Configs, Topics, ACLs} }

const (
	topicsRoot   = "/brokers/topics/"
	configRoot   = "/config/"
	changesRoot  = "/config/changes"
	literalRoot  = "/kafka-acl"
	extendedRoot = "/kafka-acl-extended"
)

// PartOf says to which part a znode belongs. What belongs to none is never
// written: /controller, /controller_epoch, /brokers/ids, /migration, /cluster,
// states of partitions, and all else.
func PartOf(path string) (Part, bool) {
	under := func(root string) bool { return path == root || strings.HasPrefix(path, root+"/") }
	switch {
	case strings.HasPrefix(path, topicsRoot) && !strings.Contains(path[len(topicsRoot):], "/"):
		return Topics, true
	case strings.HasPrefix(path, configRoot) && !under(changesRoot):
		return Configs, true
	case under(literalRoot), under(extendedRoot):
		return ACLs, true
	}
	return "", false
}

// Deed is what a restore would do with a znode.
type Deed string

const (
	Create Deed = "create"
	Change Deed = "change"
	Leave  Deed = "leave"
)

// AsSaved is why most znodes are left.
const AsSaved = "it is as in the backup"

// RestoreStep is what happens to one znode. Content can be a secret and stays out of what is shown.
type RestoreStep struct {
	Path   string `json:"path"`
	Deed   Deed   `json:"deed"`
	Why    string `json:"why"`
	SHA256 string `json:"sha256,omitempty"` // of the content to write
	// Version is what the znode must still have for a change.
	Version int32  `json:"version,omitempty"`
	Data    []byte `json:"-"`
	ACL     []ACL  `json:"acl,omitempty"` // of a znode that is created
	// Notice tells brokers of it by a sequential znode, as Kafka does.
	Notice *Notice `json:"notice,omitempty"`
}

// Notice is a notification that brokers in ZooKeeper mode watch for.
type Notice struct {
	Prefix string `json:"prefix"`
	Data   string `json:"data"`
}

// Seen is what ZooKeeper holds now.
type Seen struct {
	Data    []byte
	Version int32
}

// PlanRestore compares saved znodes (parents first) with what is there now, by
// path. pending are topics that wait for their deletion. Nothing is ever deleted.
func PlanRestore(saved []Znode, now map[string]Seen, pending []string, want []Part) []RestoreStep {
	p := restorePlan{now: now, pending: pending, topics: map[string]bool{}}
	for _, z := range saved {
		if part, ok := PartOf(z.Path); ok && part == Topics && slices.Contains(want, Topics) && p.topic(z).Deed == Create {
			p.topics[z.Path[len(topicsRoot):]] = true
		}
	}
	var out []RestoreStep
	for _, part := range Parts() {
		if !slices.Contains(want, part) {
			continue
		}
		for _, z := range saved {
			if of, ok := PartOf(z.Path); ok && of == part {
				out = append(out, p.step(part, z))
			}
		}
	}
	return out
}

type restorePlan struct {
	now     map[string]Seen
	pending []string
	topics  map[string]bool // that the restore creates
}

func (p restorePlan) step(part Part, z Znode) RestoreStep {
	leave := RestoreStep{Path: z.Path, Deed: Leave}
	switch {
	case z.Unreadable != "" || z.ACL == nil:
		leave.Why = "the backup could not read it"
		return leave
	case z.EphemeralOwner != 0:
		leave.Why = "it belonged to a session"
		return leave
	case part == Topics:
		return p.topic(z)
	}
	if topic, ok := strings.CutPrefix(z.Path, configRoot+"topics/"); ok && !p.exists(topic) {
		leave.Why = "there is no such topic"
		return leave
	}
	now, there := p.now[z.Path]
	switch {
	case !there:
		return p.write(z, RestoreStep{Path: z.Path, Deed: Create, Why: "it is gone", ACL: z.ACL})
	case same(now.Data, z.Data):
		leave.Why = AsSaved
		return leave
	}
	return p.write(z, RestoreStep{Path: z.Path, Deed: Change, Why: "it differs" + differing(now.Data, z.Data), Version: now.Version})
}

func (p restorePlan) exists(topic string) bool {
	_, there := p.now[topicsRoot+topic]
	return there || p.topics[topic]
}

func (p restorePlan) topic(z Znode) RestoreStep {
	leave := RestoreStep{Path: z.Path, Deed: Leave}
	now, there := p.now[z.Path]
	switch {
	case z.Unreadable != "" || z.ACL == nil || len(z.Data) == 0:
		leave.Why = "the backup could not read it"
	case slices.Contains(p.pending, z.Path[len(topicsRoot):]):
		leave.Why = "it waits for its deletion"
	case there && same(now.Data, z.Data):
		leave.Why = AsSaved
	case there:
		leave.Why = "it exists with another id or other replicas: a topic that lives is changed with Kafka's own tools"
	default:
		return p.write(z, RestoreStep{Path: z.Path, Deed: Create, Why: "it is gone; it begins without records", ACL: z.ACL})
	}
	return leave
}

func (p restorePlan) write(z Znode, s RestoreStep) RestoreStep {
	s.Data, s.SHA256 = z.Data, fmt.Sprintf("%x", sha256.Sum256(z.Data))
	s.Notice = notice(z)
	return s
}

// notice is what Kafka writes beside a change (AdminZkClient, ZkData; 3.9): a
// broker that is told reads the znode again. A znode without content is only a
// parent, of which nobody is told.
func notice(z Znode) *Notice {
	if len(z.Data) == 0 {
		return nil
	}
	if entity, ok := strings.CutPrefix(z.Path, configRoot); ok && strings.Contains(entity, "/") {
		return &Notice{Prefix: changesRoot + "/config_change_", Data: text(map[string]any{"version": 2, "entity_path": entity})}
	}
	if rest, ok := strings.CutPrefix(z.Path, literalRoot+"/"); ok {
		kind, name, ok := strings.Cut(rest, "/")
		if ok {
			return &Notice{Prefix: "/kafka-acl-changes/acl_changes_", Data: resourceType(kind) + ":" + name}
		}
	}
	if rest, ok := strings.CutPrefix(z.Path, extendedRoot+"/"); ok {
		pattern, rest, _ := strings.Cut(rest, "/")
		if kind, name, ok := strings.Cut(rest, "/"); ok {
			return &Notice{Prefix: "/kafka-acl-extended-changes/acl_changes_", Data: text(map[string]any{"version": 1,
				"resourceType": resourceType(kind), "name": name, "patternType": strings.ToUpper(pattern)})}
		}
	}
	return nil
}

// resourceType is the name of Kafka's enum for a folder's name: TransactionalId
// is TRANSACTIONAL_ID.
func resourceType(folder string) string {
	var b strings.Builder
	for i, r := range folder {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteString(strings.ToUpper(string(r)))
	}
	return b.String()
}

func text(v map[string]any) string {
	b, err := json.Marshal(v) // sorts its keys
	if err != nil {
		return "" // strings and numbers always marshal
	}
	return string(b)
}

// same compares json by meaning, anything else byte by byte.
func same(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return (a == nil) == (b == nil)
	}
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// differing names the keys of a configuration that differ, never their values.
func differing(now, then []byte) string {
	var a, b struct {
		Config map[string]string `json:"config"`
	}
	if json.Unmarshal(now, &a) != nil || json.Unmarshal(then, &b) != nil {
		return ""
	}
	keys := map[string]bool{}
	for _, m := range []map[string]string{a.Config, b.Config} {
		for k := range m {
			x, inA := a.Config[k]
			y, inB := b.Config[k]
			if x != y || inA != inB {
				keys[k] = true
			}
		}
	}
	if len(keys) == 0 {
		return ""
	}
	return " in " + strings.Join(slices.Sorted(maps.Keys(keys)), ", ")
}

// Digest names a restore: the same backup, cluster and znodes have the same.
func Digest(clusterID, backup string, steps []RestoreStep) (string, error) {
	b, err := json.Marshal(struct {
		Format, Cluster, Backup string
		Steps                   []RestoreStep
	}{Format, clusterID, backup, steps})
	if err != nil {
		return "", fmt.Errorf("digest of a restore: %w", err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(b)), nil
}
