package main

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/config"
	"migrator/internal/findings"
	"migrator/internal/gates"
	"migrator/internal/junit"
)

// TestTheDocumentedFindingsAreTheProgramsOwn keeps docs/findings.md from
// telling another story than the code.
func TestTheDocumentedFindingsAreTheProgramsOwn(t *testing.T) {
	const path = "../../docs/findings.md"
	if *update {
		if err := os.WriteFile(path, []byte(registryPage()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), registryPage()); diff != "" {
		t.Errorf("docs/findings.md (-want +got); read it, then run with -update:\n%s", diff)
	}
}

func TestACodeBelongsToOneGateOrFinding(t *testing.T) {
	seen := map[string]string{}
	for _, r := range registry() {
		if other, twice := seen[r.Code]; twice {
			t.Errorf("%s is %q and %q", r.Code, other, r.Title)
		}
		seen[r.Code] = r.Title
	}
}

// everyVerdict is a preflight with a case of each kind.
func everyVerdict() preflightDoc {
	doc := preflightDoc{Name: "payments", Passed: true}
	row := func(code string, s findings.Severity, k gates.Kind) findings.Row {
		return findings.Row{Code: code, Severity: s, Kind: k, Title: "it is there", Why: "because", Reference: "KIP-1"}
	}
	there := []findings.Item{{Where: "/a", Seen: "x <&>\x01", Fix: "do it"}}
	gap := []findings.Gap{{Cause: "refused", How: "allow it"}}
	doc.add([]findings.Finding{
		{Row: row("MIG901", findings.Block, gates.Safety), Verdict: findings.Found, Items: there},
		{Row: row("MIG902", findings.Block, gates.Safety), Verdict: findings.Unknown, Missing: gap},
		{Row: row("MIG903", findings.Warn, ""), Verdict: findings.Found, Items: there},
		{Row: row("MIG904", findings.Warn, ""), Verdict: findings.Unknown, Missing: gap},
		{Row: row("MIG905", findings.Info, ""), Verdict: findings.Clear},
		{Row: row("MIG906", findings.Block, gates.Safety), Verdict: findings.Skipped},
		{Row: row("MIG907", findings.Warn, ""), Verdict: findings.Found, Items: there, Waived: "known"},
	})
	return doc
}

func TestJUnitFailsWithWhatBlocksAndNothingElse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "preflight.xml")
	for range 2 { // over an earlier one
		if err := junit.Write(path, junitSuite(everyVerdict())); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got junit.Suite
	if err := xml.Unmarshal(data, &got); err != nil {
		t.Fatalf("%v in\n%s", err, data)
	}
	if got.Tests != 7 || got.Failures != 1 || got.Errors != 1 || got.Skipped != 2 {
		t.Errorf("%d tests, %d failures, %d errors, %d skipped; want 7, 1, 1, 2\n%s", got.Tests, got.Failures, got.Errors, got.Skipped, data)
	}
	if c := got.Cases[0]; c.Failure == nil || !strings.Contains(c.Failure.Text, "do it") || c.Class != "preflight.block" {
		t.Errorf("case %+v, want the failure with its remedy", c)
	}
	if left, err := filepath.Glob(filepath.Dir(path) + "/*"); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := junit.Write(filepath.Join(path, "x.xml"), junitSuite(everyVerdict())); err == nil {
		t.Error("a file below a file was written")
	}
}

func TestAWaivedWarningIsShownAsSuch(t *testing.T) {
	doc := everyVerdict()
	var out strings.Builder
	if err := printFindings(&out, doc, false); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "MIG907 WAIVED") || !strings.Contains(got, "known") || !strings.Contains(got, "warnings: 1\n") {
		t.Errorf("printed:\n%s", got)
	}
	data, err := json.Marshal(doc)
	if err != nil || !strings.Contains(string(data), `"waived":"known"`) || !strings.Contains(string(data), `"waived":null`) {
		t.Errorf("%v: %s", err, data)
	}
}

func TestOnlyWarningsCanBeWaived(t *testing.T) {
	text, err := os.ReadFile("../../migrations.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for code, want := range map[string]string{"MIG283": "", "MIG201": "blocks", "MIG113": "blocks", "MIG999": "no code", "MIG219": "information"} {
		path := filepath.Join(t.TempDir(), "migrations.yaml")
		lines := string(text) + "\n    waivers:\n      - {code: " + code + ", reason: scratch topics}\n"
		if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := loadFile(path)
		switch {
		case want == "" && (err != nil || len(f.Migrations[0].Waivers) != 1):
			t.Errorf("%s: %v, %v", code, f.Migrations, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ":"+lineOf(lines, code)+":")):
			t.Errorf("%s: %v; want %q with its line", code, err, want)
		}
	}
	_, err = config.Parse("f.yaml", []byte(string(text)+"\n    waivers:\n      - {code: MIG283}\n"))
	if err == nil || !strings.Contains(err.Error(), "waivers[0].reason") {
		t.Errorf("a waiver without a reason: %v", err)
	}
}

func lineOf(text, part string) string {
	line := 1 + strings.Count(text[:strings.Index(text, part)], "\n")
	data, _ := json.Marshal(line) // a number's text
	return string(data)
}
