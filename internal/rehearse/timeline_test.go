package rehearse

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/cluster"
	"migrator/internal/plan"
	"migrator/internal/status"
)

func TestTheTimelineSaysEachChangeOnce(t *testing.T) {
	load := cluster.Load
	eta := 42.0
	executing := func(step, sentence, headline string) status.Status {
		s := status.Status{Phase: &load, RunStatus: status.Executing, Headline: headline, ETASeconds: &eta}
		if step != "" {
			s.Step = &status.StepView{Step: plan.Step{ID: step, Sentence: sentence}}
		}
		return s
	}
	soaking := executing("soak-end", "soak for 20s", "soaking; waiting for all gates")
	ms := int64(1500)
	drilled := soaking
	drilled.Drill = &status.Drill{Runs: []status.DrillRun{{Kind: "crash", Node: 3001, LeaderMS: &ms, UnavailableMS: &ms, Passed: true}}}
	moments := []struct {
		at time.Duration
		s  status.Status
	}{
		{1 * time.Second, status.Status{RunStatus: status.Observing, Headline: "observing"}},
		{2 * time.Second, status.Status{RunStatus: status.Observing, Headline: "observing"}},
		{3 * time.Second, executing("", "", "between steps")},
		{4 * time.Second, executing("roll-1", "restart broker 1", "restart broker 1")},
		{5 * time.Second, executing("roll-1", "restart broker 1", "restart broker 1; waiting for caught-up")},
		{13 * time.Second, executing("roll-1", "restart broker 1", "restart broker 1; waiting for caught-up")},
		{14 * time.Second, executing("roll-1", "restart broker 1", "restart broker 1; waiting for isr-as-before")},
		{15 * time.Second, executing("roll-1", "restart broker 1", "restart broker 1; waiting for isr-as-before")},
		{16 * time.Second, executing("", "", "between steps")},
		{17 * time.Second, soaking},
		{18 * time.Second, drilled},
		{19 * time.Second, drilled},
		{70 * time.Second, status.Status{Phase: &load, RunStatus: status.Blocked, Headline: "blocked: broker 1 does not come back"}},
	}
	timeline := newTimeline(start, false)
	var got []string
	for _, m := range moments {
		got = append(got, timeline.next(m.s, start.Add(m.at))...)
	}
	want := []string{
		"00:03  load        phase load  (about 00:42 left of this plan)",
		"00:04  load        restart broker 1  (about 00:42 left of this plan)",
		"00:14  load        still; waiting for isr-as-before  (about 00:42 left of this plan)",
		"00:17  load        soak for 20s  (about 00:42 left of this plan)",
		"00:18  load        crash drill of controller 3001: new leader after 1.50s, metadata writes after 1.50s  (about 00:42 left of this plan)",
		"01:10  load        blocked: broker 1 does not come back",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	for name, o := range map[string]Options{
		"two brokers":                    {Brokers: 2},
		"a version without migration":    {Kafka: "4.1.1"},
		"a version not built for":        {Kafka: "3.7.2"},
		"a version that leads elsewhere": {Kafka: "3.9.2/../.."},
		"a batch nobody knows":           {Roll: "cluster"},
		"a negative soak":                {Soak: -time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			o.Out = t.TempDir()
			err := Run(t.Context(), o)
			if c, ok := err.(interface{ ExitCode() int }); !ok || c.ExitCode() != 2 {
				t.Errorf("got %v, want a usage error", err)
			}
		})
	}
}
