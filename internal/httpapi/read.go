package httpapi

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"migrator/internal/journal"
	"migrator/internal/status"
)

type list struct {
	Migrations []status.Status `json:"migrations"`
}

func (s *Server) statuses() []status.Status {
	out := []status.Status{}
	for _, name := range s.service.Names() {
		if m, ok := s.service.Machine(name); ok {
			out = append(out, m.Status())
		}
	}
	return out
}

func (s *Server) list(c echo.Context) error { return c.JSON(http.StatusOK, list{s.statuses()}) }

func (s *Server) show(c echo.Context) error {
	m, _, err := s.machine(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, m.Status())
}

type entries struct {
	Name    string          `json:"name"`
	Entries []journal.Entry `json:"entries"`
}

func (s *Server) journal(c echo.Context) error {
	_, name, err := s.machine(c)
	if err != nil {
		return err
	}
	after := uint64(0)
	if text := c.QueryParam("after"); text != "" {
		if after, err = strconv.ParseUint(text, 10, 64); err != nil {
			return usage("after=%q is no sequence number", text)
		}
	}
	found, err := s.service.Journal(name, after)
	if err != nil {
		return err
	}
	if found == nil {
		found = []journal.Entry{}
	}
	return c.JSON(http.StatusOK, entries{name, found})
}

func (s *Server) facts(c echo.Context) error {
	m, _, err := s.machine(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, m.Facts())
}

func (s *Server) evidence(c echo.Context) error {
	_, name, err := s.machine(c)
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set("Content-Type", "application/x-tar")
	h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", "evidence-"+name+".tar"))
	return s.service.Evidence(name, c.Response())
}
