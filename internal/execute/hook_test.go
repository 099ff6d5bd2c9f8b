package execute

import (
	"strings"
	"testing"
	"time"

	"migrator/internal/config"
	"migrator/internal/plan"
	"migrator/internal/remote"
)

func TestAHookIsJudgedByItsEnd(t *testing.T) {
	for _, tt := range []struct {
		name string
		argv []string
		says string // of the error; empty: it succeeds
	}{
		{"exit 0", []string{"sh", "-c", "echo puppet is off"}, ""},
		{"another exit, with what it said last", []string{"sh", "-c", "echo nobody there >&2; exit 3"}, "the hook freeze: sh exited 3: nobody there"},
		{"a program that is not there", []string{"/nowhere/puppet"}, "the hook freeze: start /nowhere/puppet"},
		{"one that does not end is left alone", []string{"sleep", "3"}, "the hook freeze has not ended within 300ms and is left alone; `migrator retry` runs it again"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := config.Migration{}
			m.Gates.StepTimeout = 300 * time.Millisecond
			e := &Executor{m: m, service: remote.NewLocal()}
			task := Task{Action: plan.Action{ID: "freeze", Kind: plan.FreezeHook, Argv: tt.argv}}
			res, err := e.Do(t.Context(), task)
			if tt.says == "" && (err != nil || res.Detail != "exited 0: puppet is off") {
				t.Errorf("%q, %v", res.Detail, err)
			}
			if tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("error %v, want one that says %q", err, tt.says)
			}
			if found, _, err := e.Probe(t.Context(), task); found != ProbedNotDone || err != nil {
				t.Errorf("in doubt it is %q (%v), want not done: it is run again", found, err)
			}
		})
	}
}
