package httpapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/orchestrate"
	"migrator/internal/status"
)

const advancePath = "/api/v1/migrations/payments/advance"

func post(s *Server, path, body string, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8420"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

func problemIn(t *testing.T, w *httptest.ResponseRecorder) problem {
	t.Helper()
	var p problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("no problem JSON: %v in %q", err, w.Body)
	}
	return p
}

func TestARefusalCarriesItsHTTPStatusCodeAndExit(t *testing.T) {
	for name, row := range map[string]struct {
		refusal orchestrate.Refusal
		status  int
	}{
		"a stale digest is a conflict":            {orchestrate.Refusal{Code: "stale-digest", Exit: 4}, http.StatusConflict},
		"a missing digest is a conflict":          {orchestrate.Refusal{Code: "no-digest", Exit: 4}, http.StatusConflict},
		"gates that do not pass cannot be worked": {orchestrate.Refusal{Code: "gates", Exit: 3}, http.StatusUnprocessableEntity},
		"a wrong name is refused as by a gate":    {orchestrate.Refusal{Code: "wrong-name", Exit: 3}, http.StatusUnprocessableEntity},
		"a journal that cannot be written":        {orchestrate.Refusal{Code: "journal", Exit: 3}, http.StatusServiceUnavailable},
		"a service that stops":                    {orchestrate.Refusal{Code: "stopping", Exit: 5}, http.StatusServiceUnavailable},
		"a missing reason is a usage fault":       {orchestrate.Refusal{Code: "no-reason", Exit: 2}, http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			m := waiting()
			m.do = func(orchestrate.Command) error { r := row.refusal; r.Message = "because"; return &r }
			w := post(newServer(t, m, nil), advancePath, `{"digest":"old"}`, nil)
			got := problemIn(t, w)
			want := problem{Title: http.StatusText(row.status), Status: row.status, Detail: "because", Code: row.refusal.Code, Exit: row.refusal.Exit}
			if diff := cmp.Diff(want, got); diff != "" || w.Code != row.status {
				t.Errorf("HTTP %d, want %d; problem (-want +got):\n%s", w.Code, row.status, diff)
			}
			if kind := w.Header().Get("Content-Type"); kind != "application/problem+json" {
				t.Errorf("content type %q", kind)
			}
		})
	}
}

func TestAnApprovalAnswersOnlyWhenTheStatusShowsIt(t *testing.T) {
	m := waiting()
	s := newServer(t, m, nil)
	accepted := make(chan struct{})
	m.do = func(orchestrate.Command) error { close(accepted); return nil }
	answered := make(chan *httptest.ResponseRecorder)
	go func() { answered <- post(s, advancePath, `{"digest":"d1","actor":"ann"}`, nil) }()
	<-accepted
	select {
	case w := <-answered:
		t.Fatalf("answered %d while the status still says needs-approval", w.Code)
	default:
	}
	m.publish(func(now *status.Status) { now.RunStatus = status.Executing })
	w := <-answered
	var now status.Status
	if err := json.Unmarshal(w.Body.Bytes(), &now); err != nil || w.Code != http.StatusOK || now.RunStatus != status.Executing {
		t.Errorf("HTTP %d, %v, run status %q", w.Code, err, now.RunStatus)
	}
	want := []orchestrate.Command{{Verb: orchestrate.Advance, Digest: "d1", Actor: "ann"}}
	if diff := cmp.Diff(want, m.commands()); diff != "" {
		t.Errorf("command (-want +got):\n%s", diff)
	}
}

