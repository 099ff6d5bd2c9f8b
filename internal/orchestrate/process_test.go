package orchestrate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"migrator/internal/canary"
	"migrator/internal/config"
	"migrator/internal/facts"
	"migrator/internal/observe"
	"migrator/internal/plan"
	"migrator/internal/status"
)

// noCanary stands in where migrations.yaml switches our own client off.
type noCanary struct{}

func (noCanary) Start(context.Context) error       { return errors.New("switched off") }
func (noCanary) Stop(context.Context) error        { return nil }
func (noCanary) Quiet(bool)                        {}
func (noCanary) Run() (string, canary.Stats, bool) { return "", canary.Stats{}, false }

// process is one run of the machine on a world.
type process struct {
	t       *testing.T
	m       *Machine
	life    *life
	cancel  context.CancelFunc
	ended   chan error
	reached int // boundaries
}

// start begins a run that is killed at its nth boundary; 0 never is.
func start(t *testing.T, w *world, cfg config.Migration, killAt int) *process {
	t.Helper()
	s := &process{t: t, life: &life{world: w}, ended: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	deps := depsOf(s, w)
	deps.Failpoint = func(Boundary, plan.Action) {
		s.life.mu.Lock()
		s.reached++
		now := s.reached == killAt
		s.life.mu.Unlock()
		if now {
			s.life.kill()
			cancel()
		}
	}
	m, err := New(cfg, deps)
	if err != nil {
		t.Fatal(err)
	}
	s.m = m
	go func() { s.ended <- m.Run(ctx) }()
	return s
}

func depsOf(s *process, o Observer) Deps {
	return Deps{Observer: o, Executor: s.life, Journal: s.life, Blobs: s.life.world, Canary: noCanary{}, Log: slog.New(slog.DiscardHandler), Now: time.Now,
		Claim: func(string) error { return nil }}
}

// slowEye never ends its first round.
type slowEye struct{ *world }

func (slowEye) Round(ctx context.Context, _ observe.Want) facts.Snapshot {
	<-ctx.Done()
	return facts.Snapshot{}
}

// end stops the run and waits for it.
func (s *process) end() {
	s.cancel()
	<-s.ended
	s.ended <- nil
}

// until waits for a status; ok is false if the run ended or half an hour passed first.
func (s *process) until(what string, good func(status.Status) bool) status.Status {
	s.t.Helper()
	box, back := s.m.Subscribe()
	defer back()
	limit := time.After(30 * time.Minute)
	var last status.Status
	for {
		select {
		case last = <-box:
			if good(last) {
				return last
			}
		case err := <-s.ended:
			s.ended <- err
			return last
		case <-limit:
			var open []string
			for _, g := range last.Gates {
				if g.Verdict != "pass" {
					open = append(open, g.Name+" "+g.Verdict+": "+g.Evidence)
				}
			}
			s.t.Fatalf("never %s: %s %q\njournal: %s\ndid: %v\nnot passing:\n%s", what, last.RunStatus, last.Headline, s.life.kinds(), s.life.all(), strings.Join(open, "\n"))
		}
	}
}

func offers(phase string) func(status.Status) bool {
	return func(s status.Status) bool {
		return s.RunStatus == status.NeedsApproval && s.Plan != nil && string(s.Plan.Phase) == phase
	}
}

func (s *process) advance(digest string) error {
	return s.m.Do(context.Background(), Command{Verb: Advance, Actor: "alice", Digest: digest})
}

// approve waits for the plan of a phase and approves it.
func (s *process) approve(phase string) {
	s.t.Helper()
	st := s.until("offering "+phase, offers(phase))
	if err := s.advance(st.Plan.Digest); err != nil {
		s.t.Fatal(fmt.Errorf("advance: %w", err))
	}
}

// refused wants a refusal with a code and an exit code.
func refused(t *testing.T, err error, code string, exit int) {
	t.Helper()
	var r *Refusal
	if !errors.As(err, &r) || r.Code != code || r.Exit != exit {
		t.Errorf("answer %v (%+v), want refusal %s with exit %d", err, r, code, exit)
	}
}
