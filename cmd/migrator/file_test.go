package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"migrator/internal/plan"
	"migrator/internal/status"
)

// A person asks for the file of one node: it comes whole, is never wider readable
// than its owner, and only where that node is to be written by hand.
func TestThePlannedFileOfANodeIsFetched(t *testing.T) {
	const planned = "node.id=2\r\nssl.keystore.password=hunter2"
	s := as(status.Executing)
	s.Manual = []status.Errand{{Node: 2, Action: plan.Write, Now: true, Do: "put the planned file in place", Path: "/etc/kafka/server.properties",
		File: "/api/v1/migrations/payments/files/c0ffee", SHA256: "c0ffee", Folder: "/srv/by-hand/2"}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/files/c0ffee") {
			_, _ = io.WriteString(w, planned)
			return
		}
		_ = json.NewEncoder(w).Encode(s)
	}))
	defer server.Close()
	run := func(args ...string) (int, string) {
		root := newRootCommand()
		var out, errs bytes.Buffer
		root.SetOut(&out)
		root.SetErr(&errs)
		root.SetArgs(append(args, "--server", server.URL))
		err := root.ExecuteContext(t.Context())
		if err == nil {
			return 0, out.String()
		}
		return exitCode(err), out.String()
	}
	if code, out := run("file", "payments", "--node", "2"); code != 0 || out != planned {
		t.Errorf("exited %d with %q", code, out)
	}
	to := filepath.Join(t.TempDir(), "server.properties")
	if err := os.WriteFile(to, []byte("what was there, longer than the planned file is, and readable for everybody"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, out := run("file", "payments", "--node", "2", "--out", to); code != 0 || out != "" {
		t.Errorf("exited %d and printed %q", code, out)
	}
	data, err := os.ReadFile(to)
	info, err2 := os.Stat(to)
	if err != nil || err2 != nil || string(data) != planned || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has %q and mode %v (%v, %v)", data, info.Mode(), err, err2)
	}
	if code, _ := run("file", "payments", "--node", "3"); code != exitRefused {
		t.Errorf("for a node that is not to be written it exited %d, want %d", code, exitRefused)
	}
	if _, out := run("status", "payments"); !strings.Contains(out, "by hand, NOW: put the planned file in place") || !strings.Contains(out, "migrator file payments --node 2") {
		t.Errorf("status does not say what is to be done:\n%s", out)
	}
}
