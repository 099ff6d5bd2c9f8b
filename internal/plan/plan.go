// Package plan holds the reviewed list of steps that an approval names by its
// digest. Values only; phases builds them, execute performs their actions.
package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"migrator/internal/cluster"
)

// Format is the version of the digest's input; a change makes every digest new.
const Format = 1

// Rule says which node a roll takes last; the holder is read just before each batch.
type Rule string

const (
	NoRule           Rule = ""
	ZooKeeperCtlLast Rule = "zookeeper-controller"
	ActiveCtlLast    Rule = "active-controller"
)

// StepKind is what a step is for.
type StepKind string

const (
	Adopt           StepKind = "adopt"            // take over a cluster found past initial; no effect
	CanaryTopic     StepKind = "canary-topic"     // create the canary's topic
	Backup          StepKind = "backup"           // save znodes
	Provision       StepKind = "provision"        // write, format and start all controllers
	Roll            StepKind = "roll"             // stop, write, start one batch
	Copy            StepKind = "copy"             // wait for Kafka's copy
	Elect           StepKind = "elect"            // preferred leaders again
	SoakBegin       StepKind = "soak-begin"       // soak gates must hold
	DrillStep       StepKind = "drill"            // one failover drill
	SoakEnd         StepKind = "soak-end"         // the required healthy time
	CanaryRemove    StepKind = "canary-remove"    // delete the canary's topic
	FlagBack        StepKind = "flag-back"        // a controller without the flag gets it back
	Drain           StepKind = "drain"            // both stores agree, dual write has caught up
	StopControllers StepKind = "stop-controllers" // for good: stopped, archived, kept from starting
	Compare         StepKind = "compare"          // with all controllers down
	Znodes          StepKind = "znodes"           // epoch, /controller and /migration in one multi
	Follow          StepKind = "follow"           // every broker knows the new ZooKeeper controller
	Freeze          StepKind = "freeze"           // the operator's own command before anything else of a plan
	Thaw            StepKind = "thaw"             // and after everything else
)

// ActionKind is one effect.
type ActionKind string

const (
	Stop           ActionKind = "stop"
	Write          ActionKind = "write"
	FormatDirs     ActionKind = "format"
	Start          ActionKind = "start"
	CreateTopic    ActionKind = "create-topic"
	DeleteTopic    ActionKind = "delete-topic"
	VerifyCanary   ActionKind = "verify-canary" // end our client and read every acknowledged record back
	SaveImage      ActionKind = "save-image"    // keep what the metadata log holds, for the comparison without controllers
	Archive        ActionKind = "archive"       // move a controller's folder aside
	Disable        ActionKind = "disable"       // keep a controller from starting again
	RevertZnodes   ActionKind = "revert-znodes" // check or raise /controller_epoch, delete /controller and /migration
	SaveZnodes     ActionKind = "save-znodes"
	ElectPreferred ActionKind = "elect-preferred"
	RunDrill       ActionKind = "drill"
	Kill           ActionKind = "kill"           // a person's part of a crash drill, never a plan's action
	MetadataWrite  ActionKind = "metadata-write" // until one is accepted: a controller acts again
	FreezeHook     ActionKind = "freeze"         // hooks run on the service's machine, see Hook
	ThawHook       ActionKind = "thaw"
	BeforeNode     ActionKind = "before-node"
	AfterNode      ActionKind = "after-node" // once the gates of its step pass, whatever its stage
)

// Hook: a command of the operator's own that runs on the service's machine, not
// on a node. It may be run again at any time, also beside a run cut off from a
// killed service.
func (k ActionKind) Hook() bool {
	return k == FreezeHook || k == ThawHook || k == BeforeNode || k == AfterNode
}

// HookStage comes before every other: the hook before a node's step.
const HookStage = -1

// Action is one effect: what, where, the precondition and how to see it is
// done. Stage orders actions within a step: all of one stage run together,
// the next stage begins when all of them succeeded.
type Action struct {
	ID     string     `json:"id"`
	Kind   ActionKind `json:"kind"`
	Stage  int        `json:"stage"`
	Node   *int32     `json:"node"`
	Argv   []string   `json:"argv"`
	Path   string     `json:"path"`
	Before string     `json:"before"` // SHA-256 of the file as the plan was made; empty: absent
	After  string     `json:"after"`  // SHA-256 of the file to be written
	Topic  string     `json:"topic"`
	Drill  string     `json:"drill"` // clean | crash
	// Manual: a person does it, and what can be observed says when it is done.
	Manual bool `json:"manual,omitempty"`
}

