package evidence

import (
	"encoding/json"
	"fmt"
	"runtime/debug"
	"time"

	"migrator/internal/config"
	"migrator/internal/journal"
	"migrator/internal/phases"
	"migrator/internal/plan"
)

// Build folds a migration's whole journal into its evidence. A journal that
// does not fit together is an error: half evidence is none.
func Build(entries []journal.Entry, cfg config.Migration) (Pack, error) {
	b := builder{canary: map[string]phases.Canary{}, pack: Pack{Name: cfg.Name, Rehearsal: cfg.Rehearsal, KafkaVersion: cfg.Kafka.Version, Phases: []Phase{}, Plans: []Plan{}, Steps: []Step{}, Windows: []Window{},
		Drill: Drill{Runs: []DrillRun{}}, Accepted: []Accepted{}, Blocked: []Blocked{}, ToolVersion: toolVersion()}}
	b.pack.Waivers, b.pack.Rehearsals = waivers(cfg), []Rehearsed{}
	b.pack.Shape = plan.Shape{KafkaVersion: cfg.Kafka.Version, Batch: cfg.Roll.Batch, Turns: []plan.Turn{}}
	state := phases.New()
	for _, entry := range entries {
		e := phases.Event{Seq: entry.Seq, Time: entry.Time, Attempt: entry.Attempt, Actor: entry.Actor, Kind: phases.Kind(entry.Kind)}
		if len(entry.Body) > 0 {
			if err := json.Unmarshal(entry.Body, &e.Body); err != nil {
				return Pack{}, fmt.Errorf("journal entry %d (%s): %w", entry.Seq, entry.Kind, err)
			}
		}
		b.take(state, e)
		next, err := phases.Apply(state, e)
		if err != nil {
			return Pack{}, err
		}
		state = next
		b.takeWindow(state.Window)
	}
	list, err := writes(entries)
	if err != nil {
		return Pack{}, err
	}
	return b.finish(state, list), nil
}

func waivers(cfg config.Migration) []Waiver {
	out := make([]Waiver, 0, len(cfg.Waivers))
	for _, w := range cfg.Waivers {
		out = append(out, Waiver{Code: w.Code, Reason: w.Reason})
	}
	return out
}

// toolVersion is the version this program was built as.
func toolVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			version += " " + s.Value[:min(len(s.Value), 12)]
		}
	}
	return version
}

type builder struct {
	pack Pack
	// canary has every run's newest figures: the fold forgets those of earlier attempts.
	canary map[string]phases.Canary
}

// take notes one event; before is the state without it.
func (b *builder) take(before phases.State, e phases.Event) {
	body := e.Body
	switch {
	case e.Kind == phases.KindAdopted:
		b.pack.Drill.Runs = []DrillRun{} // a new attempt: drills count within one
	case body.Moved != nil:
		b.leavePhase(e.Time)
		b.pack.Phases = append(b.pack.Phases, Phase{Phase: body.Moved.To, Entered: e.Time, Why: body.Moved.Why})
	case body.Approved != nil:
		a := body.Approved
		b.liftBlock(e)
		b.pack.Shape.Turns = plan.Join(b.pack.Shape.Turns, a.Plan.Turns())
		b.pack.Plans = append(b.pack.Plans, Plan{Phase: a.Plan.Phase, Revert: a.Plan.Revert, Digest: a.Plan.Digest, ApprovedBy: e.Actor, ApprovedAt: e.Time,
			Confirmed: a.Confirmed, Verdicts: verdicts(a.Verdicts), Attempt: e.Attempt, Planned: planned(a.Plan)})
	case e.Kind == phases.KindPlanDone, e.Kind == phases.KindPlanVoid:
		b.endPlan(e)
	case body.Opened != nil, body.Intent != nil, body.Outcome != nil, body.StepDone != nil:
		b.takeStep(before, e)
	case body.Blocked != nil:
		b.pack.Blocked = append(b.pack.Blocked, Blocked{At: e.Time, What: body.Blocked.What, ToDo: body.Blocked.ToDo})
	case e.Kind == phases.KindRetried:
		b.liftBlock(e)
	case body.Accepted != nil:
		a := body.Accepted
		b.pack.Accepted = append(b.pack.Accepted, Accepted{At: e.Time, By: e.Actor, Gate: a.Gate, Subjects: a.Subjects, Reason: a.Reason})
	case body.Drill != nil:
		b.pack.Drill.Runs = append(b.pack.Drill.Runs, drillRun(*body.Drill, e.Time))
	case body.Rehearsed != nil:
		b.pack.Rehearsals = append(b.pack.Rehearsals, Rehearsed{At: e.Time, By: e.Actor, Rehearsal: *body.Rehearsed})
	case body.Canary != nil:
		b.canary[body.Canary.Run] = *body.Canary
	case e.Kind == phases.KindFinished:
		at := e.Time
		b.pack.Finished = &at
	}
}

func planned(p plan.Plan) []Planned {
	out := make([]Planned, 0, len(p.Steps))
	for _, s := range p.Steps {
		out = append(out, Planned{ID: s.ID, Kind: s.Kind, Sentence: s.Sentence})
	}
	return out
}

func (b *builder) leavePhase(at time.Time) {
	if n := len(b.pack.Phases); n > 0 {
		b.pack.Phases[n-1].Left = &at
	}
}

func (b *builder) endPlan(e phases.Event) {
	n := len(b.pack.Plans)
	if n == 0 {
		return
	}
	at := e.Time
	b.pack.Plans[n-1].Ended = &at
	if e.Kind == phases.KindPlanVoid && e.Body.Plan != nil {
		b.pack.Plans[n-1].Void = e.Body.Plan.Why
	}
}

func (b *builder) liftBlock(e phases.Event) {
	if n := len(b.pack.Blocked); n > 0 && b.pack.Blocked[n-1].Until == nil {
		at := e.Time
		b.pack.Blocked[n-1].Until, b.pack.Blocked[n-1].By = &at, e.Actor
	}
}

// finish adds what only the whole fold tells.
func (b *builder) finish(s phases.State, files []FileSums) Pack {
	p := b.pack
	p.ClusterID, p.Attempt = s.ClusterID, s.Attempt
	if !s.Started.IsZero() {
		p.Started = &s.Started
	}
	if k := s.Soak; k != nil {
		p.Soak = &Soak{Phase: k.Phase, RequiredSeconds: k.Required.Seconds(), ElapsedSeconds: k.Elapsed.Seconds()}
		if k.RestartedBecause != "" {
			p.Soak.RestartedBecause = &k.RestartedBecause
		}
	}
	p.Rolls = rolls(p.Steps)
	p.Files = files
	c := phases.State{Canary: b.canary}.CanaryTotals()
	p.Canary = Canary{Sent: c.Sent, Acked: c.Acked, Lost: c.Lost, Unchecked: c.Unchecked, LongestStallMS: millis(c.LongestStall), LongestMetadataStallMS: millis(c.LongestMetadataStall)}
	return p
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
