package observe

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"migrator/internal/facts"
)

// A survey of a large cluster takes longer than a round and is not begun in each.
func TestASurveyRunsBesideTheRoundsAndOnTopOfThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		var withFiles atomic.Bool
		s := healthy()
		s.preflight = func(_ context.Context, seen facts.Snapshot) (facts.Preflight, error) {
			turn := asked.Add(1)
			withFiles.Store(len(seen.Files) > 0 && seen.Files[1].Known())
			time.Sleep(20 * time.Second)
			if turn == 1 {
				return facts.Preflight{Blocks: []facts.Blocking{{Code: "MIG202"}}}, nil
			}
			return facts.Preflight{}, nil
		}
		o := newObserver(threeAndThree(), Deps{}, s)
		want := Want{Files: true, Preflight: true}
		if f := o.Round(t.Context(), want).Preflight; f.Known() {
			t.Error("known before the first survey has ended")
		}
		wait(t, 30*time.Second)
		got, ok := o.Round(t.Context(), want).Preflight.Get()
		if !ok || len(got.Blocks) != 1 || asked.Load() != 1 || !withFiles.Load() {
			t.Errorf("known %v, %+v, asked %d times, the round's files were there: %v", ok, got, asked.Load(), withFiles.Load())
		}
		if f := o.Round(t.Context(), Want{Files: true}).Preflight; f.Known() {
			t.Error("shown in a round that does not want it")
		}
		wait(t, 30*time.Second)
		if f, _ := o.Round(t.Context(), want).Preflight.Get(); asked.Load() != 2 || len(f.Blocks) != 0 {
			t.Errorf("what blocked was looked at %d times in a minute, %+v: who removes it waits", asked.Load(), f)
		}
		o.Round(t.Context(), want)
		wait(t, 30*time.Second)
		if asked.Load() != 2 {
			t.Errorf("asked %d times although nothing blocks, want 2", asked.Load())
		}
		wait(t, preflightEvery)
		o.Round(t.Context(), want)
		wait(t, 30*time.Second)
		if asked.Load() != 3 {
			t.Errorf("asked %d times, want 3", asked.Load())
		}
		closed(t, o)
	})
}
