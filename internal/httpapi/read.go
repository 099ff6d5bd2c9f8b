package httpapi

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"migrator/internal/journal"
	"migrator/internal/orchestrate"
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

// file gives the planned file of an errand: whole, so that a person can put it
// on the node. Only those that someone is asked to write now or next are given.
func (s *Server) file(c echo.Context) error {
	m, name, err := s.machine(c)
	if err != nil {
		return err
	}
	sha := c.Param("sha")
	data, ok := m.PlannedFile(sha)
	if !ok {
		return &orchestrate.Refusal{Code: "no-file", Exit: 3, Message: fmt.Sprintf("no file with SHA-256 %q is to be written by hand in the open step of %s", sha, name)}
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.Blob(http.StatusOK, "text/plain; charset=iso-8859-1", data)
}
