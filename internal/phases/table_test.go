package phases

import (
	"slices"
	"strings"
	"testing"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/gates"
	"migrator/internal/plan"
)

func TestTheTableHasEveryPhaseOnceInOrder(t *testing.T) {
	var got []cluster.Phase
	for _, row := range Table() {
		got = append(got, row.Phase)
		for what, text := range map[string]string{"where": row.Where, "work": row.Work, "way back": row.WayBack, "approval": row.Approval, "rest": row.Rest} {
			if strings.TrimSpace(text) == "" {
				t.Errorf("row %s says nothing about %s", row.Phase, what)
			}
		}
		if len(row.Enter) == 0 || len(row.Done) == 0 {
			t.Errorf("row %s can be entered or left without a gate", row.Phase)
		}
	}
	if !slices.Equal(got, cluster.Phases()) {
		t.Errorf("rows %v, want %v", got, cluster.Phases())
	}
}

func TestEveryPhaseIsReachedFromTheOneBefore(t *testing.T) {
	at := cluster.Initial
	reached := []cluster.Phase{at}
	for {
		next, ok := Next(at)
		if !ok {
			break
		}
		s := begin(t).at(at).approved(plan.Plan{Phase: next}).s
		d, moved := move(s, Situation{Located: Located{Phase: next, OK: true}})
		if !moved || d.Verb != Advance || d.To != next {
			t.Errorf("from %s facts that show %s decide %s to %s", at, next, d.Verb, d.To)
		}
		at = next
		reached = append(reached, at)
	}
	if !slices.Equal(reached, cluster.Phases()) {
		t.Errorf("reached %v, want every phase", reached)
	}
}

func TestExactlyOnePointOfNoReturnAndAWayBackBeforeIt(t *testing.T) {
	var walls []cluster.Phase
	for _, row := range Table() {
		if strings.Contains(row.WayBack, "point of no return") {
			walls = append(walls, row.Phase)
		} else if strings.HasPrefix(row.WayBack, "none") {
			t.Errorf("phase %s has no way back before the point of no return", row.Phase)
		}
	}
	if !slices.Equal(walls, []cluster.Phase{cluster.Finalize}) {
		t.Errorf("points of no return %v, want finalize alone", walls)
	}
}

// plans are all real plans, each from the cluster it starts at.
func plans(t *testing.T) []plan.Plan {
	t.Helper()
	soak := func(in *Inputs) { in.Migration.Soaks[0].Phase = cluster.Load }
	adopt := func(in *Inputs) { in.Adopt = true }
	rack := func(in *Inputs) { in.Migration.Roll.Batch = "rack" }
	out := []plan.Plan{built(t, cluster.Initial, atRest()).Plan, built(t, cluster.Load, provisioned()).Plan, built(t, cluster.Load, provisioned(), soak).Plan,
		built(t, cluster.Hybrid, loaded()).Plan, built(t, cluster.Hybrid, loaded(), rack, adopt).Plan, built(t, cluster.DualWrite, dualWriting()).Plan,
		built(t, cluster.Finalize, dualWriting()).Plan, rackPlan(t)}
	drill, err := BuildDrill(migration(), testCluster, "crash")
	if err != nil {
		t.Fatal(err)
	}
	return append(append(out, drill), revertPlans(t)...)
}

func TestEveryGateInUseExistsAndEveryGateIsUsed(t *testing.T) {
	names := map[string]bool{}
	codes := map[string]string{}
	for _, g := range gates.All() {
		names[g.Name] = false
		if other, twice := codes[g.Code]; twice {
			t.Errorf("gates %s and %s share code %s", g.Name, other, g.Code)
		}
		codes[g.Code] = g.Name
	}
	use := func(where string, list []string) {
		for _, g := range list {
			if _, ok := names[g]; !ok {
				t.Errorf("%s names gate %q, which does not exist and could never pass", where, g)
			}
			names[g] = true
		}
	}
	for _, row := range Table() {
		use("row "+string(row.Phase), row.Enter)
		use("row "+string(row.Phase), row.Done)
	}
	for _, p := range plans(t) {
		for _, s := range p.Steps {
			use("step "+s.ID, s.Before)
			use("step "+s.ID, s.Done)
		}
	}
	for _, s := range built(t, cluster.Load, provisioned(), func(in *Inputs) { in.Migration.Nodes[0].Access.Kind = manualAccess }).Plan.Steps {
		use("step "+s.ID+" by hand", s.Done)
	}
	use("the soak", SoakGates())
	use("the clock", restarting)
	use("the alarms", alarms())
	for _, p := range cluster.Phases() {
		use("the watch", watchGates(State{Phase: p}))
	}
	use("the last batch of load", []string{gates.OthersReady})
	for name, used := range names {
		if !used {
			t.Errorf("gate %s is judged nowhere", name)
		}
	}
	for _, g := range restarting {
		if !slices.Contains(SoakGates(), g) {
			t.Errorf("gate %s would restart the soak and is not judged during it", g)
		}
	}
}

