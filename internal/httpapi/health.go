package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"migrator/internal/status"
)

// staleAfter is how old a loop's newest round may be. A whole reading of
// ZooKeeper may take half a minute.
const staleAfter = time.Minute

type health struct {
	OK   bool     `json:"ok"`
	Sick []string `json:"sick"`
}

// health says whether this service does its work: every loop observes, and the
// journal takes entries. A sick cluster is no sick service.
func (s *Server) health(c echo.Context) error {
	h := health{Sick: []string{}}
	for _, st := range s.statuses() {
		if why := s.sick(st); why != "" {
			h.Sick = append(h.Sick, st.Name+": "+why)
		}
	}
	h.OK = len(h.Sick) == 0
	if !h.OK {
		return c.JSON(http.StatusServiceUnavailable, h)
	}
	return c.JSON(http.StatusOK, h)
}

func (s *Server) sick(st status.Status) string {
	last := s.started
	if st.ObservedAt != nil {
		last = *st.ObservedAt
	}
	age := s.opts.Now().Sub(last)
	switch {
	case journalBroken(st):
		return st.Blocked.What
	case age > staleAfter && st.RunStatus != status.Finished:
		return fmt.Sprintf("its loop published nothing for %s", age.Round(time.Second))
	default:
		return ""
	}
}

// journalBroken: "blocked: journal" is a word of the status contract.
func journalBroken(st status.Status) bool {
	return st.Blocked != nil && strings.HasPrefix(st.Blocked.What, "journal: ")
}
