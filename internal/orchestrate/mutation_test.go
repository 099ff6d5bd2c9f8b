package orchestrate_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/execute"
	"migrator/internal/facts"
	"migrator/internal/observe"
	"migrator/internal/orchestrate"
	"migrator/internal/phases"
	"migrator/internal/plan"
	"migrator/internal/simcluster"
	"migrator/internal/status"
)

// mistake is one made on purpose, by something put between the service and
// the cluster: a service that makes it must not pass the simulator's rules.
type mistake struct {
	name   string
	broken string // the rule that catches it
	cfg    func(*config.Migration)
	wrap   func(*orchestrate.Deps)
	// until is where the mistake begins to matter, and matter what happens there.
	until  turn
	matter func(c *simcluster.Cluster)
	to     cluster.Phase // turned around there; empty: forward
	dies   func(seq uint64, kind string, b phases.Body) bool
}

func mistakes() []mistake {
	stuck, healthy, agreeing := &again{}, &everyISR{}, &sameTopics{}
	firstBroker := turn{pause: rolling(cluster.Load, "roll-", cluster.ZKMigrating, 0)}
	return []mistake{
		{name: "old facts count as new", broken: "is down already", wrap: stuck.wrap, until: firstBroker,
			matter: func(c *simcluster.Cluster) { stuck.begin(); c.Crash(2, true); c.Crash(3, true) }},
		{name: "an unknown or short ISR counts as full", broken: "leaves orders-", wrap: healthy.wrap, until: turn{offered: cluster.Load},
			matter: func(c *simcluster.Cluster) { healthy.begin(); c.Lag(2, true); c.Lag(3, true) }},
		{name: "nobody compares the stores before the znodes go", broken: "while ZooKeeper lacks committed changes", wrap: agreeing.wrap, until: turn{offered: cluster.Hybrid},
			matter: func(c *simcluster.Cluster) { agreeing.begin(); c.LoseWrites(); c.Lag(2, true) }, to: cluster.Initial},
		{name: "the soak is ignored", broken: "finalize without a whole soak", until: turn{offered: cluster.Finalize},
			cfg: func(m *config.Migration) {
				m.Soaks = []config.Soak{{Phase: cluster.DualWrite, Duration: time.Millisecond}}
			}},
		{name: "a drill is left out", broken: "finalize without a passed drill crash", until: turn{offered: cluster.Finalize},
			cfg: func(m *config.Migration) { m.Drill.Kinds = []string{"clean"} }},
		{name: "an action in doubt is repeated without a look", broken: "repeated without a look", until: turn{offered: cluster.Load},
			wrap: func(d *orchestrate.Deps) { d.Executor = blind{d.Executor} },
			dies: func(_ uint64, _ string, b phases.Body) bool {
				return b.Intent != nil && b.Intent.Step == "roll-broker-1" && b.Intent.Action == "write-1"
			}},
		{name: "another node is stopped with the batch", broken: "not in the approved plan", until: turn{offered: cluster.Load},
			wrap: func(d *orchestrate.Deps) { d.Executor = greedy{d.Executor} }},
	}
}

// Each rule of the simulator is broken on purpose once: a service that makes
// the mistake is caught, and the one that does not make it is not.
func TestTheRulesCatchAServiceThatBreaksOne(t *testing.T) {
	for _, m := range mistakes() {
		t.Run(m.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if broken := m.live(t, true); !slices.ContainsFunc(broken, func(b string) bool { return strings.Contains(b, m.broken) }) {
					t.Errorf("rules broken: %q, want one that says %q", broken, m.broken)
				}
			})
			synctest.Test(t, func(t *testing.T) {
				if broken := m.live(t, false); len(broken) > 0 {
					t.Errorf("without the mistake, rules broken: %q", broken)
				}
			})
		})
	}
}

// live goes to where the mistake matters, and on for a while.
func (m mistake) live(t *testing.T, made bool) []string {
	c, s := simcluster.New(simcluster.Options{Seed: 1}), simcluster.NewStore()
	cfg, wrap := c.Migration(), m.wrap
	if m.cfg != nil && made {
		m.cfg(&cfg)
	}
	if !made {
		wrap = nil
	}
	r := open(t, cfg, c, &book{Store: s, dies: m.dies}, wrap)
	if ok, last := r.forth(m.until); !ok && !r.life.Killed() {
		t.Fatalf("never got there: %s %q", last.RunStatus, last.Headline)
	}
	if m.matter != nil {
		m.matter(c)
		time.Sleep(time.Minute) // long enough for the readers to know
	}
	if m.dies != nil {
		r.attend(10*time.Minute, finished, r.onward)
		r.end()
		r = open(t, cfg, c, &book{Store: s}, wrap)
	}
	defer r.end()
	if m.to != "" {
		go func() { _ = turnBack(t.Context(), r.m, cfg.Name, m.to) }()
	}
	r.attend(10*time.Minute, func(st status.Status) bool { return finished(st) || len(c.Violations()) > 0 }, r.onward)
	return c.Violations()
}

