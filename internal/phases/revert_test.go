package phases

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/plan"
)

// back builds the plan of a way back for a journal and a snapshot.
func back(t *testing.T, s State, snap facts.Snapshot, to cluster.Phase) Built {
	t.Helper()
	b, err := tryBack(t, s, snap, to)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// tryBack has the contents that the plan load left in the store.
func tryBack(t *testing.T, s State, snap facts.Snapshot, to cluster.Phase) (Built, error) {
	t.Helper()
	store := built(t, cluster.Load, provisioned()).Contents
	b, _, err := BuildRevert(RevertInputs{Inputs: inputs(to, snap), State: s, Content: func(sha string) ([]byte, error) {
		if data, ok := store[sha]; ok {
			return data, nil
		}
		return nil, fs.ErrNotExist
	}})
	return b, err
}

// migrated is the journal of a cluster whose brokers we wrote for migration mode.
func migrated(t *testing.T) *story {
	p := built(t, cluster.Load, provisioned()).Plan
	b := begin(t).at(cluster.Initial).approved(p)
	for _, id := range []int32{1, 3, 2} {
		step := fmt.Sprintf("roll-broker-%d", id)
		b.opened(step).done(fmt.Sprintf("stop-%d", id), fmt.Sprintf("write-%d", id), fmt.Sprintf("start-%d", id)).closed(step)
	}
	return b.at(cluster.Load).closed("copy").opened("elect").done("elect-preferred").closed("elect").planDone()
}

func revertPlans(t *testing.T) []plan.Plan {
	s := migrated(t).s
	flagless := dualWriting()
	flagless.API[3003] = known(facts.API{DescribeQuorum: true})
	return []plan.Plan{back(t, New(), provisioned(), cluster.Initial).Plan, back(t, s, loaded(), cluster.Initial).Plan,
		back(t, s, dualWriting(), cluster.Load).Plan, back(t, s, flagless, cluster.Load).Plan}
}

func TestTheWayBackGivesTheOriginalFilesBackByteForByte(t *testing.T) {
	s := migrated(t).s
	p := back(t, s, loaded(), cluster.Initial).Plan
	var kinds []plan.StepKind
	for _, st := range p.Steps {
		kinds = append(kinds, st.Kind)
		for _, a := range st.Actions {
			if st.Kind == plan.Roll && a.Kind == plan.Write && a.After != hash(brokerFile(*a.Node)) {
				t.Errorf("broker %d gets %s, its original was %s", *a.Node, a.After, hash(brokerFile(*a.Node)))
			}
		}
	}
	want := []plan.StepKind{plan.Drain, plan.StopControllers, plan.Compare, plan.Znodes, plan.Follow, plan.Roll, plan.Roll, plan.Roll}
	if !slices.Equal(kinds, want) {
		t.Errorf("steps %v, want %v", kinds, want)
	}
}

func TestTheActiveControllerIsStoppedLast(t *testing.T) {
	p := back(t, migrated(t).s, loaded(), cluster.Initial).Plan
	step, _ := p.Step("stop-controllers")
	for _, a := range step.Actions {
		if a.Kind != plan.Stop {
			continue
		}
		if last := *a.Node == 3002; last != (a.Stage == 2) {
			t.Errorf("controller %d is stopped in stage %d", *a.Node, a.Stage)
		}
	}
}

func TestToLoadBrokersGetTheirMigrationModeFileBack(t *testing.T) {
	s := migrated(t).s
	p := back(t, s, dualWriting(), cluster.Load).Plan
	for _, st := range p.Steps {
		for _, a := range st.Actions {
			if a.Kind == plan.Write && a.After != s.Migrating[*a.Node] {
				t.Errorf("broker %d gets %s, want the migration-mode file %s", *a.Node, a.After, s.Migrating[*a.Node])
			}
		}
	}
	if len(p.Steps) != 3 {
		t.Errorf("%d steps, want one roll for each broker", len(p.Steps))
	}
}

func TestARevertToInitialBeginsANewAttempt(t *testing.T) {
	b := migrated(t)
	p := back(t, b.s, loaded(), cluster.Initial).Plan
	b.approved(p).opened("stop-controllers").done("save-image", "stop-3001", "stop-3002", "stop-3003")
	if got := b.s.Stopped(); !slices.Equal(got, controllers()) {
		t.Errorf("held down %v, want the controllers", got)
	}
	if got := b.s.StoppedByUs(); len(got) != 0 {
		t.Errorf("%v would be started again by itself", got)
	}
	b.closed("stop-controllers").at(cluster.Initial).planDone()
	if b.s.Attempt != 2 || len(b.s.Completed) != 0 || b.s.Soak != nil {
		t.Errorf("attempt %d, completed %v, soak %v", b.s.Attempt, b.s.Completed, b.s.Soak)
	}
}

func TestALeaderWithoutTheFlagIsNeverTouched(t *testing.T) {
	snap := dualWriting()
	snap.API[3002] = known(facts.API{DescribeQuorum: true})
	_, _, err := BuildRevert(RevertInputs{Inputs: inputs(cluster.Load, snap), State: migrated(t).s})
	if err == nil || !strings.Contains(err.Error(), "touch nothing") {
		t.Errorf("error %v", err)
	}
}

// A service killed in the middle of a revert found its plan void: it compared
// the kept files with what it would render now.
func TestAKilledServiceGoesOnWithItsRevert(t *testing.T) {
	b := migrated(t)
	p := back(t, b.s, dualWriting(), cluster.Load).Plan
	b.at(cluster.Hybrid).at(cluster.DualWrite).approved(p).opened(p.Steps[0].ID)
	snap := dualWriting()
	for _, id := range brokers() {
		file := []byte(fmt.Sprintf("process.roles=broker\nnode.id=%d\n", id))
		for _, st := range p.Steps {
			for i, a := range st.Actions {
				if a.Kind == plan.Write && *a.Node == id {
					st.Actions[i].Before = hash(file)
				}
			}
		}
		snap.Files[id] = known(facts.File{Exists: true, SHA256: hash(file), Content: file, Mode: cluster.KRaft})
	}
	if got, _ := Rerendered(b.s, migration(), snap, nil); len(got) != 0 {
		t.Errorf("the revert is void: %v", got)
	}
}

// From KRaft mode a broker restarts twice on the way to initial; the two steps
// had one name, so the second counted as done before it began.
func TestFromHybridBrokersRestartTwiceOnTheWayToInitial(t *testing.T) {
	b := migrated(t)
	snap := inMode(loaded(), cluster.KRaft, 1, 3)
	for _, id := range []int32{1, 3} {
		file := fmt.Appendf(nil, "process.roles=broker\nnode.id=%d\n", id)
		snap.Files[id] = known(facts.File{Exists: true, SHA256: hash(file), Content: file, Mode: cluster.KRaft})
	}
	snap.Files[2] = known(facts.File{Exists: true, SHA256: b.s.Migrating[2], Content: brokerFile(2), Mode: cluster.ZKMigrating})
	p := back(t, b.s, snap, cluster.Initial).Plan
	seen := map[string]bool{}
	last := map[int32]string{}
	rolls := 0
	for _, st := range p.Steps {
		if seen[st.ID] {
			t.Errorf("two steps are named %s", st.ID)
		}
		seen[st.ID] = true
		for _, a := range st.Actions {
			if a.Kind != plan.Write {
				continue
			}
			rolls++
			if sha, ok := last[*a.Node]; ok && a.Before != sha {
				t.Errorf("step %s expects %s in node %d's file, the step before leaves %s", st.ID, a.Before, *a.Node, sha)
			}
			last[*a.Node] = a.After
		}
	}
	if rolls != 5 {
		t.Errorf("%d files are written, want two each for the KRaft brokers and one for the other", rolls)
	}
}

func TestARevertIsNotOverBeforeTheFactsShowIt(t *testing.T) {
	b := migrated(t)
	p := back(t, b.s, loaded(), cluster.Initial).Plan
	b.approved(p)
	for _, st := range p.Steps {
		b.closed(st.ID)
	}
	d := Decide(b.s, Situation{Snapshot: loaded(), Located: Locate(loaded(), inventory()), Inventory: inventory()}, moment)
	if d.Verb != Wait || !strings.Contains(d.Why, "do not show initial") {
		t.Errorf("%s: %s", d.Verb, d.Why)
	}
}

// A copy that halted the controllers left nobody to read the metadata log from.
// The way back wanted to keep what it held, and was blocked for ever.
func TestTheWayBackFromAFailedCopyReadsNoMetadataLog(t *testing.T) {
	snap := loaded()
	snap.Migration = known(facts.MigrationZnode{Present: true})
	for _, st := range back(t, migrated(t).s, snap, cluster.Initial).Plan.Steps {
		if slices.ContainsFunc(st.Actions, func(a plan.Action) bool { return a.Kind == plan.SaveImage }) {
			t.Errorf("step %s keeps what the metadata log holds", st.ID)
		}
	}
}
