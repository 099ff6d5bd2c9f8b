package runbook

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/gates"
	"migrator/internal/plan"
)

var update = flag.Bool("update", false, "rewrite testdata")

func TestRunbooksReadAsTheyShould(t *testing.T) {
	golden := []string{"initial", "load", "hybrid", "dual-write", "finalize", "revert-c", "revert-e"}
	for _, s := range scenes() {
		if !slices.Contains(golden, s.name) {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			folder := "/root/files"
			if s.name == "hybrid" {
				folder = "" // once without the files
			}
			got := Render(s.input(t, folder))
			path := filepath.Join("testdata", s.name+".md")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s differs (-want +got), go test -update rewrites it:\n%s", path, diff)
			}
		})
	}
}

func TestNoRunbookShowsASecret(t *testing.T) {
	for _, s := range scenes() {
		holds := false
		for _, content := range s.build(t).Contents {
			holds = holds || strings.Contains(string(content), secret)
		}
		if !holds && s.phase != cluster.DualWrite { // which changes no file
			t.Fatalf("%s: no file of the plan holds the secret: this test would prove nothing", s.name)
		}
		for _, folder := range []string{"", "/root/files"} {
			if text := Render(s.input(t, folder)); strings.Contains(text, secret) {
				t.Errorf("%s, folder %q: the runbook shows a password", s.name, folder)
			}
		}
	}
}

func TestEveryActionOfAPlanStandsInItsRunbook(t *testing.T) {
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			in := s.input(t, "/root/files")
			text := Render(in)
			if strings.Contains(text, "no words for this action") {
				t.Error("an action has no words")
			}
			for _, step := range in.Plan.Steps {
				for _, a := range step.Actions {
					if len(a.Argv) > 0 && !strings.Contains(text, "\n"+Shell(a.Argv)+"\n") {
						t.Errorf("%s %s: its command is not a line of its own: %s", step.ID, a.ID, Shell(a.Argv))
					}
					if a.Kind == plan.Write && a.Before != a.After && !strings.Contains(text, a.After) {
						t.Errorf("%s %s: nothing says which file it ends with", step.ID, a.ID)
					}
				}
			}
		})
	}
}

func TestEveryGateOfAPlanIsSomethingToLookAt(t *testing.T) {
	for _, s := range scenes() {
		w := &writer{in: s.input(t, "")}
		w.tools = toolsOf(w.in.Migration)
		for _, step := range w.in.Plan.Steps {
			for _, gate := range append(slices.Clone(step.Before), step.Done...) {
				info, _ := gates.Describe(gate)
				looks := w.looks(gate, step)
				if len(looks) == 0 || looks[0].want == info.Title {
					t.Errorf("%s %s: gate %s says only its title: nobody could judge it by hand", s.name, step.ID, gate)
				}
			}
		}
	}
}

func TestTheEpochIsRaisedOnlyUnderItsRuleAndBeforeControllerIsDeleted(t *testing.T) {
	s := scenes()[slices.IndexFunc(scenes(), func(s scene) bool { return s.name == "revert-c" })]
	text := Render(s.input(t, ""))
	rule := strings.Index(text, "Only if /controller_epoch + 1 is less than the largest epoch in use")
	raise, controller, migration := strings.Index(text, "\nset /controller_epoch "), strings.Index(text, "\ndelete /controller\n"), strings.Index(text, "\ndelete /migration\n")
	if rule < 0 || raise < rule || controller < raise || migration < controller {
		t.Errorf("rule at %d, raise at %d, /controller at %d, /migration at %d", rule, raise, controller, migration)
	}
	// Epoch 4 against 7: elections of a new controller at epoch 5 would be refused.
	if !strings.Contains(text, "/controller_epoch 4, largest 7, it would have had to be raised") {
		t.Error("the epochs seen when it was made are not there")
	}
	s.snap.ZKEpoch = known(facts.ZKEpoch{Present: true, Value: 6})
	if text := Render(s.input(t, "")); !strings.Contains(text, "/controller_epoch 6, largest 7, nothing to raise then") {
		t.Error("6 + 1 is not less than 7: nothing has to be raised")
	}
}

