package lab_test

import (
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/lab"
)

// TestADynamicQuorumForwardBackAndToTheEnd: the quorum whose voters stand in the
// metadata log (KIP-853). Kafka checks the migration flag of its controllers
// only where the voters are static, so here the gates are all there is.
func TestADynamicQuorumForwardBackAndToTheEnd(t *testing.T) {
	nightly(t)
	c := startCluster(t, lab.Options{Brokers: 2})
	op := newOperator(t, c, lab.YAMLOptions{Name: "payments", QuorumMode: "dynamic", Soak: "5s", PollInterval: "500ms", GoodPolls: 2, StepTimeout: "2m"})
	originals := op.files(c.BrokerIDs())
	op.drive(8*time.Minute, complete(cluster.DualWrite))
	for _, id := range c.ControllerIDs() {
		if _, set := op.property(id, "controller.quorum.voters"); set {
			t.Errorf("controller %d has static voters", id)
		}
	}
	op.goesBack(cluster.Initial, originals)
	op.drive(10*time.Minute, finished)
	if s := op.status(); s.Canary == nil || s.Canary.Lost != 0 {
		t.Errorf("canary %+v at the end", s.Canary)
	}
}
