package observe

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"migrator/internal/facts"
)

// A survey of a large cluster takes longer than a round and is not begun in each.
func TestASurveyRunsBesideTheRoundsAndOnTopOfThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, withFiles := 0, false
		s := healthy()
		s.preflight = func(_ context.Context, seen facts.Snapshot) (facts.Preflight, error) {
			asked++
			withFiles = len(seen.Files) > 0 && seen.Files[1].Known()
			time.Sleep(20 * time.Second)
			if asked == 1 {
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
		if !ok || len(got.Blocks) != 1 || asked != 1 || !withFiles {
			t.Errorf("known %v, %+v, asked %d times, the round's files were there: %v", ok, got, asked, withFiles)
		}
		if f := o.Round(t.Context(), Want{Files: true}).Preflight; f.Known() {
			t.Error("shown in a round that does not want it")
		}
		wait(t, 30*time.Second)
		if f, _ := o.Round(t.Context(), want).Preflight.Get(); asked != 2 || len(f.Blocks) != 0 {
			t.Errorf("what blocked was looked at %d times in a minute, %+v: who removes it waits", asked, f)
		}
		o.Round(t.Context(), want)
		wait(t, 30*time.Second)
		if asked != 2 {
			t.Errorf("asked %d times although nothing blocks, want 2", asked)
		}
		wait(t, preflightEvery)
		o.Round(t.Context(), want)
		wait(t, 30*time.Second)
		if asked != 3 {
			t.Errorf("asked %d times, want 3", asked)
		}
		closed(t, o)
	})
}
