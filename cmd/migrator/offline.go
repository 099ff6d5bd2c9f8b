package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/facts"
	"migrator/internal/gates"
	"migrator/internal/observe"
	"migrator/internal/phases"
)

// seen is a cluster looked at without a service: nothing was written, no lock
// taken, and no journal says what was done before.
type seen struct {
	snap      facts.Snapshot
	clusterID string
	located   phases.Located
	offered   cluster.Phase // whose plan comes next, by the facts alone
	judgement gates.Judgement
	holding   []gates.Judged // what keeps a phase that was begun from its end
}

// notOffline are gates about what only a service has, its lock and its client,
// and about the findings, which preflight shows themselves.
func notOffline() []string {
	return []string{gates.OneDriver, gates.MetadataWrite, gates.CanaryHealthy, gates.Preflight, gates.PreflightUse, gates.Rehearsed}
}

const (
	leastRounds = 2 // the second finds connections open and the slow reads ended
	mostRounds  = 6
)

// lookAt observes until the gates pass or a few rounds have gone by: some gates
// need to see something move. kept are brokers whose earlier files are wanted.
func lookAt(ctx context.Context, m config.Migration, want cluster.Phase, kept []int32, log *slog.Logger) (out seen, err error) {
	o, err := observe.New(m, observe.Deps{Log: log})
	if err != nil {
		return seen{}, err
	}
	defer func() {
		if closed := o.Close(); closed != nil {
			log.Warn("a reader did not end", "error", closed.Error())
		}
	}()
	var memory gates.Memory
	for round := range mostRounds {
		if round > 0 {
			if err := rest(ctx, m.Gates.PollInterval); err != nil {
				return seen{}, err
			}
		}
		out.snap = o.Round(ctx, observe.Want{Files: true, Meta: true, MinISR: true, Topics: true, Quorum: true, Log: true, Kept: kept})
		if err := ctx.Err(); err != nil {
			return seen{}, err
		}
		out.clusterID, _ = out.snap.ClusterID.Get()
		assumeWritable(&out.snap)
		out.located = phases.Locate(out.snap, m.Inventory())
		memory = out.judge(m, memory, want)
		if round+1 >= leastRounds && out.settled(m) {
			break
		}
	}
	return out, nil
}

func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// assumeWritable: a server serves an ordinary session only within a quorum, so
// an answer is as much as can be known of a majority without a write.
func assumeWritable(s *facts.Snapshot) {
	if s.ClusterID.Known() && !s.Writable.Known() {
		s.Writable = facts.Known(true, "an ordinary ZooKeeper session (no write was tried)", s.ClusterID.Begun())
	}
}

// judge judges the gates for leaving the located phase and for the next plan.
func (s *seen) judge(m config.Migration, memory gates.Memory, want cluster.Phase) gates.Memory {
	here := s.located.Phase
	if !s.located.OK {
		here = cluster.Initial
	}
	state := phases.New()
	state.Phase, state.ClusterID = here, s.clusterID
	// Nothing is known of earlier approvals: a soak or drill that passed before counts for the service only.
	view := gates.View{Snapshot: s.snap, Settings: phases.GateSettings(m, s.clusterID, s.snap, nil), Phase: here, DrillsWanted: m.Drill.Kinds, Now: time.Now(), Memory: memory,
		Soak: gates.Soak{Required: m.Soak(m.Drill.Phase)}}
	done, memoryAfter := gates.Judge(memory, view, offlineSets(phases.Sets(state, s.snap, m.Inventory(), 1)))
	s.offered, s.holding = here, nil
	if phases.PhaseComplete(state, done, 0) {
		if next, ok := phases.Next(here); ok {
			s.offered = next
		}
	}
	if s.offered == here && (here == cluster.Load || here == cluster.Hybrid) {
		s.holding = slices.DeleteFunc(done.Verdicts, func(v gates.Judged) bool {
			return v.Result == gates.Pass || !slices.Contains(v.Sets, phases.DoneKey(here))
		})
	}
	if want != "" {
		s.offered = want
	}
	row, _ := phases.RowOf(s.offered)
	enter := row.Enter
	if want == "" && s.offered == here && here.Index() > cluster.Initial.Index() {
		enter = phases.AdoptGates() // its plan takes over what is there
	}
	// The watch gates as of the service, the plan's own on top.
	sets := []gates.Set{{Key: phases.WatchSet, Blocks: "everything", Need: 1, Gates: []string{gates.ClusterID, gates.Inventory, gates.FilesOurs}},
		{Key: phases.EnterKey(s.offered), Blocks: "the plan " + string(s.offered), Need: 1, Gates: enter}}
	s.judgement, _ = gates.Judge(memory, view, offlineSets(sets))
	return memoryAfter
}

func offlineSets(sets []gates.Set) []gates.Set {
	for i := range sets {
		sets[i].Gates = slices.DeleteFunc(slices.Clone(sets[i].Gates), func(g string) bool { return slices.Contains(notOffline(), g) })
	}
	return sets
}

// settled: looking again can change nothing for the better.
func (s *seen) settled(m config.Migration) bool {
	if !s.snap.ClusterID.Known() || s.snap.Begun.IsZero() {
		return true
	}
	unknown := slices.ContainsFunc(s.judgement.Verdicts, func(v gates.Judged) bool { return v.Result == gates.Unknown })
	early := s.located.Phase == cluster.Initial || s.offered != s.located.Phase
	return !unknown && s.snap.MinISR.Known() && (early || s.located.Phase == cluster.DualWrite)
}

// build makes the plan of the phase that comes next, as the service would.
func (s *seen) build(m config.Migration) (phases.Built, error) {
	if s.clusterID == "" {
		return phases.Built{}, fmt.Errorf("/cluster/id cannot be read: %s", s.snap.ClusterID.Cause())
	}
	if !s.located.OK {
		return phases.Built{}, fmt.Errorf("%s", s.located.Why)
	}
	return phases.Build(phases.Inputs{Migration: m, Snapshot: s.snap, ClusterID: s.clusterID, Attempt: 1, Phase: s.offered, Located: s.located.Phase})
}

// buildBack makes the plan of a way back. Without a journal the original files
// are those found beside the present ones, and controllers that do not run
// count as stopped on a way back.
func (s *seen) buildBack(m config.Migration, to cluster.Phase) (phases.Built, error) {
	if s.clusterID == "" {
		return phases.Built{}, fmt.Errorf("/cluster/id cannot be read: %s", s.snap.ClusterID.Cause())
	}
	state := phases.New()
	state.ClusterID = s.clusterID
	for _, n := range m.Inventory().Controllers {
		if running, known := s.snap.Running[n.ID].Get(); known && !running {
			state.Down[n.ID] = true
		}
	}
	built, _, err := phases.BuildRevert(phases.RevertInputs{State: state,
		Inputs: phases.Inputs{Migration: m, Snapshot: s.snap, ClusterID: s.clusterID, Phase: to, Located: s.located.Phase}})
	return built, err
}
