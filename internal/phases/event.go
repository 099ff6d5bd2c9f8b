package phases

import (
	"time"

	"migrator/internal/cluster"
	"migrator/internal/gates"
	"migrator/internal/plan"
)

// Kind names what a journal entry records. The set is closed: a journal with
// another kind was written by a newer version and is refused.
type Kind string

const (
	KindBound     Kind = "bound"     // the name belongs to this cluster id
	KindAdopted   Kind = "adopted"   // a cluster found past initial was taken over
	KindMoved     Kind = "moved"     // the recorded phase followed the facts
	KindApproved  Kind = "approved"  // a plan was approved and starts
	KindOpened    Kind = "opened"    // a step began; its baseline
	KindIntent    Kind = "intent"    // an action is about to happen
	KindOutcome   Kind = "outcome"   // it ended
	KindStepDone  Kind = "step-done" // its gates passed
	KindPlanDone  Kind = "plan-done"
	KindPlanVoid  Kind = "plan-void" // configuration no longer fits the approved plan
	KindBlocked   Kind = "blocked"
	KindLifted    Kind = "lifted" // the gate that blocked passes again
	KindRetried   Kind = "retried"
	KindPaused    Kind = "paused"
	KindResumed   Kind = "resumed"
	KindAccepted  Kind = "accepted" // a person accepted an availability gate, or that a broker is lost
	KindReturned  Kind = "returned" // a lost broker runs again
	KindSoak      Kind = "soak"     // the soak clock
	KindDrill     Kind = "drill"    // a drill's figures
	KindCanary    Kind = "canary"   // what one run of our client saw, replacing its earlier entry
	KindFinished  Kind = "finished"
	KindRehearsed Kind = "rehearsed" // a green rehearsal was registered
)

// Kinds lists every kind.
func Kinds() []Kind {
	return []Kind{KindBound, KindAdopted, KindMoved, KindApproved, KindOpened, KindIntent, KindOutcome, KindStepDone, KindPlanDone,
		KindPlanVoid, KindBlocked, KindLifted, KindRetried, KindPaused, KindResumed, KindAccepted, KindReturned, KindSoak, KindDrill, KindCanary, KindFinished, KindRehearsed}
}

// Event is one journal entry as the fold sees it.
type Event struct {
	Seq     uint64
	Time    time.Time
	Attempt int
	Actor   string
	Kind    Kind
	Body    Body
}

// Body is the entry's content; exactly the field of its kind is set.
type Body struct {
	Bound     *Bound           `json:"bound,omitempty"`
	Moved     *Moved           `json:"moved,omitempty"`
	Approved  *Approved        `json:"approved,omitempty"`
	Opened    *Opened          `json:"opened,omitempty"`
	Intent    *Intent          `json:"intent,omitempty"`
	Outcome   *Outcome         `json:"outcome,omitempty"`
	StepDone  *StepDone        `json:"step_done,omitempty"`
	Plan      *PlanRef         `json:"plan,omitempty"`
	Blocked   *Blocked         `json:"blocked,omitempty"`
	Retried   *Retried         `json:"retried,omitempty"`
	Accepted  *Accepted        `json:"accepted,omitempty"`
	Returned  *Returned        `json:"returned,omitempty"`
	Soak      *Soak            `json:"soak,omitempty"`
	Drill     *DrillRun        `json:"drill,omitempty"`
	Canary    *Canary          `json:"canary,omitempty"`
	Rehearsed *gates.Rehearsal `json:"rehearsed,omitempty"`
}

// Bound ties the migration's name to a cluster.
type Bound struct {
	ClusterID string `json:"cluster_id"`
}

// Moved records a change of phase with what the facts showed.
type Moved struct {
	From cluster.Phase `json:"from"` // empty at the first
	To   cluster.Phase `json:"to"`
	Why  string        `json:"why"`
}

// Approved starts a plan. Short is the ISR size of each partition that was not
// full before (0: offline); NotPreferred the partitions not led by their
// preferred replica, which the roll leaves alone afterwards.
type Approved struct {
	Plan         plan.Plan        `json:"plan"`
	Confirmed    string           `json:"confirmed"` // the name typed, if any
	Short        map[string]int   `json:"short"`
	NotPreferred []string         `json:"not_preferred"`
	Files        map[int32]string `json:"files"` // SHA-256 of every node's file as re-read at approval
	Verdicts     []Seen           `json:"verdicts"`
}

// Seen is a verdict as evidence in the journal.
type Seen struct {
	Gate       string    `json:"gate"`
	Verdict    string    `json:"verdict"`
	Evidence   string    `json:"evidence"`
	Source     string    `json:"source"`
	ObservedAt time.Time `json:"observed_at"`
	// Since is when the gate began to read as it does.
	Since time.Time `json:"since"`
}

