// Package orchestrate runs one migration: it observes, judges, decides,
// journals the intent, performs, journals the outcome, and observes again.
// One goroutine owns the state and is the only journal writer; observing and
// performing happen beside it, so it always answers.
package orchestrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"migrator/internal/canary"
	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/execute"
	"migrator/internal/facts"
	"migrator/internal/gates"
	"migrator/internal/journal"
	"migrator/internal/kraftlog"
	"migrator/internal/observe"
	"migrator/internal/phases"
	"migrator/internal/plan"
)

// Observer reads the cluster.
type Observer interface {
	Round(ctx context.Context, want observe.Want) facts.Snapshot
	MarkLogs(ctx context.Context, ids []int32) (map[int32]string, error)
	RestoreLogs(map[int32]string) error
}

// Executor performs actions and looks whether one was done.
type Executor interface {
	Do(ctx context.Context, t execute.Task) (execute.Result, error)
	Probe(ctx context.Context, t execute.Task) (execute.Probed, string, error)
}

// Journal is the append-only record of one migration.
type Journal interface {
	Append(kind string, actor string, attempt int, body any) (journal.Entry, error)
	Read() ([]journal.Entry, error)
}

// Blobs keeps file contents by SHA-256.
type Blobs interface {
	Put(data []byte) (string, error)
	Get(sha string) ([]byte, error)
}

// Canary is our own client, running while its topic exists.
type Canary interface {
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
	Run() (id string, seen canary.Stats, ok bool)
	// Quiet stops its metadata writes, not its records, while stores are compared.
	Quiet(bool)
}

// Deps are a machine's connections to the world.
type Deps struct {
	Observer Observer
	Executor Executor
	Journal  Journal
	Blobs    Blobs
	Canary   Canary
	Log      *slog.Logger
	Now      func() time.Time
	// Claim ties a cluster id to this migration; an error when another one has it.
	Claim func(clusterID string) error
	// KeepZnodes takes a backup of all znodes before a plan and answers its file; nil takes none.
	KeepZnodes func(ctx context.Context, plan string) (file string, err error)
	// Failpoint is called at each boundary of an action; tests end the process there.
	Failpoint func(Boundary, plan.Action)
}

// Boundary is a place between effect and record.
type Boundary string

const (
	BeforeIntent Boundary = "before-intent"
	AfterIntent  Boundary = "after-intent"
	AfterEffect  Boundary = "after-effect"
	AfterOutcome Boundary = "after-outcome"
)

// Machine is one migration under way. All fields below the channels belong to
// the loop goroutine.
type Machine struct {
	cfg       config.Migration
	live      config.Migration  // cfg without brokers that a person accepted as lost
	inv       cluster.Inventory // of live
	deps      Deps
	commands  chan request
	snapshots chan facts.Snapshot
	results   chan performed
	kick      chan struct{}
	drain     chan struct{}
	eye       eye // what the observing goroutine is asked for
	board     board

	state     phases.State
	snap      facts.Snapshot
	seen      bool // a snapshot was taken since the start
	judgement gates.Judgement
	memory    gates.Memory
	judged    uint64 // state.Seq that judgement was made for
	decision  phases.Decision
	located   phases.Located
	offer     offer
	clock     phases.Clock
	busy      map[string]context.CancelFunc
	progress  progress
	deaths    phases.Deaths
	pending   []waiting // commands that wait for a fresh snapshot
	answers   []func()  // given once the status is published
	// keptBefore is the plan before which a backup was begun, at most one for each.
	keptBefore string
	draining   bool
	broken     error // the journal cannot be written: nothing more is executed
	canaryOn   bool
	planned    planned
	kept       map[string]kraftlog.Topic // what the metadata log held last, for a revert
	conflicts  []string                  // how the configuration no longer fits the running plan
	memo       phases.Memo
	compared   bool // the running plan with what would be rendered now
}

