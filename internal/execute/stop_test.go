package execute

import (
	"context"
	"fmt"
	"path/filepath"
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

// cutOff is a node whose connection is lost in the middle of each command but
// `running`; the commands themselves go on there.
type cutOff struct{ remote.Node }

func (c cutOff) Run(ctx context.Context, argv []string) (remote.Result, error) {
	r, err := c.Node.Run(ctx, argv)
	if err == nil && argv[0] != "test" {
		return remote.Result{}, fmt.Errorf("run %s: %w", argv[0], remote.ErrLost)
	}
	return r, err
}

// A cut connection blocked the roll although the broker stopped and started as
// it was told.
func TestALinkCutWhileANodeStopsOrStarts(t *testing.T) {
	alive := filepath.Join(t.TempDir(), "alive")
	n := config.Node{Node: cluster.Node{ID: 7, Role: cluster.Broker}, Logs: config.Logs{None: true},
		Commands: config.Commands{Running: []string{"test", "-e", alive}, Start: []string{"touch", alive}, Stop: []string{"rm", alive}}}
	m := config.Migration{Nodes: []config.Node{n}}
	m.Gates.StepTimeout = 10 * time.Second
	e := &Executor{m: m, nodes: map[int32]remote.Node{n.ID: cutOff{remote.NewLocal()}}}
	if _, err := e.start(t.Context(), Task{Action: plan.Action{ID: "start-7", Kind: plan.Start, Node: &n.ID, Argv: n.Commands.Start}}); err != nil {
		t.Errorf("start: %v", err)
	}
	if _, err := e.stop(t.Context(), Task{Action: plan.Action{ID: "stop-7", Kind: plan.Stop, Node: &n.ID, Argv: n.Commands.Stop}}); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// The same cut in the middle of format blocked the step, and the folder was
// formatted a second later.
func TestALinkCutWhileAFolderIsFormatted(t *testing.T) {
	dir := t.TempDir()
	n := config.Node{Node: cluster.Node{ID: 3001, Role: cluster.Controller}, LogDirs: []string{dir}}
	argv := []string{"sh", "-c", `(sleep 0.4; printf 'version=1\ncluster.id=c1\nnode.id=3001\n' > "$0".new && mv "$0".new "$0") &`, filepath.Join(dir, "meta.properties")}
	e := &Executor{m: config.Migration{Nodes: []config.Node{n}}, nodes: map[int32]remote.Node{n.ID: cutOff{remote.NewLocal()}}}
	if _, err := e.format(t.Context(), Task{ClusterID: "c1", Action: plan.Action{ID: "format-3001", Kind: plan.FormatDirs, Node: &n.ID, Argv: argv}}); err != nil {
		t.Error(err)
	}
}
