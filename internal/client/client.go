// Package client asks a migrator service over HTTP, for the command line and
// the rehearsal.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"migrator/internal/config"
	"migrator/internal/evidence"
	"migrator/internal/gates"
	"migrator/internal/journal"
	"migrator/internal/status"
)

// Refusal is a command or question that the service answered with no. Exit is
// what a command line ends with.
type Refusal struct {
	Code    string
	Exit    int
	Message string
	Plan    *status.Plan // the one to read, where its digest was missing or stale
}

func (r *Refusal) Error() string { return r.Message }

// UnreachableError is a service that gave no answer.
type UnreachableError struct {
	Server string
	Cause  error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no service answers at %s (start one with `migrator serve`, or name it with --server): %v", e.Server, e.Cause)
}

// Unwrap gives the cause.
func (e *UnreachableError) Unwrap() error { return e.Cause }

const (
	replyLimit = 3 * time.Minute // an approval waits for a fresh snapshot and good polls
	maxReply   = 256 << 20
)

// Client asks one service.
type Client struct {
	server string
	token  config.Secret
	http   *http.Client
}

// New describes a client; it connects when it is asked something.
func New(server string, token config.Secret) *Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil // a service beside the cluster is never asked through the web's proxy
	transport.ResponseHeaderTimeout = replyLimit
	return &Client{server: strings.TrimSuffix(server, "/"), token: token, http: &http.Client{Transport: transport}}
}

// Command is an order with its particulars.
type Command struct {
	Digest    string           `json:"digest"`
	Confirm   string           `json:"confirm"`
	Accept    string           `json:"accept"`
	Reason    string           `json:"reason"`
	Kind      string           `json:"kind"`
	Actor     string           `json:"actor"`
	To        string           `json:"to"`
	Rehearsal *gates.Rehearsal `json:"rehearsal"`
}

// List gives every migration's status.
func (c *Client) List(ctx context.Context) ([]status.Status, error) {
	var out struct {
		Migrations []status.Status `json:"migrations"`
	}
	err := c.get(ctx, "/api/v1/migrations", &out)
	return out.Migrations, err
}

// Status gives one migration's status.
func (c *Client) Status(ctx context.Context, name string) (status.Status, error) {
	var out status.Status
	return out, c.get(ctx, one(name), &out)
}

// Journal gives the entries after a sequence number.
func (c *Client) Journal(ctx context.Context, name string, after uint64) ([]journal.Entry, error) {
	var out struct {
		Entries []journal.Entry `json:"entries"`
	}
	err := c.get(ctx, one(name)+"/journal?after="+strconv.FormatUint(after, 10), &out)
	return out.Entries, err
}

// Evidence writes the evidence pack into a folder.
func (c *Client) Evidence(ctx context.Context, name, dir string) error {
	answer, err := c.send(ctx, http.MethodGet, one(name)+"/evidence", nil)
	if err != nil {
		return err
	}
	return errors.Join(evidence.ReadTar(answer.Body, dir), answer.Body.Close())
}

// File gives a planned file by the path that an errand names.
func (c *Client) File(ctx context.Context, path string) ([]byte, error) {
	answer, err := c.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxReply))
	return data, errors.Join(err, answer.Body.Close())
}

// Advance approves the plan whose digest is named, or accepts a gate.
func (c *Client) Advance(ctx context.Context, name string, order Command) error {
	return c.command(ctx, name, "advance", order)
}

// Pause pauses after the present step.
func (c *Client) Pause(ctx context.Context, name string, order Command) error {
	return c.command(ctx, name, "pause", order)
}

// Resume goes on after a pause.
func (c *Client) Resume(ctx context.Context, name string, order Command) error {
	return c.command(ctx, name, "resume", order)
}

// Retry tries a blocked step again.
func (c *Client) Retry(ctx context.Context, name string, order Command) error {
	return c.command(ctx, name, "retry", order)
}

// Drill runs one failover drill now.
func (c *Client) Drill(ctx context.Context, name string, order Command) error {
	return c.command(ctx, name, "drill", order)
}

// Revert starts the way back whose digest is named; without one the refusal
// carries its plan.
func (c *Client) Revert(ctx context.Context, name string, order Command) error {
	return c.command(ctx, name, "revert", order)
}

// Rehearsal registers a green rehearsal.
func (c *Client) Rehearsal(ctx context.Context, name string, order Command) error {
	return c.command(ctx, name, "rehearsal", order)
}

func one(name string) string { return "/api/v1/migrations/" + url.PathEscape(name) }

func (c *Client) command(ctx context.Context, name, verb string, order Command) error {
	body, err := json.Marshal(order)
	if err != nil {
		return fmt.Errorf("encode the command: %w", err)
	}
	answer, err := c.send(ctx, http.MethodPost, one(name)+"/"+verb, body)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

func (c *Client) get(ctx context.Context, path string, into any) error {
	answer, err := c.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxReply)).Decode(into); err != nil {
		return fmt.Errorf("read the answer of %s: %w", c.server, err)
	}
	return nil
}

// send answers only with a success; everything else is an error with its kind.
func (c *Client) send(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.server+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", c.server, err)
	}
	request.Header.Set("Content-Type", "application/json")
	if !c.token.Empty() {
		request.Header.Set("Authorization", "Bearer "+c.token.Reveal())
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, c.noAnswer(ctx, err)
	}
	if answer.StatusCode >= 200 && answer.StatusCode < 300 {
		return answer, nil
	}
	return nil, errors.Join(c.refusal(answer), answer.Body.Close())
}

// noAnswer: our own end is no fault of the service.
func (c *Client) noAnswer(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &UnreachableError{Server: c.server, Cause: err}
}

func (c *Client) refusal(answer *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxReply))
	if err != nil {
		return &UnreachableError{Server: c.server, Cause: err}
	}
	var p struct {
		Detail string       `json:"detail"`
		Code   string       `json:"code"`
		Exit   int          `json:"exit"`
		Plan   *status.Plan `json:"plan"`
	}
	if json.Unmarshal(text, &p) != nil || p.Code == "" {
		return &UnreachableError{Server: c.server, Cause: fmt.Errorf("what answers is no migrator service: HTTP %s", answer.Status)}
	}
	return &Refusal{Code: p.Code, Exit: p.Exit, Message: p.Detail, Plan: p.Plan}
}
