package gates

import (
	"fmt"
	"strings"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/plan"
)

// Rehearsal is a green rehearsal that was registered for this migration: that
// its pack is whole and green was seen as it was.
type Rehearsal struct {
	Pack      string     `json:"pack"` // SHA-256 of its SHA256SUMS
	Name      string     `json:"name"` // of the migration that was rehearsed
	ClusterID string     `json:"cluster_id"`
	Ended     time.Time  `json:"ended"`
	Shape     plan.Shape `json:"shape"`
}

// Speaks says why the rehearsal does not speak for a migration of this shape;
// within is the greatest age, 0 any.
func (r Rehearsal) Speaks(for_ plan.Shape, within time.Duration, now time.Time) []string {
	var why []string
	if age := now.Sub(r.Ended); within > 0 && age > within {
		why = append(why, fmt.Sprintf("it ended %s ago, at %s; migrations.yaml allows %s", span(age), r.Ended.UTC().Format("2006-01-02 15:04 UTC"), span(within)))
	}
	return append(why, r.Shape.Differences(for_)...)
}

// judgeRehearsed asks for a rehearsal of what this plan is going to do. Once
// brokers are in KRaft mode nothing is held: hybrid is no place to wait.
func judgeRehearsed(l *look) {
	l.todo = "Rehearse on a staging cluster (`migrator rehearse --config FILE --name STAGING`), then `migrator rehearsal add PACK NAME`. Or take require_rehearsal out of migrations.yaml and restart the service."
	within := l.v.Settings.RehearsedWithin
	switch {
	case l.v.Settings.NoRehearsal:
		l.pass("migrations.yaml asks for no rehearsal")
	case within <= 0:
		l.unsure("how old a rehearsal may be")
	case l.v.Phase == cluster.Hybrid:
		l.pass("the plan hybrid was begun already")
	case len(l.v.Rehearsals) == 0:
		l.bad("", "no rehearsal is registered, and migrations.yaml asks for one within %s", span(within))
	case !l.v.ShapeKnown:
		l.unsure("what the plan hybrid is going to change: it is not made yet")
	default:
		l.speaks(within)
	}
}

// speaks looks for one that does, the newest first.
func (l *look) speaks(within time.Duration) {
	newest := ""
	for i := len(l.v.Rehearsals) - 1; i >= 0; i-- {
		r := l.v.Rehearsals[i]
		why := r.Speaks(l.v.Shape, within, l.v.Now)
		if len(why) == 0 {
			l.pass("rehearsed on %s (cluster %s), %s ago, pack %.12s", r.Name, r.ClusterID, span(l.v.Now.Sub(r.Ended)), r.Pack)
			return
		}
		if newest == "" {
			newest = fmt.Sprintf("the rehearsal on %s (pack %.12s) does not count here: %s", r.Name, r.Pack, strings.Join(why, "; "))
		}
	}
	l.bad("", "%s", newest)
}
