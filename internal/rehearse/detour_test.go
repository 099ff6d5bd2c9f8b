package rehearse

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/status"
)

func TestWhereTheWayBackBegins(t *testing.T) {
	kraft, load, hybrid, dual := cluster.KRaft, cluster.Load, cluster.Hybrid, cluster.DualWrite
	oneKRaft := []status.Node{{ID: 1, Role: cluster.Broker, Mode: &kraft}, {ID: 2, Role: cluster.Broker}}
	for _, test := range []struct {
		name  string
		from  cluster.Phase
		now   status.Status
		pause bool
		there bool
	}{
		{"load, not complete yet", load, status.Status{Phase: &load, RunStatus: status.NeedsApproval}, false, false},
		{"load, complete", load, status.Status{Phase: &load, PhaseComplete: true, RunStatus: status.NeedsApproval}, false, true},
		{"hybrid, no broker through yet", hybrid, status.Status{Phase: &load, RunStatus: status.Executing}, false, false},
		{"hybrid, the first broker through", hybrid, status.Status{Phase: &hybrid, RunStatus: status.Executing, Nodes: oneKRaft}, true, false},
		{"hybrid, paused", hybrid, status.Status{Phase: &hybrid, RunStatus: status.Paused, Nodes: oneKRaft}, true, true},
		{"dual-write, the soak is offered", dual, status.Status{Phase: &dual, RunStatus: status.NeedsApproval}, false, true},
		{"dual-write, still rolling", dual, status.Status{Phase: &hybrid, RunStatus: status.Executing}, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := &detour{from: test.from}
			if got := d.wantsPause(test.now); got != test.pause {
				t.Errorf("pause %t, want %t", got, test.pause)
			}
			if got := d.there(test.now); got != test.there {
				t.Errorf("there %t, want %t", got, test.there)
			}
		})
	}
}

func TestAChangedFileBreaksThePromiseOfTheWayBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.properties")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	initial := cluster.Initial
	for _, test := range []struct {
		name, after string
		kept        bool
	}{{"as it was", "broker.id=1\n", true}, {"a blank line more", "broker.id=1\n\n", false}} {
		t.Run(test.name, func(t *testing.T) {
			write("broker.id=1\n")
			d, err := newDetour(cluster.Load, []int32{1}, func(int32) string { return path })
			if err != nil {
				t.Fatal(err)
			}
			write(test.after)
			d.begun = true
			f := &follower{out: &strings.Builder{}, timeline: newTimeline(time.Now(), false), course: d}
			if busy, _, err := d.see(t.Context(), f, status.Status{Phase: &initial, RunStatus: status.Reverting}); !busy || err != nil {
				t.Fatalf("while reverting: busy %t, %v", busy, err)
			}
			if busy, _, err := d.see(t.Context(), f, status.Status{Phase: &initial, RunStatus: status.Waiting}); busy || err != nil {
				t.Fatalf("at the end: busy %t, %v", busy, err)
			}
			if p := d.promise(); p.Kept != test.kept {
				t.Errorf("promise %+v", p)
			}
		})
	}
}
