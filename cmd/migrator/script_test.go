package main

import (
	"encoding/json"
	"errors"
	"flag"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expected output in the scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"migrator": main})
}

// TestScripts runs the command line as people and scripts do.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "../../test/script",
		RequireExplicitExec: true,
		UpdateScripts:       *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":   exits,
			"json":     oneDocument,
			"freeport": freeport,
			"await":    await,
		},
	})
}

// exits runs migrator and wants exactly this exit code: status CODE ARG...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	if err != nil || neg {
		ts.Fatalf("usage: status CODE ARG...")
	}
	err = ts.Exec("migrator", args[1:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("run migrator: %v", err)
	}
	if got != want {
		ts.Fatalf("migrator %v exits %d, want %d", args[1:], got, want)
	}
}

// oneDocument wants one JSON document on stdout and nothing else.
func oneDocument(ts *testscript.TestScript, _ bool, _ []string) {
	var doc any
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &doc); err != nil {
		ts.Fatalf("stdout is not one JSON document: %v", err)
	}
}

// freeport names a free port of this machine in MIGRATOR_LISTEN and MIGRATOR_SERVER.
func freeport(ts *testscript.TestScript, _ bool, _ []string) {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	address := socket.Addr().String()
	ts.Check(socket.Close())
	ts.Setenv("MIGRATOR_LISTEN", address)
	ts.Setenv("MIGRATOR_SERVER", "http://"+address)
}

// await returns when the service has made its first round.
func await(ts *testscript.TestScript, _ bool, _ []string) {
	every := time.NewTicker(20 * time.Millisecond)
	defer every.Stop()
	limit := time.NewTimer(30 * time.Second)
	defer limit.Stop()
	for {
		select {
		case <-every.C:
			answer, err := http.Get(ts.Getenv("MIGRATOR_SERVER") + "/healthz")
			if err != nil {
				continue
			}
			ts.Check(answer.Body.Close())
			return
		case <-limit.C:
			ts.Fatalf("the service does not answer")
		}
	}
}
