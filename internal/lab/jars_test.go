package lab

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestJarsAreFoundWhereTheEnvironmentSays(t *testing.T) {
	root := t.TempDir()
	t.Setenv(jarsEnv, root)
	if _, err := FindJars("3.9.2"); !errors.Is(err, ErrNoJars) || !strings.Contains(err.Error(), "make jars KAFKA_VERSION=3.9.2") {
		t.Errorf("without jars: %v, want ErrNoJars and what to do", err)
	}
	home := filepath.Join(root, "kafka-3.9.2")
	if err := os.MkdirAll(filepath.Join(home, "libs"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := FindJars("3.9.2"); !errors.Is(err, ErrNoJars) {
		t.Errorf("a folder that is not complete: %v, want ErrNoJars", err)
	}
	writeTest(t, filepath.Join(home, "complete"), "", 0o600)
	if jars, err := FindJars(""); err != nil || jars.Home != home || jars.Version != DefaultVersion {
		t.Errorf("got %+v, %v", jars, err)
	}
}

func TestStartWithoutJarsOrJavaSaysSo(t *testing.T) {
	root := t.TempDir()
	t.Setenv(jarsEnv, root)
	if _, err := Start(t.Context(), Options{}); !errors.Is(err, ErrNoJars) {
		t.Errorf("without jars: %v", err)
	}
	home := filepath.Join(root, "kafka-3.9.2")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	writeTest(t, filepath.Join(home, "complete"), "", 0o600)
	t.Setenv("JAVA_HOME", filepath.Join(root, "nowhere"))
	if _, err := Start(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "java 17 or later is missing") {
		t.Errorf("without Java: %v", err)
	}
	old := filepath.Join(root, "old", "bin")
	if err := os.MkdirAll(old, 0o700); err != nil {
		t.Fatal(err)
	}
	writeTest(t, filepath.Join(old, "java"), "#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n", 0o700)
	t.Setenv("JAVA_HOME", filepath.Join(root, "old"))
	if _, err := Start(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "is Java 11, the lab needs 17") {
		t.Errorf("with an old Java: %v", err)
	}
}

// On a machine without apt-get, or for a user who may not install, the script
// must say which programs to bring.
func TestTheScriptNamesWhatIsMissing(t *testing.T) {
	bin := t.TempDir()
	for _, tool := range []string{"sh", "sed", "head"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(bin, tool)); err != nil {
			t.Fatal(err)
		}
	}
	writeTest(t, filepath.Join(bin, "id"), "#!/bin/sh\necho 1000\n", 0o700)
	dest := filepath.Join(t.TempDir(), "kafka-3.9.2")
	cmd := exec.Command(filepath.Join(bin, "sh"), "jars.sh", "3.9.2", dest)
	cmd.Env = []string{"PATH=" + bin}
	said, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != 1 {
		t.Errorf("ended with %v, want exit 1", err)
	}
	for _, want := range []string{"missing: java of version 17", "missing: mvn"} {
		if !strings.Contains(string(said), want) {
			t.Errorf("no %q in:\n%s", want, said)
		}
	}
	if _, err := os.Stat(dest); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s exists after a failure (%v)", dest, err)
	}
}

func TestPortsAreNobodyElses(t *testing.T) {
	folder := t.TempDir()
	first, err := reserve(folder, 20)
	if err != nil {
		t.Fatal(err)
	}
	for _, port := range first.ports {
		if port >= ephemeralStart() {
			t.Errorf("port %d lies in the kernel's ephemeral range", port)
		}
		if lock, ok := take(folder, port); ok {
			t.Errorf("a second cluster got port %d", port)
			_ = lock.Close()
		}
	}
	if err := first.release(); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(first.ports[0])))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if lock, ok := take(folder, first.ports[0]); ok {
		t.Errorf("port %d was taken while something listens on it", first.ports[0])
		_ = lock.Close()
	}
	lock, ok := take(folder, first.ports[1])
	if !ok {
		t.Fatalf("port %d was not given back", first.ports[1])
	}
	_ = lock.Close()
}
