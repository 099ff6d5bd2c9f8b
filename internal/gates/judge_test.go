package gates

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"migrator/internal/cluster"
	"migrator/internal/facts"
)

func TestGoodPollsCountOnlyPassesApart(t *testing.T) {
	good := func(after time.Duration) View { return atRest(moment.Add(after)) }
	bad := func(after time.Duration) View {
		v := good(after)
		v.Snapshot.Driver = known(facts.Driver{Owner: "host-7"}, v.Now)
		return v
	}
	unread := func(after time.Duration) View {
		v := good(after)
		v.Snapshot.Driver = unknown[facts.Driver]()
		return v
	}
	cases := []struct {
		name   string
		views  []View
		good   int
		passed bool
	}{
		{"the first pass counts", []View{good(0)}, 1, false},
		{"passes a quarter of a second apart count once", []View{good(0), good(250 * time.Millisecond), good(500 * time.Millisecond)}, 1, false},
		{"quick passes still count as soon as the interval is over", []View{good(0), good(1500 * time.Millisecond), good(2 * time.Second)}, 2, false},
		{"three passes an interval apart are enough", []View{good(0), good(2 * time.Second), good(4 * time.Second)}, 3, true},
		{"one snapshot judged three times counts once", []View{good(0), good(0), good(0)}, 1, false},
		{"a failure in between begins anew", []View{good(0), good(2 * time.Second), bad(4 * time.Second), good(6 * time.Second)}, 1, false},
		{"so does an unknown", []View{good(0), good(2 * time.Second), unread(4 * time.Second), good(6 * time.Second)}, 1, false},
		{"a clock set back counts nothing", []View{good(4 * time.Second), good(0)}, 1, false},
		{"a failure counts nothing", []View{good(0), bad(2 * time.Second)}, 0, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			set := Set{Key: "watch", Gates: []string{ClusterID, OneDriver}, Need: 3}
			var memory Memory
			var out Judgement
			for _, v := range c.views {
				out, memory = Judge(memory, v, []Set{set})
			}
			if got := out.Set("watch"); got.Good != c.good || got.Passed() != c.passed {
				t.Errorf("good %d, passed %t: %+v", got.Good, got.Passed(), got)
			}
		})
	}
}

func TestASetThatWasNotJudgedIsForgotten(t *testing.T) {
	set := Set{Key: "step/a/done", Gates: []string{ClusterID}, Need: 2}
	_, memory := Judge(Memory{}, atRest(moment), []Set{set})
	_, memory = Judge(memory, atRest(moment.Add(2*time.Second)), nil)
	out, _ := Judge(memory, atRest(moment.Add(4*time.Second)), []Set{set})
	if got := out.Set(set.Key); got.Good != 1 {
		t.Errorf("good polls survived a round without the set: %+v", got)
	}
	if got := out.Set("never heard of"); got.Passed() || got.Passing {
		t.Errorf("a set nobody judged passes: %+v", got)
	}
}

func TestAVerdictSaysSinceWhenItReadsSo(t *testing.T) {
	sets := []Set{{Key: "watch", Gates: []string{OneDriver}}}
	var memory Memory
	var out Judgement
	for _, second := range []time.Duration{0, 2, 4, 6, 8} {
		v := atRest(moment.Add(second * time.Second))
		if second >= 4 {
			v.Snapshot.Driver = known(facts.Driver{Owner: "host-7"}, v.Now)
		}
		out, memory = Judge(memory, v, sets)
	}
	got, _ := out.Verdict(OneDriver)
	if want := moment.Add(4 * time.Second); !got.Since.Equal(want) {
		t.Errorf("fails since %s, want %s", got.Since, want)
	}
}

