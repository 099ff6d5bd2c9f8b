package lab_test

import (
	"testing"
	"time"

	"migrator/internal/lab"
	"migrator/internal/status"
)

// TestServiceKilledInTheMiddleOfRolls kills the service with SIGKILL in the
// middle of steps of every plan. The next start goes on: no node is restarted
// twice for it, none is left behind. The controllers take a snapshot every five
// seconds, so that each new service finds the metadata log begun by one.
func TestServiceKilledInTheMiddleOfRolls(t *testing.T) {
	nightly(t)
	c := startCluster(t, lab.Options{ExtraController: []string{"metadata.log.max.snapshot.interval.ms=5000"}})
	op := newOperator(t, c, lab.YAMLOptions{Name: "payments", Soak: "5s", PollInterval: "500ms", GoodPolls: 2, StepTimeout: "3m", DrillKinds: []string{"clean"}})
	before := op.starts(c.BrokerIDs())

	killed := map[string]bool{}
	last := op.drive(10*time.Minute, func(s status.Status) bool {
		if kill := s.Step != nil && !killed[s.Step.ID+string(s.Plan.Phase)] && (s.Step.Kind == "roll" || s.Step.Kind == "provision"); kill && op.kills < 7 {
			killed[s.Step.ID+string(s.Plan.Phase)] = true
			op.pause(time.Duration(op.kills) * 400 * time.Millisecond) // another moment of the step each time
			op.kill()
			op.start()
		}
		return s.RunStatus == status.Finished
	})
	if op.kills < 5 {
		t.Errorf("the service was killed %d times only: the test lost its point", op.kills)
	}
	for id, n := range op.starts(c.BrokerIDs()) {
		if got := n - before[id]; got != 2 {
			t.Errorf("broker %d was restarted %d times, want exactly 2", id, got)
		}
		if _, there := op.property(id, "zookeeper.connect"); there {
			t.Errorf("broker %d still has zookeeper.connect", id)
		}
	}
	drilled := map[int32]int{}
	for _, run := range last.Drill.Runs {
		if run.Kind != "baseline" {
			drilled[run.Node]++
		}
	}
	for id, n := range op.starts(c.ControllerIDs()) {
		if got := n - drilled[id]; got != 2 {
			t.Errorf("controller %d was started %d times beside its drills, want 2: once provisioned, once finalized", id, got)
		}
		if _, there := op.property(id, "zookeeper.metadata.migration.enable"); there {
			t.Errorf("controller %d still has the migration flag in its file", id)
		}
	}
	if last.Canary == nil || last.Canary.Lost != 0 || last.Canary.Acked == 0 {
		t.Errorf("canary %+v, want records and none lost", last.Canary)
	}
}