func TestAFileThatAnEarlierStepReplacedIsExpectedAsThatStepLeftIt(t *testing.T) {
	s := scenes()[slices.IndexFunc(scenes(), func(s scene) bool { return s.name == "revert-e" })]
	in := s.input(t, "/root/files")
	var hashes []string
	for _, step := range in.Plan.Steps {
		for _, a := range step.Actions {
			if a.Kind == plan.Write && *a.Node == 1 {
				hashes = append(hashes, a.After)
			}
		}
	}
	if len(hashes) != 2 {
		t.Fatalf("broker 1 is written %d times, want two rolls", len(hashes))
	}
	text := Render(in)
	second := text[strings.LastIndex(text, "restart broker 1 in zk mode"):]
	if !strings.Contains(second, "sha256sum /etc/kafka/broker-1.properties     # "+hashes[0]) || !strings.Contains(second, "do not edit by this change") {
		t.Error("the second roll expects another file than the first one wrote")
	}
}

func TestWhatAPersonTypesIsQuoted(t *testing.T) {
	tests := []struct {
		name string
		argv []string
		want string
	}{
		{"plain words", []string{"systemctl", "stop", "kafka@1"}, "systemctl stop kafka@1"},
		{"a space", []string{"ssh", "b1", "stop kafka"}, "ssh b1 'stop kafka'"},
		{"a quote", []string{"it's"}, `'it'\''s'`},
		{"what a shell would run", []string{"$(reboot)", "`reboot`", "a;b", "*"}, "'$(reboot)' '`reboot`' 'a;b' '*'"},
		{"an empty argument", []string{"a", ""}, "a ''"},
		{"a line end stays on its line", []string{"a\nb'"}, `$'a\x0ab\''`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Shell(tt.argv); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func TestLogsThatNobodyNamedAreSaidInWords(t *testing.T) {
	in := scenes()[1].input(t, "")
	for i := range in.Migration.Nodes {
		in.Migration.Nodes[i].Logs.Files = nil
	}
	in.Migration.Nodes[0].Logs.Argv = []string{"journalctl", "-u", "kafka@1", "-f"}
	text := Render(in)
	if !strings.Contains(text, "in the log of broker 2, wherever it is") || !strings.Contains(text, "journalctl -u kafka@1 -f | grep -iE ") {
		t.Error("a person is not told where to look")
	}
}

func TestFilesAreOneForEachWriteUnderNamesOfTheirOwn(t *testing.T) {
	for _, s := range scenes() {
		built := s.build(t)
		seen := map[string]bool{}
		for _, f := range Files(built.Plan) {
			if seen[f.Name] {
				t.Errorf("%s: two files are called %s", s.name, f.Name)
			}
			seen[f.Name] = true
			if _, ok := built.Contents[f.SHA]; !ok {
				t.Errorf("%s: nobody has the content of %s", s.name, f.Name)
			}
		}
		if s.phase != cluster.DualWrite && len(seen) == 0 {
			t.Errorf("%s: no files", s.name)
		}
	}
}

func TestStagesComeInTheirOrderWhateverOrderThePlanListsNodesIn(t *testing.T) {
	// 3002 leads. Stopped before the others it would only hand the quorum on, and
	// a controller moved aside while another runs could not come back.
	text := Render(scenes()[slices.IndexFunc(scenes(), func(s scene) bool { return s.name == "revert-c" })].input(t, ""))
	var last int
	for _, line := range []string{"kafka-topics.sh --bootstrap-server b1:9092,b2:9092 --list > topics-before.txt", "systemctl stop kafka@3001", "systemctl stop kafka@3003",
		"systemctl stop kafka@3002", "systemctl disable kafka@3001", "mv -T -- /meta/3003 /meta/3003.migrator-reverted-1"} {
		at := strings.Index(text, "\n"+line+"\n")
		if at < last {
			t.Fatalf("%q stands at %d, before what it must follow (%d)", line, at, last)
		}
		last = at
	}
}

func TestControllersThatAlreadyStandAreNotTakenForStoppedUnsaid(t *testing.T) {
	in := scenes()[slices.IndexFunc(scenes(), func(s scene) bool { return s.name == "revert-c" })].input(t, "")
	const says = "If they died instead, start them"
	if strings.Contains(Render(in), says) {
		t.Error("a plan that stops the controllers says that none runs")
	}
	in.Plan.Steps = in.Plan.Steps[2:]
	if !strings.Contains(Render(in), says) {
		t.Error("dead controllers would be left behind with what they had not yet written")
	}
}

func TestNothingInAFileEndsItsBlock(t *testing.T) {
	w := &writer{}
	w.code("+a=```", "# Not a heading")
	if got, want := w.b.String(), "````\n+a=```\n# Not a heading\n````\n\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
