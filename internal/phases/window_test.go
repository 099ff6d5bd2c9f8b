package phases

import (
	"testing"
	"time"

	"migrator/internal/cluster"
)

// controllersStopped is a way back from load that has stopped all but the active controller: with our
// own topic, or without.
func controllersStopped(t *testing.T, topic bool) *story {
	b := migrated(t)
	b.s.CanaryTopic = topic
	b.approved(back(t, b.s, loaded(), cluster.Initial).Plan)
	return b.opened("stop-controllers").done("save-image", "stop-3001", "stop-3003")
}

func (b *story) now() time.Time { return b.all[len(b.all)-1].Time }

func TestTheWindowWithoutAControllerEndsWhenAMetadataWriteIsAccepted(t *testing.T) {
	b := controllersStopped(t, true)
	if b.s.Window != nil {
		t.Fatalf("open since %s although controller 3002 still leads", b.s.Window.Begun)
	}
	b.done("stop-3002")
	begun := b.now()
	b.closed("stop-controllers").closed("compare").opened("znodes").done("revert-znodes").closed("znodes").opened("follow").intent("write-metadata")
	if w := b.s.Window; w == nil || !w.Begun.Equal(begun) || !w.Ended.IsZero() {
		t.Fatalf("window %+v before a write was accepted, want open since %s", w, begun)
	}
	b.ended("write-metadata", Outcome{OK: true})
	accepted := b.now()
	b.closed("follow")
	if w := *b.s.Window; !w.Ended.Equal(accepted) || !w.Written || !w.Begun.Equal(begun) {
		t.Errorf("window %+v, want until %s", w, accepted)
	}
}

func TestWithoutOurTopicTheWindowEndsWithTheStepFollow(t *testing.T) {
	b := controllersStopped(t, false).done("stop-3002").closed("stop-controllers").closed("follow")
	if w := *b.s.Window; w.Written || !w.Ended.Equal(b.now()) {
		t.Errorf("window %+v, want ended at %s, not by a write", w, b.now())
	}
}

// A retry stops again what is down, so the window seemed to begin anew.
func TestARetryOfTheStopDoesNotBeginTheWindowAnew(t *testing.T) {
	b := controllersStopped(t, true).done("stop-3002")
	begun := b.now()
	b.add(KindRetried, Body{}).done("stop-3001", "stop-3003", "stop-3002")
	if w := *b.s.Window; !w.Begun.Equal(begun) {
		t.Errorf("window begins at %s, want %s", w.Begun, begun)
	}
}

// Before the copy a broker holds /controller all the time.
func TestAWayBackOnWhichABrokerStaysControllerHasNoWindow(t *testing.T) {
	b := begin(t).at(cluster.Initial)
	b.approved(back(t, b.s, provisioned(), cluster.Initial).Plan)
	b.opened("stop-controllers").done("stop-3001", "stop-3002", "stop-3003").closed("stop-controllers")
	if b.s.Window != nil {
		t.Errorf("window %+v", b.s.Window)
	}
}

// A revert that is given again goes on without controllers: the window is the old one.
func TestARevertGivenAgainGoesOnWithTheOpenWindow(t *testing.T) {
	b := controllersStopped(t, true).done("stop-3002")
	begun := b.now()
	b.add(KindPlanVoid, Body{})
	b.approved(back(t, b.s, loaded(), cluster.Initial).Plan)
	if w := b.s.Window; w == nil || !w.Begun.Equal(begun) || !w.Ended.IsZero() {
		t.Errorf("window %+v, want open since %s", w, begun)
	}
}
