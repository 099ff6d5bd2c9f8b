package phases

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/gates"
)

// provisioning has all its actions done, the last a second before the answer's time.
func provisioning(t *testing.T) *story {
	b := begin(t).at(cluster.Initial).approved(built(t, cluster.Initial, atRest()).Plan).closed("canary-topic", "backup").opened("provision")
	for _, verb := range []string{"write-", "format-", "start-"} {
		b.done(verb+"3001", verb+"3002", verb+"3003")
	}
	return b
}

// later is a second after the story's last entry.
func (b *story) later() time.Time { return moment.Add(time.Duration(len(b.all)+1) * time.Second) }

// reading is one look at whether a node runs, so long after now.
type reading struct {
	after   time.Duration
	running string // "yes", "no"; anything else is unknown
}

// waits is what the open step sees after these looks at a node.
func (b *story) waits(id int32, looks ...reading) (Situation, time.Time) {
	in := Situation{Snapshot: provisioned(), Inventory: inventory(), Judgement: passing(WatchSet), Progress: b.later(),
		StepTimeout: 5 * time.Minute, PollInterval: 2 * time.Second, MaxFactAge: 15 * time.Second}
	in.Snapshot.Running, in.Snapshot.Lines = map[int32]facts.Fact[bool]{}, map[int32]facts.Fact[facts.Lines]{}
	at := b.later()
	for _, l := range looks {
		at = b.later().Add(l.after)
		f := facts.Unknown[bool]("connection timed out", "test", at)
		if l.running == "yes" || l.running == "no" {
			f = facts.Known(l.running == "yes", "test", at)
		}
		in.Snapshot.Running[id] = f
		in.Deaths = in.Deaths.See(b.s, in.Snapshot)
	}
	return in, at
}

func says(in Situation, id int32, l facts.Lines) Situation {
	in.Snapshot.Lines[id] = known(l)
	return in
}

func TestANodeThatDiedBlocksAtOnceAndNothingElseDoes(t *testing.T) {
	no, yes, unknown := "no", "yes", "unknown"
	s := time.Second
	tests := []struct {
		name  string
		looks []reading
		want  Verb
	}{
		{"gone twice, a poll interval apart", []reading{{0, no}, {2 * s, no}}, Block},
		{"gone twice within a moment", []reading{{0, no}, {s, no}}, Wait},
		{"seen gone once only", []reading{{0, no}}, Wait},
		{"seen by the same reading twice", []reading{{0, no}, {0, no}}, Wait},
		{"back in between", []reading{{0, no}, {s, yes}, {2 * s, no}}, Wait},
		{"unknown in between", []reading{{0, no}, {s, unknown}, {2 * s, no}}, Wait},
		{"unknown throughout", []reading{{0, unknown}, {5 * s, unknown}}, Wait},
		{"running", []reading{{0, yes}, {5 * s, yes}}, Wait},
		{"gone before its start had ended", []reading{{-9 * s, no}, {-3 * s, no}}, Wait},
		{"gone before its start and after it", []reading{{-9 * s, no}, {0, no}}, Wait},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := begin(t).at(cluster.Initial).approved(rackPlan(t)).opened("roll-broker-3").done("stop-3", "write-3", "start-3")
			in, at := b.waits(3, tt.looks...)
			if d := Decide(b.s, in, at); d.Verb != tt.want {
				t.Errorf("decided %s (%s), want %s", d.Verb, d.Why, tt.want)
			}
		})
	}
}

func TestADeathThatIsOldNewsBlocksNothing(t *testing.T) {
	b := begin(t).at(cluster.Initial).approved(rackPlan(t)).opened("roll-broker-3").done("stop-3", "write-3", "start-3")
	in, at := b.waits(3, reading{0, "no"}, reading{2 * time.Second, "no"})
	if d := Decide(b.s, in, at.Add(16*time.Second)); d.Verb != Wait {
		t.Errorf("decided %s on a reading older than its age limit", d.Verb)
	}
	in.Busy = []string{"start-3"}
	if d := Decide(b.s, in, at); d.Verb != Wait {
		t.Errorf("decided %s while an action is under way", d.Verb)
	}
}

