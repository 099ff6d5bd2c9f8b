package orchestrate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/gates"
	"migrator/internal/phases"
	"migrator/internal/status"
)

// Verb is an operator command.
type Verb string

const (
	Advance   Verb = "advance"
	Pause     Verb = "pause"
	Resume    Verb = "resume"
	Retry     Verb = "retry"
	Drill     Verb = "drill"
	Revert    Verb = "revert"
	Rehearsal Verb = "rehearsal" // register a green one
)

// Command is what a person or a rehearsal asks for.
type Command struct {
	Verb      Verb
	Actor     string
	Digest    string
	Confirm   string // the migration's name, typed
	Accept    string // availability gate accepted with Reason
	Reason    string
	Kind      string        // drill: clean | crash
	To        cluster.Phase // revert: load | initial
	Rehearsal *gates.Rehearsal
}

// Refusal is a command that was not carried out, for a reason an operator can act on.
type Refusal struct {
	Code    string // stable, such as "stale-digest"
	Exit    int    // 3 refused by a gate, 4 waiting for a person
	Message string
	// Plan is the one to read, where the refusal is about its digest.
	Plan *status.Plan
}

func (r *Refusal) Error() string { return r.Message }

func refuse(code string, exit int, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Exit: exit, Message: fmt.Sprintf(format, args...)}
}

type request struct {
	Command
	reply chan error
}

// waiting is an approval that waits for a snapshot begun after it was asked
// for: every file and fact is read again before the plan starts.
type waiting struct {
	request
	since time.Time
}

