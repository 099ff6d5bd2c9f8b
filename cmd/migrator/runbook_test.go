package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/phases"
	"migrator/internal/plan"
	"migrator/internal/remote"
)

func writes(content string) phases.Built {
	id := int32(1)
	sha := remote.Sum([]byte(content))
	step := plan.Step{ID: "roll", Kind: plan.Roll, Actions: []plan.Action{{ID: "write-1", Kind: plan.Write, Node: &id, Path: "/p", After: sha}}}
	return phases.Built{Plan: plan.Plan{Steps: []plan.Step{step}}, Contents: map[string][]byte{sha: []byte(content)}}
}

func TestTheFilesOfARunbookAreForTheirOwnerOnly(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "files")
	if err := writeFiles(folder, writes("password=x\n")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "step-01-node-1.properties")
	for at, want := range map[string]fs.FileMode{path: 0o600, folder: 0o700} {
		info, err := os.Stat(at)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o: it may hold secrets", at, info.Mode().Perm(), want)
		}
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "password=x\n" {
		t.Errorf("%q, %v", data, err)
	}
	if err := writeFiles(folder, writes("password=y\n")); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("files of two plans would lie in one folder: %v", err)
	}
}

const (
	zkFile        = "broker.id=1\nzookeeper.connect=zk:2181\n"
	migratingFile = zkFile + "zookeeper.metadata.migration.enable=true\n"
	kraftFile     = "process.roles=broker\nnode.id=1\n"
)

// keep puts copies beside a broker's file, as a write by migrator leaves them.
func keep(t *testing.T, contents ...string) config.Migration {
	t.Helper()
	path := filepath.Join(t.TempDir(), "broker.properties")
	for _, c := range contents {
		if err := os.WriteFile(remote.BackupPath(path, remote.Sum([]byte(c))), []byte(c), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return config.Migration{Nodes: []config.Node{{Node: cluster.Node{ID: 1, Role: cluster.Broker}, Access: config.Access{Kind: "local"}, Properties: path}}}
}

func TestEarlierFilesAreFoundBesideThePresentOne(t *testing.T) {
	tests := []struct {
		name                string
		kept                []string
		original, migrating string
		unclear             string
	}{
		{"none", nil, "", "", ""},
		{"after the roll into migration mode", []string{zkFile}, zkFile, "", ""},
		{"after the roll to KRaft", []string{zkFile, migratingFile}, zkFile, migratingFile, ""},
		{"after a way back as well", []string{zkFile, migratingFile, kraftFile}, zkFile, migratingFile, ""},
		{"two that could be the original", []string{zkFile, zkFile + "a=b\n", migratingFile}, "", migratingFile, "broker 1: 2 kept files in zk mode"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			state := phases.New()
			k := findKept(t.Context(), keep(t, tt.kept...), &state)
			want := func(content string) map[int32]string {
				if content == "" {
					return map[int32]string{}
				}
				return map[int32]string{1: remote.Sum([]byte(content))}
			}
			if !maps.Equal(state.Originals, want(tt.original)) || !maps.Equal(state.Migrating, want(tt.migrating)) {
				t.Errorf("originals %v, migrating %v", state.Originals, state.Migrating)
			}
			if got := strings.Join(k.unclear, "; "); (got == "") != (tt.unclear == "") || !strings.Contains(got, tt.unclear) {
				t.Errorf("unclear: %q, want %q", got, tt.unclear)
			}
			for _, sha := range state.Originals {
				if data, err := k.content(sha); err != nil || string(data) != tt.original {
					t.Errorf("%q, %v", data, err)
				}
			}
		})
	}
}

func TestACopyThatWasChangedSinceIsNoOriginal(t *testing.T) {
	m := keep(t)
	path := remote.BackupPath(m.Nodes[0].Properties, remote.Sum([]byte(zkFile)))
	if err := os.WriteFile(path, fmt.Append(nil, zkFile, "edited=by hand\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	state := phases.New()
	if findKept(t.Context(), m, &state); len(state.Originals) != 0 {
		t.Errorf("originals %v: it would be given back as the file that was there", state.Originals)
	}
}