func TestADeathOfAnEarlierProcessIsNotThatOfThePresentOne(t *testing.T) {
	b := begin(t).at(cluster.Initial).approved(rackPlan(t)).opened("roll-broker-3").done("stop-3", "write-3", "start-3")
	in, _ := b.waits(3, reading{0, "no"}, reading{2 * time.Second, "no"})
	b.add(KindRetried, Body{Retried: &Retried{Starts: []string{"start-3"}}}).done("start-3")
	in.Snapshot.Running[3] = facts.Known(false, "test", b.later())
	in.Deaths = in.Deaths.See(b.s, in.Snapshot)
	if d := in.Deaths[3]; !d.First.Equal(b.later()) {
		t.Errorf("the row began at %s, want at the first look after the second start, %s", d.First, b.later())
	}
}

func TestABlockForADeathSaysWhatWhyAndWhatNext(t *testing.T) {
	b := begin(t).at(cluster.Initial).approved(rackPlan(t)).opened("roll-broker-3").done("stop-3", "write-3", "start-3")
	in, at := b.waits(3, reading{0, "no"}, reading{2 * time.Second, "no"})
	d := Decide(b.s, says(in, 3, facts.Lines{Fatal: []string{"an older one", "Encountered fatal fault: \x1b[31m" + strings.Repeat("x", 400)}}), at)
	for _, want := range []string{"broker 3", "Encountered fatal fault", "no other broker is restarted"} {
		if !strings.Contains(d.Blocked.What, want) {
			t.Errorf("%q does not say %q", d.Blocked.What, want)
		}
	}
	if strings.Contains(d.Blocked.What, "\x1b") || len(d.Blocked.What) > 600 {
		t.Errorf("a node's log reaches the terminal as it is: %q", d.Blocked.What)
	}
	if !strings.Contains(d.Blocked.ToDo, "migrator retry") {
		t.Errorf("%q does not say what to do next", d.Blocked.ToDo)
	}
}

func TestOnlyTheStartUpRaceOfAFreshControllerIsStartedAgainByItself(t *testing.T) {
	race := facts.Lines{Fatal: []string{"Should not have ZK migrations enabled on a cluster running metadata.version 3.0-IV1"}, StartRace: true}
	gone := func(first time.Duration) []reading { return []reading{{first, "no"}, {first + 2*time.Second, "no"}} }
	tests := []struct {
		name  string
		tell  func(*testing.T) *story
		node  int32
		first time.Duration
		lines facts.Lines
		want  Verb
	}{
		{"the race in its first minute", provisioning, 3002, 0, race, Again},
		{"the race later than that", provisioning, 3002, 61 * time.Second, race, Block},
		{"another fatal line", provisioning, 3002, 0, facts.Lines{Fatal: []string{"Encountered fatal fault"}}, Block},
		{"no line at all", provisioning, 3002, 0, facts.Lines{}, Block},
		{"the race a second time", func(t *testing.T) *story {
			return provisioning(t).add(KindRetried, Body{Retried: &Retried{Starts: []string{"start-3002"}, Why: "the race"}}).done("start-3002")
		}, 3002, 0, race, Block},
		{"the race again after a person's retry", func(t *testing.T) *story {
			return provisioning(t).add(KindRetried, Body{Retried: &Retried{Starts: []string{"start-3002"}, Why: "the race"}}).done("start-3002").
				blocked().add(KindRetried, Body{Retried: &Retried{Starts: []string{"start-3002"}}}).done("start-3002")
		}, 3002, 0, race, Block},
		{"the race of another controller", func(t *testing.T) *story {
			return provisioning(t).add(KindRetried, Body{Retried: &Retried{Starts: []string{"start-3001"}, Why: "the race"}}).done("start-3001")
		}, 3002, 0, race, Again},
		{"a broker", func(t *testing.T) *story {
			return begin(t).at(cluster.Initial).approved(rackPlan(t)).opened("roll-broker-3").done("stop-3", "write-3", "start-3")
		}, 3, 0, race, Block},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := tt.tell(t)
			in, at := b.waits(tt.node, gone(tt.first)...)
			if d := Decide(b.s, says(in, tt.node, tt.lines), at); d.Verb != tt.want {
				t.Errorf("decided %s (%s %s), want %s", d.Verb, d.Why, d.Blocked.What, tt.want)
			}
		})
	}
}

