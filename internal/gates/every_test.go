package gates

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/facts"
)

// healthy says of every gate in which cluster it passes. Gates that need a
// second look get an earlier one.
func healthy() map[string][]View {
	at := func(build func(time.Time) View) []View { return []View{build(moment)} }
	moved := []View{earlier(loaded, 2*time.Second, 39, 490), loaded(moment)}
	still := []View{finalized(moment.Add(-5 * time.Second)), finalized(moment)}
	return map[string][]View{
		ClusterID: at(atRest), OneDriver: at(atRest), Inventory: at(atRest), FilesOurs: at(provisioned), FlagGuard: at(loaded),
		BrokersZK: at(atRest), HolderBroker: at(atRest), Preflight: at(atRest), PreflightUse: at(atRest), NoMigration: at(atRest), SameIBP: at(atRest), FoldersFree: at(atRest),
		ControllersOff: at(atRest), NothingDeleting: at(atRest),
		QuorumFormed: at(provisioned), ControllersReg: at(provisioned), MetadataVersion: at(provisioned), PreMigration: at(provisioned), MigrationFresh: at(provisioned),
		BrokersRegistered: at(loaded), OthersReady: at(rolling), StateMigration: at(loaded), HolderKRaft: at(loaded), DualWrite: moved,
		MetadataWrite: at(loaded), Parity: at(loaded),
		NoOtherDown: at(rolling), QuorumHeadroom: at(rolling), ISRWithout: at(rolling), ISRFull: at(rolling), NoReassign: at(rolling), BatchFile: at(rolling),
		Running: at(rolling), Restarted: at(rolling), ModeReached: at(rolling), CaughtUp: at(rolling), ISRAsBefore: at(rolling), Elections: at(rolling), NoFatal: at(rolling), SettingsPlanned: at(described),
		AllKRaft: at(dualWriting), IDsEmpty: at(dualWriting), FlagOn: at(dualWriting), Ensemble: at(dualWriting), EnsembleWhole: at(dualWriting), NoOffline: at(dualWriting),
		CanaryHealthy: at(dualWriting), SameLeader: at(dualWriting), BrokersSteady: at(dualWriting), ISRWhole: at(dualWriting),
		Rehearsed: at(loaded), SoakWhole: at(dualWriting), DrillPassed: at(dualWriting), WayBack: at(dualWriting),
		Drained: at(loaded), ControllersDown: at(controllersGone), StoresAgree: at(controllersGone), Follows: at(handedBack),
		ControllerFree: at(handedBack), SomeoneActs: at(loaded), MigrationOurs: at(loaded),
		PostMigration: at(finalized), MigrationStill: still, FlagOff: at(finalized), LostUnregistered: at(finalized),
	}
}

// earlier is a look some time before the moment, with /migration at other values.
func earlier(build func(time.Time) View, ago time.Duration, version int32, offset int64) View {
	v := build(moment.Add(-ago))
	change(&v.Snapshot.Migration, func(m *facts.MigrationZnode) { m.Version, m.Offset = version, &offset })
	return v
}

// factless are gates about the journal, not about facts.
func factless(gate string) bool { return gate == Rehearsed || gate == SoakWhole || gate == DrillPassed }

func TestEveryNameHasAJudgementAndEveryJudgementAName(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "names.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			name, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			names[name] = true
		}
		return true
	})
	described := map[string]bool{}
	for _, info := range All() {
		described[info.Name] = true
	}
	if diff := cmp.Diff(names, described); diff != "" {
		t.Errorf("names.go (-) and the registry (+) differ:\n%s", diff)
	}
}

func TestEveryGateIsDescribedForPeople(t *testing.T) {
	codes := map[string]string{}
	for _, info := range All() {
		if other, taken := codes[info.Code]; taken || !regexp.MustCompile(`^MIG1\d\d$`).MatchString(info.Code) {
			t.Errorf("%s: code %q is taken by %q or malformed", info.Name, info.Code, other)
		}
		codes[info.Code] = info.Name
		if !strings.HasSuffix(info.Title, ".") || (info.Kind != Safety && info.Kind != Availability) {
			t.Errorf("%s: title %q, kind %q", info.Name, info.Title, info.Kind)
		}
		for _, dep := range info.DependsOn {
			if _, ok := Describe(dep); !ok || dep == info.Name {
				t.Errorf("%s depends on %q", info.Name, dep)
			}
		}
	}
}

func TestEveryGatePassesOnAHealthyCluster(t *testing.T) {
	for _, info := range All() {
		views, ok := healthy()[info.Name]
		if !ok {
			t.Errorf("no healthy cluster is known for gate %s", info.Name)
			continue
		}
		v := judged(t, info.Name, views...)
		if v.Result != Pass || v.Evidence == "" {
			t.Errorf("%s: %s: %s", info.Name, v.Result, v.Evidence)
		}
		if !factless(info.Name) && v.ObservedAt.IsZero() {
			t.Errorf("%s passes without saying when it was seen", info.Name)
		}
	}
}

func TestNoGatePassesWhenNothingIsKnown(t *testing.T) {
	for _, info := range All() {
		if v := judged(t, info.Name, View{}); v.Result != Unknown && info.Name != FilesOurs {
			t.Errorf("%s on an empty view: %s: %s", info.Name, v.Result, v.Evidence)
		}
		views := healthy()[info.Name]
		last := views[len(views)-1]
		last.Snapshot = facts.Snapshot{Begun: last.Snapshot.Begun}
		views[len(views)-1] = last
		if v := judged(t, info.Name, views...); v.Result != Unknown && !factless(info.Name) && info.Name != FilesOurs {
			t.Errorf("%s without facts: %s: %s", info.Name, v.Result, v.Evidence)
		}
	}
}

func TestNoGatePassesOnOldFacts(t *testing.T) {
	ages := map[string]func(*View){
		"older than every age limit": func(v *View) { v.Now = v.Now.Add(time.Hour) },
		"from after the clock was set back": func(v *View) {
			v.Now = v.Now.Add(-time.Hour)
		},
		"from before the step's last action ended": func(v *View) {
			step := Step{ID: "none"}
			if v.Step != nil {
				step = *v.Step
			}
			step.NotBefore = v.Now.Add(time.Millisecond)
			v.Step = &step
		},
	}
	for name, age := range ages {
		t.Run(name, func(t *testing.T) {
			for _, info := range All() {
				views := healthy()[info.Name]
				age(&views[len(views)-1])
				v := judged(t, info.Name, views...)
				if v.Result != Unknown && !factless(info.Name) {
					t.Errorf("%s: %s: %s", info.Name, v.Result, v.Evidence)
				}
			}
		})
	}
}
