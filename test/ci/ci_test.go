// Package ci_test looks at the job files for CI servers and runs their script
// with a stand-in for migrator; test/lab runs it with the real one.
package ci_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const script = "../../docs/ci/rehearse.sh"

// job prepares a run of the script in a folder of its own, where `migrator
// rehearse` is the given shell text.
func job(t *testing.T, rehearse string, arguments ...string) (*exec.Cmd, string) {
	t.Helper()
	dir := t.TempDir()
	path, err := filepath.Abs(script)
	if err != nil {
		t.Fatal(err)
	}
	standIn := "#!/bin/sh\n[ \"$1\" = validate ] && exit 0\necho \"$@\" > arguments\nmkdir -p rehearsal-data\n" + rehearse + "\n"
	if err := os.WriteFile(filepath.Join(dir, "migrator"), []byte(standIn), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{path}, arguments...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	return cmd, dir
}

func exitOf(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err == nil {
		return 0
	}
	if !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return exit.ExitCode()
}

func TestTheScriptEndsAsTheRehearsalDoes(t *testing.T) {
	for rehearse, want := range map[string]struct {
		exit int
		kept bool // the data folder, to go on with
	}{"exit 0": {0, false}, "exit 1": {1, true}, "exit 3": {3, true}} {
		t.Run(rehearse, func(t *testing.T) {
			cmd, dir := job(t, rehearse, "--then-revert")
			said, err := cmd.CombinedOutput()
			if got := exitOf(t, err); got != want.exit {
				t.Errorf("exit %d, want %d\n%s", got, want.exit, said)
			}
			if _, err := os.Stat(filepath.Join(dir, "rehearsal-data")); (err == nil) != want.kept {
				t.Errorf("the data folder: %v, want it kept: %t", err, want.kept)
			}
			got, err := os.ReadFile(filepath.Join(dir, "arguments"))
			if want := "rehearse --config staging.yaml --name staging --out rehearsal --data rehearsal-data --junit rehearsal/junit.xml --then-revert\n"; err != nil || string(got) != want {
				t.Errorf("migrator %s, want %s (%v)", got, want, err)
			}
		})
	}
}

// A cancelled job gets SIGTERM: the script hands it on and waits until nodes are back.
func TestACancelledJobWaitsForTheSafeEnd(t *testing.T) {
	cmd, dir := job(t, "trap 'sleep 0.3; touch safe; exit 1' TERM\ntouch ready\nwhile :; do sleep 0.05; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "ready")); err == nil {
			break
		}
		if time.Since(begun) > 20*time.Second {
			t.Fatal("the rehearsal did not begin")
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := exitOf(t, cmd.Wait()); got != 1 {
		t.Errorf("exit %d, want that of the rehearsal, 1", got)
	}
	for _, name := range []string{"safe", "rehearsal-data"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("after the end: %v", err)
		}
	}
}

func TestEachJobFileRunsTheScriptAndKeepsNoSecrets(t *testing.T) {
	for _, name := range []string{"github-actions.yml", "gitlab-ci.yml", "Jenkinsfile"} {
		raw, err := os.ReadFile(filepath.Join("../../docs/ci", name))
		if err != nil {
			t.Fatal(err)
		}
		text := string(raw)
		if !strings.Contains(text, "docs/ci/rehearse.sh") || !strings.Contains(text, "rehearsal/junit.xml") {
			t.Errorf("%s does not run the script, or does not show its JUnit file", name)
		}
		// What is published is the folder rehearsal; the data folder lies elsewhere.
		if !strings.Contains(text, "/var/lib/migrator/staging-rehearsal") || strings.Contains(text, "rehearsal-data") {
			t.Errorf("%s: the data folder is not apart from what is published", name)
		}
	}
}
