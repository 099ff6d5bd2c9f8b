package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"migrator/internal/cluster"
	"migrator/internal/plan"
	"migrator/internal/status"
)

// answering is a service of one migration: it shows before until an approval
// was accepted, then after, and streams the statuses of then.
type answering struct {
	before, after status.Status
	then          []status.Status
	refuse        string // problem JSON
	got           map[string]string
}

func (a *answering) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost && a.refuse != "":
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, a.refuse)
	case r.Method == http.MethodPost:
		a.got = map[string]string{}
		_ = json.NewDecoder(r.Body).Decode(&a.got)
		_, _ = io.WriteString(w, "{}")
	case strings.HasSuffix(r.URL.Path, "/events"):
		for _, s := range a.then {
			raw, _ := json.Marshal(s)
			_, _ = io.WriteString(w, "event: status\nid: 1\ndata: "+string(raw)+"\n\n")
		}
	case a.got != nil:
		_ = json.NewEncoder(w).Encode(a.after)
	default:
		_ = json.NewEncoder(w).Encode(a.before)
	}
}

func offered(p cluster.Phase) status.Status {
	here := cluster.Initial
	return status.Status{Name: "payments", Phase: &here, RunStatus: status.NeedsApproval, Headline: "ready", Plan: &status.Plan{Phase: p, Digest: "d1",
		Steps: []status.StepView{{State: "planned", Step: plan.Step{ID: "backup", Sentence: "save every znode"}}}}}
}

func as(run status.RunStatus) status.Status {
	s := offered(cluster.Load)
	s.RunStatus, s.Headline, s.Plan.Running = run, string(run), run == status.Executing
	if run == status.Blocked {
		s.Blocked = &status.Reason{What: "stop-1 failed", ToDo: "look at broker 1"}
	}
	return s
}

func runAdvance(t *testing.T, a *answering, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	server := httptest.NewServer(a)
	defer server.Close()
	root := newRootCommand()
	var out, errs bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&errs)
	root.SetIn(strings.NewReader("yes\n"))
	root.SetArgs(append([]string{"advance", "payments", "--server", server.URL}, args...))
	if err := root.ExecuteContext(t.Context()); err != nil {
		errs.WriteString(err.Error())
		code = exitCode(err)
	}
	return code, out.String(), errs.String()
}

func TestAdvanceEndsWithTheCodeThatScriptsRelyOn(t *testing.T) {
	stale := `{"detail":"digest d0 is not the current one","code":"stale-digest","exit":4}`
	none := offered(cluster.Load)
	none.Plan, none.RunStatus = nil, status.Waiting
	for name, row := range map[string]struct {
		service answering
		args    []string
		code    int
		stdout  string
		stderr  string
	}{
		"without a digest it shows the plan and starts nothing": {answering{before: offered(cluster.Load)}, nil, 4, "digest: d1", "--digest d1"},
		"finalize says that it wants the name":                  {answering{before: offered(cluster.Finalize)}, nil, 4, "plan finalize", "--confirm payments"},
		"without a plan a gate is in the way":                   {answering{before: none}, nil, 3, "payments: phase initial, waiting", "no plan is offered"},
		"a stale digest waits for a person":                     {answering{before: offered(cluster.Load), refuse: stale}, []string{"--digest", "d0"}, 4, "", "not the current one"},
		"an approval starts":                                    {answering{before: offered(cluster.Load), after: as(status.Executing)}, []string{"--digest", "d1"}, 0, "executing", ""},
		"waiting ends when a person is needed again": {answering{before: offered(cluster.Load), after: as(status.Executing), then: []status.Status{as(status.Executing), as(status.NeedsApproval)}},
			[]string{"--digest", "d1", "--wait"}, 0, "needs-approval", "0 of 1 steps done"},
		"waiting ends when it is finished": {answering{after: as(status.Executing), then: []status.Status{as(status.Finished)}}, []string{"--digest", "d1", "--wait"}, 0, "finished", ""},
		"waiting ends refused when it is blocked": {answering{after: as(status.Executing), then: []status.Status{as(status.Blocked)}},
			[]string{"--digest", "d1", "--wait"}, 3, "blocked", "stop-1 failed; look at broker 1"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runAdvance(t, &row.service, row.args...)
			if code != row.code || !strings.Contains(stdout, row.stdout) || !strings.Contains(stderr, row.stderr) {
				t.Errorf("exit %d, want %d\nstdout %q, want %q\nstderr %q, want %q", code, row.code, stdout, row.stdout, stderr, row.stderr)
			}
			if started := row.service.got != nil; started != (row.code != 4 && len(row.args) > 0) {
				t.Errorf("an approval was sent: %v", started)
			}
		})
	}
}

func TestAdvanceAsJSONPrintsThePlanAlone(t *testing.T) {
	code, stdout, _ := runAdvance(t, &answering{before: offered(cluster.Load)}, "--json")
	var doc struct {
		Plan struct {
			Phase  string            `json:"phase"`
			Digest string            `json:"digest"`
			Steps  []json.RawMessage `json:"steps"`
		} `json:"plan"`
	}
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil || code != 4 || doc.Plan.Phase != "load" || doc.Plan.Digest != "d1" || len(doc.Plan.Steps) != 1 {
		t.Errorf("exit %d, %v, %+v", code, err, doc)
	}
}

func TestWhatNodesSayCannotDriveATerminal(t *testing.T) {
	s := as(status.Executing)
	s.Headline = "stop-1: \x1b[2Jgone"
	s.Gates = []status.Gate{{Name: "running", Verdict: "fail", Evidence: "\x1b]0;title\x07"}}
	var out bytes.Buffer
	if err := printStatuses(&out, []status.Status{s}); err != nil || strings.ContainsAny(out.String(), "\x1b\x07") {
		t.Errorf("%v: %q", err, out.String())
	}
}
