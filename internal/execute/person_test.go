package execute

import (
	"net"
	"strings"
	"testing"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/plan"
	"migrator/internal/remote"
)

// Before the znodes go every controller is asked once more whether it runs; one
// that a person drives refused the question, and the way back was blocked in the
// middle of the time without a controller.
func TestAControllerThatAPersonDrivesIsAskedByItsPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := config.Node{Node: cluster.Node{ID: 3001, Role: cluster.Controller, Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port}, Access: config.Access{Kind: "manual", Files: t.TempDir()}}
	node, err := remote.Open(n.Access)
	if err != nil {
		t.Fatal(err)
	}
	e := &Executor{m: config.Migration{Nodes: []config.Node{n}}, nodes: map[int32]remote.Node{n.ID: node}}
	if _, err := e.Do(t.Context(), Task{Action: plan.Action{ID: "revert-znodes", Kind: plan.RevertZnodes}}); err == nil || !strings.Contains(err.Error(), "controller 3001 on 127.0.0.1 runs: nothing is deleted") {
		t.Errorf("with its port open: %v, want that it runs", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if up, err := e.isUp(t.Context(), n); up || err != nil {
		t.Errorf("with its port closed it counts as running: %t, %v", up, err)
	}
}