func TestRetryStartsWhatIsKnownToBeDownAndNothingElse(t *testing.T) {
	tests := []struct {
		name string
		tell func(*story) *story
		look string
		want []string
	}{
		{"a node that is down", func(b *story) *story { return b.done("stop-3", "write-3", "start-3") }, "no", []string{"start-3"}},
		{"a node that runs", func(b *story) *story { return b.done("stop-3", "write-3", "start-3") }, "yes", nil},
		{"a node of which nothing is known", func(b *story) *story { return b.done("stop-3", "write-3", "start-3") }, "unknown", nil},
		{"a node whose stop failed begins anew anyway", func(b *story) *story { return b.failed("stop-3").done("start-3") }, "no", nil},
		{"a node that was not started yet", func(b *story) *story { return b.done("stop-3", "write-3") }, "no", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := tt.tell(begin(t).at(cluster.Initial).approved(rackPlan(t)).opened("roll-broker-3"))
			in, at := b.waits(3, reading{0, tt.look})
			if diff := cmp.Diff(tt.want, StartsAgain(b.s, in, at)); diff != "" {
				t.Errorf("started again (-want +got):\n%s", diff)
			}
		})
	}
}

// A start that is to be performed again is in doubt: the node is looked at
// first, and only what it does from then on counts.
func TestAStartAgainIsLookedAtFirstAndCountsFromThere(t *testing.T) {
	b := begin(t).at(cluster.Initial).approved(rackPlan(t)).add(KindOpened, Body{Opened: &Opened{Step: "roll-broker-3",
		Baseline: gates.Baseline{Czxid: map[int32]int64{3: 103}, Cursors: map[int32]string{3: "old"}, Led: []gates.Led{{Topic: "orders"}}}}}).
		intent("stop-3").ended("stop-3", Outcome{OK: true, Unclean: true}).done("write-3", "start-3").blocked()
	opened := b.s.Run.Baseline
	b.add(KindRetried, Body{Retried: &Retried{Starts: []string{"start-3"}}})
	if d := Decide(b.s, Situation{Judgement: passing(WatchSet)}, b.later()); d.Verb != Act || !cmp.Equal(ids(d.Actions), []string{"start-3"}) || !b.s.Run.Actions["start-3"].Running {
		t.Errorf("decided %+v, want the start looked at", tell(d))
	}
	if !cmp.Equal(b.s.StoppedByUs(), []int32{3}) {
		t.Error("a node that is to be started again must come back whatever happens")
	}
	b.add(KindIntent, Body{Intent: &Intent{Step: "roll-broker-3", Action: "start-3", Try: 2,
		Again: &gates.Baseline{Czxid: map[int32]int64{3: 250}, Cursors: map[int32]string{3: "new"}}}}).ended("start-3", Outcome{OK: true})
	want := gates.Baseline{Czxid: map[int32]int64{3: 250}, Incarnation: map[int32]string{}, Cursors: map[int32]string{3: "new"}, Led: opened.Led}
	if diff := cmp.Diff(want, b.s.Run.Baseline); diff != "" {
		t.Errorf("baseline (-want +got):\n%s", diff)
	}
	if opened.Czxid[3] != 103 {
		t.Error("the earlier state was changed")
	}
	if !b.s.Run.Actions["stop-3"].Unclean {
		t.Error("the retry was shown a death, not the unclean stop: nobody has accepted that yet")
	}
}

func TestAnEntryThatStartsAgainWhatNeverRanIsRefused(t *testing.T) {
	b := begin(t).at(cluster.Initial).approved(rackPlan(t)).opened("roll-broker-3").done("stop-3", "write-3")
	for _, id := range []string{"start-3", "write-3", "start-9"} {
		e := Event{Seq: 99, Kind: KindRetried, Body: Body{Retried: &Retried{Starts: []string{id}}}}
		if _, err := Apply(b.s, e); err == nil {
			t.Errorf("%s was accepted", id)
		}
	}
}

func TestANodeWhoseStopTookEffectLateIsBroughtBackOnce(t *testing.T) {
	restored := func(b *story, try int) *story {
		return b.add(KindIntent, Body{Intent: &Intent{Step: "roll-broker-3", Action: "start-3", Try: try, Restore: true}}).ended("start-3", Outcome{OK: true})
	}
	b := restored(begin(t).at(cluster.Initial).approved(rackPlan(t)).opened("roll-broker-3").failed("stop-3"), 1).blocked()
	in, at := b.waits(3, reading{0, "no"}, reading{2 * time.Second, "no"})
	d := Decide(b.s, in, at)
	if d.Verb != Act || !d.Restore || !cmp.Equal(ids(d.Actions), []string{"start-3"}) {
		t.Fatalf("decided %+v (%s), want broker 3 started: our stop took it down", tell(d), d.Why)
	}
	restored(b, 2)
	in, at = b.waits(3, reading{0, "no"}, reading{2 * time.Second, "no"})
	if d := Decide(b.s, in, at); d.Verb != Wait {
		t.Errorf("decided %s, want wait: a second death is its own", d.Verb)
	}
}
