package httpapi

import (
	"bytes"
	"net/http"

	"github.com/labstack/echo/v4"

	"migrator/internal/status"
	"migrator/web"
)

// index is the whole page; it works without JavaScript.
func (s *Server) index(c echo.Context) error {
	return s.render(c, http.StatusOK, s.page.Whole, nil)
}

// fragment is the page's live regions alone, for the script to swap in.
func (s *Server) fragment(c echo.Context) error {
	return s.render(c, http.StatusOK, s.page.Regions, nil)
}

// refusedPage shows a refusal of a form above the page it was sent from.
func (s *Server) refusedPage(c echo.Context, p *problem) bool {
	if _, ok := s.service.Machine(c.Param("name")); !ok {
		return false
	}
	notice := &web.Notice{Title: p.Title, Text: p.Detail, Code: p.Code}
	if err := s.render(c, p.Status, s.page.Whole, notice); err != nil {
		s.opts.Log.Error("render a refusal", "error", err.Error())
		return c.Response().Committed
	}
	return true
}

type renderer func(*bytes.Buffer, web.View) error

// render goes through a buffer: a page is whole or an error.
func (s *Server) render(c echo.Context, code int, draw renderer, notice *web.Notice) error {
	all := s.statuses()
	shown, err := s.chosen(c, all)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := draw(&out, web.NewView(shown, all, notice, s.opts.Now())); err != nil {
		return err
	}
	return c.HTMLBlob(code, out.Bytes())
}

// chosen is the migration that the request names, else the first.
func (s *Server) chosen(c echo.Context, all []status.Status) (*status.Status, error) {
	name := c.Param("name")
	if name == "" {
		name = c.QueryParam("name")
	}
	for i := range all {
		if all[i].Name == name || name == "" {
			return &all[i], nil
		}
	}
	if name != "" {
		return nil, unknownName(name)
	}
	return nil, nil
}
