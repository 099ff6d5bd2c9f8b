package config_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/cluster"
	"migrator/internal/config"
)

var update = flag.Bool("update", false, "rewrite the golden problem lists")

func TestBadFilesAreRefusedWithPathAndLine(t *testing.T) {
	files, err := filepath.Glob("testdata/*.bad.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no bad files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, err := config.Load(file)
			var problems *config.Problems
			if !errors.As(err, &problems) {
				t.Fatalf("want problems, got %v", err)
			}
			golden := strings.TrimSuffix(file, ".yaml") + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(err.Error()+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, readErr := os.ReadFile(golden)
			if readErr != nil {
				t.Fatal(readErr)
			}
			if diff := cmp.Diff(string(want), err.Error()+"\n"); diff != "" {
				t.Errorf("problems differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGoodFilesAreAccepted(t *testing.T) {
	files, err := filepath.Glob("testdata/*.good.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no good files: %v", err)
	}
	for _, file := range append(files, "../../migrations.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			if _, err := config.Load(file); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWhatIsLeftOutTakesItsDefault(t *testing.T) {
	m := load(t, "testdata/minimal.good.yaml")
	want := config.Migration{
		Name:        "small",
		ZooKeeper:   config.ZooKeeper{Connect: "127.0.0.1:2181"},
		Kafka:       config.Kafka{Version: "3.9.2", Bootstrap: []string{"127.0.0.1:9092"}},
		Quorum:      config.Quorum{Mode: "static", Listener: config.QuorumListener{Name: "CONTROLLER", Protocol: "PLAINTEXT", Port: 9093}},
		Gates:       config.Gates{GoodPolls: 3, PollInterval: 2 * time.Second, StepTimeout: 10 * time.Minute, MaxFactAge: 15 * time.Second},
		Soaks:       []config.Soak{{Phase: cluster.Load}, {Phase: cluster.DualWrite, Duration: 5 * time.Second}},
		Drill:       config.Drill{Phase: cluster.DualWrite, Kinds: []string{"clean", "crash"}, MaxUnavailable: 15 * time.Second},
		Roll:        config.Roll{Batch: "node", First: "node"},
		Canary:      config.Canary{Topic: "__migrator_canary", Interval: 100 * time.Millisecond},
		Approve:     []cluster.Phase{},
		Nodes:       m.Nodes,
		RehearsalAt: config.Problem{Path: "migrations[0].rehearsal", Line: 2, Column: 5},
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("defaults differ (-want +got):\n%s", diff)
	}
	if !m.NeedsApproval(cluster.Finalize) || m.NeedsApproval(cluster.Load) {
		t.Error("an empty approve list asks before finalize and nowhere else")
	}
}

func TestANodeTakesDefaultsWithItsOwnNamesFilledIn(t *testing.T) {
	m := load(t, "testdata/minimal.good.yaml")
	broker, _ := m.Node(0)
	wantBroker := config.Node{
		Node:       cluster.Node{ID: 0, Role: cluster.Broker, Host: "127.0.0.1"},
		Access:     config.Access{Kind: "local"},
		Properties: "/lab/broker-0.properties",
		Logs:       config.Logs{None: true},
		Commands: config.Commands{
			Start:   []string{"lab", "start", "0"},
			Stop:    []string{"lab", "stop", "--slowly", "0"}, // overridden alone
			Running: []string{"lab", "running", "0"},
		},
	}
	if diff := cmp.Diff(wantBroker, broker); diff != "" {
		t.Errorf("broker differs (-want +got):\n%s", diff)
	}
	controller, _ := m.Node(3003)
	wantController := config.Node{
		Node:       cluster.Node{ID: 3003, Role: cluster.Controller, Host: "127.0.0.1", Port: 9093},
		Access:     config.Access{Kind: "local"},
		Properties: "/lab/controller-3003.properties",
		Logs:       config.Logs{Argv: []string{"lab", "logs", "3003"}},
		LogDirs:    []string{"/lab/data-3003"},
		Settings: []config.Setting{
			{Key: "log.dirs", Value: "/lab/data-3003"},
			{Key: "listener.name.CONTROLLER.sasl.jaas", Value: "${file:/secret:3003}"},
		},
		Commands: config.Commands{
			Format:  []string{"lab", "format", "3003", "{cluster_id}", "{metadata_version}", "/lab/controller-3003.properties"},
			Start:   []string{"lab", "start", "3003"},
			Stop:    []string{"lab", "stop", "3003"},
			Running: []string{"lab", "running", "3003"},
			Kill:    []string{"lab", "kill", "3003"},
		},
	}
	if diff := cmp.Diff(wantController, controller); diff != "" {
		t.Errorf("controller differs (-want +got):\n%s", diff)
	}
}

func TestAliasesMayRepeatAWholeBlock(t *testing.T) {
	m := load(t, "testdata/anchors.good.yaml")
	n, _ := m.Node(12)
	if diff := cmp.Diff([]string{"lab", "start", "12"}, n.Commands.Kill); diff != "" {
		t.Errorf("kill of an aliased list (-want +got):\n%s", diff)
	}
}

func TestAMissingFileIsTheSystemsError(t *testing.T) {
	_, err := config.Load(filepath.Join(t.TempDir(), "absent.yaml"))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("want not-exist, got %v", err)
	}
}

func FuzzHostileTextNeverPanics(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.yaml")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return
		}
		_, err := config.Parse("f.yaml", data)
		var problems *config.Problems
		if err != nil && (!errors.As(err, &problems) || len(problems.List) == 0) {
			t.Errorf("an error without a problem: %v", err)
		}
	})
}

func load(t *testing.T, path string) config.Migration {
	t.Helper()
	f, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Migrations) != 1 {
		t.Fatalf("want one migration, got %d", len(f.Migrations))
	}
	return f.Migrations[0]
}
