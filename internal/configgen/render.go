package configgen

import (
	"fmt"
	"slices"

	"migrator/internal/cluster"
)

// The kinds of metadata quorum.
const (
	StaticQuorum  = "static"
	DynamicQuorum = "dynamic"
)

// Settings is what the renderer needs to know of the cluster.
type Settings struct {
	Quorum           Quorum
	ZooKeeperConnect string // with its chroot, as the brokers have it
	KafkaVersion     string // of the software, such as 3.9.2
	MetadataVersion  string // the brokers' effective inter.broker.protocol.version
	InterBroker      InterBroker
}

// Quorum is the controllers' quorum and its listener.
type Quorum struct {
	Mode             string // StaticQuorum or DynamicQuorum
	ListenerName     string
	ListenerProtocol string
	Mechanism        string // with which everybody logs in to controllers; "" = not known
	Voters           []cluster.Node
}

// Setting is one key and its value.
type Setting struct {
	Key   string
	Value string
}

// Rendered is a new file and its explanation. File has the real secrets;
// everything else is redacted.
type Rendered struct {
	File    []byte
	Changes []Change
	Diff    []DiffLine
	Notes   []string // what an operator should look at; nothing was changed for it
}

// Change is one key that differs between the file before and after.
type Change struct {
	Key    string
	To     string // the new key of a rename, else empty
	Op     string // add, set, rename or remove
	Before *string
	After  *string
	Line   int // 1-based, in the new file; of a removed key in the old one
	Reason string
	Source string // manual section, KIP or KAFKA number
}

// Render answers the file a node needs for a mode, whatever mode its current
// file has; current is nil when there is none. Rendering a rendered file
// changes nothing. Extra settings win over derived ones.
func Render(node cluster.Node, mode cluster.Mode, current []byte, s Settings, extra []Setting) (Rendered, error) {
	out, err := render(node, mode, current, s, extra)
	if err != nil {
		return Rendered{}, fmt.Errorf("render %s %d as %s: %w", bounded(string(node.Role)), node.ID, bounded(string(mode)), err)
	}
	return out, nil
}

func render(node cluster.Node, mode cluster.Mode, current []byte, s Settings, extra []Setting) (Rendered, error) {
	rows, err := table(node.Role, mode, s)
	if err != nil {
		return Rendered{}, err
	}
	before, err := Parse(current)
	if err != nil {
		return Rendered{}, err
	}
	if err := checkBefore(node, mode, current, before, s, extra); err != nil {
		return Rendered{}, err
	}
	r := renderer{in: input{node: node, doc: before.clone(), settings: s}, before: before}
	if takesExtra(node.Role, mode) {
		r.extra = extra
	}
	if own, ok := r.extraValue("sasl.mechanism.controller.protocol"); ok {
		r.in.settings.Quorum.Mechanism = own
	}
	for _, row := range rows {
		if err := r.apply(row); err != nil {
			return Rendered{}, err
		}
	}
	if err := r.applyExtra(rows); err != nil {
		return Rendered{}, err
	}
	if err := checkAfter(node, mode, r.in.doc, s); err != nil {
		return Rendered{}, err
	}
	r.number()
	file := r.in.doc.Bytes()
	return Rendered{File: file, Changes: r.changes, Diff: diffLines(before, r.in.doc, r.changes), Notes: notes(before, r.in)}, nil
}

// takesExtra: leaving migration mode only removes, so that nothing else can
// change under the same approval.
func takesExtra(role cluster.Role, mode cluster.Mode) bool {
	if role == cluster.Broker {
		return mode != cluster.ZK
	}
	return mode == cluster.KRaftMigrating
}

type renderer struct {
	in      input
	before  *Document
	extra   []Setting
	changes []Change
}

func (r *renderer) apply(row row) error {
	if row.when != nil && !row.when(r.in) {
		return nil
	}
	switch row.op {
	case opSet:
		return r.set(row)
	case opRename:
		return r.rename(row)
	}
	return r.remove(row)
}

func (r *renderer) set(row row) error {
	if _, ok := r.extraValue(row.key); ok {
		return nil // written with the other extra settings, which win
	}
	now, present := r.in.doc.Value(row.key)
	if present && row.own {
		return nil
	}
	value, err := row.value(r.in)
	if err != nil {
		return err
	}
	c := Change{Key: row.key, After: shown(row.key, value), Reason: row.reason, Source: row.source}
	if !present {
		c.Op = opAdd
		r.changes = append(r.changes, c)
		return r.in.doc.Append(row.key, value)
	}
	if now == value {
		return nil
	}
	c.Op, c.Before = opSet, shown(row.key, now)
	r.changes = append(r.changes, c)
	return r.in.doc.Set(row.key, value)
}

func (r *renderer) rename(row row) error {
	value, ok := r.in.doc.Value(row.key)
	if !ok {
		return nil
	}
	r.changes = append(r.changes, Change{Key: row.key, To: row.to, Op: opRename, Before: shown(row.key, value), After: shown(row.to, value), Reason: row.reason, Source: row.source})
	return r.in.doc.Rename(row.key, row.to)
}

func (r *renderer) remove(row row) error {
	if value, ok := r.in.doc.Value(row.key); ok {
		r.changes = append(r.changes, Change{Key: row.key, Op: opRemove, Before: shown(row.key, value), Reason: row.reason, Source: row.source})
	}
	_, err := r.in.doc.Remove(row.key)
	return err
}

// applyExtra writes the settings of the configuration, except those the mode
// removes: a controller's zookeeper.ssl keys are wanted only while it migrates.
func (r *renderer) applyExtra(rows []row) error {
	extra := r.extra
	r.extra = nil
	for i, e := range extra {
		removed := slices.ContainsFunc(rows, func(row row) bool {
			return row.op == opRemove && (row.when == nil || row.when(r.in)) && row.key == e.Key
		})
		later := slices.ContainsFunc(extra[i+1:], func(o Setting) bool { return o.Key == e.Key })
		if removed || later {
			continue
		}
		if err := r.set(row{key: e.Key, value: text(e.Value), reason: "an extra setting of this node", source: "migrations.yaml"}); err != nil {
			return err
		}
	}
	return nil
}

func (r *renderer) extraValue(key string) (string, bool) {
	for _, e := range slices.Backward(r.extra) {
		if e.Key == key {
			return e.Value, true
		}
	}
	return "", false
}

// number fills in the lines once all edits are made.
func (r *renderer) number() {
	renamed := map[string]bool{}
	for i, c := range r.changes {
		key, doc := c.Key, r.in.doc
		switch c.Op {
		case opRename:
			key, renamed[c.Key] = c.To, true
		case opRemove:
			doc = r.before
		}
		r.changes[i].Line, _ = doc.Line(key)
		if c.Op == opRemove && renamed[key] {
			// The winner was renamed, an earlier duplicate was removed.
			r.changes[i].Line = r.before.Lines(key)[0]
		}
	}
}

func shown(key, value string) *string {
	text := Redact(key, value)
	return &text
}
