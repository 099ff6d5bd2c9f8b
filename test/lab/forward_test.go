package lab_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/lab"
	"migrator/internal/status"
)

// TestForwardByRacks takes six brokers in three racks from plain ZooKeeper to
// finalized, two brokers of a rack at a time. Nobody approves but finalize,
// which refuses everything that is not the digest it shows and the name typed.
func TestForwardByRacks(t *testing.T) {
	c := startCluster(t, lab.Options{Brokers: 6, BrokersPerRack: 2})
	op := newOperator(t, c, lab.YAMLOptions{Name: "payments", Soak: "5s", PollInterval: "500ms", GoodPolls: 2, StepTimeout: "4m",
		RollBatch: "rack", Approve: []string{}, DrillKinds: []string{"clean", "crash"}})
	before := op.starts(c.BrokerIDs())
	var batches [][]int32
	var soakDigest string
	offered := op.drive(12*time.Minute, func(s status.Status) bool {
		if s.Plan != nil && s.Plan.Phase == cluster.DualWrite {
			soakDigest = s.Plan.Digest
		}
		if s.Step != nil && s.Step.Kind == "roll" && !slices.ContainsFunc(batches, func(b []int32) bool { return slices.Equal(b, s.Step.Batch) }) {
			batches = append(batches, s.Step.Batch)
		}
		return s.RunStatus == status.NeedsApproval
	})
	if offered.Plan.Phase != cluster.Finalize {
		t.Fatalf("a person was asked for the plan %s; only finalize needs one here", offered.Plan.Phase)
	}
	if !slices.ContainsFunc(batches, func(b []int32) bool { return len(b) == 2 }) {
		t.Errorf("no batch had two brokers: %v", batches)
	}
	if offered.Drill == nil || offered.Drill.Verdict != "pass" || offered.Soak.ElapsedSeconds < offered.Soak.RequiredSeconds {
		t.Errorf("finalize was offered with drill %+v and soak %+v", offered.Drill, offered.Soak)
	}

	op.refusesFinalize(offered, soakDigest)

	end := op.drive(6*time.Minute, finished)
	for id, n := range op.starts(c.BrokerIDs()) {
		if n-before[id] != 2 {
			t.Errorf("broker %d was restarted %d times, want exactly 2", id, n-before[id])
		}
	}
	for _, n := range end.Nodes {
		if n.Mode == nil || *n.Mode != cluster.KRaft {
			t.Errorf("node %d ended in mode %v", n.ID, n.Mode)
		}
	}
	for _, id := range c.ControllerIDs() {
		if _, err := c.WaitLog(t.Context(), id, "controller.log", regexp.MustCompile(`from MIGRATION to POST_MIGRATION|ZK migration state of POST_MIGRATION`)); err != nil {
			t.Errorf("controller %d: %v", id, err)
		}
	}
	op.leavesEvidence()
}

// refusesFinalize tries every approval that must not be taken.
func (op *operator) refusesFinalize(s status.Status, old string) {
	op.t.Helper()
	for _, try := range []struct {
		what string
		args []string
		exit int
		says string
	}{
		{"no name", []string{"--digest", s.Plan.Digest}, 3, "name"},
		{"a wrong name", []string{"--digest", s.Plan.Digest, "--confirm", "orders"}, 3, "orders"},
		{"an old digest", []string{"--digest", old, "--confirm", op.name}, 4, "digest"},
		{"no digest", []string{"--confirm", op.name}, 4, s.Plan.Digest},
	} {
		exit, out, errs := op.run(append([]string{"advance", op.name}, try.args...)...)
		if exit != try.exit || !strings.Contains(out+errs, try.says) {
			op.t.Errorf("finalize with %s exited %d, want %d and %q in:\n%s%s", try.what, exit, try.exit, try.says, out, errs)
		}
	}
	if now := op.status(); now.RunStatus != status.NeedsApproval {
		op.t.Fatalf("after refusals the migration is %s: %s", now.RunStatus, now.Headline)
	}
}

// leavesEvidence writes the pack and reads the figures a reviewer looks for.
func (op *operator) leavesEvidence() {
	op.t.Helper()
	dir := filepath.Join(op.t.TempDir(), "evidence")
	if exit, out, errs := op.run("evidence", op.name, "--out", dir); exit != 0 {
		op.t.Fatalf("evidence exited %d: %s%s", exit, out, errs)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "evidence.json"))
	if err != nil {
		op.t.Fatal(err)
	}
	var pack struct {
		Finished *time.Time
		Canary   struct {
			Acked, Lost int
		}
	}
	if err := json.Unmarshal(raw, &pack); err != nil {
		op.t.Fatal(err)
	}
	if pack.Finished == nil || pack.Canary.Acked == 0 || pack.Canary.Lost != 0 {
		op.t.Errorf("evidence says finished %v, canary %+v", pack.Finished, pack.Canary)
	}
}
