package phases

import (
	"maps"
	"slices"
	"strings"
	"time"

	"migrator/internal/facts"
	"migrator/internal/gates"
	"migrator/internal/plan"
)

// restarting are the soak gates whose failure voids the time so far; every
// other failure, and every unknown, only stops the clock.
var restarting = []string{gates.Parity, gates.DualWrite, gates.SameLeader, gates.NoOffline, gates.BrokersSteady, gates.CanaryHealthy}

// Clock is the soak as the service runs it: the journalled part and the last
// passing snapshot that the next span would begin at.
type Clock struct {
	Soak
	LastPass time.Time // zero: the next passing snapshot begins a span, nothing is counted
	Written  time.Time // when Soak was last journalled
	resetBy  string    // gates behind RestartedBecause: the evidence changes with every look
}

// soaking says that the soak's clock is under way: begun, not ended, and no
// drill step open (from its intent to its end the drill's own limits judge).
func soaking(s State) bool {
	if s.Run == nil {
		return false
	}
	begun, ended := false, false
	for _, st := range s.Run.Plan.Steps {
		switch st.Kind {
		case plan.SoakBegin:
			begun = !s.Run.Done[st.ID].IsZero() || s.Run.Open == st.ID
		case plan.SoakEnd:
			ended = !s.Run.Done[st.ID].IsZero()
		}
	}
	open, ok := s.OpenStep()
	return begun && !ended && !(ok && open.Kind == plan.DrillStep)
}

// Account advances the soak clock by one judged snapshot. It counts only the
// span between two passing snapshots that this service both saw (a blind time
// begins a new span) and that lie at most maxGap apart. write says that the
// result should be journalled now: at a restart, a pause, and every so often.
func Account(c Clock, s State, j gates.Judgement, snap facts.Snapshot, maxGap time.Duration, now time.Time) (out Clock, write bool) {
	if !soaking(s) {
		c.LastPass = time.Time{}
		return c, false
	}
	leader, hasLeader := leaderOf(snap)
	if !c.HasLeader && hasLeader {
		c.HasLeader, c.Leader, c.LeaderEpoch = true, leader.id, leader.epoch
		c.Incarnations = incarnations(snap)
		write = true
	}
	reset, hold, gatesOfReset := why(j)
	switch {
	case reset != "":
		write = write || c.Elapsed > 0 || c.resetBy != gatesOfReset
		c.resetBy = gatesOfReset
		c.Elapsed, c.RestartedBecause, c.PausedBecause, c.LastPass = 0, reset, "", time.Time{}
		if hasLeader {
			c.HasLeader, c.Leader, c.LeaderEpoch = true, leader.id, leader.epoch
			c.Incarnations = incarnations(snap)
		}
	case hold != "":
		write = write || c.PausedBecause == ""
		c.PausedBecause, c.LastPass = hold, time.Time{}
	default:
		if span := snap.Begun.Sub(c.LastPass); !c.LastPass.IsZero() && span > 0 && span <= maxGap {
			c.Elapsed += span
		}
		whole := c.Elapsed >= c.Required && (s.Soak == nil || s.Soak.Elapsed < c.Required)
		write = write || whole || c.PausedBecause != "" || now.Sub(c.Written) >= journalEvery(c.Required)
		c.PausedBecause, c.LastPass, c.resetBy = "", snap.Begun, ""
	}
	if write {
		c.Written = now
	}
	return c, write
}

// journalEvery bounds what a killed service loses of a soak.
func journalEvery(required time.Duration) time.Duration {
	return min(max(required/20, time.Second), time.Minute)
}

// why reads the soak set: a reason to restart the clock (and the gates behind
// it), or one to hold it.
func why(j gates.Judgement) (reset, hold, by string) {
	if j.Set(SoakSet).Passing {
		return "", "", ""
	}
	var resets, holds, names []string
	for _, v := range j.Verdicts {
		if v.Result == gates.Pass || !slices.Contains(SoakGates(), v.Gate) {
			continue
		}
		text := v.Gate + ": " + v.Evidence
		if v.Result == gates.Fail && slices.Contains(restarting, v.Gate) {
			resets, names = append(resets, text), append(names, v.Gate)
		} else {
			holds = append(holds, text)
		}
	}
	if len(resets) == 0 && len(holds) == 0 {
		holds = append(holds, "the soak gates were not judged")
	}
	return strings.Join(resets, "; "), strings.Join(holds, "; "), strings.Join(names, ",")
}

type leaderID struct {
	id    int32
	epoch int32
}

func leaderOf(snap facts.Snapshot) (leaderID, bool) {
	l, ok := snap.Log.Get()
	if !ok {
		return leaderID{}, false
	}
	return leaderID{l.Leader, l.Epoch}, true
}

func incarnations(snap facts.Snapshot) map[int32]string {
	l, ok := snap.Log.Get()
	if !ok {
		return nil
	}
	out := map[int32]string{}
	for id, b := range l.Image.Brokers {
		out[id] = b.Incarnation
	}
	return out
}

// AfterDrill tells the clock of the leader that a drill made: an expected
// election is no reason to restart the soak.
func AfterDrill(c Clock, snap facts.Snapshot) Clock {
	if l, ok := leaderOf(snap); ok {
		c.HasLeader, c.Leader, c.LeaderEpoch = true, l.id, l.epoch
	}
	c.LastPass = time.Time{}
	c.Incarnations = maps.Clone(c.Incarnations)
	return c
}