func TestWhoMayCommand(t *testing.T) {
	bearer := func(r *http.Request) { r.Header.Set("Authorization", "Bearer s3cret") }
	for name, row := range map[string]struct {
		options func(*Options)
		change  func(*http.Request)
		path    string
		status  int
		code    string
	}{
		"without a token when one is set":              {withToken, nil, advancePath, http.StatusUnauthorized, "token"},
		"with a wrong Bearer token":                    {withToken, func(r *http.Request) { r.Header.Set("Authorization", "Bearer guess") }, advancePath, http.StatusForbidden, "token"},
		"with a wrong password, so that it asks again": {withToken, func(r *http.Request) { r.SetBasicAuth("ann", "guess") }, advancePath, http.StatusUnauthorized, "token"},
		"with an empty password":                       {withToken, func(r *http.Request) { r.SetBasicAuth("ann", "") }, advancePath, http.StatusUnauthorized, "token"},
		"from a page of another site":                  {nil, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, advancePath, http.StatusForbidden, "cross-origin"},
		"from another origin in an old browser":        {nil, func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, advancePath, http.StatusForbidden, "cross-origin"},
		"under a name that was rebound to loopback":    {nil, func(r *http.Request) { r.Host = "evil.example:8420" }, advancePath, http.StatusMisdirectedRequest, "host"},
		"a migration that does not exist":              {withToken, bearer, "/api/v1/migrations/orders/advance", http.StatusNotFound, "unknown-name"},
		"a verb that does not exist":                   {withToken, bearer, "/api/v1/migrations/payments/finalize", http.StatusNotFound, "http"},
	} {
		t.Run(name, func(t *testing.T) {
			m := waiting()
			w := post(newServer(t, m, row.options), row.path, `{}`, row.change)
			if p := problemIn(t, w); w.Code != row.status || p.Code != row.code {
				t.Errorf("HTTP %d code %q, want %d %q", w.Code, p.Code, row.status, row.code)
			}
			if len(m.commands()) > 0 {
				t.Errorf("the machine was given %v", m.commands())
			}
		})
	}
}

func TestATokenOpensTheServiceAsBearerAndAsPassword(t *testing.T) {
	for name, change := range map[string]func(*http.Request){
		"bearer": func(r *http.Request) { r.Header.Set("Authorization", "Bearer s3cret") },
		"basic":  func(r *http.Request) { r.SetBasicAuth("ann", "s3cret") },
	} {
		t.Run(name, func(t *testing.T) {
			m := waiting()
			w := post(newServer(t, m, withToken), "/api/v1/migrations/payments/pause", `{}`, change)
			if w.Code != http.StatusOK || len(m.commands()) != 1 {
				t.Errorf("HTTP %d, commands %v: %s", w.Code, m.commands(), w.Body)
			}
		})
	}
}

func TestAFormOfThePageIsACommandAndGoesBackToThePage(t *testing.T) {
	m := waiting()
	m.now.RunStatus = status.Executing
	s := newServer(t, m, nil)
	w := post(s, advancePath, url.Values{"digest": {"d1"}, "confirm": {"payments"}}.Encode(), func(r *http.Request) {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.RemoteAddr = "127.0.0.1:9"
	})
	want := []orchestrate.Command{{Verb: orchestrate.Advance, Digest: "d1", Confirm: "payments", Actor: "page at 127.0.0.1"}}
	if diff := cmp.Diff(want, m.commands()); diff != "" || w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/?name=payments" {
		t.Errorf("HTTP %d to %q; command (-want +got):\n%s", w.Code, w.Header().Get("Location"), diff)
	}
}

func TestARefusedFormShowsWhyOnThePage(t *testing.T) {
	m := waiting()
	m.do = func(orchestrate.Command) error {
		return &orchestrate.Refusal{Code: "stale-digest", Exit: 4, Message: "digest d0 is <old>"}
	}
	w := post(newServer(t, m, nil), advancePath, "digest=d0", func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") })
	if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "digest d0 is &lt;old&gt;") || !strings.Contains(w.Body.String(), "<h1>payments") {
		t.Errorf("HTTP %d:\n%s", w.Code, w.Body)
	}
}

func TestAnUnknownFieldOfACommandIsRefused(t *testing.T) {
	m := waiting()
	w := post(newServer(t, m, nil), advancePath, `{"digset":"d1"}`, nil)
	if p := problemIn(t, w); w.Code != http.StatusBadRequest || p.Exit != 2 || len(m.commands()) > 0 {
		t.Errorf("HTTP %d %+v, commands %v", w.Code, p, m.commands())
	}
}
