package main

import (
	"strings"
	"testing"

	"migrator/internal/plan"
	"migrator/internal/status"
)

// A person who is asked for a word must have met the warning before the digest.
func TestAPrintedPlanWarnsBeforeItAsks(t *testing.T) {
	p := plan.Plan{Digest: "9c1b", Steps: []plan.Step{{ID: "roll", Sentence: "restart broker 2", Warnings: []string{`Lost with it: "num.io.threads=9".`}}}}
	var b strings.Builder
	if err := printPlan(&b, "payments", status.Planned(p, true)); err != nil {
		t.Fatal(err)
	}
	warned, asked := strings.Index(b.String(), `WARNING: Lost with it: "num.io.threads=9".`), strings.Index(b.String(), "digest: 9c1b")
	if warned < 0 || asked < warned {
		t.Errorf("the warning stands at %d, the digest at %d:\n%s", warned, asked, b.String())
	}
}