// Do gives a command to the machine and waits for its answer.
func (m *Machine) Do(ctx context.Context, c Command) error {
	r := request{Command: c, reply: make(chan error, 1)}
	select {
	case m.commands <- r:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-r.reply:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// answer keeps the answer until the status that shows its effect is published:
// who asks for the status after a command has returned must see what it did.
func (m *Machine) answer(r request, err error) {
	m.answers = append(m.answers, func() { r.reply <- err })
}

func (m *Machine) giveAnswers() {
	for _, give := range m.answers {
		give()
	}
	m.answers = nil
}

func (m *Machine) command(r request) {
	if m.broken != nil {
		m.answer(r, refuse("journal", 3, "blocked: journal: %v; restart the service when its data folder can be written again", m.broken))
		return
	}
	switch r.Verb {
	case Advance, Drill, Revert:
		m.wait(r)
	case Pause:
		m.answer(r, m.pause(r))
	case Resume:
		m.answer(r, m.resume(r))
	case Retry:
		m.retrySeeing(r)
	case Rehearsal:
		m.answer(r, m.register(r))
	default:
		m.answer(r, refuse("usage", 2, "no such command %q", r.Verb))
	}
}

func (m *Machine) pause(r request) error {
	if m.state.Finished {
		return refuse("finished", 3, "the migration is finished: there is nothing to pause")
	}
	if m.state.Paused {
		return nil
	}
	return m.appendOr(phases.KindPaused, r.Actor, phases.Body{})
}

func (m *Machine) resume(r request) error {
	if !m.state.Paused {
		return nil
	}
	return m.appendOr(phases.KindResumed, r.Actor, phases.Body{})
}

// retry lifts a block. After drift it takes the cluster over as it stands: the
// person has seen the difference and says so.
func (m *Machine) retry(r request) error {
	if m.state.Blocked == nil {
		return refuse("not-blocked", 3, "nothing is blocked")
	}
	drifted := m.state.Run == nil && m.located.OK && m.state.Phase != "" && m.located.Phase != m.state.Phase
	if drifted {
		from := m.state.Phase
		if err := m.appendOr(phases.KindAdopted, r.Actor, phases.Body{}); err != nil {
			return err
		}
		if err := m.appendOr(phases.KindMoved, r.Actor, phases.Body{Moved: &phases.Moved{From: from, To: m.located.Phase, Why: "taken over as found: " + m.located.Why}}); err != nil {
			return err
		}
	}
	again := phases.Retried{Starts: phases.StartsAgain(m.state, m.situation(), m.deps.Now())}
	if err := m.appendOr(phases.KindRetried, r.Actor, phases.Body{Retried: &again}); err != nil {
		return err
	}
	m.look()
	return nil
}

// retrySeeing keeps a retry that comes before this process has seen anything:
// which nodes do not run and are started again, only a snapshot tells.
func (m *Machine) retrySeeing(r request) {
	if m.state.Blocked == nil || m.seen {
		m.answer(r, m.retry(r))
		return
	}
	m.pending = append(m.pending, waiting{r, m.deps.Now()})
	m.look()
}

func (m *Machine) appendOr(kind phases.Kind, actor string, body phases.Body) error {
	if !m.append(kind, actor, body) {
		return refuse("journal", 3, "blocked: journal: %v", m.broken)
	}
	return nil
}

// wait answers what can be answered at once and keeps the rest for the next
// fresh snapshot.
func (m *Machine) wait(r request) {
	if err, done := m.early(r); done {
		m.answer(r, err)
		return
	}
	m.pending = append(m.pending, waiting{r, m.deps.Now()})
	m.ask()        // a way back wants to see more than what is asked for all the time
	m.eye.effect() // every machine is looked at: a person answers for what they see now
	m.look()
}

// early handles what needs no fresh snapshot.
func (m *Machine) early(r request) (error, bool) {
	if m.state.Finished {
		return refuse("finished", 3, "the migration is finished"), true
	}
	if r.Confirm != "" && r.Confirm != m.cfg.Name {
		return refuse("wrong-name", 3, "the typed name %q is not %q: nothing was started", r.Confirm, m.cfg.Name), true
	}
	if r.Verb == Advance && r.Accept == "" && r.Digest == "" {
		return refuse("no-digest", 4, "an approval names the digest of the plan it has seen: %s", m.offered()), true
	}
	run := m.state.Run
	if run == nil {
		return nil, false
	}
	if r.Verb == Revert {
		if r.Digest != "" && r.Digest == run.Plan.Digest {
			return m.liftHolds(r), true
		}
		return nil, false
	}
	if r.Verb == Drill {
		return refuse("plan-runs", 3, "the plan %s runs; its drills come by themselves", run.Plan.Phase), true
	}
	if r.Digest == run.Plan.Digest {
		return m.liftHolds(r), true
	}
	if r.Accept != "" {
		return nil, false
	}
	return refuse("plan-runs", 3, "the plan %s (digest %s) is running: %s", run.Plan.Phase, short(run.Plan.Digest), m.decision.Why), true
}

func (m *Machine) offered() string {
	if m.offer.built == nil || m.decision.Verb != phases.Ask {
		return "no plan is offered now: " + m.decision.Why
	}
	return fmt.Sprintf("plan %s has digest %s", m.offer.phase, m.offer.built.Plan.Digest)
}

// liftHolds: approving the running plan again lifts a pause or a block.
func (m *Machine) liftHolds(r request) error {
	if m.state.Blocked != nil {
		if err := m.retry(r); err != nil {
			return err
		}
	}
	return m.resume(r)
}

func short(digest string) string { return digest[:min(len(digest), 12)] }

// answerPending goes through commands whose fresh snapshot has come; it says
// whether any changed the state.
func (m *Machine) answerPending() bool {
	before := m.state.Seq
	left := m.pending[:0]
	for _, w := range m.pending {
		if !m.seen || !m.snap.Begun.After(w.since) {
			left = append(left, w)
			continue
		}
		err, again := m.fresh(w)
		if again && m.deps.Now().Sub(w.since) < patience(m.cfg.Gates.PollInterval, m.cfg.Gates.GoodPolls) {
			left = append(left, w)
			continue
		}
		m.answer(w.request, err)
	}
	m.pending = left
	return m.state.Seq != before
}

// patience is how long an approval waits for gates that were only just
// disturbed by a restart of the service.
func patience(poll time.Duration, good int) time.Duration {
	return time.Duration(good+2)*poll + 5*time.Second
}

// fresh carries out an approval on a snapshot taken after it was asked for.
// again: the gates pass but not often enough yet.
func (m *Machine) fresh(w waiting) (err error, again bool) {
	if w.Accept != "" {
		if err := m.accept(w.request); err != nil {
			return err, false
		}
		if w.Digest == "" {
			return nil, false
		}
		m.judge()
		m.decision = phases.Decide(m.state, m.situation(), m.deps.Now())
	}
	if w.Verb == Retry {
		return m.retry(w.request), false
	}
	if w.Verb == Drill {
		return m.startDrill(w.request), false
	}
	if w.Verb == Revert {
		if !m.keptRead() {
			return refuse("no-way-back", 3, "refused: the copies beside the brokers' files were not read in time"), true
		}
		return m.startRevert(w.request)
	}
	if m.state.Run != nil {
		if m.state.Run.Plan.Digest == w.Digest {
			return nil, false
		}
		return refuse("plan-runs", 3, "the plan %s is running", m.state.Run.Plan.Phase), false
	}
	if d := m.unheld(); d.Verb != phases.Ask {
		settling := d.Verb == phases.Wait && m.settling()
		return refuse("gates", 3, "refused: %s", d.Why), settling
	}
	p := m.offer.built.Plan
	switch {
	case w.Digest != p.Digest:
		return refuse("stale-digest", 4, "digest %s is not the current one: plan %s now has %s; read it again", short(w.Digest), p.Phase, p.Digest), false
	case p.Phase == cluster.Finalize && w.Confirm != m.cfg.Name:
		return refuse("confirm", 3, "finalize cannot be taken back: type the migration's name (--confirm %s)", m.cfg.Name), false
	}
	if !m.approve(w.Actor, w.Confirm) {
		return refuse("journal", 3, "blocked: journal: %v", m.broken), false
	}
	return nil, false
}

// unheld is what would be decided without the pause or block that an approval
// lifts. What the facts themselves hold back is still held back.
func (m *Machine) unheld() phases.Decision {
	if !m.state.Paused && m.state.Blocked == nil {
		return m.decision
	}
	s := m.state
	s.Paused, s.Blocked = false, nil
	return phases.Decide(s, m.situation(), m.deps.Now())
}

// settling: every gate of the offered plan passes, only not often enough yet.
func (m *Machine) settling() bool {
	phase, ok := phases.OfferedPhase(m.state, m.judgement, m.cfg.Soak(cluster.Load))
	if !ok {
		return m.judgement.Set(phases.DoneKey(m.state.Phase)).Passing
	}
	return m.judgement.Set(phases.EnterKey(phase)).Passing || m.judgement.Set(phases.DoneKey(m.state.Phase)).Passing
}

// accept records a person's word for exactly what an availability gate names now.
func (m *Machine) accept(r request) error {
	if n, ok := m.nodeNamed(r.Accept); ok {
		return m.acceptLost(r, n)
	}
	v, ok := m.judgement.Verdict(r.Accept)
	switch {
	case !ok:
		return refuse("no-gate", 3, "gate %q is not judged now", r.Accept)
	case v.Kind != gates.Availability:
		return refuse("safety-gate", 3, "gate %s is about safety and cannot be accepted: %s", r.Accept, v.Evidence)
	case v.Result != gates.Fail:
		return refuse("not-failing", 3, "gate %s does not fail: %s", r.Accept, v.Evidence)
	case strings.TrimSpace(r.Reason) == "":
		return refuse("no-reason", 2, "accepting a gate needs --reason")
	}
	return m.appendOr(phases.KindAccepted, r.Actor, phases.Body{Accepted: &phases.Accepted{Gate: r.Accept, Subjects: v.Subjects, Reason: r.Reason, Lost: m.goneOf(v.Subjects)}})
}

// startDrill runs one more drill while the cluster rests in dual-write.
func (m *Machine) startDrill(r request) error {
	if m.state.Phase != cluster.DualWrite || m.state.Run != nil || m.state.Blocked != nil {
		return refuse("not-now", 3, "a drill runs only while the cluster rests in dual-write: %s", m.decision.Why)
	}
	if !slices.Contains([]string{"clean", "crash"}, r.Kind) {
		return refuse("usage", 2, "drill kind %q is neither clean nor crash", r.Kind)
	}
	p, err := phases.BuildDrill(m.cfg, m.state.ClusterID, r.Kind)
	if err != nil {
		return err
	}
	m.offer = offer{built: &phases.Built{Plan: p, Contents: map[string][]byte{}}, phase: cluster.DualWrite}
	if !m.approve(r.Actor, r.Confirm) {
		return refuse("journal", 3, "blocked: journal: %v", m.broken)
	}
	return nil
}

func (m *Machine) refusePending() {
	m.giveAnswers()
	for _, w := range m.pending {
		w.reply <- refuse("stopping", 5, "the service is stopping")
	}
	m.pending = nil
}
