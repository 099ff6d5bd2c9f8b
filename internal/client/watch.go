package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"migrator/internal/status"
)

const (
	reconnectFor   = time.Minute      // until a lost service counts as unreachable
	reconnectEvery = time.Second      //
	silence        = 40 * time.Second // the service pings every 15 s
	maxEvent       = 64 << 20
)

// errEnded is a stream that ended without our wish.
var errEnded = errors.New("the event stream ended")

// Watch gives each newer status of a migration to see, until see answers true
// or ctx ends. A lost service is looked for again for a minute; then
// *UnreachableError. An empty name watches all migrations.
func (c *Client) Watch(ctx context.Context, name string, see func(status.Status) bool) error {
	lostAt := time.Time{}
	for {
		heard, done, err := c.follow(ctx, name, see)
		var refusal *Refusal
		switch {
		case done:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &refusal) && refusal.Exit != 5:
			return err
		}
		if heard || lostAt.IsZero() {
			lostAt = time.Now()
		}
		if time.Since(lostAt) > reconnectFor {
			var gone *UnreachableError
			if errors.As(err, &gone) {
				return err
			}
			return &UnreachableError{Server: c.server, Cause: err}
		}
		if err := pause(ctx, reconnectEvery); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// follow reads one stream to its end. heard: something came.
func (c *Client) follow(ctx context.Context, name string, see func(status.Status) bool) (heard, done bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	path := "/api/v1/events"
	if name != "" {
		path += "?name=" + url.QueryEscape(name)
	}
	answer, err := c.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return false, false, err
	}
	defer answer.Body.Close()
	quiet := time.AfterFunc(silence, cancel) // a half-open connection says nothing for ever
	defer quiet.Stop()
	events := bufio.NewReader(answer.Body)
	for {
		kind, data, err := readEvent(events)
		if err != nil {
			return heard, false, err
		}
		quiet.Reset(silence)
		heard = true
		if kind != "status" {
			continue
		}
		var s status.Status
		if err := json.Unmarshal(data, &s); err != nil {
			return heard, false, fmt.Errorf("read an event of %s: %w", c.server, err)
		}
		if see(s) {
			return heard, true, nil
		}
	}
}

// readEvent reads one event; its data is a single line.
func readEvent(r *bufio.Reader) (kind string, data []byte, err error) {
	size := 0
	for {
		line, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return "", nil, errEnded
		}
		if err != nil {
			return "", nil, err
		}
		if size += len(line); size > maxEvent {
			return "", nil, fmt.Errorf("an event has more than %d bytes", maxEvent)
		}
		line = strings.TrimRight(line, "\r\n")
		switch field, rest, _ := strings.Cut(line, ":"); {
		case line == "" && kind != "":
			return kind, data, nil
		case field == "event":
			kind = strings.TrimPrefix(rest, " ")
		case field == "data":
			data = []byte(strings.TrimPrefix(rest, " "))
		}
	}
}
