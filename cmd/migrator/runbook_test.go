package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
