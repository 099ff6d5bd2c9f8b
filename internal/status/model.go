// Package status is the one read model: CLI, API and page show it and compute
// nothing of their own. Build is pure.
package status

import (
	"slices"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/plan"
)

// RunStatus is what the orchestrator does now.
type RunStatus string

const (
	Observing     RunStatus = "observing"
	Waiting       RunStatus = "waiting"
	NeedsApproval RunStatus = "needs-approval"
	Executing     RunStatus = "executing"
	Paused        RunStatus = "paused"
	Blocked       RunStatus = "blocked"
	Reverting     RunStatus = "reverting"
	Finished      RunStatus = "finished"
)

// Status is one migration as people and scripts see it. Absent is null.
type Status struct {
	Name          string         `json:"name"`
	ClusterID     *string        `json:"cluster_id"`
	Phase         *cluster.Phase `json:"phase"`
	PhaseComplete bool           `json:"phase_complete"`
	RunStatus     RunStatus      `json:"run_status"`
	Headline      string         `json:"headline"`
	Since         *time.Time     `json:"since"`
	Next          string         `json:"next"`
	ETASeconds    *float64       `json:"eta_seconds"`
	Attempt       int            `json:"attempt"`
	Step          *StepView      `json:"step"`   // the open one
	Manual        []Errand       `json:"manual"` // what a person is to do in the open step
	Gates         []Gate         `json:"gates"`
	Nodes         []Node         `json:"nodes"`
	Soak          *Soak          `json:"soak"`
	Drill         *Drill         `json:"drill"`
	Revert        Revert         `json:"revert"`
	Epochs        *Epochs        `json:"epochs"`
	Window        *Window        `json:"controllerless_window"` // null: there was none
	Canary        *Canary        `json:"canary"`
	Plan          *Plan          `json:"plan"` // offered or running
	Blocked       *Reason        `json:"blocked"`
	ObservedAt    *time.Time     `json:"observed_at"`
	Seq           uint64         `json:"seq"` // last journal entry
}

// Reason is a blocked state: what is so, where, what to do.
type Reason struct {
	What string    `json:"what"`
	ToDo string    `json:"to_do"`
	At   time.Time `json:"at"`
}

// Gate is one judged gate.
type Gate struct {
	Name       string     `json:"name"`
	Kind       string     `json:"kind"`
	Verdict    string     `json:"verdict"` // pass | fail | unknown
	Evidence   string     `json:"evidence"`
	ToDo       string     `json:"to_do"`
	Since      *time.Time `json:"since"`
	Source     string     `json:"source"`
	ObservedAt *time.Time `json:"observed_at"`
	Blocks     []string   `json:"blocks"`
	Subjects   []string   `json:"subjects"`
	Accepted   bool       `json:"accepted"`
}

// Node is one node: how it runs, how it should.
type Node struct {
	ID          int32         `json:"id"`
	Role        cluster.Role  `json:"role"`
	Host        string        `json:"host"`
	Rack        string        `json:"rack"`
	Mode        *cluster.Mode `json:"mode"`
	WantedMode  *cluster.Mode `json:"wanted_mode"`
	Registered  *bool         `json:"registered"`
	Lag         *int64        `json:"lag"` // records behind the metadata log's high watermark
	ISRFull     *bool         `json:"isr_full"`
	LastRestart *time.Time    `json:"last_restart"`
	Leader      bool          `json:"leader"` // active controller, or holder of /controller
	Running     *bool         `json:"running"`
	Unknown     string        `json:"unknown"` // why mode is unknown
	Lost        bool          `json:"lost"`    // a person accepted it as lost: nothing waits for it until it runs again
}

// BrokersIn are the ids of the brokers that are known to run in a mode, ascending.
func (s Status) BrokersIn(mode cluster.Mode) []int32 {
	var ids []int32
	for _, n := range s.Nodes {
		if n.Role == cluster.Broker && n.Mode != nil && *n.Mode == mode {
			ids = append(ids, n.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// Soak is the required healthy time.
type Soak struct {
	Phase            cluster.Phase `json:"phase"`
	RequiredSeconds  float64       `json:"required_seconds"`
	ElapsedSeconds   float64       `json:"elapsed_seconds"`
	RestartedBecause *string       `json:"restarted_because"`
	PausedBecause    *string       `json:"paused_because"`
}

// Drill is the failover drill of this attempt. Verdict: pass | fail | pending.
type Drill struct {
	Verdict string     `json:"verdict"`
	Runs    []DrillRun `json:"runs"`
}

// DrillRun is one drill. Milliseconds count from just before the command.
type DrillRun struct {
	Kind          string    `json:"kind"`
	Node          int32     `json:"node"`
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
	At            time.Time `json:"at"`
}

// Revert says whether the way back exists now.
type Revert struct {
	Possible bool     `json:"possible"`
	Safe     *bool    `json:"safe"`
	Why      string   `json:"why"`
	Routes   []string `json:"routes"`
}

// Epochs is the epoch margin (KAFKA-20488): /controller_epoch + 1 - the largest epoch a
// later ZooKeeper controller must beat; below 0 a way back needs one more step.
type Epochs struct {
	ZooKeeper int  `json:"zookeeper"`
	KRaft     *int `json:"kraft"`
	Margin    *int `json:"margin"`
}

// Canary is what our own client feels.
type Canary struct {
	Sent                   uint64  `json:"sent"`
	Acked                  uint64  `json:"acked"`
	Lost                   uint64  `json:"lost"`
	Unchecked              uint64  `json:"unchecked"` // acknowledged, and no longer checked: their claims no longer fit in memory
	LongestStallMS         float64 `json:"longest_stall_ms"`
	LongestMetadataStallMS float64 `json:"longest_metadata_stall_ms"`
}

// Plan is the offered or running plan.
type Plan struct {
	Phase    cluster.Phase `json:"phase"`
	Digest   string        `json:"digest"`
	Running  bool          `json:"running"`
	Revert   bool          `json:"revert"`
	Approval bool          `json:"needs_approval"`
	Steps    []StepView    `json:"steps"`
}

// StepView is one step for people: the plan's step with how far it is.
type StepView struct {
	plan.Step
	State    string     `json:"state"` // planned | waiting | running | done | failed
	Opened   *time.Time `json:"opened"`
	Finished *time.Time `json:"finished"`
	Actions  []Action   `json:"progress"`
}

// Action is one action's progress. State: planned | running | in-doubt | done | failed.
type Action struct {
	ID    string     `json:"id"`
	State string     `json:"state"`
	Begun *time.Time `json:"begun"`
	Ended *time.Time `json:"ended"`
	Error string     `json:"error"`
}
