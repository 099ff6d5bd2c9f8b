package phases

import (
	"slices"
	"strings"
	"testing"

	"migrator/internal/cluster"
	"migrator/internal/facts"
	"migrator/internal/plan"
)

// warnings of a plan, each with the step it stands at.
func warnings(p plan.Plan) []string {
	var out []string
	for _, st := range p.Steps {
		for _, w := range st.Warnings {
			out = append(out, st.ID+": "+w)
		}
	}
	return out
}

// A person edited a file that we had written. The alarm about it must not keep
// the way back from being offered; what is lost stands beside the step.
func TestAWayBackShowsWhatOfSomebodysEditIsLost(t *testing.T) {
	const step = "back-to-zookeeper-broker-2: broker 2's file /etc/kafka/2.properties was changed by somebody since migrator wrote it, and this plan replaces it. "
	const copied = " The file as found stays on the node as a copy beside it."
	tests := []struct {
		name string
		edit func(ours string) string
		want []string // of all the plan's warnings
	}{
		{"nobody edited", func(ours string) string { return ours }, nil},
		{"a setting of their own", func(ours string) string { return ours + "num.io.threads=9\n" }, []string{step + `Lost with it: "num.io.threads=9".` + copied}},
		{"a setting of the original", func(ours string) string { return strings.Replace(ours, "log.dirs=/data", "log.dirs=/data,/more", 1) },
			[]string{step + `Lost with it: "log.dirs=/data,/more"; back again: "log.dirs=/data".` + copied}},
		{"the order only", func(ours string) string {
			lines := strings.SplitAfter(strings.TrimSuffix(ours, "\n"), "\n")
			lines[0], lines[1] = lines[1], lines[0]
			return strings.Join(lines, "") + "\n"
		}, []string{step + "No setting of that change is lost with it." + copied}},
		{"a password", func(ours string) string { return ours + "ssl.key.password=hunter2\n" }, []string{step + `Lost with it: "ssl.key.password=[redacted]".` + copied}},
		{"what no properties file can hold", func(ours string) string { return ours + "a=\\u00zz\n" }, nil},
	}
	s := migrated(t).s
	ours := changed(t, cluster.Load, provisioned())
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			found := []byte(tt.edit(string(ours[2])))
			snap := holding(loaded(), ours)
			snap.Files[2] = known(facts.File{Exists: true, SHA256: hash(found), Content: found})
			b := back(t, s, snap, cluster.Initial)
			got := warnings(b.Plan)
			if strings.Contains(string(found), `\u00zz`) {
				if len(got) != 1 || !strings.Contains(got[0], "all of that change is lost") {
					t.Errorf("warnings %q", got)
				}
			} else if !slices.Equal(got, tt.want) {
				t.Errorf("warnings\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
			step, _ := b.Plan.Step("back-to-zookeeper-broker-2")
			for _, a := range step.Actions {
				if a.Kind == plan.Write && (a.Before != hash(found) || a.After != hash(brokerFile(2))) {
					t.Errorf("writes %s over %s, want the original over the file as found", a.After, a.Before)
				}
			}
		})
	}
}

func TestAnApprovalOfTheShownChangeExpectsTheFileAsFound(t *testing.T) {
	b := migrated(t)
	snap := holding(loaded(), changed(t, cluster.Load, provisioned()))
	found, _ := snap.Files[2].Get()
	found.Content = append(slices.Clone(found.Content), "num.io.threads=9\n"...)
	found.SHA256 = hash(found.Content)
	snap.Files[2] = known(found)
	plain := back(t, b.s, holding(loaded(), changed(t, cluster.Load, provisioned())), cluster.Initial).Plan
	shown := back(t, b.s, snap, cluster.Initial).Plan
	if plain.Digest == shown.Digest {
		t.Error("one digest with and without the edit: the word given for the one would start the other")
	}
	if b.s.Expected()[2] == found.SHA256 {
		t.Fatal("the edit is expected before anybody agreed to it")
	}
	files := map[int32]string{}
	for id, f := range snap.Files {
		file, _ := f.Get()
		files[id] = file.SHA256
	}
	b.add(KindApproved, Body{Approved: &Approved{Plan: shown, Files: files}})
	if got := b.s.Expected()[2]; got != found.SHA256 {
		t.Errorf("expects %s, want the file as found, %s", got, found.SHA256)
	}
}

// A file that the plan does not write is left alone, and that is said too.
func TestAnEditedFileThatThePlanDoesNotWriteIsLeftAsItIs(t *testing.T) {
	p := built(t, cluster.Load, provisioned()).Plan
	files := map[int32]string{}
	for id, f := range provisioned().Files {
		file, _ := f.Get()
		files[id] = file.SHA256
	}
	b := begin(t).at(cluster.Initial).add(KindApproved, Body{Approved: &Approved{Plan: p, Files: files}}).
		opened("roll-broker-1").done("stop-1", "write-1", "start-1").closed("roll-broker-1")
	ours := changed(t, cluster.Load, provisioned())
	snap := holding(inMode(provisioned(), cluster.ZKMigrating, 1), map[int32][]byte{1: ours[1], 3: append(brokerFile(3), "num.io.threads=9\n"...)})
	edited := snap.Files[3002]
	edit(&edited, func(f *facts.File) { f.SHA256 = "other" })
	snap.Files[3002] = edited
	snap.Kept = map[int32]facts.Fact[[]facts.KeptFile]{2: beside(2), 3: beside(3)}
	shown := back(t, b.s, snap, cluster.Initial)
	want := []string{"stop-controllers: broker 3's file /etc/kafka/3.properties was changed by somebody since the plan under way was approved; this plan leaves it as it is.",
		"stop-controllers: controller 3002's file /etc/kafka/3002.properties was changed by somebody since the plan under way was approved; this plan leaves it as it is."}
	if got := warnings(shown.Plan); !slices.Equal(got, want) {
		t.Errorf("warnings\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := append(writtenTo(3, shown), writtenTo(2, shown)...); len(got) != 0 {
		t.Errorf("brokers that were never rolled get %q", got)
	}
}
