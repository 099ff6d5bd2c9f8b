package remote

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"migrator/internal/config"
)

func TestAManualNodeIsReadFromItsFolderAndNeverTouched(t *testing.T) {
	dir := t.TempDir()
	put := func(at, text string) {
		t.Helper()
		full := filepath.Join(dir, at)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	put("server.properties", "flat")
	put("data/1/meta.properties", "one")
	put("data/2/meta.properties", "two")
	node, err := Open(config.Access{Kind: "manual", Files: dir})
	if err != nil {
		t.Fatal(err)
	}
	read := func(path string) string {
		data, err := node.ReadFile(t.Context(), path)
		if errors.Is(err, fs.ErrNotExist) {
			return "(missing)"
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for path, want := range map[string]string{"/etc/kafka/server.properties": "flat", "/data/1/meta.properties": "one", "/data/2/meta.properties": "two", "/etc/kafka/other.properties": "(missing)"} {
		if got := read(path); got != want {
			t.Errorf("%s reads %q, want %q", path, got, want)
		}
	}
	put("etc/kafka/server.properties", "below its path")
	if got := read("/etc/kafka/server.properties"); got != "below its path" {
		t.Errorf("where both are there, the flat one is read: %q", got)
	}
	var unstarted *NotStartedError
	if _, err := node.Run(t.Context(), []string{"systemctl", "stop", "kafka"}); !errors.As(err, &unstarted) || !errors.Is(err, ErrByHand) {
		t.Errorf("a command is not refused: %v", err)
	}
	if err := node.WriteFile(t.Context(), "/etc/kafka/server.properties", []byte("x"), WriteOptions{Expect: Expect{SHA256: Sum([]byte("below its path"))}}); !errors.Is(err, ErrByHand) {
		t.Errorf("a write is not refused: %v", err)
	}
	if got := read("/etc/kafka/server.properties"); got != "below its path" {
		t.Errorf("it was written: %q", got)
	}
}

// A mistyped folder looked like a controller without a file.
func TestAFolderThatIsNotThereIsNoNodeWithoutFiles(t *testing.T) {
	node, err := Open(config.Access{Kind: "manual", Files: filepath.Join(t.TempDir(), "nobody-made-it")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := node.Stat(t.Context(), "/etc/kafka/controller.properties"); err == nil || !strings.Contains(err.Error(), "create it") {
		t.Errorf("stat says %v, want that the folder is not there", err)
	}
}
