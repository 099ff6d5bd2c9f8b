package lab_test

import (
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"migrator/internal/evidence"
	"migrator/internal/junit"
	"migrator/internal/lab"
	"migrator/internal/rehearse"
)

// The script that CI jobs call rehearses on a real cluster that was there
// before, and leaves what the jobs keep: to the end of initial and back here, the
// whole procedure in `make nightly`.
func TestTheJobsScriptRehearses(t *testing.T) {
	c := startCluster(t, lab.Options{})
	before := properties(t, c)
	out := runJob(t, c, "--to", "initial", "--then-revert")
	for id, text := range properties(t, c) {
		if text != before[id] {
			t.Errorf("the file of broker %d is not what it was:\n%s", id, text)
		}
	}
	pack, err := evidence.Read(filepath.Join(out, "evidence"))
	if err != nil {
		t.Fatal(err)
	}
	if got := rehearse.Broken(rehearse.Whole(pack)); len(got) == 0 {
		t.Error("a rehearsal that ended in initial counts as one of the whole procedure")
	}
}

func TestTheJobsScriptRehearsesTheWholeProcedure(t *testing.T) {
	nightly(t)
	for _, arguments := range [][]string{{"--then-revert"}, nil} {
		c := startCluster(t, lab.Options{})
		pack, err := evidence.Read(filepath.Join(runJob(t, c, arguments...), "evidence"))
		if err != nil {
			t.Fatal(err)
		}
		if broken := rehearse.Broken(rehearse.Whole(pack)); len(broken) > 0 {
			t.Errorf("%v: %+v", arguments, broken)
		}
	}
}

func properties(t *testing.T, c *lab.Cluster) map[int32]string {
	t.Helper()
	out := map[int32]string{}
	for _, id := range c.BrokerIDs() {
		raw, err := os.ReadFile(c.PropertiesPath(id))
		if err != nil {
			t.Fatal(err)
		}
		out[id] = string(raw)
	}
	return out
}

// runJob runs docs/ci/rehearse.sh as a job does, and answers the folder it keeps.
func runJob(t *testing.T, c *lab.Cluster, arguments ...string) string {
	t.Helper()
	dir := t.TempDir()
	yaml := c.MigrationsYAML(lab.YAMLOptions{Name: "staging", Soak: "5s", PollInterval: "500ms", GoodPolls: 2, StepTimeout: "3m", Rehearsal: true})
	write(t, filepath.Join(dir, "staging.yaml"), yaml)
	script, err := filepath.Abs("../../docs/ci/rehearse.sh")
	if err != nil {
		t.Fatal(err)
	}
	job := exec.CommandContext(t.Context(), "sh", append([]string{script}, arguments...)...)
	job.Dir = dir
	job.Env = append(os.Environ(), "PATH="+filepath.Dir(migratorBinary())+string(os.PathListSeparator)+os.Getenv("PATH"))
	said, err := job.CombinedOutput()
	t.Logf("%s", said)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "rehearsal")
	raw, err := os.ReadFile(filepath.Join(out, "junit.xml"))
	if err != nil {
		t.Fatal(err)
	}
	var suite junit.Suite
	if err := xml.Unmarshal(raw, &suite); err != nil {
		t.Fatal(err)
	}
	if suite.Tests < 30 || suite.Failures+suite.Errors+suite.Skipped > 0 || !strings.Contains(string(said), "GREEN") {
		t.Errorf("%d cases, %d failures, %d errors, %d skipped", suite.Tests, suite.Failures, suite.Errors, suite.Skipped)
	}
	if _, err := os.Stat(filepath.Join(dir, "rehearsal-data")); err == nil {
		t.Error("the data folder of a rehearsal that came to its end was kept")
	}
	return out
}
