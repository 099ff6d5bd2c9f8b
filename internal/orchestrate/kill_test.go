package orchestrate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/phases"
)

// inDoubt are the actions that the journal of a killed service leaves open.
func inDoubt(t *testing.T, w *world) []string {
	t.Helper()
	state := phases.New()
	for _, e := range w.entries {
		ev, err := decode(e)
		if err != nil {
			t.Fatal(err)
		}
		if state, err = phases.Apply(state, ev); err != nil {
			t.Fatal(err)
		}
	}
	var out []string
	if state.Run == nil {
		return nil
	}
	for id, a := range state.Run.Actions {
		if a.Running {
			out = append(out, id)
		}
	}
	return out
}

// The service dies at each place between intent, effect and outcome. The next
// one looks at what is in doubt before anything else and repeats no effect.
func TestKilledAtAnyBoundaryTheRollEndsTheSame(t *testing.T) {
	boundaries := 0
	synctest.Test(t, func(t *testing.T) {
		s := start(t, newWorld(), settings(), 0)
		defer s.end()
		s.approve("load")
		s.until("offering hybrid", offers("hybrid"))
		boundaries = s.reached
	})
	if boundaries != 4*len(wholeRoll) {
		t.Fatalf("%d boundaries, want four for each of %d actions", boundaries, len(wholeRoll))
	}
	for k := 1; k <= boundaries; k++ {
		t.Run(fmt.Sprintf("boundary %d", k), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { killedAt(t, k) })
		})
	}
}

func killedAt(t *testing.T, k int) {
	w := newWorld()
	first := start(t, w, settings(), k)
	first.approve("load")
	first.until("killed", offers("hybrid"))
	first.end()
	doubt := inDoubt(t, w)
	before := len(w.all())

	second := start(t, w, settings(), 0)
	defer second.end()
	second.until("offering hybrid", offers("hybrid"))
	want := wholeRoll
	if slices.Contains(doubt, "elect-preferred") && slices.Contains(w.all()[:before], "elect-preferred") {
		want = append(slices.Clone(wholeRoll), "elect-preferred") // no look can tell; electing again changes nothing
	}
	if diff := cmp.Diff(want, w.effects()); diff != "" {
		t.Errorf("effects over both lives (-want +got):\n%s", diff)
	}
	after := w.all()[before:]
	for _, action := range doubt {
		if len(after) == 0 || after[0] != "look at "+action {
			t.Errorf("%s was in doubt, the new service began with %v", action, after[:min(len(after), 2)])
		}
	}
	if len(doubt) == 0 && slices.ContainsFunc(after, func(d string) bool { return strings.HasPrefix(d, "look at") }) {
		t.Errorf("nothing was in doubt, the new service looked: %v", after)
	}
}
