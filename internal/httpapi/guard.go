package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/labstack/echo/v4"
)

// healthPath needs no token: whoever watches the process has none.
const healthPath = "/healthz"

// loopback says that only this machine reaches the host. An empty host is every
// interface.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// recovering turns a panic of a handler into an answer: the loops go on.
func (s *Server) recovering(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			if cause := recover(); cause != nil {
				s.opts.Log.Error("a request ended in a panic", "path", c.Request().URL.Path, "cause", fmt.Sprint(cause))
				err = &problem{Status: http.StatusInternalServerError, Code: "internal", Exit: 1, Detail: "this request failed; the migration goes on"}
			}
		}()
		return next(c)
	}
}

func headers(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Content-Security-Policy", "default-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'; object-src 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		return next(c)
	}
}

// knownHost refuses other names for a loopback address: a page of somebody else
// whose name resolves to 127.0.0.1 (DNS rebinding) would count as same-origin.
func (s *Server) knownHost(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		host := c.Request().Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		if s.local && !loopback(strings.Trim(host, "[]")) {
			return &problem{Status: http.StatusMisdirectedRequest, Code: "host", Exit: 2,
				Detail: "this service listens on loopback and answers to localhost, 127.0.0.1 and ::1 only"}
		}
		return next(c)
	}
}

// sameOrigin refuses posts that another site's page sends with this browser.
func (s *Server) sameOrigin(next echo.HandlerFunc) echo.HandlerFunc {
	guard := http.NewCrossOriginProtection()
	return func(c echo.Context) error {
		if err := guard.Check(c.Request()); err != nil {
			return &problem{Status: http.StatusForbidden, Code: "cross-origin", Exit: 3, Detail: "a page of another origin sent this: nothing was done"}
		}
		return next(c)
	}
}

// token asks for the token as a Bearer token, or as the password of HTTP Basic
// with any user, which is what browsers can send.
func (s *Server) token(next echo.HandlerFunc) echo.HandlerFunc {
	want := sha256.Sum256([]byte(s.opts.Token.Reveal()))
	return func(c echo.Context) error {
		if s.opts.Token.Empty() || c.Request().URL.Path == healthPath {
			return next(c)
		}
		given, ok := givenToken(c.Request())
		have := sha256.Sum256([]byte(given))
		if ok && subtle.ConstantTimeCompare(have[:], want[:]) == 1 {
			return next(c)
		}
		c.Response().Header().Set("WWW-Authenticate", `Basic realm="migrator: any user, the token as password", charset="UTF-8"`)
		if !ok {
			return &problem{Status: http.StatusUnauthorized, Code: "token", Exit: 2, Detail: "this service asks for its token: set MIGRATOR_TOKEN"}
		}
		return &problem{Status: wrongToken(c.Request()), Code: "token", Exit: 2, Detail: "the token is not this service's: correct MIGRATOR_TOKEN"}
	}
}

func givenToken(r *http.Request) (string, bool) {
	if _, password, ok := r.BasicAuth(); ok {
		return password, true
	}
	scheme, rest, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(rest), ok && strings.EqualFold(scheme, "Bearer")
}

// wrongToken: a browser asks again only after a 401.
func wrongToken(r *http.Request) int {
	if _, _, basic := r.BasicAuth(); basic {
		return http.StatusUnauthorized
	}
	return http.StatusForbidden
}

func limited(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Request().Body = http.MaxBytesReader(c.Response(), c.Request().Body, maxBody)
		return next(c)
	}
}
