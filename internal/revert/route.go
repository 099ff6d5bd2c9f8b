// Package revert chooses the way back, keyed by facts and not by what we
// believe: who holds /controller, which broker runs in which mode, what the
// metadata log says. Pure.
package revert

import (
	"fmt"
	"slices"
	"strings"

	"migrator/internal/cluster"
	"migrator/internal/facts"
)

// Route is a way back by its letter in the design.
type Route string

const (
	None Route = ""
	A    Route = "a"  // controllers up, no broker touched
	B    Route = "b"  // some brokers in migration mode, a broker holds /controller
	BB   Route = "b'" // the copy failed or stands still: a KRaft id holds /controller, no controller acts
	C    Route = "c"  // copy done, no broker in KRaft mode
	D    Route = "d"  // some brokers in KRaft mode
	E    Route = "e"  // all brokers in KRaft mode, state MIGRATION
	G    Route = "g"  // an interrupted revert
	H    Route = "h"  // a half-begun finalize, state still MIGRATION
)

// Stage is one kind of work on the way back, in the order given.
type Stage string

const (
	FlagBack        Stage = "flag-back"        // controllers without the flag: stop, write, start; never the leader
	RollMigrating   Stage = "roll-migrating"   // KRaft brokers back into migration mode
	Drain           Stage = "drain"            // both stores agree and dual write has caught up
	StopControllers Stage = "stop-controllers" // active one last; archived, kept from starting
	Compare         Stage = "compare"          // what was committed is in ZooKeeper, controllers down
	Znodes          Stage = "znodes"           // epoch, /controller, /migration in one multi
	Follow          Stage = "follow"           // every live broker follows the new ZooKeeper controller
	RollZK          Stage = "roll-zookeeper"   // touched brokers to their original files
)

// Choice is the route with its stages, or why there is none.
type Choice struct {
	Route  Route
	To     cluster.Phase
	Stages []Stage
	Why    string
	// Refused says why no way back exists, or why not yet.
	Refused string
	// Unknown: refused only for want of facts, which the next look may bring.
	Unknown bool
}

// Choose answers the way from what the facts show to a phase: load (complete)
// or initial (no controllers left). controllersDown are those that an approved
// revert stopped for good.
func Choose(s facts.Snapshot, inv cluster.Inventory, to cluster.Phase, controllersDown []int32) Choice {
	c := Choice{To: to}
	if to != cluster.Load && to != cluster.Initial {
		c.Refused = fmt.Sprintf("a revert goes to load or to initial, not to %q", to)
		return c
	}
	v, unknown := look(s, inv)
	switch {
	case v.post:
		c.Refused = "the state is POST_MIGRATION: the point of no return is passed"
	case unknown != "":
		c.Refused, c.Unknown = "the way back depends on what is not known: "+unknown, true
	case to == cluster.Load:
		c.toLoad(v)
	default:
		c.toInitial(v, len(controllersDown) == len(inv.Controllers))
	}
	return c
}

// toLoad: KRaft brokers go back into migration mode while dual write goes on.
func (c *Choice) toLoad(v view) {
	switch {
	case v.flagless > 0:
		c.Route, c.Stages = H, []Stage{FlagBack}
		if v.kraft > 0 {
			c.Stages = append(c.Stages, RollMigrating)
		}
	case v.kraft == 0:
		c.Refused = "no broker runs in KRaft mode: the cluster is not past load"
		return
	case v.zk+v.migrating > 0:
		c.Route, c.Stages = D, []Stage{RollMigrating}
	default:
		c.Route, c.Stages = E, []Stage{RollMigrating}
	}
	c.Why = v.text
}

func (c *Choice) toInitial(v view, down bool) {
	c.Why = v.text
	switch {
	case down && v.kraft == 0:
		// A revert was interrupted after the controllers went: whatever is left.
		c.Route = G
		if v.copied {
			c.Stages = []Stage{Compare} // before the copy the log held nothing to compare with
		}
		if v.heldByKRaft || v.migrationThere {
			c.Stages = append(c.Stages, Znodes)
		}
		if v.heldByKRaft {
			c.Stages = append(c.Stages, Follow)
		}
	case v.kraft == 0 && v.migrating == 0 && !v.heldByKRaft:
		c.Route, c.Stages = A, []Stage{StopControllers, Znodes}
	case v.kraft == 0 && !v.heldByKRaft:
		c.Route, c.Stages = B, []Stage{StopControllers, Znodes}
	case v.kraft == 0 && !v.copied:
		c.Route, c.Stages = BB, []Stage{StopControllers, Znodes, Follow}
	case v.kraft == 0:
		c.Route, c.Stages = C, []Stage{Drain, StopControllers, Compare, Znodes, Follow}
	case v.zk+v.migrating > 0:
		c.Route, c.Stages = D, []Stage{RollMigrating, Drain, StopControllers, Compare, Znodes, Follow}
	default:
		c.Route, c.Stages = E, []Stage{RollMigrating, Drain, StopControllers, Compare, Znodes, Follow}
	}
	if v.flagless > 0 && !down {
		c.Route = H
		c.Stages = append([]Stage{FlagBack}, c.Stages...)
	}
	if v.migrating+v.kraft > 0 {
		c.Stages = append(c.Stages, RollZK)
	}
}

// view is what the choice is made from.
type view struct {
	zk, migrating, kraft int
	flagless             int // controllers that run without the flag, or whose file lacks it
	heldByKRaft          bool
	migrationThere       bool
	copied               bool
	post                 bool
	text                 string
}

// downMode: a broker that surely does not run comes up in the mode its file says.
func downMode(s facts.Snapshot, id int32) (cluster.Mode, bool) {
	running, known := s.Running[id].Get()
	file, read := s.Files[id].Get()
	if !known || running || !read || file.Mode == "" {
		return "", false
	}
	return file.Mode, true
}

func look(s facts.Snapshot, inv cluster.Inventory) (view, string) {
	var v view
	var unknown []string
	for _, n := range inv.Brokers {
		f := s.Mode(n)
		mode, ok := f.Get()
		if !ok {
			mode, ok = downMode(s, n.ID)
		}
		switch {
		case !ok:
			unknown = append(unknown, fmt.Sprintf("mode of broker %d (%s)", n.ID, f.Cause()))
		case mode == cluster.KRaft:
			v.kraft++
		case mode == cluster.ZKMigrating:
			v.migrating++
		default:
			v.zk++
		}
	}
	for _, n := range inv.Controllers {
		if FlagOf(s, n) != LacksNothing {
			v.flagless++
		}
	}
	if h, ok := s.Holder.Get(); ok {
		v.heldByKRaft = h.KRaft()
	} else {
		unknown = append(unknown, "/controller ("+s.Holder.Cause()+")")
	}
	if m, ok := s.Migration.Get(); ok {
		v.migrationThere = m.Present
		v.copied = m.Present && m.Offset != nil && *m.Offset > 0
	} else {
		unknown = append(unknown, "/migration ("+s.Migration.Cause()+")")
	}
	if l, ok := s.Log.Get(); ok && l.Image.HasState {
		v.post = l.Image.State == cluster.StatePostMigration
		v.copied = v.copied && l.Image.State == cluster.StateMigration
	}
	holder := "a broker"
	if v.heldByKRaft {
		holder = "a KRaft controller"
	}
	v.text = fmt.Sprintf("%d brokers in ZooKeeper mode, %d in migration mode, %d in KRaft mode; /controller held by %s", v.zk, v.migrating, v.kraft, holder)
	slices.Sort(unknown)
	return v, strings.Join(unknown, "; ")
}