// Step is one entry: actions on one batch, gates before and after.
type Step struct {
	ID       string       `json:"id"`
	Kind     StepKind     `json:"kind"`
	Sentence string       `json:"sentence"`
	Batch    []int32      `json:"batch"`
	Mode     cluster.Mode `json:"mode"` // wanted mode of the batch, where one changes
	Rule     Rule         `json:"rule"`
	Actions  []Action     `json:"actions"`
	Before   []string     `json:"before"` // gates
	Done     []string     `json:"done"`   // gates
	Undo     string       `json:"undo"`
	Impact   []string     `json:"impact"` // partitions that cannot stay available while the batch restarts
	// Warnings are what a person must have read before the approval; never part of
	// the digest, which covers the hashes they speak of.
	Warnings []string `json:"warnings"`
	// Expected time in seconds, nil when nothing is known; never part of the digest.
	Expected *float64 `json:"expected_seconds"`
	Diffs    []Diff   `json:"diffs"`
}

// Diff is the redacted change of one node's file, for reading only.
type Diff struct {
	Node    int32    `json:"node"`
	Path    string   `json:"path"`
	Unified string   `json:"unified"`
	Reasons []Reason `json:"reasons"`
	// Notes are what a person should look at in the file or beside it, though
	// nothing was changed for it.
	Notes []string `json:"notes"`
}

// Reason says why a key changes and which source asks for it.
type Reason struct {
	Key    string `json:"key"`
	Op     string `json:"op"`
	Reason string `json:"reason"`
	Source string `json:"source"`
}

// Limits are the judging limits an approval covers.
type Limits struct {
	GoodPolls      int           `json:"good_polls"`
	PollInterval   time.Duration `json:"poll_interval"`
	StepTimeout    time.Duration `json:"step_timeout"`
	MaxFactAge     time.Duration `json:"max_fact_age"`
	Soak           time.Duration `json:"soak"`
	MaxUnavailable time.Duration `json:"max_unavailable"`
}

// Plan is the work that one approval starts.
type Plan struct {
	Name      string        `json:"name"`
	ClusterID string        `json:"cluster_id"`
	Phase     cluster.Phase `json:"phase"`
	Steps     []Step        `json:"steps"`
	Limits    Limits        `json:"limits"`
	// Revert plans go back; Phase is where they end.
	Revert bool `json:"revert,omitempty"`
	// AdHoc plans (a drill on demand) do not complete their phase.
	AdHoc  bool   `json:"ad_hoc,omitempty"`
	Digest string `json:"digest"`
}

// Step finds a step by id.
func (p Plan) Step(id string) (Step, bool) {
	i := slices.IndexFunc(p.Steps, func(s Step) bool { return s.ID == id })
	if i < 0 {
		return Step{}, false
	}
	return p.Steps[i], true
}

// Between is the step itself, or for the hooks around a plan the neighbour
// whose place in the story they share: what a freeze precedes, a thaw follows.
func (p Plan) Between(s Step) Step {
	at := slices.IndexFunc(p.Steps, func(o Step) bool { return o.ID == s.ID })
	switch {
	case s.Kind == Freeze && at >= 0 && at+1 < len(p.Steps):
		return p.Steps[at+1]
	case s.Kind == Thaw && at > 0:
		return p.Between(p.Steps[at-1])
	default:
		return s
	}
}

// Seal returns the plan with its digest: SHA-256 over what an approval
// promises. Sentences, estimates and the shown order of a roll stay out, so
// the same facts and configuration give the same digest, offline too.
func (p Plan) Seal() (Plan, error) {
	type digestStep struct {
		ID      string
		Kind    StepKind
		Batch   []int32
		Mode    cluster.Mode
		Rule    Rule
		Actions []Action
		Before  []string
		Done    []string
		Impact  []string
	}
	steps := make([]digestStep, 0, len(p.Steps))
	for _, s := range p.Steps {
		steps = append(steps, digestStep{s.ID, s.Kind, s.Batch, s.Mode, s.Rule, s.Actions, s.Before, s.Done, s.Impact})
	}
	sortRolls(steps, func(s digestStep) (bool, string) { return s.Kind == Roll, s.ID })
	raw, err := json.Marshal(struct {
		Format    int
		Name      string
		ClusterID string
		Phase     cluster.Phase
		Steps     []digestStep
		Limits    Limits
		Revert    bool `json:",omitempty"`
	}{Format, p.Name, p.ClusterID, p.Phase, steps, p.Limits, p.Revert})
	if err != nil {
		return Plan{}, fmt.Errorf("digest of plan %s: %w", p.Phase, err)
	}
	sum := sha256.Sum256(raw)
	p.Digest = hex.EncodeToString(sum[:])
	return p, nil
}

// sortRolls orders each run of adjacent roll steps by id, so that the expected
// order of batches does not reach the digest.
func sortRolls[T any](steps []T, key func(T) (roll bool, id string)) {
	for i := 0; i < len(steps); {
		j := i
		for j < len(steps) {
			if roll, _ := key(steps[j]); !roll {
				break
			}
			j++
		}
		slices.SortFunc(steps[i:j], func(a, b T) int {
			_, ka := key(a)
			_, kb := key(b)
			if ka < kb {
				return -1
			}
			if ka > kb {
				return 1
			}
			return 0
		})
		i = max(j, i+1)
	}
}
