package phases

import (
	"testing"

	"migrator/internal/cluster"
)

// A broker lost in hybrid still had the file that we wrote. After the way back a
// person started it with its original, and the difference held everything.
func TestALostBrokerComesBackWithTheFileThatAPersonGivesIt(t *testing.T) {
	b := migrated(t)
	if !b.s.Wrote[3] {
		t.Fatal("broker 3's file was never written: the test lost its point")
	}
	b.add(KindAccepted, Body{Accepted: &Accepted{Gate: "no-other-node-down", Lost: []int32{3}}})
	p := back(t, b.s, loaded(), cluster.Initial).Plan
	b.approved(p).planDone()
	if sha, held := b.s.Expected()[3]; held {
		t.Errorf("broker 3's file must still be %s", sha)
	}
	if !b.s.Lost[3] {
		t.Error("broker 3 is waited for before it runs again")
	}
	b.add(KindReturned, Body{Returned: &Returned{Node: 3}})
	if b.s.Lost[3] {
		t.Error("broker 3 runs again and is still left out")
	}
}
