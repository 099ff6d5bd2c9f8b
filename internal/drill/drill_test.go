package drill

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	old  int32 = 3001
	next int32 = 3002
)

var limits = Limits{MaxUnavailable: 15 * time.Second, DualWrite: 10 * time.Second, Return: 65 * time.Second}

// quorum is a cluster in virtual time. Spans count from the take command; a
// zero elects or dualWrite means never.
type quorum struct {
	stopTook   time.Duration // the stop command returns, and the old leader accepts writes so long
	elects     time.Duration
	dualWrite  time.Duration
	returns    time.Duration // from the start command to a full quorum
	hangWrites bool          // writes without a leader hang until their deadline, else they fail at once
	takeErr    error
	takeHangs  time.Duration // the stop command ignores its context so long
	startFails int

	mu       sync.Mutex
	taken    time.Time
	started  time.Time
	starts   int
	notFull  bool
	elected2 time.Duration // a second election, of the same controller
}

func (q *quorum) after(d time.Duration) bool {
	return !q.taken.IsZero() && d != 0 && time.Since(q.taken) >= d
}

func (q *quorum) leader() (id, epoch int32, ok bool) {
	switch {
	case q.elected2 != 0 && q.after(q.elected2):
		return next, 7, true
	case q.after(q.elects):
		return next, 6, true
	case q.taken.IsZero() || time.Since(q.taken) < q.stopTook:
		return old, 5, true
	}
	return 0, 0, false
}

func (q *quorum) probes() Probes {
	return Probes{
		Leader: func(_ context.Context, excluding int32) (int32, int32, error) {
			q.mu.Lock()
			defer q.mu.Unlock()
			id, epoch, ok := q.leader()
			if !ok || id == excluding {
				return 0, 0, errors.New("nobody leads")
			}
			return id, epoch, nil
		},
		WriteMetadata: func(ctx context.Context) error {
			q.mu.Lock()
			_, _, ok := q.leader()
			q.mu.Unlock()
			if ok {
				return nil
			}
			if q.hangWrites {
				<-ctx.Done()
			}
			return errors.New("no controller")
		},
		Holder: func(context.Context) (ControllerView, error) {
			q.mu.Lock()
			defer q.mu.Unlock()
			m := q.migration()
			return ControllerView{BrokerID: m.ControllerID, KRaftEpoch: &m.ControllerEpoch}, nil
		},
		ZKEpoch: func(context.Context) (int, error) {
			q.mu.Lock()
			defer q.mu.Unlock()
			return int(q.migration().ControllerEpoch) - 2, nil
		},
		Migration: func(context.Context) (MigrationView, error) {
			q.mu.Lock()
			defer q.mu.Unlock()
			return q.migration(), nil
		},
		QuorumFull: func(context.Context) (bool, string, error) {
			q.mu.Lock()
			defer q.mu.Unlock()
			switch {
			case q.notFull:
				return false, "voter 3003 lags", nil
			case q.taken.IsZero():
				return true, "", nil
			case q.started.IsZero() || time.Since(q.started) < q.returns:
				return false, "voter 3001 is not there", nil
			}
			return true, "", nil
		},
	}
}

// migration is claimed by the new leader when elected, and moves twice a second once dual write does.
func (q *quorum) migration() MigrationView {
	id, epoch, ok := q.leader()
	if !ok || id == old {
		return MigrationView{ControllerID: old, ControllerEpoch: 5, Offset: 100, Version: 10}
	}
	m := MigrationView{ControllerID: id, ControllerEpoch: epoch, Offset: 100, Version: 11}
	if q.after(q.dualWrite) {
		steps := time.Since(q.taken.Add(q.dualWrite)) / (500 * time.Millisecond)
		m.Offset, m.Version = 101+int64(steps), 12+int32(steps)
	}
	return m
}

func (q *quorum) commands() Commands {
	return Commands{
		Take: func(ctx context.Context) error {
			q.mu.Lock()
			q.taken = time.Now()
			q.mu.Unlock()
			if q.takeHangs != 0 {
				<-time.After(q.takeHangs)
			}
			if pause(ctx, q.stopTook) != nil {
				return ctx.Err()
			}
			return q.takeErr
		},
		Return: func(ctx context.Context) error {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.starts++
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if q.startFails > 0 {
				q.startFails--
				return errors.New("exit 1")
			}
			if q.started.IsZero() && time.Since(q.taken) >= q.stopTook { // else it still runs: nothing to do
				q.started = time.Now()
			}
			return nil
		},
	}
}

// within compares spans up to one tick of the sampler and a bit.
func within(t *testing.T, name string, got *int64, want time.Duration) {
	t.Helper()
	if got == nil {
		t.Errorf("%s was not seen", name)
		return
	}
	if late := time.Duration(*got)*time.Millisecond - want; late < 0 || late > 250*time.Millisecond {
		t.Errorf("%s = %d ms, want %v", name, *got, want)
	}
}

