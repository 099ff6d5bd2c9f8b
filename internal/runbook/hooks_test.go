package runbook

import (
	"strings"
	"testing"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/phases"
)

func TestHooksStandWhereAPersonRunsThem(t *testing.T) {
	s := scene{snap: world(cluster.ZK, true, false), phase: cluster.Load}
	hooks := config.Hooks{Freeze: []string{"puppet", "off"}, Thaw: []string{"puppet", "on"}, BeforeNode: []string{"lb", "drain", "{id}"}, AfterNode: []string{"lb", "add", "{id}"}}
	m := migration()
	m.Hooks = hooks
	built, err := phases.Build(phases.Inputs{Migration: m, Snapshot: s.snap, ClusterID: "abcDEFghiJKLmnoPQRstuA", Phase: s.phase})
	if err != nil {
		t.Fatal(err)
	}
	in := s.input(t, "")
	in.Plan, in.Migration = built.Plan, m
	text, at := Render(in), 0
	for _, want := range []string{"puppet off", "lb drain 1", "systemctl stop kafka@1", "systemctl start kafka@1", "**Afterwards**", "lb add 1", "lb drain 3", "lb add 3", "puppet on"} {
		i := strings.Index(text[at:], want)
		if i < 0 {
			t.Fatalf("%q does not stand behind what comes before it:\n%s", want, text)
		}
		at += i
	}
}
