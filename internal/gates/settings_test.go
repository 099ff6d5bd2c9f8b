package gates

import (
	"strings"
	"testing"

	"migrator/internal/facts"
)

func TestABrokerThatRunsWithAnotherFileIsNamedByItsKeys(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(*facts.Setting)
		want Result
		says string
	}{
		{"as planned", func(*facts.Setting) {}, Pass, ""},
		{"another value", func(s *facts.Setting) { s.Value = "16" }, Fail, `broker 1: num.io.threads is "16" in force, planned is "8"`},
		{"the line is missing on the node", func(s *facts.Setting) { s.Value, s.Source = "9", "default" }, Fail, `num.io.threads is "9" in force`},
		{"a dynamic value wins on purpose", func(s *facts.Setting) { s.Value, s.Source = "32", "dynamic-broker" }, Pass, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := described(moment)
			setAt(v.Snapshot.Settings, 1, func(list *[]facts.Setting) { tt.edit(&(*list)[1]) })
			got := judged(t, SettingsPlanned, v)
			if got.Result != tt.want || !strings.Contains(got.Evidence, tt.says) {
				t.Errorf("%s: %s; want %s with %q", got.Result, got.Evidence, tt.want, tt.says)
			}
		})
	}
}