// New replays the journal. An entry that cannot be understood is an error.
func New(cfg config.Migration, deps Deps) (*Machine, error) {
	m := &Machine{cfg: cfg, deps: deps, commands: make(chan request), snapshots: make(chan facts.Snapshot),
		results: make(chan performed), kick: make(chan struct{}, 1), drain: make(chan struct{}),
		state: phases.New(), busy: map[string]context.CancelFunc{}}
	if m.deps.Failpoint == nil {
		m.deps.Failpoint = func(Boundary, plan.Action) {}
	}
	entries, err := deps.Journal.Read()
	if err != nil {
		return nil, fmt.Errorf("read the journal of %s: %w", cfg.Name, err)
	}
	for _, e := range entries {
		event, err := decode(e)
		if err != nil {
			return nil, err
		}
		if m.state, err = phases.Apply(m.state, event); err != nil {
			return nil, fmt.Errorf("journal of %s: %w", cfg.Name, err)
		}
	}
	m.leaveOut()
	if m.state.ClusterID != "" {
		if err := deps.Claim(m.state.ClusterID); err != nil {
			return nil, err
		}
	}
	m.progress.at = deps.Now() // the time in which no service ran is not time without progress
	if m.state.Soak != nil {
		m.clock = phases.Clock{Soak: *m.state.Soak}
	}
	if err := m.loadKept(); err != nil {
		return nil, err
	}
	if m.state.Run != nil {
		m.conflicts = phases.Conflicts(m.state, cfg)
		if err := deps.Observer.RestoreLogs(m.state.Run.Baseline.Cursors); err != nil {
			return nil, fmt.Errorf("log cursors of %s: %w", cfg.Name, err)
		}
	}
	// Who asks before the loop runs gets an answer that explains itself.
	m.decision = phases.Decide(m.state, m.situation(), deps.Now())
	m.publish()
	return m, nil
}

func decode(e journal.Entry) (phases.Event, error) {
	ev := phases.Event{Seq: e.Seq, Time: e.Time, Attempt: e.Attempt, Actor: e.Actor, Kind: phases.Kind(e.Kind)}
	if len(e.Body) == 0 {
		return ev, nil
	}
	if err := json.Unmarshal(e.Body, &ev.Body); err != nil {
		return ev, fmt.Errorf("journal entry %d (%s): %w", e.Seq, e.Kind, err)
	}
	return ev, nil
}

// append writes one entry and folds it in. When the journal cannot be written
// the machine stops executing for good: what is not recorded must not happen.
func (m *Machine) append(kind phases.Kind, actor string, body phases.Body) bool {
	if m.broken != nil {
		return false
	}
	e, err := m.deps.Journal.Append(string(kind), actor, m.state.Attempt, body)
	if err != nil {
		m.fail(fmt.Errorf("append to the journal: %w", err))
		return false
	}
	next, err := phases.Apply(m.state, phases.Event{Seq: e.Seq, Time: e.Time, Attempt: e.Attempt, Actor: actor, Kind: kind, Body: body})
	if err != nil {
		m.fail(err)
		return false
	}
	m.state = next
	if kind == phases.KindAccepted || kind == phases.KindReturned {
		m.leaveOut()
	}
	m.tell(kind, e.Seq, body)
	return true
}

// tell logs what an operator cares about; the rest at debug.
func (m *Machine) tell(kind phases.Kind, seq uint64, b phases.Body) {
	log := m.deps.Log.With("cluster", m.cfg.Name, "phase", string(m.state.Phase), "seq", seq)
	switch {
	case b.Moved != nil:
		log.Info("phase recorded", "why", b.Moved.Why)
	case b.Approved != nil:
		log.Info("plan approved", "plan", string(b.Approved.Plan.Phase), "digest", b.Approved.Plan.Digest)
	case b.Opened != nil:
		log.Info("step begun", "step", b.Opened.Step)
	case b.StepDone != nil:
		log.Info("step done", "step", b.StepDone.Step)
	case b.Outcome != nil && !b.Outcome.OK:
		log.Warn("action failed", "step", b.Outcome.Step, "action", b.Outcome.Action, "error", b.Outcome.Detail)
	case b.Blocked != nil:
		log.Warn("blocked", "what", b.Blocked.What)
	case b.Retried != nil && b.Retried.Why != "":
		log.Warn("nodes are started again by the service itself", "why", b.Retried.Why)
	case b.Drill != nil:
		log.Info("drill measured", "kind", b.Drill.Kind, "node", b.Drill.Node, "passed", b.Drill.Passed)
	case kind == phases.KindPlanDone || kind == phases.KindPlanVoid || kind == phases.KindFinished || kind == phases.KindLifted:
		log.Info("migration moved on", "event", string(kind))
	default:
		log.Debug("journalled", "event", string(kind))
	}
}

func (m *Machine) fail(err error) {
	m.broken = errors.Join(m.broken, err)
	m.deps.Log.Error("the journal cannot be used: nothing more is executed", "cluster", m.cfg.Name, "error", err.Error())
}

// service is the actor of what the service does by itself.
const service = "migrator"
