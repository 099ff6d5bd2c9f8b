// Package evidence makes the pack that shows afterwards what was done to a
// cluster, when, on whose word, and what was seen: purely from the journal.
package evidence

import (
	"time"

	"migrator/internal/cluster"
	"migrator/internal/gates"
	"migrator/internal/plan"
)

// Pack is evidence.json. Absent is null.
type Pack struct {
	Name         string      `json:"name"`
	Rehearsal    bool        `json:"rehearsal"` // migrations.yaml says that the cluster is one to rehearse on
	KafkaVersion string      `json:"kafka_version"`
	ClusterID    string      `json:"cluster_id"`
	Started      *time.Time  `json:"started"`
	Finished     *time.Time  `json:"finished"` // null: not finished when the pack was made
	Attempt      int         `json:"attempt"`
	Phases       []Phase     `json:"phases"`
	Plans        []Plan      `json:"plans"`
	Steps        []Step      `json:"steps"`
	Rolls        []Roll      `json:"rolls"`
	Windows      []Window    `json:"controllerless_windows"`
	Drill        Drill       `json:"drill"`
	Soak         *Soak       `json:"soak"`
	Canary       Canary      `json:"canary"`
	Accepted     []Accepted  `json:"accepted"`
	Waivers      []Waiver    `json:"waivers"`
	Blocked      []Blocked   `json:"blocked"`
	Files        []FileSums  `json:"files"`
	Shape        plan.Shape  `json:"shape"`      // what the approved forward plans changed
	Rehearsals   []Rehearsed `json:"rehearsals"` // that were registered for this migration
	ToolVersion  string      `json:"tool_version"`
}

// Phase is one stay in a phase.
type Phase struct {
	Phase   cluster.Phase `json:"phase"`
	Entered time.Time     `json:"entered"`
	Left    *time.Time    `json:"left"`
	Why     string        `json:"why"` // what the facts showed
}

// Plan is one approval.
type Plan struct {
	Phase      cluster.Phase `json:"phase"`
	Revert     bool          `json:"revert"` // a way back: Phase is where it ends
	Digest     string        `json:"digest"`
	ApprovedBy string        `json:"approved_by"`
	ApprovedAt time.Time     `json:"approved_at"`
	Confirmed  string        `json:"confirmed"` // the name that was typed
	Ended      *time.Time    `json:"ended"`
	Void       string        `json:"void"` // why it ended before it was done
	Verdicts   []Verdict     `json:"verdicts"`
	Attempt    int           `json:"attempt"`
	Planned    []Planned     `json:"planned"`
}

// Planned is a step as it was approved, opened or not.
type Planned struct {
	ID       string        `json:"id"`
	Kind     plan.StepKind `json:"kind"`
	Sentence string        `json:"sentence"`
}

// FileSums is a node's file before our first write of it, and after the last.
type FileSums struct {
	Node   int32  `json:"node"`
	Path   string `json:"path"`
	Before string `json:"before"` // SHA-256; empty: there was none
	After  string `json:"after"`
}

// Step is one step of an approved plan, once it was opened.
type Step struct {
	Plan     cluster.Phase `json:"plan"`
	Digest   string        `json:"digest"`
	ID       string        `json:"id"`
	Kind     plan.StepKind `json:"kind"`
	Sentence string        `json:"sentence"`
	Batch    []int32       `json:"batch"`
	Opened   time.Time     `json:"opened"`
	Done     *time.Time    `json:"done"`
	Actions  []Action      `json:"actions"`
	Before   []Verdict     `json:"verdicts_before"`
	After    []Verdict     `json:"verdicts_after"`
	Diffs    []plan.Diff   `json:"diffs"` // redacted
}

// Action is one effect with every try.
type Action struct {
	ID       string          `json:"id"`
	Kind     plan.ActionKind `json:"kind"`
	Node     *int32          `json:"node"`
	Attempts int             `json:"attempts"`
	Tries    []Try           `json:"tries"`
}

// Try is one intent and its outcome; null outcome: it was in doubt.
type Try struct {
	Intent  time.Time  `json:"intent"`
	Outcome *time.Time `json:"outcome"`
	OK      *bool      `json:"ok"`
	Detail  string     `json:"detail"`
	Probed  bool       `json:"found_done"` // seen done after a restart of the service, not repeated
	Restore bool       `json:"restore"`
}

// Verdict is a gate as it was judged at that moment.
type Verdict struct {
	Gate       string    `json:"gate"`
	Verdict    string    `json:"verdict"`
	Evidence   string    `json:"evidence"`
	Source     string    `json:"source"`
	ObservedAt time.Time `json:"observed_at"`
	Since      time.Time `json:"since"` // when it began to read so
}

// Drill is every drill of the present attempt.
type Drill struct {
	Runs []DrillRun `json:"runs"`
}

// DrillRun is one drill; milliseconds from just before the command.
type DrillRun struct {
	Kind          string    `json:"kind"`
	Node          int32     `json:"node"`
	At            time.Time `json:"at"`
	UnavailableMS *int64    `json:"unavailable_ms"`
	LeaderMS      *int64    `json:"leader_ms"`
	DualWriteMS   *int64    `json:"dual_write_ms"`
	NewLeader     *int32    `json:"new_leader"`
	EpochBefore   *int32    `json:"epoch_before"`
	EpochAfter    *int32    `json:"epoch_after"`
	ZKEpochBefore *int      `json:"zk_epoch_before"`
	ZKEpochAfter  *int      `json:"zk_epoch_after"`
	Passed        bool      `json:"passed"`
	Why           string    `json:"why"`
}

// Soak is the last state of the soak clock.
type Soak struct {
	Phase            cluster.Phase `json:"phase"`
	RequiredSeconds  float64       `json:"required_seconds"`
	ElapsedSeconds   float64       `json:"elapsed_seconds"`
	RestartedBecause *string       `json:"restarted_because"`
}

// Canary sums what our own client saw over all its runs.
type Canary struct {
	Sent                   uint64  `json:"sent"`
	Acked                  uint64  `json:"acked"`
	Lost                   uint64  `json:"lost"`
	Unchecked              uint64  `json:"unchecked"` // acknowledged, and no longer checked: their claims did not fit in memory
	LongestStallMS         float64 `json:"longest_stall_ms"`
	LongestMetadataStallMS float64 `json:"longest_metadata_stall_ms"`
}

// Accepted is a person's word for an availability gate.
type Accepted struct {
	At       time.Time `json:"at"`
	By       string    `json:"by"`
	Gate     string    `json:"gate"`
	Subjects []string  `json:"subjects"`
	Reason   string    `json:"reason"`
}

// Blocked is one stop that waited for a person.
type Blocked struct {
	At    time.Time  `json:"at"`
	What  string     `json:"what"`
	ToDo  string     `json:"to_do"`
	Until *time.Time `json:"until"`
	By    string     `json:"by"` // who lifted it
}

// Rehearsed is one rehearsal that was registered.
type Rehearsed struct {
	At time.Time `json:"at"`
	By string    `json:"by"`
	gates.Rehearsal
}

// Waiver is a warning of preflight that migrations.yaml accepts, as it stood
// when the pack was made.
type Waiver struct {
	Code   string `json:"code"`
	Reason string `json:"reason"`
}