func finished(s status.Status) bool { return s.RunStatus == status.Finished }

// onward approves and resumes whatever waits for it.
func (r *run) onward(s status.Status) deed {
	switch s.RunStatus {
	case status.NeedsApproval:
		return r.advance(s)
	case status.Paused:
		return func(ctx context.Context) error {
			return r.m.Do(ctx, orchestrate.Command{Verb: orchestrate.Resume, Actor: "alice"})
		}
	default:
		return nil
	}
}

// liar changes what readers see, once it has begun.
type liar struct {
	inner orchestrate.Observer
	mu    sync.Mutex
	on    bool
}

func (l *liar) begin() { l.mu.Lock(); defer l.mu.Unlock(); l.on = true }

func (l *liar) lies() bool { l.mu.Lock(); defer l.mu.Unlock(); return l.on }

func (l *liar) MarkLogs(ctx context.Context, ids []int32) (map[int32]string, error) {
	return l.inner.MarkLogs(ctx, ids)
}

func (l *liar) RestoreLogs(cursors map[int32]string) error { return l.inner.RestoreLogs(cursors) }

// again shows the same snapshot again and again, and lets the clock stand
// still, so that no fact is ever old.
type again struct {
	liar
	last facts.Snapshot
	then time.Time
}

func (a *again) wrap(d *orchestrate.Deps) {
	a.inner, d.Observer = d.Observer, a
	now := d.Now
	d.Now = func() time.Time {
		if a.lies() {
			return a.then
		}
		return now()
	}
}

func (a *again) Round(ctx context.Context, want observe.Want) facts.Snapshot {
	s := a.inner.Round(ctx, want)
	if !a.lies() {
		a.last, a.then = s, time.Now()
	}
	return a.last
}

// everyISR shows full ISRs.
type everyISR struct{ liar }

func (e *everyISR) wrap(d *orchestrate.Deps) { e.inner, d.Observer = d.Observer, e }

func (e *everyISR) Round(ctx context.Context, want observe.Want) facts.Snapshot {
	s := e.inner.Round(ctx, want)
	md, ok := s.Metadata.Get()
	if !e.lies() || !ok {
		return s
	}
	md.Partitions = slices.Clone(md.Partitions)
	for i, p := range md.Partitions {
		md.Partitions[i].ISR = p.Replicas
	}
	s.Metadata = facts.Known(md, s.Metadata.Source(), s.Metadata.Begun())
	return s
}

// sameTopics shows the metadata log's topics where ZooKeeper's are asked for.
type sameTopics struct {
	liar
	kept facts.Log
}

func (e *sameTopics) wrap(d *orchestrate.Deps) { e.inner, d.Observer = d.Observer, e }

func (e *sameTopics) Round(ctx context.Context, want observe.Want) facts.Snapshot {
	s := e.inner.Round(ctx, want)
	if l, ok := s.Log.Get(); ok && len(l.Image.Topics) > 0 {
		e.kept = l
	}
	if !e.lies() || !s.ZKTopics.Known() {
		return s
	}
	out := facts.ZKTopics{Topics: map[string]facts.ZKTopic{}}
	for name, t := range e.kept.Image.Topics {
		v := facts.ZKTopic{ID: t.ID, HasID: true, Partitions: map[int32]facts.ZKPartition{}}
		for i, p := range t.Partitions {
			v.Partitions[i] = facts.ZKPartition{Replicas: p.Replicas, HasState: true, ISR: p.ISR, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, ControllerEpoch: e.kept.Epoch}
		}
		out.Topics[name] = v
	}
	s.ZKTopics = facts.Known(out, s.ZKTopics.Source(), s.ZKTopics.Begun())
	return s
}

// blind says of everything in doubt that it was not done.
type blind struct{ orchestrate.Executor }

func (blind) Probe(context.Context, execute.Task) (execute.Probed, string, error) {
	return execute.ProbedNotDone, "did not look", nil
}

// greedy stops broker 2 as well where broker 1 is stopped.
type greedy struct{ orchestrate.Executor }

func (g greedy) Do(ctx context.Context, t execute.Task) (execute.Result, error) {
	if t.Action.Kind == plan.Stop && *t.Action.Node == 1 {
		also, two := t, int32(2)
		also.Action.ID, also.Action.Node = "stop-2", &two
		if res, err := g.Executor.Do(ctx, also); err != nil {
			return res, err
		}
	}
	return g.Executor.Do(ctx, t)
}