// Opened begins a step: what it must remember to judge itself later.
type Opened struct {
	Step     string         `json:"step"`
	Baseline gates.Baseline `json:"baseline"`
	Verdicts []Seen         `json:"verdicts"`
}

// Intent precedes every effect.
type Intent struct {
	Step   string `json:"step"`
	Action string `json:"action"`
	Try    int    `json:"try"`
	// Restore marks a start that brings back a node after another action of its batch failed.
	Restore bool `json:"restore,omitempty"`
	// Again belongs to the start of a node that died after an earlier one: where
	// its log ended and how it was registered right before. The gates of the
	// step compare that node with this from then on. So it does with a node that
	// ran when a person was asked to start it.
	Again *gates.Baseline `json:"again,omitempty"`
}

// Outcome follows every effect.
type Outcome struct {
	Step   string `json:"step"`
	Action string `json:"action"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	// Unclean marks a stop without the shutdown line or .kafka_cleanshutdown.
	Unclean bool `json:"unclean,omitempty"`
	// Probed: found done after a restart of the service, not performed again.
	Probed bool `json:"probed,omitempty"`
	// Blob is the SHA-256 of saved content (znodes).
	Blob string `json:"blob,omitempty"`
}

// StepDone ends a step with the verdicts that allowed it.
type StepDone struct {
	Step     string `json:"step"`
	Verdicts []Seen `json:"verdicts"`
}

// PlanRef names a plan; Why says why it ended where that is not plain.
type PlanRef struct {
	Phase  cluster.Phase `json:"phase"`
	Digest string        `json:"digest"`
	Why    string        `json:"why,omitempty"`
}

// Blocked is a state that only retry, revert or a corrected file ends.
type Blocked struct {
	Step string `json:"step"`
	What string `json:"what"`
	ToDo string `json:"to_do"`
	// Gate that blocks; the block ends by itself when it passes again.
	Gate string `json:"gate,omitempty"`
}

// Retried goes on at the first action not done.
type Retried struct {
	// Starts are start actions of the open step that succeeded and whose nodes
	// are known not to run any more: looked at as in doubt, then performed again.
	Starts []string `json:"starts,omitempty"`
	// Why the service goes on by itself; empty when a person asked.
	Why string `json:"why,omitempty"`
}

// Accepted is a person's word for an availability gate and these subjects.
type Accepted struct {
	Gate     string   `json:"gate"`
	Subjects []string `json:"subjects"`
	Reason   string   `json:"reason"`
	// Lost are brokers that the person named as lost; until they run again
	// nothing waits for them.
	Lost []int32 `json:"lost,omitempty"`
}

// Returned names a broker that was accepted as lost and runs again.
type Returned struct {
	Node int32 `json:"node"`
}

// Soak is the clock of a soak, written now and then so that a restart of the
// service goes on from it without counting the time it was blind.
type Soak struct {
	Phase       cluster.Phase `json:"phase"`
	Required    time.Duration `json:"required"`
	Elapsed     time.Duration `json:"elapsed"`
	Running     bool          `json:"running"`
	HasLeader   bool          `json:"has_leader"`
	Leader      int32         `json:"leader"`
	LeaderEpoch int32         `json:"leader_epoch"`
	// Incarnations of the brokers as the present span began.
	Incarnations     map[int32]string `json:"incarnations,omitempty"`
	RestartedBecause string           `json:"restarted_because,omitempty"`
	PausedBecause    string           `json:"paused_because,omitempty"`
}

// DrillRun is one drill; milliseconds from just before the command; nil was not seen.
type DrillRun struct {
	Kind          string `json:"kind"`
	Node          int32  `json:"node"`
	NewLeader     *int32 `json:"new_leader"`
	LeaderMS      *int64 `json:"leader_ms"`
	MetadataMS    *int64 `json:"metadata_write_ms"`
	DualWriteMS   *int64 `json:"dual_write_ms"`
	UnavailableMS *int64 `json:"unavailable_ms"`
	EpochBefore   *int32 `json:"epoch_before"`
	EpochAfter    *int32 `json:"epoch_after"`
	ZKEpochBefore *int   `json:"zk_epoch_before"`
	ZKEpochAfter  *int   `json:"zk_epoch_after"`
	Baseline      bool   `json:"baseline"` // the ZooKeeper controller's own failover, for comparison
	Passed        bool   `json:"passed"`
	Why           string `json:"why"`
}

// Canary is what one run of our own client saw so far. A run ends with the
// service; the totals of a migration are the sum over its runs.
type Canary struct {
	Run                  string        `json:"run"`
	Sent                 uint64        `json:"sent"`
	Acked                uint64        `json:"acked"`
	Failed               uint64        `json:"failed"`
	Lost                 uint64        `json:"lost"`
	Unchecked            uint64        `json:"unchecked,omitempty"` // acknowledged, and no longer checked
	LongestStall         time.Duration `json:"longest_stall"`
	LongestMetadataStall time.Duration `json:"longest_metadata_stall"`
}
