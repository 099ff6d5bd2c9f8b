package httpapi

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"migrator/web"
)

// maxBody bounds what a command may send.
const maxBody = 64 << 10

func (s *Server) routes() *echo.Echo {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.IPExtractor = echo.ExtractIPDirect()
	e.HTTPErrorHandler = s.answerError
	e.Pre(s.recovering, headers, s.knownHost, s.sameOrigin, s.token, limited)

	// No echo group: a group with an empty prefix would answer for every other path too.
	const one = "/api/v1/migrations/:name"
	e.GET("/api/v1/migrations", s.list)
	e.GET(one, s.show)
	e.GET(one+"/journal", s.journal)
	e.GET(one+"/facts", s.facts)
	e.GET(one+"/evidence", s.evidence)
	e.GET(one+"/files/:sha", s.file)
	for _, verb := range verbs() {
		e.POST(one+"/"+string(verb), s.command(verb))
	}
	e.GET("/api/v1/events", s.events)
	e.GET(healthPath, s.health)
	e.GET("/metrics", echo.WrapHandler(s.metrics()))
	e.GET("/", s.index)
	e.GET("/fragment", s.fragment)
	static := http.StripPrefix("/static/", http.FileServerFS(web.Static()))
	e.GET("/static/:file", echo.WrapHandler(static))
	return e
}
