package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"migrator/internal/orchestrate"
	"migrator/internal/status"
)

// problem is an answer that is no success, as RFC 9457 with our code and the
// exit code that a command line ends with.
type problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   string `json:"code"`
	Exit   int    `json:"exit"`
	// Plan is the one to read, where its digest was missing or stale.
	Plan *status.Plan `json:"plan,omitempty"`
}

func (p *problem) Error() string { return p.Detail }

func unknownName(name string) *problem {
	return &problem{Status: http.StatusNotFound, Code: "unknown-name", Exit: 2, Detail: fmt.Sprintf("no migration %q in this service's migrations.yaml", name)}
}

func usage(format string, args ...any) *problem {
	return &problem{Status: http.StatusBadRequest, Code: "usage", Exit: 2, Detail: fmt.Sprintf(format, args...)}
}

// problemOf maps an error to its answer.
func problemOf(err error) *problem {
	var p *problem
	var refusal *orchestrate.Refusal
	var echoed *echo.HTTPError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &refusal):
		return &problem{Status: refusalStatus(refusal), Code: refusal.Code, Exit: refusal.Exit, Detail: refusal.Message, Plan: refusal.Plan}
	case errors.As(err, &echoed):
		return &problem{Status: echoed.Code, Code: "http", Exit: 1, Detail: fmt.Sprint(echoed.Message)}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &problem{Status: http.StatusServiceUnavailable, Code: "no-answer", Exit: 1, Detail: "the migration's loop gave no answer in time; look at the status before trying again"}
	default:
		return &problem{Status: http.StatusInternalServerError, Code: "internal", Exit: 1, Detail: err.Error()}
	}
}

func refusalStatus(r *orchestrate.Refusal) int {
	switch {
	case r.Code == "journal" || r.Exit == 5:
		return http.StatusServiceUnavailable
	case r.Exit == 4:
		return http.StatusConflict
	case r.Exit == 2:
		return http.StatusBadRequest
	default:
		return http.StatusUnprocessableEntity
	}
}

// answerError is the one place that answers errors.
func (s *Server) answerError(err error, c echo.Context) {
	if c.Response().Committed {
		s.opts.Log.Debug("a request broke off", "path", c.Request().URL.Path, "error", err.Error())
		return
	}
	p := problemOf(err)
	if p.Title == "" {
		p.Title = http.StatusText(p.Status)
	}
	if p.Status >= http.StatusInternalServerError {
		s.opts.Log.Warn("a request failed", "path", c.Request().URL.Path, "code", p.Code, "error", p.Detail)
	}
	if isForm(c) && s.refusedPage(c, p) {
		return
	}
	body, err := json.Marshal(p)
	if err != nil {
		s.opts.Log.Error("encode a problem", "error", err.Error())
		return
	}
	if err := c.Blob(p.Status, "application/problem+json", body); err != nil {
		s.opts.Log.Debug("answer a problem", "error", err.Error())
	}
}
