package rehearse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/client"
	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/plan"
	"migrator/internal/status"
)

// fakeService says its statuses one after the other and takes approvals down. It
// refuses the digests it is told to, once each.
type fakeService struct {
	statuses []status.Status
	refuse   map[string]bool

	mu     sync.Mutex
	orders []client.Command
}

func (f *fakeService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		f.approve(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for i, s := range f.statuses {
		data, err := json.Marshal(s)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(w, "event: status\nid: %d\ndata: %s\n\n", i, data)
	}
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

func (f *fakeService) approve(w http.ResponseWriter, r *http.Request) {
	var order client.Command
	if err := json.NewDecoder(r.Body).Decode(&order); err != nil {
		panic(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.orders = append(f.orders, order)
	if f.refuse[order.Digest] {
		delete(f.refuse, order.Digest)
		w.WriteHeader(http.StatusConflict)
		fmt.Fprint(w, `{"code":"gates","exit":3,"detail":"refused: isr-full"}`)
		return
	}
	fmt.Fprint(w, `{}`)
}

func offered(phase cluster.Phase, digest string) status.Status {
	return status.Status{Phase: &phase, RunStatus: status.NeedsApproval, Plan: &status.Plan{Phase: phase, Digest: digest}}
}

func follow(t *testing.T, f *fakeService) (string, error) {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	var out strings.Builder
	follower := follower{client: client.New(server.URL, config.Secret{}), name: Name, out: &out, timeline: newTimeline(start, false), course: (*detour)(nil)}
	err := follower.follow(t.Context(), time.Minute)
	return out.String(), err
}

func TestEachPlanIsApprovedOnceByItsDigest(t *testing.T) {
	f := &fakeService{refuse: map[string]bool{"d2": true}, statuses: []status.Status{
		offered(cluster.Load, "d1"),
		offered(cluster.Load, "d1"), // the stream is behind
		{RunStatus: status.Executing},
		offered(cluster.Hybrid, "d2"), // refused: a gate has just failed
		offered(cluster.Hybrid, "d2"),
		{RunStatus: status.Executing},
		offered(cluster.Finalize, "d3"),
		{RunStatus: status.Finished},
	}}
	out, err := follow(t, f)
	if err != nil {
		t.Fatal(err)
	}
	want := []client.Command{{Actor: actor, Digest: "d1"}, {Actor: actor, Digest: "d2"}, {Actor: actor, Digest: "d2"}, {Actor: actor, Digest: "d3", Confirm: Name}}
	if diff := cmp.Diff(want, f.orders); diff != "" {
		t.Error(diff)
	}
	if n := strings.Count(out, "not approved yet: refused: isr-full"); n != 1 {
		t.Errorf("the refusal is said %d times:\n%s", n, out)
	}
}

func TestABlockEndsTheRehearsalWithItsGates(t *testing.T) {
	f := &fakeService{statuses: []status.Status{{RunStatus: status.Blocked, Blocked: &status.Reason{What: "no progress", ToDo: "look at broker 2"}, Gates: []status.Gate{
		{Name: "running", Verdict: "pass", Blocks: []string{"the end of step roll-2"}},
		{Name: "restarted", Verdict: "fail", Evidence: "broker 2 is not registered", Source: "the metadata log", Blocks: []string{"the end of step roll-2"}},
		{Name: "parity", Verdict: "unknown", Evidence: "never read"},
	}}}}
	_, err := follow(t, f)
	var end *BlockedError
	if !errors.As(err, &end) || end.ExitCode() != 3 {
		t.Fatalf("got %v, want a block", err)
	}
	want := &BlockedError{What: "no progress", ToDo: "look at broker 2", Gates: []string{"gate restarted: fail: broker 2 is not registered (seen by the metadata log)"}}
	if diff := cmp.Diff(want, end); diff != "" {
		t.Error(diff)
	}
}

// The soak's clock stands still during a drill inside it: that held a rehearsal
// whose controller took a while to come back.
func TestOnlyWhatHasNoLimitOfItsOwnCountsAsStanding(t *testing.T) {
	why := "a drill"
	in := func(run status.RunStatus, kind plan.StepKind, paused *string) status.Status {
		return status.Status{RunStatus: run, Step: &status.StepView{Step: plan.Step{Kind: kind}}, Soak: &status.Soak{PausedBecause: paused}}
	}
	for name, test := range map[string]struct {
		now  status.Status
		want bool
	}{
		"a drill within a soak":           {in(status.Executing, plan.DrillStep, &why), false},
		"a roll":                          {in(status.Executing, plan.Roll, nil), false},
		"a soak that counts":              {in(status.Executing, plan.SoakEnd, nil), false},
		"a soak that does not count":      {in(status.Executing, plan.SoakEnd, &why), true},
		"a soak whose gates never passed": {in(status.Executing, plan.SoakBegin, nil), true},
		"between two steps":               {status.Status{RunStatus: status.Executing}, false},
		"no plan is offered":              {status.Status{RunStatus: status.Waiting}, true},
		"a pause":                         {status.Status{RunStatus: status.Paused}, true},
		"a way back":                      {status.Status{RunStatus: status.Reverting}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := standing(test.now); got != test.want {
				t.Errorf("standing %t, want %t", got, test.want)
			}
		})
	}
}

func TestFailuresKeepTheirExitCodes(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	for _, c := range []struct {
		name string
		err  error
		want int
	}{
		{"a block, with a failed cleanup", errors.Join(&BlockedError{}, errors.New("close")), 3},
		{"a broken promise", &BrokenError{}, 1},
		{"an interrupt", interrupted(ended, context.Canceled), 1},
		{"an interrupt that made a request fail", interrupted(ended, &client.UnreachableError{Cause: context.Canceled}), 1},
		{"a service that no longer answers", &client.UnreachableError{Cause: errors.New("refused")}, 1},
		{"a refusal of the service", &client.Refusal{Exit: 4}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var with interface{ ExitCode() int }
			if !errors.As(coded(c.err), &with) || with.ExitCode() != c.want {
				t.Errorf("got %v, want exit %d", coded(c.err), c.want)
			}
		})
	}
	if coded(nil) != nil || interrupted(ended, nil) != nil {
		t.Error("success became a failure")
	}
}
