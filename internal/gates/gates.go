// Package gates judges facts. A gate is a named question about one snapshot;
// its verdict is pass, fail or unknown with the evidence and what to do. What
// needs more than one snapshot (good polls, "moving", parity's second look) is
// kept in Memory, a pure fold that a restart begins empty.
package gates

import (
	"time"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/kraftlog"
	"migrator/internal/plan"
)

// Result is a gate's answer. The zero Result is unknown.
type Result string

const (
	Unknown Result = ""
	Pass    Result = "pass"
	Fail    Result = "fail"
)

// String names the result; the zero value reads "unknown".
func (r Result) String() string {
	if r == Unknown {
		return "unknown"
	}
	return string(r)
}

// Kind tells whether a person may accept a failing gate.
type Kind string

const (
	// Safety gates are never overridden.
	Safety Kind = "safety"
	// Availability gates may be accepted by name, with a reason.
	Availability Kind = "availability"
)

// Verdict is a gate's answer with what was seen. Subjects names the partitions
// or nodes an acceptance would cover.
type Verdict struct {
	Gate       string
	Kind       Kind
	Result     Result
	Evidence   string
	ToDo       string
	Source     string
	ObservedAt time.Time
	Subjects   []string
	Accepted   bool // failed, and a person accepted exactly these subjects
}

// Settings are the parts of migrations.yaml that gates judge by.
type Settings struct {
	Inventory      cluster.Inventory
	ClusterID      string // the id the migration's name is bound to; empty before the first observation
	KafkaVersion   string
	GoodPolls      int
	PollInterval   time.Duration
	MaxFactAge     time.Duration
	StepTimeout    time.Duration
	MaxUnavailable time.Duration
	CanaryOff      bool
	CanaryTopic    string
	// NoRehearsal: none is asked for; else RehearsedWithin is the greatest age of one.
	NoRehearsal     bool
	RehearsedWithin time.Duration
	// MetadataVersion is the brokers' effective inter.broker.protocol.version as a feature level.
	MetadataVersion *int16
}

// Baseline is what a step must remember to judge itself after a restart of
// the service; it is journalled when the step opens. A node without an entry
// was not registered then: any registration of it is a new one.
type Baseline struct {
	Czxid         map[int32]int64  // /brokers/ids/N before
	Incarnation   map[int32]string // registration in the metadata log before
	Led           []Led            // up to 200 partitions that the batch led
	HighWatermark *int64           // of the metadata log, when one is in use
	Cursors       map[int32]string // opaque log cursors of the batch's nodes
}

// Led is a partition that a node of the batch led, with its leader epoch.
type Led struct {
	Topic     string
	Partition int32
	Node      int32
	Epoch     int32
}

// Step is the open (or next) step as gates see it. NotBefore is the end of its
// last action: older facts are unknown.
type Step struct {
	ID        string
	Kind      plan.StepKind
	Batch     []int32
	Mode      cluster.Mode
	Opened    bool
	NotBefore time.Time
	Baseline  Baseline
	Impact    []string // partitions accepted by digest as unavailable meanwhile
}

// Soak is the running or ended soak of this attempt.
type Soak struct {
	Required time.Duration
	Elapsed  time.Duration
	Running  bool
	// Leader and LeaderEpoch as of the last accepted change: another one is an unplanned election.
	Leader      int32
	LeaderEpoch int32
	HasLeader   bool
	// Incarnations of the brokers in the metadata log as the present span of the soak began.
	Incarnations map[int32]string
}

// View is all that gates may look at.
type View struct {
	Snapshot facts.Snapshot
	Settings Settings
	Phase    cluster.Phase // recorded
	// Plan is the phase of the running plan, empty when none runs.
	Plan   cluster.Phase
	Revert bool // it is a way back
	Step   *Step
	// Expected is the SHA-256 each node's file must have, as far as we know it.
	Expected map[int32]string
	// Short is, by "topic-partition", the ISR size before the plan where it was not full; 0 was offline.
	Short map[string]int
	// Stopped are nodes that the approved plan holds down right now.
	Stopped []int32
	// Kept is what the metadata log held of topics as a revert stopped the controllers.
	Kept map[string]kraftlog.Topic
	Soak Soak
	// DrillsWanted and DrillsPassed are kinds, in this attempt.
	DrillsWanted []string
	DrillsPassed []string
	Accepted     []Acceptance
	// Rehearsals that were registered, and the shape of this migration up to the
	// plan hybrid, once that plan is made.
	Rehearsals []Rehearsal
	Shape      plan.Shape
	ShapeKnown bool
	Now        time.Time
	Memory     Memory
}

// Acceptance is a person's word for an availability gate and exactly these subjects.
type Acceptance struct {
	Gate     string
	Subjects []string
}

// Set is a group of gates that together allow one thing.
type Set struct {
	Key    string // such as "step/roll-1/done" or "leave/load"
	Blocks string // what it holds back, for people
	Gates  []string
	Need   int // good polls
}

// SetState is how often in a row a set passed, at least a poll interval apart.
type SetState struct {
	Passing bool
	Good    int
	Counted time.Time // when the last good poll counted
	Since   time.Time // first of the passes in a row; zero when not passing
	Need    int
}

// Passed says that the set passed as often as it needs.
func (s SetState) Passed() bool { return s.Passing && s.Good >= max(s.Need, 1) }

// Judged is a verdict with its memory: since when it reads as it does, and what it holds back.
type Judged struct {
	Verdict
	Since  time.Time
	Blocks []string // filled when it does not pass
	Sets   []string // keys of the sets it belongs to
}

// Judgement is one snapshot judged.
type Judgement struct {
	At       time.Time
	Verdicts []Judged // those that do not pass first, then by name
	Sets     map[string]SetState
}

// Set returns the state of a set; the zero state (not passing) if it was not judged.
func (j Judgement) Set(key string) SetState { return j.Sets[key] }

// Verdict finds a gate's verdict; ok is false if it was not judged.
func (j Judgement) Verdict(gate string) (Judged, bool) {
	for _, v := range j.Verdicts {
		if v.Gate == gate {
			return v, true
		}
	}
	return Judged{}, false
}
