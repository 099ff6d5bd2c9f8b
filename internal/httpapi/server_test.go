package httpapi

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"migrator/internal/status"
)

func get(s *Server, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost:8420"+path, nil))
	return w
}

func TestAnAddressThatOthersReachNeedsAToken(t *testing.T) {
	for listen, exposed := range map[string]bool{"127.0.0.1:0": false, "localhost:0": false, "[::1]:0": false,
		":8420": true, "0.0.0.0:8420": true, "[::]:8420": true, "10.0.0.7:8420": true, "kafka-1:8420": true} {
		t.Run(listen, func(t *testing.T) {
			_, err := New(one{waiting()}, Options{Listen: listen})
			var e *ExposedError
			if errors.As(err, &e) != exposed {
				t.Errorf("without a token: %v", err)
			}
			o := Options{Listen: listen}
			withToken(&o)
			if _, err := New(one{waiting()}, o); err != nil {
				t.Errorf("with a token: %v", err)
			}
		})
	}
}

// serve runs a server on a free port until the test ends it.
func serve(t *testing.T, m *stub) (url string, stop func() error) {
	t.Helper()
	s := newServer(t, m, nil)
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	return s.URL(), func() error { cancel(); return <-ended }
}

func nextEvent(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	var b strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("the stream ended after %q: %v", b.String(), err)
		}
		if line == "\n" {
			return b.String()
		}
		b.WriteString(line)
	}
}

func TestTheStreamShowsEachNewerStatusAndEndsWithTheService(t *testing.T) {
	m := waiting()
	url, stop := serve(t, m)
	answer, err := http.Get(url + "/api/v1/events")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	events := bufio.NewReader(answer.Body)
	if e := nextEvent(t, events); !strings.HasPrefix(e, "event: status\nid: 7\ndata: {") || !strings.Contains(e, `"run_status":"needs-approval"`) {
		t.Fatalf("first event %q", e)
	}
	m.publish(func(now *status.Status) { now.RunStatus, now.Seq = status.Executing, 9 })
	if e := nextEvent(t, events); !strings.HasPrefix(e, "event: status\nid: 9\n") || !strings.Contains(e, `"run_status":"executing"`) {
		t.Fatalf("second event %q", e)
	}
	begun := time.Now()
	if err := stop(); err != nil {
		t.Errorf("shutdown: %v", err)
	}
	if rest, err := io.ReadAll(events); err != nil || !strings.Contains(string(rest), "event: end") {
		t.Errorf("the stream ended with %q, %v", rest, err)
	}
	if took := time.Since(begun); took > shutdownLimit {
		t.Errorf("an open stream held the end up for %s", took)
	}
}

func TestReadersAreLetGoWhenTheyLeave(t *testing.T) {
	m := waiting()
	url, stop := serve(t, m)
	ctx, leave := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, url+"/api/v1/events", nil)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	nextEvent(t, bufio.NewReader(answer.Body))
	leave()
	answer.Body.Close()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.subs) > 0 {
		t.Errorf("%d subscriptions are left", len(m.subs))
	}
}

func TestHealthIsTheServicesNotTheClusters(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*status.Status)
		status int
	}{
		"a loop that observes is well":             {func(*status.Status) {}, http.StatusOK},
		"a blocked migration is no sick service":   {func(s *status.Status) { s.Blocked = &status.Reason{What: "roll-1 failed"} }, http.StatusOK},
		"a journal that cannot be written is sick": {func(s *status.Status) { s.Blocked = &status.Reason{What: "journal: no space left"} }, http.StatusServiceUnavailable},
		"a loop that published nothing for long": {func(s *status.Status) { old := epoch.Add(-2 * staleAfter); s.ObservedAt = &old },
			http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			m := waiting()
			row.change(&m.now)
			if w := get(newServer(t, m, withToken), "/healthz"); w.Code != row.status {
				t.Errorf("HTTP %d, want %d: %s", w.Code, row.status, w.Body)
			}
		})
	}
}

func TestThePageShowsWhatNodesSayAsText(t *testing.T) {
	m := waiting()
	hostile := `<script>alert("x")</script>`
	m.now.Headline = hostile
	m.now.Gates = []status.Gate{{Name: "running", Verdict: "fail", Evidence: hostile, ToDo: hostile, Source: hostile}}
	m.now.Nodes = []status.Node{{ID: 1, Role: "broker", Host: hostile, Unknown: hostile}}
	m.now.Plan.Steps[0].Actions = []status.Action{{ID: "stop-1", State: "failed", Error: hostile}}
	for _, path := range []string{"/", "/fragment?name=payments"} {
		w := get(newServer(t, m, nil), path)
		if w.Code != http.StatusOK || strings.Contains(w.Body.String(), "<script>alert") {
			t.Errorf("%s: HTTP %d, hostile text is markup:\n%s", path, w.Code, w.Body)
		}
		if csp := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'self';") {
			t.Errorf("%s: CSP %q", path, csp)
		}
	}
}

func TestTheFactsHoldNoFileContent(t *testing.T) {
	w := get(newServer(t, waiting(), nil), "/api/v1/migrations/payments/facts")
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"SHA256":"ab"`) || strings.Contains(w.Body.String(), "hunter2") {
		t.Errorf("HTTP %d: %s", w.Code, w.Body)
	}
}

func TestMetricsTellTheStatusAndNothingThatIsUnknown(t *testing.T) {
	w := get(newServer(t, waiting(), nil), "/metrics")
	for _, line := range []string{`migrator_phase{migration="payments",phase="initial"} 1`, `migrator_phase{migration="payments",phase="finalize"} 0`,
		`migrator_run_status{migration="payments",run_status="needs-approval"} 1`, `migrator_journal_seq{migration="payments"} 7`} {
		if !strings.Contains(w.Body.String(), line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	for _, absent := range []string{"migrator_canary_", "migrator_epoch_margin{", "migrator_soak_elapsed"} {
		if strings.Contains(w.Body.String(), "\n"+absent) {
			t.Errorf("%s has a sample although it is unknown", absent)
		}
	}
}

// A planned file may hold secrets: only one that a person is to write now is given.
func TestAPlannedFileIsGivenOnlyWhileItIsToBeWrittenByHand(t *testing.T) {
	s, err := New(one{waiting()}, Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if w := get(s, "/api/v1/migrations/payments/files/c0ffee"); w.Code != http.StatusOK || w.Body.String() != "broker.id=2\n" || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("answered %d %q, Cache-Control %q", w.Code, w.Body.String(), w.Header().Get("Cache-Control"))
	}
	if w := get(s, "/api/v1/migrations/payments/files/decade"); w.Code < 400 || !strings.Contains(w.Body.String(), `"no-file"`) {
		t.Errorf("another file: %d %s", w.Code, w.Body.String())
	}
}
