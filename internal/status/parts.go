package status

import (
	"fmt"
	"slices"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/gates"
	"migrator/internal/phases"
	"migrator/internal/plan"
	"migrator/internal/revert"
)

func nodeOf(in *Input, n cluster.Node, behind map[int32]bool) Node {
	out := Node{ID: n.ID, Role: n.Role, Host: n.Host, Rack: n.Rack, WantedMode: wanted(in, n), LastRestart: stamp(in.State.Restarts[n.ID])}
	mode := in.Snapshot.Mode(n)
	if m, ok := mode.Get(); ok {
		out.Mode = &m
	} else {
		out.Unknown = mode.Cause()
	}
	if v, ok := in.Snapshot.Running[n.ID].Get(); ok {
		out.Running = &v
	}
	out.Registered = registered(&in.Snapshot, n)
	leader, hasLeader := in.leader.Get()
	if hasLeader {
		out.Lag = lag(leader, n)
		out.Leader = leader.ID == n.ID
	}
	if h, ok := in.Snapshot.Holder.Get(); ok && h.Present && !h.KRaft() && h.ID == n.ID {
		out.Leader = true
	}
	if n.Role == cluster.Broker {
		if behind != nil {
			full := !behind[n.ID]
			out.ISRFull = &full
		}
	}
	return out
}

// wanted is the mode the open or next unfinished step of the plan gives the
// node, else the mode it has by its file.
func wanted(in *Input, n cluster.Node) *cluster.Mode {
	if run := in.State.Run; run != nil {
		for _, st := range run.Plan.Steps {
			if st.Mode != "" && slices.Contains(st.Batch, n.ID) {
				return &st.Mode
			}
		}
	}
	if f, ok := in.Snapshot.Files[n.ID].Get(); ok && f.Mode != "" {
		return &f.Mode
	}
	return nil
}

// registered: in /brokers/ids or in the metadata log; nil when neither is known.
func registered(s *facts.Snapshot, n cluster.Node) *bool {
	yes, no := true, false
	regs, zkKnown := s.Registered.Get()
	l, logKnown := s.Log.Get()
	if n.Role == cluster.Controller {
		if !logKnown {
			return nil
		}
		if _, ok := l.Image.Controllers[n.ID]; ok {
			return &yes
		}
		return &no
	}
	if zkKnown && slices.ContainsFunc(regs, func(r facts.Registration) bool { return r.ID == n.ID }) {
		return &yes
	}
	if b, ok := l.Image.Brokers[n.ID]; logKnown && ok && !b.Fenced {
		return &yes
	}
	if zkKnown {
		return &no
	}
	return nil
}

func lag(leader facts.LeaderView, n cluster.Node) *int64 {
	for _, list := range [][]facts.Replica{leader.Voters, leader.Observers} {
		for _, r := range list {
			if r.ID == n.ID {
				behind := max(leader.HighWatermark-r.LogEndOffset, 0)
				return &behind
			}
		}
	}
	return nil
}

// outOfSync are the brokers that an ISR lacks; nil when the partitions are unknown.
func outOfSync(s *facts.Snapshot) map[int32]bool {
	m, ok := s.Metadata.Get()
	if !ok {
		return nil
	}
	behind := map[int32]bool{}
	for _, p := range m.Partitions {
		if len(p.ISR) >= len(p.Replicas) {
			continue
		}
		for _, id := range p.Replicas {
			behind[id] = behind[id] || !slices.Contains(p.ISR, id)
		}
	}
	return behind
}

func soakOf(in Input) *Soak {
	k := in.State.Soak
	if k == nil {
		return nil
	}
	out := &Soak{Phase: k.Phase, RequiredSeconds: k.Required.Seconds(), ElapsedSeconds: max(k.Elapsed, in.Clock.Elapsed).Seconds()}
	if in.Clock.RestartedBecause != "" {
		out.RestartedBecause = &in.Clock.RestartedBecause
		out.ElapsedSeconds = in.Clock.Elapsed.Seconds()
	}
	if in.Clock.PausedBecause != "" {
		out.PausedBecause = &in.Clock.PausedBecause
	}
	return out
}

func drillOf(in Input) *Drill {
	if len(in.State.Drills) == 0 && in.State.Soak == nil {
		return nil
	}
	out := &Drill{Verdict: "pending", Runs: []DrillRun{}}
	failed := false
	for _, d := range in.State.Drills {
		kind := d.Kind
		if d.Baseline {
			kind = "baseline"
		}
		out.Runs = append(out.Runs, DrillRun{Kind: kind, Node: d.Node, UnavailableMS: d.UnavailableMS, LeaderMS: d.LeaderMS, DualWriteMS: d.DualWriteMS,
			NewLeader: d.NewLeader, EpochBefore: d.EpochBefore, EpochAfter: d.EpochAfter, ZKEpochBefore: d.ZKEpochBefore, ZKEpochAfter: d.ZKEpochAfter,
			Passed: d.Passed, Why: d.Why})
		failed = failed || !d.Passed && !d.Baseline
	}
	passed := in.State.PassedDrills()
	missing := slices.ContainsFunc(in.Config.Drill.Kinds, func(k string) bool { return !slices.Contains(passed, k) })
	switch {
	case !missing && len(passed) > 0:
		out.Verdict = "pass"
	case failed:
		out.Verdict = "fail"
	}
	return out
}

