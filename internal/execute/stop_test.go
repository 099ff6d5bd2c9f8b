package execute

import (
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/plan"
	"migrator/internal/remote"
)

// The alarm at another quorum's /migration asks to stop all controllers at
// once; the way back then took each for uncleanly stopped and blocked.
func TestAStopOfANodeThatSomebodyStoppedBefore(t *testing.T) {
	for _, tt := range []struct {
		name    string
		role    cluster.Role
		unclean bool
	}{
		{"a controller loses nothing by its end", cluster.Controller, false},
		{"a broker's clean end must be proven all the same", cluster.Broker, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := config.Node{Node: cluster.Node{ID: 7, Role: tt.role}, Access: config.Access{Kind: "local"}, Logs: config.Logs{None: true},
				Commands: config.Commands{Running: []string{"false"}, Stop: []string{"true"}}}
			node, err := remote.Open(n.Access)
			if err != nil {
				t.Fatal(err)
			}
			m := config.Migration{Nodes: []config.Node{n}}
			m.Gates.StepTimeout = 10 * time.Second
			e := &Executor{m: m, nodes: map[int32]remote.Node{n.ID: node}}
			res, err := e.stop(t.Context(), Task{Action: plan.Action{ID: "stop-7", Kind: plan.Stop, Node: &n.ID, Argv: n.Commands.Stop}})
			if err != nil || res.Unclean != tt.unclean {
				t.Errorf("unclean %v, %q, %v; want unclean %v", res.Unclean, res.Detail, err, tt.unclean)
			}
		})
	}
}
