package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"migrator/internal/status"
)

// pingEvery keeps proxies from closing a quiet stream and tells the reader that
// it is alive.
const pingEvery = 15 * time.Second

// events streams whole statuses, never differences: each event is one
// migration's newest status with its journal sequence as id. A reader that is
// slow misses what was replaced meanwhile; a reader that comes back gets the
// present one.
func (s *Server) events(c echo.Context) error {
	names := s.service.Names()
	if want := c.QueryParam("name"); want != "" {
		if _, ok := s.service.Machine(want); !ok {
			return unknownName(want)
		}
		names = []string{want}
	}
	w := c.Response()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	stream := http.NewResponseController(w)
	if err := stream.SetWriteDeadline(time.Time{}); err != nil {
		s.opts.Log.Debug("clear the write deadline", "error", err.Error())
	}
	return s.stream(c.Request().Context(), names, func(event string, id uint64, data []byte) error {
		if _, err := fmt.Fprintf(w, "event: %s\nid: %d\ndata: %s\n\n", event, id, data); err != nil {
			return err
		}
		return stream.Flush()
	})
}

func (s *Server) stream(ctx context.Context, names []string, send func(event string, id uint64, data []byte) error) error {
	ctx, cancel := context.WithCancel(ctx)
	news := make(chan status.Status)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for _, name := range names {
		if m, ok := s.service.Machine(name); ok {
			wg.Go(func() { relay(ctx, m, news) })
		}
	}
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.stop:
			return send("end", 0, []byte(`"the service is stopping"`))
		case <-ping.C:
			if err := send("ping", 0, []byte("{}")); err != nil {
				return err
			}
		case st := <-news:
			data, err := json.Marshal(st)
			if err != nil {
				return fmt.Errorf("encode the status of %s: %w", st.Name, err)
			}
			if err := send("status", st.Seq, data); err != nil {
				return err
			}
		}
	}
}

// relay hands on one machine's statuses. While the reader is busy the machine's
// mailbox keeps the newest.
func relay(ctx context.Context, m Machine, news chan<- status.Status) {
	box, giveBack := m.Subscribe()
	defer giveBack()
	for {
		select {
		case <-ctx.Done():
			return
		case st := <-box:
			select {
			case news <- st:
			case <-ctx.Done():
				return
			}
		}
	}
}
