package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/config"
	"migrator/internal/evidence"
	"migrator/internal/status"
)

func serve(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return New(s.URL+"/", config.NewSecret("s3cret"))
}

func TestARefusalKeepsItsCodeAndExit(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cret" {
			t.Errorf("authorization %q", r.Header.Get("Authorization"))
		}
		w.WriteHeader(http.StatusConflict)
		fmt.Fprint(w, `{"detail":"digest d0 is not the current one","code":"stale-digest","exit":4,"status":409}`)
	})
	err := c.Advance(t.Context(), "payments", Command{Digest: "d0"})
	var got *Refusal
	if !errors.As(err, &got) {
		t.Fatalf("error %v", err)
	}
	if diff := cmp.Diff(&Refusal{Code: "stale-digest", Exit: 4, Message: "digest d0 is not the current one"}, got); diff != "" {
		t.Errorf("refusal (-want +got):\n%s", diff)
	}
}

func TestWhatIsNoServiceIsUnreachable(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for name, c := range map[string]*Client{
		"nothing listens":           New(closed.URL, config.Secret{}),
		"something else listens":    serve(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<h1>nginx</h1>", http.StatusBadGateway) }),
		"the connection is dropped": serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.Status(t.Context(), "payments")
			var gone *UnreachableError
			if !errors.As(err, &gone) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestOurOwnEndIsNoFaultOfTheService(t *testing.T) {
	c := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.List(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func event(w io.Writer, name, run string) {
	fmt.Fprintf(w, "event: status\nid: 1\ndata: {\"name\":%q,\"run_status\":%q}\n\n", name, run)
}

func TestWatchingGoesOnAfterTheStreamWasLost(t *testing.T) {
	streams := 0
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		streams++
		if streams == 1 {
			event(w, "payments", "executing")
			return
		}
		fmt.Fprint(w, "event: ping\nid: 0\ndata: {}\n\n")
		event(w, "payments", "finished")
	})
	var seen []status.RunStatus
	err := c.Watch(t.Context(), "payments", func(s status.Status) bool {
		seen = append(seen, s.RunStatus)
		return s.RunStatus == status.Finished
	})
	if diff := cmp.Diff([]status.RunStatus{status.Executing, status.Finished}, seen); err != nil || diff != "" {
		t.Errorf("error %v; seen (-want +got):\n%s", err, diff)
	}
}

func TestWatchingAnUnknownNameEndsAtOnce(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"detail":"no migration","code":"unknown-name","exit":2}`)
	})
	begun := time.Now()
	var refusal *Refusal
	if err := c.Watch(t.Context(), "orders", func(status.Status) bool { return true }); !errors.As(err, &refusal) || time.Since(begun) > reconnectFor/2 {
		t.Errorf("error %v after %s", err, time.Since(begun))
	}
}

func TestTheEvidencePackArrivesWhole(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if err := evidence.WriteTar(w, []evidence.File{{Name: "evidence.json", Data: []byte("{}")}, {Name: "SHA256SUMS", Data: []byte("x")}}); err != nil {
			t.Error(err)
		}
	})
	dir := filepath.Join(t.TempDir(), "pack")
	if err := c.Evidence(t.Context(), "payments", dir); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "evidence.json")); err != nil || string(got) != "{}" {
		t.Errorf("%q, %v", got, err)
	}
}
