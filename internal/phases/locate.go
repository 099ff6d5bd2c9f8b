package phases

import (
	"fmt"
	"slices"
	"strings"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/gates"
)

// Located says which phase the facts alone show.
type Located struct {
	Phase cluster.Phase
	OK    bool
	Why   string
	// Refused holds forward work back although the phase is plain: only a way back is open.
	Refused string
	// Emergency is a state that nothing but a person may touch.
	Emergency string
}

// Locate answers from the facts alone, or "cannot tell" unless every broker's mode is known.
func Locate(s facts.Snapshot, inv cluster.Inventory) Located {
	out, doubt := strangers(s, inv)
	if out != "" {
		return Located{Why: out, Emergency: out}
	}
	if doubt != "" {
		return Located{Why: "cannot tell the phase: " + doubt}
	}
	count := map[cluster.Mode]int{}
	var unknown []string
	for _, n := range inv.Brokers {
		f := s.Mode(n)
		m, ok := f.Get()
		if !ok {
			unknown = append(unknown, fmt.Sprintf("broker %d: %s", n.ID, f.Cause()))
			continue
		}
		count[m]++
	}
	if len(unknown) > 0 {
		return Located{Why: "cannot tell the phase: " + strings.Join(unknown, "; ")}
	}
	if len(inv.Brokers) == 0 {
		return Located{Why: "cannot tell the phase: no brokers in migrations.yaml"}
	}
	return byModes(s, inv, count)
}

func byModes(s facts.Snapshot, inv cluster.Inventory, count map[cluster.Mode]int) Located {
	zk, migrating, kraft := count[cluster.ZK], count[cluster.ZKMigrating], count[cluster.KRaft]
	state, stateKnown := migrationState(s)
	why := fmt.Sprintf("%d brokers in ZooKeeper mode, %d in migration mode, %d in KRaft mode", zk, migrating, kraft)
	if stateKnown {
		why += ", ZkMigrationState " + string(state)
	}
	if zk+migrating > 0 && stateKnown && state == cluster.StatePostMigration {
		msg := why + ": the migration was finalized while brokers still run on ZooKeeper"
		return Located{Why: msg, Emergency: msg}
	}
	switch {
	case kraft == 0 && migrating == 0:
		return Located{Phase: cluster.Initial, OK: true, Why: why}
	case kraft == 0:
		return Located{Phase: cluster.Load, OK: true, Why: why, Refused: onlyBack(s, inv)}
	case zk+migrating > 0:
		return Located{Phase: cluster.Hybrid, OK: true, Why: why}
	case !stateKnown:
		return Located{Why: "cannot tell the phase: all brokers in KRaft mode, but the migration state is unknown: " + s.Log.Cause()}
	case state == cluster.StatePostMigration:
		return Located{Phase: cluster.Finalize, OK: true, Why: why}
	case state == cluster.StateMigration:
		return Located{Phase: cluster.DualWrite, OK: true, Why: why}
	default:
		msg := why + ": no phase of a migration looks like this"
		return Located{Why: msg, Emergency: msg}
	}
}

// onlyBack: migration-mode brokers while the quorum is down, or migration-mode brokers while /controller is held by a broker and
// /migration already has an offset. A copy was done and then undone halfway;
// going forward would push a stale image over ZooKeeper (kafka-facts 1.9).
func onlyBack(s facts.Snapshot, inv cluster.Inventory) string {
	if quorumSilent(s, inv) {
		return "brokers run in migration mode and no controller answers: start the controllers, or go back"
	}
	h, ok := s.Holder.Get()
	m, ok2 := s.Migration.Get()
	if !ok || !ok2 || !h.Present || h.KRaft() || !m.Present || m.Offset == nil {
		return ""
	}
	return fmt.Sprintf("/controller is held by broker %d while /migration has offset %d: only the way back is open", h.ID, *m.Offset)
}

// quorumSilent: every controller was asked, and none gave any answer.
func quorumSilent(s facts.Snapshot, inv cluster.Inventory) bool {
	for _, n := range inv.Controllers {
		q := s.Quorum[n.ID]
		if q.Known() || q.Begun().IsZero() || s.API[n.ID].Known() {
			return false
		}
	}
	return len(inv.Controllers) > 0
}

func migrationState(s facts.Snapshot) (cluster.MigrationState, bool) {
	l, ok := s.Log.Get()
	if !ok || !l.Image.HasState {
		return "", false
	}
	return l.Image.State, true
}

// strangers names registered nodes that migrations.yaml does not have. doubt is
// about a controller whose registration stays in the log for good: it counts
// while it follows the quorum, which only a leader can tell.
func strangers(s facts.Snapshot, inv cluster.Inventory) (out, doubt string) {
	var found []string
	if regs, ok := s.Registered.Get(); ok {
		for _, r := range regs {
			if !has(inv.Brokers, r.ID) && !has(inv.Lost, r.ID) {
				found = append(found, fmt.Sprintf("broker %d at %s:%d is registered in ZooKeeper", r.ID, r.Host, r.Port))
			}
		}
	}
	if l, ok := s.Log.Get(); ok {
		leader, answered := s.Leader(inv.Controllers).Get()
		for id := range l.Image.Controllers {
			switch {
			case has(inv.Controllers, id):
			case !answered:
				doubt = fmt.Sprintf("controller %d, not in migrations.yaml, once registered, and nobody says whether it still follows", id)
			case gates.InQuorum(leader, id):
				found = append(found, fmt.Sprintf("controller %d is registered in the quorum", id))
			}
		}
		for id := range l.Image.Brokers {
			if !has(inv.Brokers, id) && !has(inv.Lost, id) {
				found = append(found, fmt.Sprintf("broker %d is registered in the quorum", id))
			}
		}
	}
	if len(found) == 0 {
		return "", doubt
	}
	slices.Sort(found)
	return strings.Join(slices.Compact(found), "; ") + ": not in migrations.yaml; add it there or stop it", ""
}

func has(nodes []cluster.Node, id int32) bool {
	return slices.ContainsFunc(nodes, func(n cluster.Node) bool { return n.ID == id })
}
