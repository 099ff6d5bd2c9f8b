package lab_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"migrator/internal/config"
	"migrator/internal/lab"
	"migrator/internal/orchestrate"
	"migrator/internal/service"
	"migrator/internal/status"
)

// TestForwardWholeMigration takes a real cluster from plain ZooKeeper to
// finalized, every plan approved by its digest.
func TestForwardWholeMigration(t *testing.T) {
	c := startCluster(t, lab.Options{})
	svc, name := startService(t, c, lab.YAMLOptions{Name: "payments", Soak: "5s", PollInterval: "500ms", GoodPolls: 2, StepTimeout: "2m"})
	m, _ := svc.Machine(name)
	deadline := time.Now().Add(8 * time.Minute)
	last := ""
	for time.Now().Before(deadline) {
		s := m.Status()
		if line := fmt.Sprintf("%s %s", s.RunStatus, s.Headline); line != last {
			t.Log(time.Now().Format("15:04:05.000"), line)
			last = line
		}
		switch s.RunStatus {
		case status.Finished:
			return
		case status.Blocked:
			t.Fatalf("blocked: %+v", s.Blocked)
		case status.NeedsApproval:
			err := m.Do(t.Context(), orchestrate.Command{Verb: orchestrate.Advance, Actor: "test", Digest: s.Plan.Digest, Confirm: name})
			if err != nil {
				t.Logf("approve %s: %v", s.Plan.Phase, err)
			}
		}
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
	t.Fatalf("not finished: %+v", m.Status())
}

// startService runs the service in this process against the cluster's own
// migrations.yaml, as an operator's would.
func startService(t *testing.T, c *lab.Cluster, o lab.YAMLOptions) (*service.Service, string) {
	t.Helper()
	path := filepath.Join(c.Dir(), "migrations.yaml")
	if err := os.WriteFile(path, []byte(c.MigrationsYAML(o)), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	svc, err := service.Open(service.Options{File: file, DataDir: filepath.Join(c.Dir(), "data"), Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- svc.Run(ctx, make(chan struct{})) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, svc.Close()); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return svc, file.Migrations[0].Name
}