func TestPassedDrillMeasuresEachSpanFromTheCommand(t *testing.T) {
	for name, hang := range map[string]bool{"writes fail fast": false, "writes hang": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := &quorum{stopTook: 800 * time.Millisecond, elects: 3350 * time.Millisecond, dualWrite: 4730 * time.Millisecond, returns: 4 * time.Second, hangWrites: hang}
				var samples []Sample
				r, err := Run(t.Context(), "crash", old, q.probes(), q.commands(), limits, func(s Sample) { samples = append(samples, s) })
				if err != nil || !r.Passed || r.Why != "" || !r.Returned {
					t.Fatalf("%+v, %v", r, err)
				}
				within(t, "leader_ms", r.LeaderMS, q.elects)
				within(t, "metadata_write_ms", r.MetadataWriteMS, q.elects)
				within(t, "unavailable_ms", r.UnavailableMS, q.elects)
				within(t, "dual_write_ms", r.DualWriteMS, q.dualWrite)
				if *r.NewLeader != next || *r.EpochBefore != 5 || *r.EpochAfter != 6 || *r.ZKEpochBefore != 3 || *r.ZKEpochAfter != 4 {
					t.Errorf("epochs: %+v", r)
				}
				if q.starts != 1 || r.Ended.Sub(q.started) < q.returns {
					t.Errorf("starts %d, ended %v after the start", q.starts, r.Ended.Sub(q.started))
				}
				if len(samples) < 40 || samples[0].WriteAccepted || samples[0].Leader != nil {
					t.Errorf("%d samples, first %+v", len(samples), samples[0])
				}
			})
		})
	}
}

// A person stops the controller an hour after being asked: that hour is no outage.
func TestADrillByHandMeasuresFromWhenTheNodeIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &quorum{elects: 2 * time.Second, dualWrite: 3 * time.Second, returns: 4 * time.Second}
		c := q.commands()
		take := c.Take
		var gone time.Time
		c.TakenAt = func() time.Time { return gone }
		c.Take = func(ctx context.Context) error {
			<-time.After(time.Hour)
			gone = time.Now()
			return take(ctx)
		}
		r, err := Run(t.Context(), "clean", old, q.probes(), c, limits, nil)
		if err != nil || !r.Passed {
			t.Fatalf("%+v, %v", r, err)
		}
		within(t, "leader_ms", r.LeaderMS, q.elects)
		within(t, "unavailable_ms", r.UnavailableMS, q.elects)
		within(t, "dual_write_ms", r.DualWriteMS, q.dualWrite)
	})
}

func TestDrillOutcomes(t *testing.T) {
	tests := []struct {
		name     string
		q        *quorum
		passed   bool
		why      string
		starts   int
		startsBy time.Duration // the first start at the latest, from the command
	}{
		{name: "no metadata write by the limit: started at once", q: &quorum{elects: 0, hangWrites: true}, why: "no metadata write was accepted within 15s", starts: 1, startsBy: 15200 * time.Millisecond},
		{name: "the old leader's last writes during a clean stop do not count", q: &quorum{stopTook: 3 * time.Second, elects: 20 * time.Second}, why: "no metadata write was accepted", starts: 1, startsBy: 15200 * time.Millisecond},
		{name: "dual write never moves: claimed is not moving", q: &quorum{elects: time.Second}, why: "dual write did not move within 10s of the new leader 3002", starts: 1, startsBy: 11300 * time.Millisecond},
		{name: "a second election: dual write must move under the last leader", q: &quorum{elects: time.Second, elected2: 1500 * time.Millisecond, dualWrite: 3 * time.Second}, passed: true, starts: 1, startsBy: 4 * time.Second},
		{name: "the stop command fails: the node is started all the same", q: &quorum{takeErr: errors.New("exit 5"), elects: time.Second, dualWrite: 2 * time.Second}, why: "exit 5", starts: 1, startsBy: time.Second},
		{name: "the start command fails twice", q: &quorum{elects: time.Second, dualWrite: 2 * time.Second, startFails: 2}, passed: true, starts: 3, startsBy: 3 * time.Second},
		{name: "a stop that hangs past the limit: started again once it has ended", q: &quorum{takeHangs: 30 * time.Second}, why: "no metadata write", starts: 2, startsBy: 17200 * time.Millisecond},
		{name: "the quorum stays short", q: &quorum{elects: time.Second, dualWrite: 2 * time.Second, returns: time.Hour}, why: "the quorum was not full 1m5s after the start: voter 3001 is not there", starts: 7, startsBy: 3 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := tt.q
				commands := q.commands()
				var firstStart time.Duration
				giveStart := commands.Return
				commands.Return = func(ctx context.Context) error {
					if firstStart == 0 {
						firstStart = time.Since(q.taken)
					}
					return giveStart(ctx)
				}
				r, err := Run(t.Context(), "clean", old, q.probes(), commands, limits, nil)
				if err != nil || r.Passed != tt.passed || !strings.Contains(r.Why, tt.why) || (r.Why == "") != tt.passed {
					t.Errorf("%+v, %v", r, err)
				}
				if q.starts != tt.starts || firstStart > tt.startsBy {
					t.Errorf("%d starts, the first after %v", q.starts, firstStart)
				}
			})
		})
	}
}

func TestEndedContextStillBringsTheNodeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &quorum{elects: 5 * time.Second}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		r, err := Run(ctx, "crash", old, q.probes(), q.commands(), limits, nil)
		if !errors.Is(err, context.DeadlineExceeded) || r.Passed || !r.Returned || q.starts != 1 || r.LeaderMS != nil {
			t.Errorf("%+v, %v, %d starts", r, err, q.starts)
		}
	})
}

// The stop was signalled and its command cut off: the first start finds a
// process that still runs, and then it ends.
func TestNodeStillStoppingWhenItIsStartedIsStartedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &quorum{stopTook: 8 * time.Second, elects: 20 * time.Second, returns: 3 * time.Second}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		r, err := Run(ctx, "clean", old, q.probes(), q.commands(), limits, nil)
		if !errors.Is(err, context.DeadlineExceeded) || !r.Returned || q.started.IsZero() || q.starts != 2 {
			t.Errorf("%+v, %v, %d starts, started %v", r, err, q.starts, q.started)
		}
	})
}

func TestNodeThatCannotBeStartedIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &quorum{elects: time.Second, dualWrite: 2 * time.Second, startFails: 1 << 20}
		r, err := Run(t.Context(), "crash", old, q.probes(), q.commands(), limits, nil)
		if err == nil || r.Passed || r.Returned || !strings.Contains(r.Why, "the node is down") {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func TestDrillIsRefusedBeforeItTouchesTheNode(t *testing.T) {
	tests := []struct {
		name   string
		node   int32
		change func(*quorum, *Probes, *Limits)
	}{
		{"another controller leads", next, func(*quorum, *Probes, *Limits) {}},
		{"the quorum is not full", old, func(q *quorum, _ *Probes, _ *Limits) { q.notFull = true }},
		{"no limit is set", old, func(_ *quorum, _ *Probes, l *Limits) { l.MaxUnavailable = 0 }},
		{"/controller is held by a broker", old, func(_ *quorum, p *Probes, _ *Limits) {
			p.Holder = func(context.Context) (ControllerView, error) { return ControllerView{BrokerID: 1}, nil }
		}},
		{"/controller_epoch cannot be read", old, func(_ *quorum, p *Probes, _ *Limits) {
			p.ZKEpoch = func(context.Context) (int, error) { return 0, errors.New("lost") }
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q, l := &quorum{}, limits
				p := q.probes()
				tt.change(q, &p, &l)
				r, err := Run(t.Context(), "clean", tt.node, p, q.commands(), l, nil)
				if !errors.Is(err, ErrNotTaken) || !q.taken.IsZero() || q.starts != 0 || r.Passed || r.Why == "" {
					t.Errorf("%+v, %v", r, err)
				}
			})
		})
	}
}

func TestBaselineOfZooKeeperControllerFailover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := time.Now()
		holder := func() int32 {
			if time.Since(from) >= 1200*time.Millisecond {
				return 2
			}
			return 1
		}
		p := Probes{
			Holder: func(context.Context) (ControllerView, error) { return ControllerView{BrokerID: holder()}, nil },
			WriteMetadata: func(context.Context) error {
				if since := time.Since(from); since > 900*time.Millisecond && since < 1900*time.Millisecond {
					return errors.New("no controller")
				}
				return nil
			},
		}
		b, err := WatchFailover(t.Context(), p, 1, from)
		if err != nil {
			t.Fatal(err)
		}
		within(t, "holder_ms", b.HolderMS, 1200*time.Millisecond)
		within(t, "metadata_write_ms", b.MetadataWriteMS, 1900*time.Millisecond)
		if b.NewHolder == nil || *b.NewHolder != 2 {
			t.Errorf("%+v", b)
		}
	})
}

func TestBaselineThatNeverComesIsAnErrorWithWhatWasSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		q := &quorum{}
		b, err := WatchFailover(ctx, q.probes(), old, time.Now())
		if !errors.Is(err, context.DeadlineExceeded) || b.NewHolder != nil || b.MetadataWriteMS != nil {
			t.Errorf("%+v, %v", b, err)
		}
	})
}

func TestDualWriteLimitGrowsWithPartitions(t *testing.T) {
	got := []time.Duration{DualWriteLimit(-1), DualWriteLimit(303), DualWriteLimit(4500)}
	want := []time.Duration{10 * time.Second, 11212 * time.Millisecond, 28 * time.Second}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
