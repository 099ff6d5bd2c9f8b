// Package lab_test runs promises against real ZooKeeper, brokers and
// controllers. It needs Java and jars (`make jars`): without them it fails.
package lab_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"migrator/internal/lab"
)

// binaryEnv tells tests which migrator to use; TestMain sets it.
const binaryEnv = "MIGRATOR_TEST_BINARY"

// ownerEnv names the folder of a cluster that this process shall own, as a
// program that gets killed.
const ownerEnv = "MIGRATOR_TEST_OWN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(ownerEnv); dir != "" {
		fmt.Fprintln(os.Stderr, ownCluster(dir))
		os.Exit(1)
	}
	if die := os.Getenv(deathEnv); die != "" {
		fmt.Fprintln(os.Stderr, serveUntil(die, os.Args[1:]))
		os.Exit(1)
	}
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func buildAndRun(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "migrator-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "migrator")
	build := exec.Command("go", "build", "-o", binary, "migrator/cmd/migrator")
	if said, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build migrator: %w\n%s", err, said)
	}
	if err := os.Setenv(binaryEnv, binary); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// ownCluster says "owning" when the cluster is up, and stays until killed.
func ownCluster(dir string) error {
	_, err := lab.Start(context.Background(), lab.Options{Dir: dir, Brokers: 1, Controllers: 1, Binary: migratorBinary()})
	if err != nil {
		return err
	}
	fmt.Println("owning")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// nightly leaves a test to `make nightly`, so that the tests of each change end
// within their time on two cores.
func nightly(t *testing.T) {
	t.Helper()
	if os.Getenv("MIGRATOR_NIGHTLY") == "" {
		t.Skip("runs in `make nightly`, or with MIGRATOR_NIGHTLY=1")
	}
}

// migratorBinary is the migrator built for this run.
func migratorBinary() string { return os.Getenv(binaryEnv) }

// startCluster starts a cluster that ends with the test; the folder of a
// failed test is kept and named. The jars come through Maven when absent.
func startCluster(t testing.TB, o lab.Options) *lab.Cluster {
	t.Helper()
	if _, err := lab.EnsureJars(t.Context(), o.Version, os.Stderr); err != nil {
		t.Fatal(err)
	}
	if o.Binary == "" {
		o.Binary = migratorBinary()
	}
	c, err := lab.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			c.MarkFailed()
			t.Logf("the cluster's folder is kept: %s", c.Dir())
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// runMigrator runs the built migrator and returns its exit code, stdout and
// stderr.
func runMigrator(ctx context.Context, t testing.TB, args ...string) (exit int, stdout, stderr string) {
	t.Helper()
	var out, errs captured
	cmd := exec.CommandContext(ctx, migratorBinary(), args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatalf("migrator %v: %v", args, err)
	}
	return cmd.ProcessState.ExitCode(), string(out), string(errs)
}

type captured []byte

func (c *captured) Write(p []byte) (int, error) {
	*c = append(*c, p...)
	return len(p), nil
}
