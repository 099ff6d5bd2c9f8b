package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"migrator/internal/cluster"
	"migrator/internal/gates"
	"migrator/internal/orchestrate"
	"migrator/internal/status"
)

const (
	// commandLimit covers an approval that waits for its fresh snapshot and good polls.
	commandLimit = 2 * time.Minute
	// publishLimit is how long the read model may lag behind an accepted command.
	publishLimit = 15 * time.Second
)

func verbs() []orchestrate.Verb {
	return []orchestrate.Verb{orchestrate.Advance, orchestrate.Pause, orchestrate.Resume, orchestrate.Retry, orchestrate.Drill, orchestrate.Revert, orchestrate.Rehearsal}
}

// order is the body of a command, as JSON or as a form of the page.
type order struct {
	Digest    string           `json:"digest"`
	Confirm   string           `json:"confirm"`
	Accept    string           `json:"accept"`
	Reason    string           `json:"reason"`
	Kind      string           `json:"kind"`
	Actor     string           `json:"actor"`
	To        string           `json:"to"` // revert: load | initial
	Rehearsal *gates.Rehearsal `json:"rehearsal"`
}

func (s *Server) command(verb orchestrate.Verb) echo.HandlerFunc {
	return func(c echo.Context) error {
		m, name, err := s.machine(c)
		if err != nil {
			return err
		}
		o, err := readOrder(c)
		if err != nil {
			return err
		}
		ctx, cancel := s.bounded(c.Request().Context(), commandLimit)
		defer cancel()
		err = m.Do(ctx, orchestrate.Command{Verb: verb, Actor: actor(c, o), Digest: o.Digest, Confirm: o.Confirm, Accept: o.Accept, Reason: o.Reason, Kind: o.Kind, To: cluster.Phase(o.To), Rehearsal: o.Rehearsal})
		if err != nil {
			return err
		}
		now := s.settled(ctx, m, verb, o)
		if isForm(c) {
			return c.Redirect(http.StatusSeeOther, "/?name="+url.QueryEscape(name))
		}
		return c.JSON(http.StatusOK, now)
	}
}

// bounded ends with the request, the limit, or the server.
func (s *Server) bounded(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	go func() {
		select {
		case <-s.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// settled waits until the read model shows what the command did: after an
// approval nobody must read needs-approval, paused or blocked any more.
func (s *Server) settled(ctx context.Context, m Machine, verb orchestrate.Verb, o order) status.Status {
	ctx, cancel := context.WithTimeout(ctx, publishLimit)
	defer cancel()
	box, giveBack := m.Subscribe()
	defer giveBack()
	for {
		select {
		case now := <-box:
			if shows(now.RunStatus, verb, o) {
				return now
			}
		case <-ctx.Done():
			return m.Status()
		}
	}
}

func shows(now status.RunStatus, verb orchestrate.Verb, o order) bool {
	switch verb {
	case orchestrate.Advance, orchestrate.Drill, orchestrate.Revert:
		onlyAccepted := verb == orchestrate.Advance && o.Digest == ""
		return onlyAccepted || now != status.NeedsApproval && now != status.Paused && now != status.Blocked
	case orchestrate.Resume:
		return now != status.Paused
	case orchestrate.Retry:
		return now != status.Blocked
	default:
		return true
	}
}

func (s *Server) machine(c echo.Context) (Machine, string, error) {
	name := c.Param("name")
	m, ok := s.service.Machine(name)
	if !ok {
		return nil, name, unknownName(name)
	}
	return m, name, nil
}

func isForm(c echo.Context) bool {
	kind, _, err := mime.ParseMediaType(c.Request().Header.Get("Content-Type"))
	return err == nil && kind == "application/x-www-form-urlencoded"
}

// readOrder takes an empty body as an order without particulars.
func readOrder(c echo.Context) (order, error) {
	var o order
	if isForm(c) {
		f := c.FormValue
		return order{Digest: f("digest"), Confirm: f("confirm"), Accept: f("accept"), Reason: f("reason"), Kind: f("kind"), Actor: f("actor"), To: f("to")}, nil
	}
	d := json.NewDecoder(c.Request().Body)
	d.DisallowUnknownFields()
	err := d.Decode(&o)
	if errors.Is(err, io.EOF) {
		return o, nil
	}
	if err != nil {
		return o, usage("the body is not what a command takes: %v", err)
	}
	return o, nil
}

// maxActor bounds what the journal keeps of who asked.
const maxActor = 120

// actor is who the journal names: what the client says, else the user of HTTP
// Basic, else where the request came from.
func actor(c echo.Context, o order) string {
	name := o.Actor
	if user, _, ok := c.Request().BasicAuth(); ok && name == "" {
		name = user
	}
	if name == "" && isForm(c) {
		name = "page at " + c.RealIP()
	}
	if name == "" {
		name = "API at " + c.RealIP()
	}
	return name[:min(len(name), maxActor)]
}