// revertOf says what going back would take from what the facts show now.
func revertOf(in Input) Revert {
	r := Revert{Routes: []string{}}
	if in.State.Phase == "" || !in.Seen {
		r.Why = "the phase is not known yet"
		return r
	}
	var why []string
	for _, to := range []cluster.Phase{cluster.Load, cluster.Initial} {
		c := revert.Choose(in.Snapshot, in.inventory, to, in.State.Stopped())
		if c.Refused == "" && len(c.Stages) > 0 {
			r.Possible = true
			r.Routes = append(r.Routes, fmt.Sprintf("%s (to %s)", c.Route, to))
		} else {
			why = append(why, c.Refused)
		}
	}
	if in.State.Finished || !r.Possible {
		no := false
		r.Possible, r.Routes, r.Safe = false, []string{}, &no
		r.Why = why[len(why)-1]
		return r
	}
	r.Safe, r.Why = safe(in)
	return r
}

// safe reads the gate that looks for what would make a revert crash.
func safe(in Input) (*bool, string) {
	yes, no := true, false
	if v, ok := in.Judgement.Verdict(gates.WayBack); ok && v.Result == gates.Fail {
		return &no, v.Evidence
	}
	e := epochsOf(in)
	switch {
	case e == nil || e.Margin == nil:
		return nil, "the epoch margin is not known yet"
	case *e.Margin < 0:
		return &yes, fmt.Sprintf("with one more step: the epoch margin is %d, so /controller_epoch is raised before /controller is deleted (KAFKA-20488)", *e.Margin)
	default:
		return &yes, fmt.Sprintf("the epoch margin is %d", *e.Margin)
	}
}

func epochsOf(in Input) *Epochs {
	z, ok := in.Snapshot.ZKEpoch.Get()
	if !ok || !z.Present {
		return nil
	}
	out := &Epochs{ZooKeeper: z.Value}
	l, ok := in.Snapshot.Log.Get()
	if !ok {
		return out
	}
	k := int(l.Epoch)
	largest := k
	if topics, ok := in.Snapshot.ZKTopics.Get(); ok {
		for _, t := range topics.Topics {
			for _, p := range t.Partitions {
				if p.HasState {
					largest = max(largest, int(p.ControllerEpoch))
				}
			}
		}
	}
	margin := z.Value + 1 - largest
	out.KRaft, out.Margin = &k, &margin
	return out
}

// canaryOf is the running client's figures added to those of earlier runs.
func canaryOf(in Input) *Canary {
	total := in.State.CanaryTotals()
	c, ok := in.Snapshot.CanaryStats.Get()
	if !ok && len(in.State.Canary) == 0 {
		return nil
	}
	return &Canary{Sent: max(total.Sent, c.Sent), Acked: max(total.Acked, c.Acked), Lost: max(total.Lost, c.Lost), Unchecked: max(total.Unchecked, c.Unchecked),
		LongestStallMS: ms(max(total.LongestStall, c.LongestStall)), LongestMetadataStallMS: ms(max(total.LongestMetadataStall, c.LongestMetadataStall))}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func planOf(in Input) (*Plan, *StepView) {
	if run := in.State.Run; run != nil {
		p := &Plan{Phase: run.Plan.Phase, Digest: run.Plan.Digest, Running: true, Revert: run.Plan.Revert, Steps: []StepView{}}
		var open *StepView
		for _, st := range run.Plan.Steps {
			v := stepView(in.State, st)
			p.Steps = append(p.Steps, v)
			if st.ID == run.Open {
				open = &v
			}
		}
		return p, open
	}
	if in.Offer == nil {
		return nil, nil
	}
	return Planned(*in.Offer, in.Config.NeedsApproval(in.Offer.Phase)), nil
}

// Planned shows a plan that does not run.
func Planned(p plan.Plan, approval bool) *Plan {
	out := &Plan{Phase: p.Phase, Digest: p.Digest, Approval: approval, Revert: p.Revert, Steps: []StepView{}}
	for _, st := range p.Steps {
		out.Steps = append(out.Steps, StepView{Step: st, State: "planned", Actions: []Action{}})
	}
	return out
}

func stepView(s phases.State, st plan.Step) StepView {
	v := StepView{Step: st, State: "planned", Opened: stamp(s.Run.OpenedAtOf[st.ID]), Finished: stamp(s.Run.Done[st.ID]), Actions: []Action{}}
	switch {
	case v.Finished != nil:
		v.State = "done"
	case s.Run.Open == st.ID:
		v.State = "running"
	}
	if s.Run.Open != st.ID {
		return v
	}
	for _, a := range st.Actions {
		act := s.Run.Actions[a.ID]
		out := Action{ID: a.ID, State: "planned", Begun: stamp(act.Begun), Ended: stamp(act.Ended)}
		switch {
		case act.Running:
			out.State = "running"
		case act.OK:
			out.State = "done"
		case act.Failed:
			out.State, out.Error = "failed", act.Detail
			v.State = "failed"
		}
		v.Actions = append(v.Actions, out)
	}
	return v
}
