package main

import (
	"strings"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/facts"
	"migrator/internal/findings"
	"migrator/internal/gates"
	"migrator/internal/phases"
)

func TestNothingUnknownOrFailingPassesPreflight(t *testing.T) {
	verdict := func(r gates.Result) gates.Judgement {
		return gates.Judgement{Verdicts: []gates.Judged{{Verdict: gates.Verdict{Gate: gates.NoReassign, Kind: gates.Availability, Result: r, Evidence: "seen", ToDo: "wait"}}}}
	}
	for name, row := range map[string]struct {
		seen seen
		code string // of the finding that blocks
	}{
		"a gate that fails":                  {seen{judgement: verdict(gates.Fail)}, "MIG145"},
		"a gate without an answer":           {seen{judgement: verdict(gates.Unknown)}, "MIG145"},
		"a phase that cannot be told":        {seen{judgement: verdict(gates.Pass), located: phases.Located{Why: "broker 1: timeout"}}, codePhase},
		"a state that nobody may touch":      {seen{located: phases.Located{Emergency: "finalized too early"}}, codePhase},
		"a cluster that can only go back":    {seen{located: phases.Located{OK: true, Phase: cluster.Load, Refused: "only the way back is open"}}, codePhase},
		"a plan that cannot be made of this": {seen{located: phases.Located{OK: true, Phase: cluster.Initial}, clusterID: "A43R"}, codePlan},
	} {
		t.Run(name, func(t *testing.T) {
			doc := row.seen.findings(config.Migration{Name: "payments"})
			if doc.Passed {
				t.Error("preflight passes")
			}
			for _, f := range doc.Findings {
				if f.Code == row.code && (!f.Blocks || f.ToDo == "" || f.Evidence == "") {
					t.Errorf("finding %+v", f)
				}
			}
			var out strings.Builder
			if err := printFindings(&out, doc, false); err != nil || !strings.Contains(out.String(), row.code+" ") {
				t.Errorf("%v: no %s in\n%s", err, row.code, &out)
			}
		})
	}
}

func TestZooKeeperIsTakenAsWritableOnlyWhenItAnswers(t *testing.T) {
	begun := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	silent := facts.Snapshot{ClusterID: facts.Unknown[string]("timeout", "znode", begun)}
	assumeWritable(&silent)
	if silent.Writable.Known() {
		t.Error("a ZooKeeper that did not answer counts as writable")
	}
	answering := facts.Snapshot{ClusterID: facts.Known("A43R", "znode", begun)}
	assumeWritable(&answering)
	if ok, known := answering.Writable.Get(); !ok || !known || !strings.Contains(answering.Writable.Source(), "no write was tried") {
		t.Errorf("writable %v, known %v, source %q", ok, known, answering.Writable.Source())
	}
}

func TestAFindingTakesThePlaceOfTheGateThatWatchesTheSameFault(t *testing.T) {
	s := seen{judgement: gates.Judgement{Verdicts: []gates.Judged{{Verdict: gates.Verdict{Gate: gates.NoMigration, Kind: gates.Safety, Result: gates.Fail, Evidence: "seen"}}}}}
	doc := s.findings(config.Migration{Name: "payments"})
	row := findings.Row{Code: "MIG202", Severity: findings.Block, Kind: gates.Safety, Gate: gates.NoMigration, Title: "left over"}
	doc.add([]findings.Finding{{Row: row, Verdict: findings.Found, Items: []findings.Item{{Where: "/migration", Seen: "offset 4711", Fix: "delete it"}}}})
	var out strings.Builder
	if err := printFindings(&out, doc, false); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Contains(got, "MIG113") || !strings.Contains(got, "MIG202 BLOCK ") || !strings.Contains(got, "/migration: offset 4711") || !strings.Contains(got, "what to do: delete it") {
		t.Errorf("one fault must be named once, by the finding:\n%s", got)
	}
}
