package gates

import (
	"testing"
)

func TestALookWithoutAnAnswerIsUnknown(t *testing.T) {
	l := &look{}
	if v := l.verdict(Info{Name: "x", Kind: Safety}); v.Result != Unknown || v.Evidence == "" {
		t.Errorf("%+v", v)
	}
}

func TestASafetyGateThatNamesSubjectsStillCannotBeAccepted(t *testing.T) {
	for kind, want := range map[Kind]Result{Safety: Fail, Availability: Pass} {
		l := &look{v: &View{Accepted: []Acceptance{{Gate: "x", Subjects: []string{"broker 1"}}}}}
		l.bad("broker 1", "broker 1 is down")
		if v := l.verdict(Info{Name: "x", Kind: kind}); v.Result != want {
			t.Errorf("%s: %+v", kind, v)
		}
	}
}

func TestOneProblemNobodyMayAcceptOutweighsThoseThatSomebodyDid(t *testing.T) {
	l := &look{v: &View{Accepted: []Acceptance{{Gate: "x", Subjects: []string{"broker 1"}}}}}
	l.bad("broker 1", "broker 1 is down")
	l.bad("", "the cluster burns")
	if v := l.verdict(Info{Name: "x", Kind: Availability}); v.Result != Fail || v.Subjects != nil {
		t.Errorf("%+v", v)
	}
}
