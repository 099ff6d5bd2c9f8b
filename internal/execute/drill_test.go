package execute

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/remote"
)

// A service killed in a clean drill leaves a controller that still stops. Its
// successor saw it running, never started it, and waited in vain.
func TestAControllerStillStoppingAfterAnInterruptedDrillIsStartedOnceItIsDown(t *testing.T) {
	alive, again := filepath.Join(t.TempDir(), "alive"), filepath.Join(t.TempDir(), "started")
	if err := os.WriteFile(alive, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	n := config.Node{Node: cluster.Node{ID: 3001, Role: cluster.Controller}, Access: config.Access{Kind: "local"},
		Commands: config.Commands{Running: []string{"test", "-f", alive}, Start: []string{"touch", alive, again}}}
	node, err := remote.Open(n.Access)
	if err != nil {
		t.Fatal(err)
	}
	e := &Executor{m: config.Migration{Nodes: []config.Node{n}}, nodes: map[int32]remote.Node{n.ID: node}}
	looks := 0
	full := func(context.Context) (bool, string, error) {
		looks++
		if looks == 1 { // the stop given by the killed service ends only now
			return false, "controller 3001 does not answer", os.Remove(alive)
		}
		_, err := os.Stat(again)
		if errors.Is(err, fs.ErrNotExist) {
			return false, "controller 3001 does not answer", nil
		}
		return err == nil, "", err
	}
	if err := e.startUntil(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	if looks < 2 {
		t.Errorf("looked %d times: the controller was never seen stopping", looks)
	}
}
