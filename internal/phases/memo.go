package phases

import (
	"fmt"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/configgen"
	"migrator/internal/facts"
	"migrator/internal/plan"
)

// Memo keeps what was read out of file contents and rendered from them for one
// migrations.yaml: plans and gate settings are made anew from every snapshot,
// of hundreds of files that seldom change. A nil Memo keeps nothing. It
// belongs to one goroutine.
type Memo struct {
	versions map[string]version
	rendered map[rendering]rendered
	differ   differ
}

// differ is how the brokers' files of one moment differ.
type differ struct {
	files string // their hashes
	said  []string
}

// version is an inter.broker.protocol.version in effect, or why it is unknown.
type version struct {
	name string
	err  error
}

// rendering names all that a file's new content depends on beside migrations.yaml.
type rendering struct {
	node        int32
	mode        cluster.Mode
	before      string // SHA-256
	ibp         string
	firstBroker string // SHA-256 of the file whose inter-broker settings the controllers take over
}

type rendered struct {
	after string // SHA-256
	file  []byte
	diff  plan.Diff
}

// maxKept bounds what is kept of files that were edited again and again.
const maxKept = 10_000

// ibp is the inter.broker.protocol.version that a broker with this file runs with.
func (k *Memo) ibp(file facts.File, kafkaVersion string) (string, error) {
	if k == nil {
		return configgen.EffectiveIBP(file.Content, kafkaVersion)
	}
	v, ok := k.versions[file.SHA256]
	if !ok {
		v.name, v.err = configgen.EffectiveIBP(file.Content, kafkaVersion)
		if k.versions == nil || len(k.versions) >= maxKept {
			k.versions = map[string]version{}
		}
		k.versions[file.SHA256] = v
	}
	return v.name, v.err
}

// render makes a node's file once for each combination of what it depends on.
func (k *Memo) render(key rendering, n config.Node, current []byte, s configgen.Settings) (rendered, error) {
	if k != nil {
		if r, ok := k.rendered[key]; ok {
			return r, nil
		}
	}
	extra := make([]configgen.Setting, 0, len(n.Settings))
	for _, s := range n.Settings {
		extra = append(extra, configgen.Setting{Key: s.Key, Value: s.Value})
	}
	out, err := configgen.Render(n.Node, key.mode, current, s, extra)
	if err != nil {
		return rendered{}, err
	}
	r := rendered{after: hash(out.File), file: out.File,
		diff: plan.Diff{Node: n.ID, Path: n.Properties, Unified: out.Unified(n.Properties, key.before == ""), Reasons: []plan.Reason{}, Notes: append([]string{}, out.Notes...)}}
	for _, c := range out.Changes {
		r.diff.Reasons = append(r.diff.Reasons, plan.Reason{Key: c.Key, Op: c.Op, Reason: c.Reason, Source: c.Source})
	}
	if k == nil {
		return r, nil
	}
	if k.rendered == nil || len(k.rendered) >= maxKept {
		k.rendered = map[rendering]rendered{}
	}
	k.rendered[key] = r
	return r, nil
}

// disagreements says, line by line, on what brokers differ although one value
// is going to count for all.
func (k *Memo) disagreements(hashes string, files []configgen.BrokerFile) ([]string, error) {
	if k != nil && k.differ.files == hashes {
		return k.differ.said, nil
	}
	found, err := configgen.Disagreements(files)
	if err != nil {
		return nil, err
	}
	var said []string
	for _, d := range found {
		said = append(said, fmt.Sprintf("brokers differ in %s (%s: %s)", d, d.Reason, d.Source))
	}
	if k != nil {
		k.differ = differ{files: hashes, said: said}
	}
	return said, nil
}