func TestWhatDoesNotPassComesFirstAndSaysWhatItHoldsBack(t *testing.T) {
	v := atRest(moment)
	v.Snapshot.Driver = known(facts.Driver{Owner: "host-7"}, moment)
	v.Snapshot.Deleting = unknown[[]string]()
	out, _ := Judge(Memory{}, v, []Set{
		{Key: "watch", Blocks: "everything", Gates: []string{ClusterID, OneDriver}},
		{Key: "enter/initial", Blocks: "the plan initial", Gates: []string{OneDriver, NothingDeleting, ClusterID}},
	})
	type short struct {
		Gate   string
		Result Result
		Blocks []string
	}
	var got []short
	for _, j := range out.Verdicts {
		got = append(got, short{j.Gate, j.Result, j.Blocks})
	}
	want := []short{
		{NothingDeleting, Unknown, []string{"the plan initial"}},
		{OneDriver, Fail, []string{"everything", "the plan initial"}},
		{ClusterID, Pass, nil},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if out.Set("watch").Passing || out.Set("enter/initial").Passing {
		t.Error("a set passes although a gate of it does not")
	}
}

func TestAGateNobodyKnowsNeverPasses(t *testing.T) {
	v := atRest(moment)
	v.Accepted = []Acceptance{{Gate: "wishful-thinking", Subjects: []string{"x"}}}
	out, _ := Judge(Memory{}, v, []Set{{Key: "s", Gates: []string{"wishful-thinking", ClusterID}}})
	got, ok := out.Verdict("wishful-thinking")
	if !ok || got.Result != Unknown || got.Evidence != "no such gate" || out.Set("s").Passing {
		t.Errorf("%+v, set passing: %t", got, out.Set("s").Passing)
	}
}

func TestOneCauseLightsOneLamp(t *testing.T) {
	v := rolling(moment)
	v.Snapshot.Running[1] = known(false, moment)
	unregister(&v, 1)
	all := Set{Key: "done", Gates: []string{Running, Restarted, ModeReached, CaughtUp, ISRAsBefore, Elections}}
	out, _ := Judge(Memory{}, v, []Set{all})
	var failing []string
	for _, j := range out.Verdicts {
		if j.Result == Fail {
			failing = append(failing, j.Gate)
		} else if j.Result != Unknown || !strings.Contains(j.Evidence, "waits for gate "+Running) {
			t.Errorf("%s: %s: %s", j.Gate, j.Result, j.Evidence)
		}
	}
	if diff := cmp.Diff([]string{Running}, failing); diff != "" {
		t.Error(diff)
	}
	if got := judged(t, Restarted, v); got.Result != Fail {
		t.Errorf("judged without the gate it depends on it must speak for itself: %s", got.Evidence)
	}
}

func TestSafetyIsNeverOverridden(t *testing.T) {
	subjects := []string{"broker 1", "broker 2", "controller 3003", "orders-0", ""}
	for _, info := range All() {
		if info.Kind != Safety {
			continue
		}
		v := rolling(moment)
		v.Accepted = []Acceptance{{Gate: info.Name, Subjects: subjects}}
		v.Snapshot.Running[1] = known(false, moment)
		v.Snapshot.Writable = known(false, moment)
		if got := judged(t, info.Name, v); got.Accepted || len(got.Subjects) > 0 {
			t.Errorf("%s: accepted %t, subjects %v", info.Name, got.Accepted, got.Subjects)
		}
	}
}

func TestAnAcceptedFailureKeepsItsText(t *testing.T) {
	v := rolling(moment)
	isr(1, 1, 2)(&v)
	accept(ISRFull, "orders-1", "orders-7")(&v)
	got := judged(t, ISRFull, v)
	want := Verdict{Gate: ISRFull, Kind: Availability, Result: Pass, Accepted: true, Subjects: []string{"orders-1"},
		Evidence: "accepted by a person: orders-1: ISR 1, 2 of replicas 1, 2, 3"}
	if diff := cmp.Diff(want, got.Verdict, cmpopts.IgnoreFields(Verdict{}, "ToDo", "Source", "ObservedAt")); diff != "" {
		t.Error(diff)
	}
}

func TestTheSameFactsJudgedTwiceGiveTheSame(t *testing.T) {
	var gates []string
	for _, info := range All() {
		gates = append(gates, info.Name)
	}
	sets := []Set{{Key: "all", Gates: gates}}
	v := rolling(moment)
	_, memory := Judge(Memory{}, earlier(rolling, 2*time.Second, 39, 490), sets)
	first, memory := Judge(memory, v, sets)
	second, _ := Judge(memory, v, sets)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
}

func TestEvidenceIsBoundedWhateverNodesSay(t *testing.T) {
	v := provisioned(moment)
	v.Snapshot.Driver = known(facts.Driver{Owner: strings.Repeat("x\n\x1b[31m", 10000)}, moment)
	var topics []string
	for range 500 {
		topics = append(topics, strings.Repeat("t", 5000))
	}
	v.Snapshot.Deleting = known(topics, moment)
	v.Snapshot.Lines[3001] = known(facts.Lines{State: cluster.MigrationState(strings.Repeat("S", 100000))}, moment)
	for _, gate := range []string{OneDriver, NothingDeleting, PreMigration} {
		got := judged(t, gate, v)
		if got.Result != Fail || len(got.Evidence) > 8000 || strings.ContainsAny(got.Evidence, "\n\x1b") {
			t.Errorf("%s: %s, %d bytes", gate, got.Result, len(got.Evidence))
		}
	}
}

func TestJudgingLeavesTheMemoryItWasGivenAlone(t *testing.T) {
	sets := []Set{{Key: "s", Gates: []string{DualWrite, ClusterID}, Need: 3}}
	_, memory := Judge(Memory{}, earlier(loaded, 4*time.Second, 38, 480), sets)
	a, _ := Judge(memory, loaded(moment), sets)
	b, _ := Judge(memory, loaded(moment), sets)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("the same memory gave two judgements:\n%s", diff)
	}
}