func TestEveryStepStaysWithinItsBatchAndSaysHowItIsUndone(t *testing.T) {
	inv := inventory()
	for _, p := range plans(t) {
		seen := map[string]bool{}
		rolled := map[int32]string{}
		for _, s := range p.Steps {
			if seen[s.ID] {
				t.Errorf("plan %s has two steps %s", p.Phase, s.ID)
			}
			seen[s.ID] = true
			if strings.TrimSpace(s.Undo) == "" || strings.TrimSpace(s.Sentence) == "" {
				t.Errorf("step %s says neither how it is undone nor why not, or not what it does", s.ID)
			}
			if s.Kind == plan.Roll {
				for _, id := range s.Batch {
					if other := rolled[id]; other != "" {
						t.Errorf("node %d is restarted by %s and by %s", id, other, s.ID)
					}
					rolled[id] = s.ID
				}
				if len(s.Before) == 0 || len(s.Done) == 0 {
					t.Errorf("step %s restarts nodes without a gate", s.ID)
				}
				if n, _ := inv.Node(s.Batch[0]); n.Role == cluster.Controller && len(s.Batch) != 1 {
					t.Errorf("step %s takes controllers %v at once", s.ID, s.Batch)
				}
			}
			actionsWithin(t, s)
		}
	}
}

func actionsWithin(t *testing.T, s plan.Step) {
	t.Helper()
	seen := map[string]bool{}
	for _, a := range s.Actions {
		if seen[a.ID] {
			t.Errorf("step %s has two actions %s", s.ID, a.ID)
		}
		seen[a.ID] = true
		if a.Node != nil && !slices.Contains(s.Batch, *a.Node) {
			t.Errorf("action %s of step %s acts on node %d outside its batch %v", a.ID, s.ID, *a.Node, s.Batch)
		}
		if s.Kind == plan.StopControllers {
			continue // for good: the way back needs them gone
		}
		if a.Kind == plan.Stop && !slices.ContainsFunc(s.Actions, func(b plan.Action) bool { return b.Kind == plan.Start && *b.Node == *a.Node && b.Stage > a.Stage }) {
			t.Errorf("step %s stops node %d and has no later start of it", s.ID, *a.Node)
		}
	}
}

// Finalize must not be offered before soak, drill and a way back are proven.
func TestFinalizeIsEnteredOnlyAfterSoakAndDrill(t *testing.T) {
	row, _ := RowOf(cluster.Finalize)
	for _, g := range []string{gates.SoakWhole, gates.DrillPassed, gates.WayBack, gates.AllKRaft, gates.IDsEmpty, gates.DualWrite, gates.FlagOn} {
		if !slices.Contains(row.Enter, g) {
			t.Errorf("finalize can be entered without gate %s", g)
		}
		if info, ok := gates.Describe(g); ok && g != gates.AllKRaft && info.Kind != gates.Safety {
			t.Errorf("gate %s can be accepted away before finalize", g)
		}
	}
}

func TestNoSnapshotMakesEveryRowPass(t *testing.T) {
	// An empty snapshot proves nothing: no set of the table may pass on it.
	for _, row := range Table() {
		v := gates.View{Settings: gates.Settings{Inventory: inventory()}, Phase: row.Phase, Snapshot: facts.Snapshot{Begun: moment}, Now: moment}
		j, _ := gates.Judge(gates.Memory{}, v, []gates.Set{{Key: "enter", Gates: row.Enter}, {Key: "done", Gates: row.Done}})
		for key, set := range j.Sets {
			if set.Passing {
				t.Errorf("row %s: set %s passes on an empty snapshot", row.Phase, key)
			}
		}
	}
}
